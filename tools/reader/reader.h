/* SPDX-License-Identifier: MIT */
/*
 * A reader gives the records of any source in one form: an area (of a live or a dead process), a
 * spool, a trace.dat, or a trace of another tool.
 *
 * A reader has one stream a CPU, each ordered by time; merge.h merges them. Addresses are in the
 * address space of a trace.dat (see symbols.h). Stamps are nanoseconds of CLOCK_MONOTONIC, unless
 * `ts_is_ns` is false or `clock` names another clock.
 *
 * A reader is used by one thread at a time; two readers do not share anything.
 */
#ifndef VESTIGE_TOOLS_READER_H
#define VESTIGE_TOOLS_READER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "abi/area.h"
#include "abi/option.h"
#include "abi/record.h"

struct prototypes;
struct symbols;
struct tasks;
struct tep_handle;
struct formats;
struct printks;

/* The name that `record -k` gives to the buffer of the kernel's records. */
#define READER_KERNEL_BUFFER "kernel"

/*
 * `record -k` writes marks that begin so into the kernel's buffer, to compare its clock with ours.
 */
#define READER_CLOCK_MARK "vestige clock "

/* For record.lost: records were lost, but the number is not known. */
#define RECORD_LOST_UNKNOWN UINT64_MAX

/* Flags of record.graph: which data a record has that the ring's own records do not have. */
enum record_graph {
	/*
	 * It comes from a funcgraph_entry or funcgraph_exit of a trace.dat. It has depth (and
	 * duration, overrun). `task` is the number of its stack, 0 the thread's own. Each call has
	 * an EXIT, also one with RECORD_TAIL.
	 */
	RECORD_GRAPH_DEPTH = 1,
	/* EXIT: retval is set to the result register, also if the function returns void. */
	RECORD_GRAPH_RETVAL = 2,
	/* EXIT of a call that did not return. */
	RECORD_GRAPH_UNWOUND = 4,
	/* EXIT without an entry in the trace: duration is 0. */
	RECORD_GRAPH_NO_START = 8,
	/* EXIT of a call that has no entry because of tracing_thresh; DEPTH too. */
	RECORD_GRAPH_ALONE = 16,
	/* ENTRY, FUNCTION: args is set. */
	RECORD_GRAPH_ARGS = 32,
	/* Any kind: the record is of a further buffer (record_buffer()); overrun is unknown. */
	RECORD_OF_FURTHER = 64,
};

/*
 * A record. A reader converts kinds of the ring: RECORD_RETURN becomes RECORD_EXIT with RETVAL and
 * ALONE; RECORD_ENTRY_ARGS, RECORD_EXIT_VALUE and RECORD_FUNCTION_ARGS become the kinds without
 * values, with args or retval set. Fields without a meaning for a kind are 0, except ip: for
 * RECORD_UNWOUND and RECORD_STACK it is the record's number.
 */
struct record {
	/* ns, or units of the reader's clock */
	uint64_t ts;
	/*
	 * RECORD_FUNCTION, _ENTRY, _TAIL, _EXIT: the function's entry. RECORD_PRINT: the writing
	 * function, SYMBOLS_MARK_ADDR for a mark of ours. RECORD_EVENT: 0, or a symbol's address
	 * whose name is the event's name in another tool's file.
	 */
	uint64_t ip;
	union {
		/* RECORD_FUNCTION: the return address in the caller, 0 unknown */
		uint64_t parent_ip;
		/* RECORD_GRAPH_DEPTH, RECORD_EXIT: of the call, in units of ts */
		uint64_t duration;
	};
	uint64_t lost; /* records lost on this CPU just before this one */
	int32_t pid;   /* thread id */
	uint16_t cpu;
	uint16_t event;	       /* RECORD_EVENT: common_type */
	uint8_t kind;	       /* enum record_kind; RECORD_EVENT: its format explains data */
	uint8_t flags;	       /* common_flags */
	uint8_t preempt_count; /* common_preempt_count */
	uint8_t graph;	       /* enum record_graph */
	union {
		uint32_t data_bytes; /* RECORD_EVENT, RECORD_PRINT: size of data */
		uint32_t depth;	     /* RECORD_GRAPH_DEPTH */
	};
	union {
		/*
		 * RECORD_EVENT: the payload, common fields included. RECORD_PRINT: the text,
		 * without its NUL and the newline before that. Borrowed until the next read of this
		 * CPU.
		 */
		const void *data;
		uint64_t retval; /* RECORD_GRAPH_RETVAL */
		/* RECORD_GRAPH_ARGS: RECORD_NR_ARGS words, see record_arg(). Borrowed like data. */
		const void *args;
	};
	union {
		/* A number for the process in this reader; stacks are numbered by process. */
		uint32_t process;
		uint32_t overrun; /* RECORD_GRAPH_DEPTH, RECORD_EXIT */
	};
	uint32_t task; /* tells threads apart that had the same pid: see page_head.task */
};

