/* SPDX-License-Identifier: MIT */
/*
 * libvestige-trace: read recordings and running processes. Recordings are the files of vestige and
 * of trace-cmd, and the traces of other tools that `vestige convert` reads.
 *
 *	struct vestige_trace *t = vestige_trace_open("trace.dat");
 *	const struct vestige_trace_record *r;
 *
 *	while (t && vestige_trace_next(t, &r) > 0)
 *		if (r->kind == VESTIGE_TRACE_CALL)
 *			printf("%s %llu ns\n", r->name, (unsigned long long)r->duration);
 *	vestige_trace_close(t);
 *
 * Link with `pkg-config --libs vestige-trace`. Only one thread at a time may use a trace. Two
 * traces share nothing. No function may be called from a signal handler. The library prints nothing
 * and handles no signal. While a trace is opened, a child process checks the formats of its events,
 * because a damaged format may crash their parser.
 *
 * The ABI is stable: functions stay, and structs get new members only at their end. The library
 * allocates all structs, so a program that was built with an older header continues to work.
 *
 * Times are in nanoseconds of the trace's clock, or in that clock's own unit if it does not count
 * time (see time_is_ns). Names are UTF-8 if the traced program's names are.
 *
 * A function that fails returns NULL with errno set, or a negative errno value. Then
 * vestige_trace_error() gives the reason. "Borrowed" means: the library owns the memory; the caller
 * may read it until the given moment and must not free it.
 */
#ifndef VESTIGE_TRACE_H
#define VESTIGE_TRACE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct vestige_trace;

/* The kinds of records. Each is one bit, so that vestige_trace_kinds() takes several. */
enum vestige_trace_kind {
	VESTIGE_TRACE_ENTER = 1,    /* a call begins; only if vestige_trace_kinds() selects it */
	VESTIGE_TRACE_CALL = 2,	    /* a call has ended; it comes after the calls that it made */
	VESTIGE_TRACE_FUNCTION = 4, /* the function tracer recorded a call */
	VESTIGE_TRACE_EVENT = 8,    /* system:name, with fields */
	VESTIGE_TRACE_PRINT = 16,   /* a mark: trace_marker, trace_printk() */
};

/* Properties of a call. */
enum vestige_trace_flag {
	VESTIGE_TRACE_TAIL = 1,	      /* a tail call: `caller` is the function that jumped to it */
	VESTIGE_TRACE_UNWOUND = 2,    /* did not return: throw, longjmp(), end of its thread */
	VESTIGE_TRACE_NO_EXIT = 4,    /* its exit was lost; it ends with the call around it */
	VESTIGE_TRACE_UNFINISHED = 8, /* still open at the end of the trace */
	VESTIGE_TRACE_BROKEN = 16,    /* records were lost while it was open */
	VESTIGE_TRACE_CUT_BEGIN = 64, /* open before the range of time: cut at the range's begin */
	VESTIGE_TRACE_CUT_END = 128,  /* open after the range of time: cut at the range's end */
	VESTIGE_TRACE_RESULT = 256,   /* `result` is valid */
};

/*
 * A record. Members that its kind does not have are 0 or NULL. The struct and its strings are
 * borrowed until the next vestige_trace_next().
 */
struct vestige_trace_record {
	uint32_t kind;	    /* one of enum vestige_trace_kind */
	uint32_t flags;	    /* CALL: bits of enum vestige_trace_flag */
	uint64_t time;	    /* CALL: when it began; others: when it happened */
	uint64_t duration;  /* CALL: from its begin to its end */
	uint64_t self;	    /* CALL: duration less the calls that it made and its suspensions */
	uint64_t address;   /* ENTER, CALL, FUNCTION: the function, see vestige_trace_function() */
	uint64_t caller;    /* the same kinds: an address in the caller; 0: not known */
	uint64_t result;    /* CALL with VESTIGE_TRACE_RESULT: the register of the result */
	int32_t tid;	    /* the thread */
	int32_t pid;	    /* the thread's process; 0: not known */
	uint32_t cpu;	    /* UINT32_MAX: a call, which may have been on several CPUs */
	uint32_t depth;	    /* ENTER, CALL: number of calls around it, 0 for the outermost */
	const char *thread; /* the thread's name */
	/* ENTER, CALL, FUNCTION: the function's name, or its address as 0x...; EVENT: the event's
	 * name without its system; PRINT: "print", in a trace of another tool the event's name */
	const char *name;
	const char *object; /* base name of the function's object; NULL: the program's file */
	const char *system; /* EVENT: the event's system, such as "sched" */
};

