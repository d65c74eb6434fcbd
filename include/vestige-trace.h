/* SPDX-License-Identifier: MIT */
/*
 * libvestige-trace: read recordings and running processes. Recordings are those of vestige and of
 * trace-cmd, and the traces of other tools that `vestige convert` reads.
 *
 *	struct vestige_trace *t = vestige_trace_open("trace.dat");
 *	const struct vestige_trace_record *r;
 *
 *	while (t && vestige_trace_next(t, &r) > 0)
 *		if (r->kind == VESTIGE_TRACE_CALL)
 *			printf("%s %llu ns\n", r->name, (unsigned long long)r->duration);
 *	vestige_trace_close(t);
 *
 * Link with `pkg-config --libs vestige-trace`. A trace is used by one thread at a time; two traces
 * share nothing. The library prints nothing and handles no signal. A child process checks the
 * formats of events while a trace is opened, because a damaged one may crash their parser.
 *
 * The ABI is stable: functions stay, and structs get new members at their end alone. The library
 * allocates all structs, so a program that was built with an older header goes on to work.
 *
 * Times are nanoseconds of the trace's clock, or units of a clock that counts something else, see
 * struct vestige_trace_info. Names are UTF-8 as far as the traced program's are.
 *
 * Functions that fail return NULL or a negative errno value, and vestige_trace_error() is the reason.
 */
#ifndef VESTIGE_TRACE_H
#define VESTIGE_TRACE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct vestige_trace;

/* The kinds of records; together for vestige_trace_kinds(). */
enum vestige_trace_kind {
	VESTIGE_TRACE_ENTER = 1,    /* a call begins; not given unless vestige_trace_kinds() asks */
	VESTIGE_TRACE_CALL = 2,	    /* a call has ended: after the calls beneath it */
	VESTIGE_TRACE_FUNCTION = 4, /* a function was called, of the function tracer */
	VESTIGE_TRACE_EVENT = 8,    /* system:name, with fields */
	VESTIGE_TRACE_PRINT = 16,   /* a mark: trace_marker, trace_printk() */
};

/* What is special about a call. */
enum vestige_trace_flag {
	VESTIGE_TRACE_TAIL = 1,	      /* entered by a jump; its caller is what jumped */
	VESTIGE_TRACE_UNWOUND = 2,    /* did not return: throw, longjmp(), end of its thread */
	VESTIGE_TRACE_NO_EXIT = 4,    /* its exit was lost; it ends with the call around it */
	VESTIGE_TRACE_UNFINISHED = 8, /* still open at the end of the trace */
	VESTIGE_TRACE_BROKEN = 16,    /* records were lost in it */
	VESTIGE_TRACE_CUT_BEGIN = 64, /* open before the range of time; begins with the range */
	VESTIGE_TRACE_CUT_END = 128,  /* open at the end of the range of time */
	VESTIGE_TRACE_RESULT = 256,   /* `result` is what it returned */
};

/* A record. Members that the kind does not have are 0 or NULL. Strings are borrowed. */
struct vestige_trace_record {
	uint32_t kind;	    /* enum vestige_trace_kind, one of them */
	uint32_t flags;	    /* CALL: enum vestige_trace_flag */
	uint64_t time;	    /* CALL: when it began; others: when it happened */
	uint64_t duration;  /* CALL */
	uint64_t self;	    /* CALL: without calls beneath it and while it was suspended */
	uint64_t address;   /* ENTER, CALL, FUNCTION: the function, see vestige_trace_function() */
	uint64_t caller;    /* the same of what called it; 0 not known */
	uint64_t result;    /* CALL with VESTIGE_TRACE_RESULT: the register of the result */
	int32_t tid;	    /* the thread, */
	int32_t pid;	    /* its process; 0 not known */
	uint32_t cpu;	    /* UINT32_MAX: of a call, which may have been on several */
	uint32_t depth;	    /* ENTER, CALL: calls around it */
	const char *thread; /* the thread's name */
	const char *
		name; /* the function's, or its address as 0x...; EVENT: without the system; PRINT: "print", in a trace of another
		       * tool the event's */
	const char *object; /* base name of the function's object; NULL: the program itself */
	const char *system; /* EVENT: sched, ...; NULL else */
};