/* Whether calls end at @rec, a RECORD_UNWOUND of the ring, and not at a time that is not known. */
static inline bool record_unwinds(const struct record *rec)
{
	return rec->ip && !(rec->ip & RECORD_UNWOUND_RETURNED);
}

/* Argument register @i, from 0, of a record with RECORD_GRAPH_ARGS. @args: its args. */
static inline uint64_t record_arg(const void *args, unsigned int i)
{
	uint64_t v;

	memcpy(&v, (const unsigned char *)args + 8u * i, sizeof(v));
	return v;
}

/*
 * `process` of the records of a further buffer is this plus the buffer's number, so their calls
 * have stacks of their own.
 */
#define RECORD_FURTHER_PROCESS 0x80000000u

/*
 * The buffer of a joined reader's record: 0 the first one, else a number for reader_buffer_name().
 */
static inline unsigned int record_buffer(const struct record *rec)
{
	return rec->graph & RECORD_OF_FURTHER ? rec->process - RECORD_FURTHER_PROCESS : 0;
}

/* The process of a record's thread; 0: not known, in a further buffer. */
static inline uint32_t record_process(const struct record *rec)
{
	return record_buffer(rec) ? 0 : rec->process;
}

/* per_cpu/cpuN/stats, as the kernel has it. */
struct reader_cpu_stats {
	uint64_t entries;	 /* records that the stream holds */
	uint64_t overrun;	 /* overwritten before they were read */
	uint64_t commit_overrun; /* lost to nesting */
	uint64_t bytes;		 /* of the records, page headers excluded */
	uint64_t oldest_ts;	 /* ns, of the oldest record; 0 none */
	uint64_t now_ts;	 /* ns, when the statistics were taken */
	uint64_t dropped_events; /* refused, the buffer was full and did not overwrite */
	uint64_t read_events;	 /* taken out by a reader */
	uint64_t lost_at_end;	 /* losses after the last record, which are in no record.lost */
};

/* The sum of two counts of lost records, each of which may be RECORD_LOST_UNKNOWN. */
static inline uint64_t record_lost_sum(uint64_t a, uint64_t b)
{
	return a > RECORD_LOST_UNKNOWN - b ? RECORD_LOST_UNKNOWN : a + b;
}

/*
 * The number of calls that were open on a stack when its records began: thread @pid's own (process,
 * pid and task as in its records), or stack number @stack of the process.
 */
struct record_base {
	uint32_t process;
	int32_t pid;
	uint32_t task;
	uint32_t stack; /* 0: the thread's own */
	uint32_t nr;
	uint32_t reserved;
};

/* The end of a stack in a trace.dat, with its program: calls without an exit end at `ts`. */
struct record_end {
	uint32_t stack; /* its number, `task` of its records; 0: thread @pid's own */
	int32_t pid;
	uint64_t ts;
};

/* The maximum latency that a latency tracer has found; addresses are as in records. */
struct reader_latency {
	struct area_latency of;
	uint64_t begin_ts;  /* when it began, as record.ts */
	char lock_name[64]; /* the lock's variable, and the offset in it; "": not known */
};

struct reader;

/*
 * Successive records of one CPU. They are in `recs`; or, if that is NULL, they are graph records of
 * the ring (RECORD_ENTRY, _TAIL, _EXIT, _UNWOUND, _STACK) of one thread in columns, which take a
 * tenth of the time.
 */
struct run {
	unsigned int nr;
	const struct record *recs;
	const uint64_t *ts;
	const uint32_t *words;	   /* upper half of the head word: kind and a valid id */
	const uint64_t *functions; /* by id: ip */
	struct record head;	   /* the fields that all share; lost: before the first record */
};

#define RECORD_RUN_KIND(word)	  ((word) >> (RECORD_KIND_SHIFT - 32))
#define RECORD_RUN_ID(word)	  ((word)&RECORD_ID_MAX)
#define RECORD_RUN_WORD(kind, id) ((uint32_t)(kind) << (RECORD_KIND_SHIFT - 32) | (id))