/* General data of a trace. */
struct vestige_trace_info {
	const char *clock;	     /* trace_clock's word */
	const char *tracer;	     /* current_tracer's word; "nop": not known */
	const char *command;	     /* command line of the traced program; "": not known */
	const char *host;	     /* "Linux HOST RELEASE MACHINE"; "": not known */
	uint32_t nr_cpus;	     /* CPUs that the trace may have records of */
	uint32_t time_is_ns;	     /* 1: times are nanoseconds; 0: units of `clock` */
	uint64_t realtime_offset_ns; /* CLOCK_REALTIME minus the trace's clock; 0: not known */
	uint64_t lost; /* records lost so far; UINT64_MAX: some, their number is not known */
};

enum vestige_trace_type {
	VESTIGE_TRACE_UNSIGNED = 1, /* `number` is its value */
	VESTIGE_TRACE_SIGNED = 2,   /* `number` is its value, the sign extended to 64 bits */
	VESTIGE_TRACE_STRING = 3,   /* `data` ends with NUL, which `bytes` does not count */
	VESTIGE_TRACE_ARRAY =
		4, /* `bytes` at `data`, elements of `element_bytes`, in this CPU's byte order */
};

/* A field of an event. Borrowed until the next call with the same trace. */
struct vestige_trace_field {
	const char *name;
	uint32_t type;		/* enum vestige_trace_type */
	uint32_t bytes;		/* length of `data` */
	uint64_t number;	/* UNSIGNED, SIGNED: the value */
	const void *data;	/* the field's bytes in the record; STRING: a copy */
	uint32_t element_bytes; /* ARRAY: bytes of an element */
	uint32_t is_pointer;	/* 1: `number` is best shown in hexadecimal */
};

/*
 * vestige_trace_open() - open a recording.
 * @path: a trace.dat, a native recording, a spool, an area, or a trace of another tool.
 *
 * Return: a trace, to be closed with vestige_trace_close(); NULL with errno: ENOENT, EACCES, EINVAL
 * (the format is not known), EPROTO (the version of the format is not known), ENOMEM and others.
 */
struct vestige_trace *vestige_trace_open(const char *path);

/*
 * vestige_trace_open_live() - read the records of a running process as they come. A record that was
 * read is consumed, as with trace_pipe. The process does not wait for the reader: records that it
 * overwrites before they are read are counted as lost.
 * @pid: the process; 0: the only traced process that runs.
 *
 * Return: as vestige_trace_open(); also ESRCH: no such process is traced.
 */
struct vestige_trace *vestige_trace_open_live(int pid);

/*
 * vestige_trace_close() - close a trace and free all that was borrowed from it.
 * @t: NULL does nothing.
 */
void vestige_trace_close(struct vestige_trace *t);

/*
 * vestige_trace_error() - the reason why the last failed call in this thread failed.
 *
 * Return: one line without a newline; "" if no call has failed. Borrowed until the next failure in
 * this thread.
 */
const char *vestige_trace_error(void);

/* vestige_trace_version() - the version of the library, such as "0.1.0". A constant string. */
const char *vestige_trace_version(void);

/*
 * vestige_trace_info() - general data of the trace.
 *
 * Return: never NULL. Borrowed until vestige_trace_close(); the next call brings it up to date.
 */
const struct vestige_trace_info *vestige_trace_info(struct vestige_trace *t);

/*
 * Filters. They have to be set before the first vestige_trace_next(). A record must pass the
 * filters of every sort. If several functions, events or threads are set, one that matches is
 * enough. Filters of functions act on calls only, not on events and marks. A @glob is a pattern as
 * for fnmatch(); it is copied.
 *
 * Return: 0 or a negative errno value: EINVAL a wrong value, EBUSY records were read already, E2BIG
 * more than 256 filters of one sort, ENOMEM.
 */
/*
 * vestige_trace_kinds() - only records of these kinds.
 * @kinds: a sum of enum vestige_trace_kind, not 0. At first all but VESTIGE_TRACE_ENTER.
 */
int vestige_trace_kinds(struct vestige_trace *t, uint32_t kinds);
/* vestige_trace_function_filter() - only calls of functions that match @glob, and calls in them. */
int vestige_trace_function_filter(struct vestige_trace *t, const char *glob);
/* vestige_trace_function_notrace() - no calls of functions that match @glob, nor calls in them. */
int vestige_trace_function_notrace(struct vestige_trace *t, const char *glob);
/* vestige_trace_event_filter() - only events whose `system:name` matches @glob; calls stay. */
int vestige_trace_event_filter(struct vestige_trace *t, const char *glob);
/*
 * vestige_trace_tid() - only records of thread @tid, 0 or more. May be called for several threads.
 */
int vestige_trace_tid(struct vestige_trace *t, int32_t tid);
/*
 * vestige_trace_range() - only records of a range of time. Calls that are open at a border of the
 * range are cut there (VESTIGE_TRACE_CUT_BEGIN, VESTIGE_TRACE_CUT_END).
 * @from: first time of the range, in the unit of the records' times.
 * @to: first time behind the range; 0: the range has no end. EINVAL unless it is after @from.
 */