/* What a trace says about itself. */
struct vestige_trace_info {
	const char *clock;   /* trace_clock's word */
	const char *tracer;  /* current_tracer's word, "nop" not known */
	const char *command; /* of the traced program, "" not known */
	const char *host;    /* "Linux HOST RELEASE MACHINE", "" not known */
	uint32_t nr_cpus;
	uint32_t time_is_ns;	     /* 1: times are nanoseconds */
	uint64_t realtime_offset_ns; /* CLOCK_REALTIME less the trace's clock; 0 not known */
	uint64_t lost;		     /* records lost so far; UINT64_MAX: some, not known how many */
};

enum vestige_trace_type {
	VESTIGE_TRACE_UNSIGNED = 1,
	VESTIGE_TRACE_SIGNED = 2, /* `number` has its sign extended to 64 bits */
	VESTIGE_TRACE_STRING = 3, /* `data` ends with NUL, which `bytes` does not count */
	VESTIGE_TRACE_ARRAY =
		4, /* `bytes` at `data`, elements of `element_bytes` in this CPU's order */
};

/* A field of an event. Borrowed until the next call with the same trace. */
struct vestige_trace_field {
	const char *name;
	uint32_t type; /* enum vestige_trace_type */
	uint32_t bytes;
	uint64_t number;
	const void *data;
	uint32_t element_bytes;
	uint32_t is_pointer; /* 1: `number` is best shown in hexadecimal */
};

/*
 * vestige_trace_open() - open a recording.
 * @path: a trace.dat, a native recording, a spool, an area, or a trace of another tool.
 * Return: it, to be closed with vestige_trace_close(); NULL with errno: ENOENT, EACCES, EINVAL (no
 * format that is known), EPROTO (a version that is not known), ENOMEM and others.
 */
struct vestige_trace *vestige_trace_open(const char *path);

/*
 * vestige_trace_open_live() - read the records of a running process as they come. Records read are
 * consumed, as with trace_pipe. The process goes on at its speed; records that it overwrites before they
 * are read are counted as lost.
 * @pid: the process; 0: the only traced process that runs.
 * Return: as vestige_trace_open(), also ESRCH: no such process is traced.
 */
struct vestige_trace *vestige_trace_open_live(int pid);

/* vestige_trace_close() - close it and free all that was borrowed from it. @t: NULL does nothing. */
void vestige_trace_close(struct vestige_trace *t);

/* vestige_trace_error() - why the last call in this thread failed: one line. Borrowed, "" none has. */
const char *vestige_trace_error(void);

/* vestige_trace_version() - the version of the library, as "0.1.0". */
const char *vestige_trace_version(void);

/* vestige_trace_info() - what is known about the trace. Borrowed until vestige_trace_close(). */
const struct vestige_trace_info *vestige_trace_info(struct vestige_trace *t);

/*
 * Filters, before the first vestige_trace_next(). All of them have to let a record through; of several
 * functions, events and threads one. Filters of functions are for calls, not for events and marks.
 * Return: 0 or a negative errno value: EINVAL a wrong value, EBUSY records
 * were read already, E2BIG more than 256 of one sort, ENOMEM.
 */
/* vestige_trace_kinds() - @kinds: of enum vestige_trace_kind, all that are wanted. 30 at first. */
int vestige_trace_kinds(struct vestige_trace *t, uint32_t kinds);
/* vestige_trace_function_filter() - calls of functions with a name of the form @glob, and what they call. */
int vestige_trace_function_filter(struct vestige_trace *t, const char *glob);
/* vestige_trace_function_notrace() - no calls of functions of that form, nor what they call. */
int vestige_trace_function_notrace(struct vestige_trace *t, const char *glob);
/* vestige_trace_event_filter() - events with `system:name` of the form @glob; calls are not affected. */
int vestige_trace_event_filter(struct vestige_trace *t, const char *glob);
/* vestige_trace_tid() - records of thread @tid. */
int vestige_trace_tid(struct vestige_trace *t, int32_t tid);
/*
 * vestige_trace_range() - records at or after @from and before @to, in units of their time; @to 0: no
 * end. Calls that are open at an end are cut there.
 */