struct reader_ops {
	/*
	 * Read the next records of one CPU, in order of time.
	 * @cpu: below reader->nr_cpus.
	 * @out: room for @max records.
	 * Return: how many were stored; 0 at the end; -errno with fail() set.
	 */
	int (*read)(struct reader *r, unsigned int cpu, struct record *out, unsigned int max);
	/* Free the reader and all data borrowed from it. */
	void (*close)(struct reader *r);
	/*
	 * Begin again with all CPUs. Of a live process, records of the first reading may have been
	 * overwritten. NULL: this source can be read once. Return: 0 or -errno with fail() set.
	 */
	int (*rewind)(struct reader *r);
	/*
	 * The same as read(), by runs; both may be used in turn. NULL: use read().
	 * @out: borrowed until the next read of this CPU.
	 * Return: 1; 0 at the end; -errno with fail() set.
	 */
	int (*read_run)(struct reader *r, unsigned int cpu, struct run *out);
	/*
	 * Give each graph record its depth, where possible: for a caller that does not read all
	 * CPUs. Call it before the first read. NULL: records have it already, or cannot have it.
	 */
	void (*find_depths)(struct reader *r);
	/*
	 * Add formats that @process has used for printing since, to printks. @process: of a record.
	 * NULL: not needed, as the source does not grow.
	 */
	void (*learn_printks)(struct reader *r, uint32_t process);
	/*
	 * A key of a process that is the same for all its images (exec starts a new one).
	 * @process: of a record. @ended: set to whether the process had ended at the end of the
	 * recording; false if that is not known. Return: a number that no other process has; 0: it
	 * is not known. NULL: it is not known for any process.
	 */
	uint64_t (*process_key)(struct reader *r, uint32_t process, bool *ended);
};

/* The public head of every reader; a source embeds it as its first member. */
struct reader {
	const struct reader_ops *ops;
	unsigned int nr_cpus;	     /* streams; CPU ids are 0 .. nr_cpus - 1 */
	unsigned int nr_cpus_online; /* for the `#P:` of the header */
	bool ts_is_ns;
	uint32_t subbuf_kb;	  /* KiB of a sub-buffer of trace_pipe_raw; 0: 4 */
	bool overwrite;		  /* the buffer overwrote its oldest records when full */
	bool graph;		  /* there are records of the kinds RECORD_ENTRY to RECORD_STACK */
	bool values;		  /* some have arguments or results */
	bool prints_are_events;	  /* RECORD_PRINT is another tool's text, named by ip */
	char clock[32];		  /* trace_clock's name, "local" for ours */
	char tracer[32];	  /* current_tracer, "nop" if unknown */
	char uname[256];	  /* "Linux host release machine" */
	char cmdline[256];	  /* of the traced program, "" unknown */
	uint64_t options_flipped; /* trace_options that differ from the default: reader_option() */
	uint64_t realtime_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC, 0 unknown */
	/* Options DATE and OFFSET of a trace.dat that is made of it, set by the caller; 0: none. */
	uint64_t date_us;
	int64_t ts_offset_ns;
	struct symbols *symbols;
	struct prototypes *prototypes;	/* from the source, see prototype.h; NULL: none */
	struct tasks *tasks;		/* comm by pid */
	struct reader_cpu_stats *stats; /* nr_cpus of them, NULL unknown */
	uint8_t long_bytes;	/* size of a long in its events: 4 or 8; 0: our own events, 8 */
	struct tep_handle *tep; /* formats of RECORD_EVENT; NULL when there is none */
	/*
	 * Facts about stacks that otherwise need a reading of all records; bases_known: they are
	 * known without.
	 */
	struct record_base *bases;
	size_t nr_bases;
	bool bases_known;
	struct record_end *ends; /* by stack, then pid; of a trace.dat alone */
	size_t nr_ends;
	bool leaves_unknown; /* only after find_depths() it is known which calls are leaves */
	const struct formats *formats; /* their texts; NULL none */
	/*
	 * Reading fails with EINTR once another thread has set it (reader_stopped()); NULL: never.
	 * Borrowed. The further readers have their own.
	 */
	const atomic_bool *stop;
	const struct reader_latency *latency; /* NULL: the records are not a latency tracer's */
	/* Of a trace.dat: the name of its buffer, "" the top one. Borrowed; NULL is "". */
	const char *buffer;
	/*
	 * Of a spool: it has no end, since its recorder was stopped, or still runs; it lacks
	 * records, since its disk was full.
	 */
	bool lacks_end, lacks_records;
	uint64_t end_mono_ns; /* of a spool: CLOCK_MONOTONIC at its end; 0: not known */
	/*
	 * A trace.dat's other buffers, of the same time: the kernel's (`record -k`), and the
	 * instances'. They have no tables of their own, and are closed with this reader.
	 * reader_join() makes one reader of all.
	 */
	struct reader **further;
	unsigned int nr_further;
	/*
	 * The name of a buffer that holds a text, not records, and has no reader; NULL: none.
	 * Borrowed.
	 */
	const char *text_buffer;
	const struct printks *printks; /* texts of our bprint and bputs; NULL none */
};