int vestige_trace_range(struct vestige_trace *t, uint64_t from, uint64_t to);
/* vestige_trace_range_from_start() - the same; both times count from the first record. */
int vestige_trace_range_from_start(struct vestige_trace *t, uint64_t from, uint64_t to);
/*
 * vestige_trace_cpus() - only records of these CPUs. EINVAL for a live trace.
 * @list: numbers and ranges, such as "0,2-3".
 */
int vestige_trace_cpus(struct vestige_trace *t, const char *list);
/*
 * vestige_trace_max_depth() - only the outermost levels of calls, counted from the outermost call
 * that passes the other filters.
 * @levels: their number; 0, as at first: all.
 */
int vestige_trace_max_depth(struct vestige_trace *t, uint32_t levels);
/*
 * vestige_trace_min_duration() - only calls of at least @duration, in the unit of the records'
 * times. ENTER records are not filtered: they come before the duration is known.
 */
int vestige_trace_min_duration(struct vestige_trace *t, uint64_t duration);

/*
 * vestige_trace_timeout() - how long vestige_trace_next() waits for a record of a live trace. May
 * be called at any time.
 * @ms: milliseconds; -1, as at first: no limit.
 *
 * Return: 0, or -EINVAL: @ms is below -1.
 */
int vestige_trace_timeout(struct vestige_trace *t, int ms);

/*
 * vestige_trace_next() - the next record, in order of time; calls come in the order in which they
 * end.
 * @out: is set to the record, NULL if there is none. The record and its strings are borrowed until
 * the next vestige_trace_next() or vestige_trace_close().
 *
 * Return: 1; 0 at the end of the recording, or when the process of a live trace has ended; a
 * negative errno value. After ETIMEDOUT (see vestige_trace_timeout()) and EINTR (a signal came),
 * both of a live trace alone, it may be called again. All others are final: EIO and EINVAL (the
 * file is damaged), ENOMEM.
 */
int vestige_trace_next(struct vestige_trace *t, const struct vestige_trace_record **out);

/*
 * vestige_trace_buffer() - the buffer from which the last record came. A trace.dat may have
 * several: the kernel's buffer of `record -k`, and a buffer for each instance.
 *
 * Return: the buffer's name, "" for the top instance; borrowed until vestige_trace_close().
 */
const char *vestige_trace_buffer(struct vestige_trace *t);

/*
 * vestige_trace_text() - the rest of the last record, as `vestige report` prints it: the fields of
 * an EVENT, the text of a PRINT, the recorded arguments of ENTER and FUNCTION, the result of a
 * CALL.
 *
 * Return: "" if there is none; borrowed until the next call with @t; NULL with errno ENOMEM.
 */
const char *vestige_trace_text(struct vestige_trace *t);

/*
 * vestige_trace_field() - a field of the last record, which has to be an EVENT.
 * vestige_trace_field_find() - the same, found by its name.
 * @i: number of the field, from 0; common fields (common_pid, ...) do not count.
 *
 * Return: NULL if the record has no such field, or with errno ENOMEM; borrowed until the next call
 * with @t.
 */
const struct vestige_trace_field *vestige_trace_field(struct vestige_trace *t, unsigned int i);
const struct vestige_trace_field *vestige_trace_field_find(struct vestige_trace *t,
							   const char *name);

/*
 * vestige_trace_stack() - the calls that were open in the thread of the last record, the innermost
 * first. For an ENTER or CALL the first one is the record's own call. Only calls of the
 * function_graph tracer are known, because they have an entry and an exit. They are followed even
 * if vestige_trace_kinds() selects neither ENTER nor CALL.
 * @addresses: receives the functions' addresses; it has room for @max.
 *
 * Return: the number of open calls, which may be more than @max.
 */
unsigned int vestige_trace_stack(struct vestige_trace *t, uint64_t *addresses, unsigned int max);

/*
 * vestige_trace_function() - the name of the function at @address.
 * @address: an address of the traced program, as in a record.
 * @object: NULL, or is set to the base name of the function's object, NULL for the program's file.
 *
 * Return: NULL if no function is known there, or before the first vestige_trace_next(). The name
 * and
 * @object are borrowed until vestige_trace_close(); for a live trace, until the next
 * vestige_trace_next().
 */
const char *vestige_trace_function(struct vestige_trace *t, uint64_t address, const char **object);

/*
 * vestige_trace_source() - the source line of @address, such as `folder/file.c:12`. It comes from
 * the debug information of the object; the first call reads that information, which may take
 * seconds.
 *
 * Return: NULL if it is not known; borrowed until the next call with @t.
 */
const char *vestige_trace_source(struct vestige_trace *t, uint64_t address);

#ifdef __cplusplus
}
#endif

#endif