int vestige_trace_range(struct vestige_trace *t, uint64_t from, uint64_t to);
/* vestige_trace_range_from_start() - the same with times that count from the first record. */
int vestige_trace_range_from_start(struct vestige_trace *t, uint64_t from, uint64_t to);
/* vestige_trace_cpus() - what these CPUs recorded. @list: "0,2-3". Not of a live trace: EINVAL. */
int vestige_trace_cpus(struct vestige_trace *t, const char *list);
/* vestige_trace_max_depth() - calls of @levels levels, from the outermost that is given. */
int vestige_trace_max_depth(struct vestige_trace *t, uint32_t levels);
/* vestige_trace_min_duration() - calls of at least @duration. An ENTER comes before that is known. */
int vestige_trace_min_duration(struct vestige_trace *t, uint64_t duration);
/* vestige_trace_timeout() - of a live trace: wait at most @ms for a record; -1, as at first: for ever. */
int vestige_trace_timeout(struct vestige_trace *t, int ms);

/*
 * vestige_trace_next() - the next record, in order of time; of calls, in the order in which they end.
 * @out: set to it; it and its strings are borrowed until the next call with @t.
 * Return: 1; 0 at the end, for a live trace when the process has ended; a negative errno value: ETIMEDOUT
 * (see vestige_trace_timeout()) and EINTR (a signal came) of a live trace, which can go on, EIO and
 * EINVAL of a damaged file, ENOMEM.
 */
int vestige_trace_next(struct vestige_trace *t, const struct vestige_trace_record **out);

/*
 * vestige_trace_buffer() - the buffer that the last record is of. A trace.dat may have several: the
 * kernel's of `record -k`, and those of instances.
 * Return: its name, "" of the top one; borrowed until vestige_trace_close().
 */
const char *vestige_trace_buffer(struct vestige_trace *t);

/*
 * vestige_trace_text() - the rest of the last record as report prints it: of an event its fields, of a
 * mark its text, of ENTER and FUNCTION the arguments that were recorded, of CALL the result, "" none.
 * Return: borrowed until the next call with @t; NULL with errno ENOMEM.
 */
const char *vestige_trace_text(struct vestige_trace *t);

/*
 * vestige_trace_field() - field number @i of the last record, which is an EVENT, without common fields.
 * vestige_trace_field_find() - by its name. Return: NULL: it has none.
 */
const struct vestige_trace_field *vestige_trace_field(struct vestige_trace *t, unsigned int i);
const struct vestige_trace_field *vestige_trace_field_find(struct vestige_trace *t,
							   const char *name);

/*
 * vestige_trace_stack() - the calls that were open in the thread of the last record, the innermost
 * first; of an ENTER or CALL with itself. Only calls with entry and exit are known. While
 * vestige_trace_kinds() has neither ENTER nor CALL they are followed all the same.
 * @addresses: room for @max. Return: how many there are, which may be more than @max.
 */
unsigned int vestige_trace_stack(struct vestige_trace *t, uint64_t *addresses, unsigned int max);

/*
 * vestige_trace_function() - the name of the function at @address of this trace. @object: NULL, or set to
 * its object's base name, NULL of the program itself. Return: NULL: none is known. Borrowed until
 * vestige_trace_close(); of a live trace until the next vestige_trace_next().
 */
const char *vestige_trace_function(struct vestige_trace *t, uint64_t address, const char **object);

/*
 * vestige_trace_source() - `folder/file.c:12` of @address, from the debug information of its object.
 * Return: NULL: none is known. Borrowed until the next call with @t. The first call reads that information.
 */
const char *vestige_trace_source(struct vestige_trace *t, uint64_t address);

#ifdef __cplusplus
}
#endif

#endif