/* Whether an option of the traced process is on. */
static inline bool reader_option(const struct reader *r, enum area_option o)
{
	return area_option_on(r->options_flipped ^ AREA_OPTIONS_DEFAULT, o);
}

/* Return: -EINTR with fail() set. */
int reader_interrupted(void);

/* Return: 0; as reader_interrupted() once another thread has set r->stop. */
static inline int reader_stopped(const struct reader *r)
{
	return r->stop && atomic_load_explicit(r->stop, memory_order_relaxed) ? reader_interrupted()
									      : 0;
}

/* Return: as reader_ops.read(), or as reader_stopped(). */
static inline int reader_read(struct reader *r, unsigned int cpu, struct record *out,
			      unsigned int max)
{
	int err = reader_stopped(r);

	return err ? err : r->ops->read(r, cpu, out, max);
}

/* Does the clock of its stamps have a time of day? */
static inline bool reader_has_date(const struct reader *r)
{
	return r->ts_is_ns && r->realtime_offset_ns;
}

/*
 * reader_move_stamps() - move the stamps that a trace.dat of @r gets. @date: to the time of day,
 * see reader_has_date(). @offset_ns: later by that.
 */
static inline void reader_move_stamps(struct reader *r, bool date, int64_t offset_ns)
{
	if (date)
		r->date_us = r->realtime_offset_ns / 1000;
	r->ts_offset_ns = offset_ns;
}

/* How many records were lost after the last one, of all CPUs. */
static inline uint64_t reader_lost_at_end(const struct reader *r)
{
	uint64_t sum = 0;

	for (unsigned int c = 0; r->stats && c < r->nr_cpus; c++)
		sum = record_lost_sum(sum, r->stats[c].lost_at_end);
	return sum;
}

static inline void reader_close(struct reader *r)
{
	if (r)
		r->ops->close(r);
}

/*
 * reader_open() - open a file of any known format: a trace.dat, a spool, an area, or a trace of
 * another tool (tools/import).
 * @path: the file.
 * @out: on success the reader, to be closed with reader_close().
 * Return: 0 or -errno with fail() set: ENOENT, EACCES, EINVAL (none of the formats), EPROTO (a
 * version that this program does not read), ELOOP (an area that is a symbolic link).
 */
int reader_open(const char *path, struct reader **out);

/*
 * A file format that reader_open() knows by its first bytes. Each source defines one; the list is
 * in open.c.
 */
struct reader_format {
	const char *name; /* in errors, with its article */
	unsigned char magic[16];
	unsigned int magic_bytes;
	int (*open)(const char *path, struct reader **out); /* as reader_open() */
};

/*
 * reader_format_of() - the format of a file by its first bytes.
 * @head: 16 of them, zeros behind a shorter file's end. Return: NULL if it has none of the formats.
 */
const struct reader_format *reader_format_of(const unsigned char head[16]);

extern const struct reader_format reader_format_dat, reader_format_spool, reader_format_area;

/* As reader_open(), for one format each. */
int reader_open_dat(const char *path, struct reader **out);
int reader_open_spool(const char *path, struct reader **out);
int reader_open_area(const char *path, struct reader **out);
/*
 * A trace of another tool: a text or JSON that tools/import knows by its beginning.
 * Return: 0; 1 if it is none of them; -errno with fail() set.
 */
int reader_open_import(const char *path, struct reader **out);
/*
 * A spool without its records, which takes no time: its symbols, tasks and other tables.
 */
int reader_open_spool_tables(const char *path, struct reader **out);

/* Areas, some of which may be of the processes that a killed recorder has recorded. */
struct spool_areas {
	const char *const *paths;
	unsigned int nr;
	int recorder; /* its process id; 0: unknown */
};

/*
 * reader_open_spool_areas() - a spool. If it is incomplete, also the records that the recorder had
 * not fetched and that are still in the areas. Return: as reader_open_spool().
 */
int reader_open_spool_areas(const char *path, const struct spool_areas *areas, struct reader **out);

/*
 * reader_open_areas() - several areas as one stream, in order of time.
 * @nr: at least 1; if it is more, areas that are gone are left out. Return: as reader_open().
 */
int reader_open_areas(const char *const *paths, unsigned int nr, struct reader **out);

/*
 * Whether a latency tracer is on in an area: the snapshot is then the records of its maximum
 * latency.
 */
bool reader_keeps_latency(struct reader *r);

/* The snapshots of several areas. *@allocated: one of them has memory for a snapshot. */
int reader_open_snapshots(const char *const *paths, unsigned int nr, struct reader **out,
			  bool *allocated);
/* The same; -ENOENT: none of them has memory for a snapshot. */
int reader_open_taken_snapshots(const char *const *paths, unsigned int nr, struct reader **out);

#endif
