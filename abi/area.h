/* SPDX-License-Identifier: MIT */
/*
 * The area: the file through which a traced process shows itself, in $VESTIGE_DIR or
 * /dev/shm/vestige-UID, named PID.STARTTIME (decimal; field 22 of /proc/PID/stat). Each instance of
 * the process has one more, PID.STARTTIME@NAME, with the same tables of objects and functions.
 *
 *	header | tables | page descriptors | pages
 *
 * The engine creates, maps and fills it. Tools read it by pread() and do not trust it: they check
 * each table's offset, count and entry size against the file before use. The file is sparse; the
 * counted entries of a table always have memory.
 *
 * Version rule: a reader refuses another major version. A newer minor version only appends fields
 * to structs (the header has their sizes) and adds tables; a reader uses the smaller of the two
 * sizes.
 */
#ifndef VESTIGE_ABI_AREA_H
#define VESTIGE_ABI_AREA_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define AREA_MAGIC UINT64_C(0x0045474954534556) /* "VESTIGE\0" on a little-endian machine */
#define AREA_MAJOR 1
#define AREA_MINOR 10

#define AREA_DIR_PREFIX "/dev/shm/vestige-" /* + UID */

/* Where the entries of one kind are. */
struct area_table {
	uint64_t offset; /* from the start of the file */
	uint32_t entry_bytes;
	uint32_t capacity; /* entries for which the file has room */
	uint32_t count;	   /* entries in use; grows, never shrinks */
	uint32_t reserved;
};
static_assert(sizeof(struct area_table) == 24, "area_table is part of the format");

enum area_table_id {
	AREA_OBJECTS,	/* struct area_object */
	AREA_FUNCTIONS, /* struct area_function; the index is the id in records */
	AREA_REFUSED,	/* struct area_refused: functions that cannot be traced */
	AREA_TASKS,	/* struct area_task */
	AREA_CLOCKS,	/* struct area_clock */
	AREA_BUFFERS,	/* struct area_buffer */
	AREA_CPUS,	/* struct area_cpu: one per buffer and CPU */
	AREA_STRINGS,	/* bytes: paths, NUL-terminated, named by offset into this table */
	AREA_STATUS,	/* bytes: the text of vestige_status */
	AREA_PAGES,	/* struct page_desc */
	AREA_FILES,	/* bytes: struct area_files and its text; since 1.1 */
	AREA_EVENTS,	/* struct area_event; since 1.1 */
	AREA_FORMATS,	/* bytes: the formats of events, each ended by a NUL; since 1.1 */
	AREA_PROBES,	/* struct area_probe; since 1.1 */
	AREA_SNAPSHOTS, /* struct area_snapshot: one per row of AREA_CPUS; since 1.1 */
	AREA_PENDING,	/* struct area_pending; since 1.1 */
	AREA_HISTS,	/* struct area_hist; since 1.2 */
	AREA_HIST_ROOM, /* pieces of AREA_HIST_PIECE bytes; rows of AREA_HISTS have offsets in it */
	AREA_PRINTKS,	/* struct area_printk; since 1.3 */
	AREA_LATENCIES, /* struct area_latency: one per buffer; since 1.5 */
	AREA_PROFILE,	/* struct area_profile; since 1.8 */
	AREA_TIMES,	/* struct area_times: rows of AREA_PROFILE have indices of it; since 1.8 */
	AREA_NR_TABLES
};
#define AREA_MAX_TABLES	     16
#define AREA_MAX_MORE_TABLES 16 /* since 1.2 */

#define AREA_INSTANCE_BYTES 64	/* of an instance's name, NUL included */
#define AREA_INSTANCE_MARK  '@' /* before it in the name of its file */

enum area_state {
	AREA_STARTING = 0, /* tables are being filled */
	AREA_LIVE = 1,
	AREA_EXITED = 2, /* exit() was called; the last records may still come */
};

enum area_clock_id {
	AREA_CLOCK_TSC = 0,  /* invariant TSC; the pairs in AREA_CLOCKS convert it to nanoseconds */
	AREA_CLOCK_MONO = 1, /* CLOCK_MONOTONIC in ns */
};

struct area_header {
	uint64_t magic;
	uint16_t major;
	uint16_t minor;
	uint32_t header_bytes; /* sizeof(struct area_header) */
	uint32_t page_bytes;   /* PAGE_BYTES */
	uint32_t nr_tables;    /* AREA_NR_TABLES */
	uint64_t file_bytes;   /* size of the file */
	uint64_t pages_offset; /* where page 0 lies; a multiple of page_bytes */
	int32_t pid;
	uint32_t uid;
	uint64_t start_time;  /* field 22 of /proc/PID/stat, clock ticks since boot */
	uint8_t image_id[16]; /* AT_RANDOM's bytes, mixed: another value after exec */
	uint32_t state;	      /* enum area_state */
	uint32_t clock;	      /* enum area_clock_id */
	uint64_t reader_gen;  /* the reader adds one after it has freed pages */
	uint32_t nr_cpus;     /* possible CPUs: a cpu in a page is below this */
	uint32_t tracing_on;
	uint32_t recorder;	    /* pid of the recorder that drains this area; 0: none */
	uint32_t status_bytes_lost; /* bytes that did not fit into vestige_status */
	/* calls that had no control block for their record, some in a fork's child */
	uint64_t untraced_calls;
	char session[64]; /* VESTIGE_SESSION, NUL-terminated */
	char exe[64];	  /* base name of the program, NUL-terminated */
	struct area_table tables[AREA_MAX_TABLES];
	/* since 1.1: the instance's name, NUL-terminated; "": the area of the top instance */
	char instance[AREA_INSTANCE_BYTES];
	/* since 1.2: the tables whose number is AREA_MAX_TABLES or more */
	uint32_t nr_more_tables;
	uint32_t nr_instances; /* since 1.2: instances; each has an area beside this one */
	struct area_table more_tables[AREA_MAX_MORE_TABLES];
	/* since 1.2: where the struct area_stack is; 0: there is none */
	uint64_t stack_offset;
	/* since 1.3: CLOCK_MONOTONIC in ns; the process has carried out all writes to its session
	 * up to that time (abi/session.h) */
	uint64_t session_ns;
	/*
	 * since 1.4: inodes of the PID and time namespaces of `pid` and `start_time`; 0: not known
	 */
	uint32_t pid_ns, time_ns;
	/* since 1.5: where the struct area_oops is; 0: there is none */
	uint64_t oops_offset;
	/* since 1.6: not 0: the agent writes records of the kernel (perf) later than they happened.
	 * Before it reads a control file for a client, it writes all that the kernel has. */
	uint32_t late_records;
	/* since 1.8: function_profile_enabled */
	uint32_t profile_on;
	/* since 1.8: when the profiler was last switched on, in clock units (0: never); the calls
	 * since then that it did not count, because no row was free for their function */
	uint64_t profile_since;
	uint64_t profile_missed;
	/*
	 * since 1.9: offset into AREA_STRINGS of the names of func commands, with a blank between
	 * two: first AREA_FUNC_COMMANDS, then the others. 0: AREA_FUNC_COMMANDS alone.
	 */
	uint32_t func_commands;
	uint32_t reserved;
};
/* The table with number @id (enum area_table_id) of the header @head, which may be const. */
#define AREA_TABLE(head, id)                                                                       \
	((id) < AREA_MAX_TABLES                                                                    \
		 ? &(head)->tables[(id) % AREA_MAX_TABLES]                                         \
		 : &(head)->more_tables[((id)-AREA_MAX_TABLES) % AREA_MAX_MORE_TABLES])
/* The numbers of tables in `tables` and in `more_tables`; together AREA_NR_TABLES. */
#define AREA_NR_FIRST_TABLES  (AREA_NR_TABLES < AREA_MAX_TABLES ? AREA_NR_TABLES : AREA_MAX_TABLES)
#define AREA_NR_MORE_TABLES   (AREA_NR_TABLES - AREA_NR_FIRST_TABLES)
#define AREA_HEADER_BYTES_1_0 offsetof(struct area_header, instance)
static_assert(sizeof(struct area_header) <= 4096, "the header fits its page");

/*
 * The stack tracer's result: the deepest stack of any thread of the program, its functions from the
 * innermost outwards, at most AREA_STACK_FRAMES.
 */
#define AREA_STACK_FRAMES 500u
struct area_stack_frame {
	uint64_t ip;	/* return address of the call that it makes */
	uint64_t depth; /* bytes of the stack in use there */
};
struct area_stack {
	uint32_t gen; /* odd while it is written; a copy is good when it was even and the same */
	uint32_t enabled;   /* stack_tracer_enabled */
	uint64_t max_bytes; /* stack_max_size; after a write to it, not the depth of the frames */
	int32_t tid;	    /* the thread of the stack */
	uint32_t nr_frames;
	struct area_stack_frame frames[AREA_STACK_FRAMES];
};
static_assert(sizeof(struct area_stack) == 24 + 16 * AREA_STACK_FRAMES,
	      "area_stack is part of the format");

/*
 * The last oops of the process: the fatal signal of which it died, or its last vestige_warn_on().
 * The text is as the process wrote it. From the numbers the tools add source lines and demangled
 * names.
 */
#define AREA_OOPS_FRAMES 128u
#define AREA_OOPS_REGS	 32u
#define AREA_OOPS_TEXT	 32768u
enum area_oops_kind {
	AREA_OOPS_NONE = 0,
	AREA_OOPS_SIGNAL = 1,
	AREA_OOPS_WARNING = 2,
};
enum area_oops_flag {
	AREA_OOPS_UNSURE =
		1,	     /* a frame: an address that was found on the stack, perhaps a caller */
	AREA_OOPS_EXACT = 2, /* a frame: an instruction that ran, not a return address */
};
struct area_oops_frame {
	uint64_t ip;
	uint32_t flags; /* enum area_oops_flag */
	uint32_t reserved;
};
struct area_oops {
	uint32_t gen;  /* odd while it is written; a copy is good when it was even and the same */
	uint32_t kind; /* enum area_oops_kind */
	uint32_t dump; /* ftrace_dump_on_oops: 0 nothing, 1 all records, 2 the thread's records */
	uint32_t nr;   /* oopses of the process so far */
	int32_t sig, code; /* si_signo, si_code */
	int32_t tid, cpu;
	uint64_t address; /* si_addr of a fault */
	int32_t sender;	  /* si_pid of a signal that was sent */
	uint32_t sender_uid;
	uint64_t stamp; /* clock units */
	char comm[16];	/* of the thread, NUL-terminated */
	uint32_t nr_regs, nr_frames, text_bytes;
	uint32_t given; /* not 0: the process has written the text to oops_file */
	/* x86-64: r8 to r15, di, si, bp, bx, dx, ax, cx, sp, ip, flags, segments, err, trapno,
	 * oldmask, cr2: as <sys/ucontext.h> has them */
	uint64_t regs[AREA_OOPS_REGS];
	struct area_oops_frame frames[AREA_OOPS_FRAMES];
	char text[AREA_OOPS_TEXT];
};
static_assert(sizeof(struct area_oops) ==
		      88 + 8 * AREA_OOPS_REGS + 16 * AREA_OOPS_FRAMES + AREA_OOPS_TEXT,
	      "area_oops is part of the format");

/* The number of tables that every minor version has. */
#define AREA_MIN_TABLES AREA_FILES

/*
 * The tree of control files as the process last wrote it, for tools that cannot or need not ask the
 * process. Text follows this struct. Each file is a line
 *
 *	MODE KIND SCOPE BYTES PATH\n
 *
 * and BYTES of its contents. MODE is octal.
 *
 *	KIND	e	the engine makes its text
 *		r	the tools render it from the area
 *		d	a folder whose files change; only the engine knows them
 *	SCOPE	i	each instance has one
 *		g	only the top instance has it
 *		c	per_cpu/cpuN/PATH, for each CPU
 *		o	options/PATH, an option
 *
 * There is no text for `c`, `o`, `r` and vestige_status, which are elsewhere in the area, nor for a
 * file of 100,000 bytes or more, or when there is no room. The text of events/ (since 1.2) has, for
 * each event that is not in its initial state,
 *
 *	SYSTEM:NAME ONSOFT FILTER TRIGGER\n
 *
 * and FILTER and TRIGGER bytes of the contents of these two files; ON is 0 or 1, SOFT `*` or `-`.
 * The first line has neither SYSTEM nor NAME and is the state of all other events.
 */
struct area_files {
	uint32_t gen;	/* odd while it is written; a copy is good when it was even and the same */
	uint32_t bytes; /* of text */
};
static_assert(sizeof(struct area_files) == 8, "area_files is part of the format");

/* A loaded ELF object, as dl_iterate_phdr() reports it. */
enum area_object_status {
	AREA_OBJECT_TRACED = 0,
	AREA_OBJECT_NO_SITES = 1,     /* no function in it begins with patchable NOPs */
	AREA_OBJECT_ENGINE = 2,	      /* libvestige itself */
	AREA_OBJECT_NO_ISLANDS = 3,   /* no free address range within 2 GiB of its text */
	AREA_OBJECT_NOT_WRITABLE = 4, /* mprotect() of its text was refused; see errno_value */
	AREA_OBJECT_VDSO = 5,
	AREA_OBJECT_LOADER = 6,	 /* ld.so: never patched, even when built for it */
	AREA_OBJECT_WAITING = 7, /* not scanned yet: its functions are not known */
};

#define AREA_BUILD_ID_MAX 20

/* An object whose functions were built without a site: where the analysis of them came from. */
enum area_analysis {
	AREA_ANALYSIS_NONE = 0,	  /* not analysed */
	AREA_ANALYSIS_MADE = 1,	  /* analysed in this process */
	AREA_ANALYSIS_CACHED = 2, /* read from a file that a tool made before */
};

struct area_object {
	uint64_t bias;	   /* run-time address - address in the file's program headers */
	uint64_t lo, hi;   /* run-time addresses that its PT_LOADs span, hi exclusive */
	uint64_t dev, ino; /* the file's; 0: it could not be opened */
	int64_t mtime_ns;
	uint32_t path;	 /* offset into AREA_STRINGS; absolute, or "" */
	uint32_t status; /* enum area_object_status */
	uint32_t errno_value;
	uint32_t first_function; /* its functions are consecutive in AREA_FUNCTIONS */
	uint32_t nr_functions;
	uint32_t nr_from_table; /* functions in __patchable_function_entries */
	uint32_t nr_from_scan;	/* functions found by symbol or FDE alone */
	uint32_t nr_refused;	/* refused for any reason; the first ones are in AREA_REFUSED */
	uint32_t nr_starts;	/* function starts known by symbol or FDE */
	uint8_t build_id_bytes; /* 0 none */
	uint8_t build_id[AREA_BUILD_ID_MAX];
	uint8_t analysis; /* enum area_analysis */
	uint8_t reserved[6];
	uint64_t load_stamp;   /* clock units; 0: it was loaded before the engine started */
	uint64_t unload_stamp; /* clock units; 0: it is still loaded */
};
static_assert(sizeof(struct area_object) == 128, "area_object is part of the format");

enum area_function_flag {
	AREA_FUNCTION_TABLE = 1,  /* named by __patchable_function_entries */
	AREA_FUNCTION_SYMBOL = 2, /* a symbol begins here */
	AREA_FUNCTION_FDE = 4,	  /* an FDE of .eh_frame begins here */
	AREA_FUNCTION_ENDBR = 8,  /* endbr64 precedes the NOPs */
	AREA_FUNCTION_PASSED_ON =
		16, /* its call of mcount is always passed on, on or off (gmon.out's arcs) */
	AREA_FUNCTION_TOUCHED = 32,    /* it was enabled once: touched_functions */
	AREA_FUNCTION_REDIRECTED = 64, /* AREA_BY_REDIRECT: its first instructions were replaced */
	AREA_FUNCTION_ENTRY_ONLY =
		128, /* it uses its return address, so its returns are not traced */
};

/* The compiler's flag that makes a function traceable. */
enum area_function_how {
	AREA_BY_NOPS = 0,   /* -fpatchable-function-entry, -mnop-mcount */
	AREA_BY_FENTRY = 1, /* -pg -mfentry: a call before the prologue */
	AREA_BY_MCOUNT = 2, /* -pg: a call behind the prologue; its calls, not its returns */
	AREA_BY_CYG = 3,    /* -finstrument-functions: calls at its entry and before its returns */
	AREA_BY_REDIRECT = 4, /* none: its first instructions run elsewhere, behind a site there */
};

enum area_function_filter {
	AREA_FILTER_TRACE = 1,	       /* in set_ftrace_filter; if no function is, all are traced */
	AREA_FILTER_NOTRACE = 2,       /* in set_ftrace_notrace */
	AREA_FILTER_GRAPH = 4,	       /* in set_graph_function */
	AREA_FILTER_GRAPH_NOTRACE = 8, /* in set_graph_notrace */
	AREA_FILTER_STACK = 16, /* in stack_trace_filter; if no function is, all are checked */
};

/* A function that can be traced. Its entry is bias + offset. */
struct area_function {
	uint32_t object;   /* index into AREA_OBJECTS */
	uint32_t offset;   /* of the function's first byte (endbr64 included) from the bias */
	uint8_t flags;	   /* enum area_function_flag */
	uint8_t nop_bytes; /* length of the site, NOPs or a call: 5 or more; 0 if it has none */
	uint8_t enabled;   /* not 0: patched now */
	uint8_t filter;	   /* enum area_function_filter */
	uint16_t site;	   /* offset of its site in bytes from its first byte */
	uint8_t how;	   /* enum area_function_how */
	uint8_t callbacks; /* number of its users: tracers, the program's callbacks, ... */
};
static_assert(sizeof(struct area_function) == 16, "area_function is part of the format");

/*
 * The func commands that each version numbers alike, from 1 in this order. An engine may have more:
 * area_header.func_commands. There are no blanks in a name.
 */
#define AREA_FUNC_COMMANDS                                                                         \
	"traceon traceoff dump cpudump enable_event disable_event snapshot stacktrace"
#define AREA_FUNC_COMMANDS_BYTES 512 /* of all names, NUL included */

/* A func command: what a call of a function does, a line of set_ftrace_filter. Rows are reused. */
struct area_probe {
	uint32_t function;
	uint8_t command; /* the number of its name in func_commands, from 1; 0: a free row */
	uint8_t counted; /* not 0: the command has a count */
	uint16_t event;	 /* of a command on an event, such as enable_event: its id; else 0 */
	int64_t count;	 /* times that it will still act; -1: no limit */
	uint64_t order;	 /* greater for a later command; the greatest is listed first */
};
static_assert(sizeof(struct area_probe) == 24, "area_probe is part of the format");

/* Words `glob:mod:OBJECT` of a filter for objects that are not loaded yet. */
enum area_pending_of {
	AREA_PENDING_FILTER,  /* set_ftrace_filter */
	AREA_PENDING_NOTRACE, /* set_ftrace_notrace */
	AREA_NR_PENDING
};
#define AREA_PENDING_BYTES 1024
struct area_pending {
	char words[AREA_PENDING_BYTES]; /* lines; NUL-terminated */
};

enum area_refusal {
	AREA_REFUSED_NO_NOPS = 1, /* does not begin with NOPs: built without the flag */
	AREA_REFUSED_SHORT = 2,	  /* fewer than five bytes of NOPs */
	AREA_REFUSED_CHANGED = 3, /* its bytes have changed since the scan (debugger, other tool) */
	AREA_REFUSED_RANGE = 4,	  /* farther than 2 GiB from its island */
	AREA_REFUSED_IDS = 5,	  /* the table of functions is full */
	AREA_REFUSED_RUNNING = 6, /* its NOPs cannot be changed while the program runs */
	AREA_REFUSED_ENTRY = 7,	  /* it cannot be redirected; nop_bytes: enum entry_why (object/) */
};

struct area_refused {
	uint32_t object;
	uint32_t offset;
	uint32_t reason; /* enum area_refusal */
	uint32_t nop_bytes;
};
static_assert(sizeof(struct area_refused) == 16, "area_refused is part of the format");

/*
 * An event that has been on in this process, so the ring may have records of it. Its format is the
 * text of events/SYSTEM/NAME/format, with which its records are decoded.
 */
struct area_event {
	uint32_t system; /* offset into AREA_STRINGS */
	uint32_t name;	 /* offset into AREA_STRINGS */
	uint32_t format; /* offset into AREA_FORMATS */
	uint32_t format_bytes;
	uint16_t id; /* common_type, in the record's head word */
	uint16_t reserved;
	uint32_t reserved2[3];
};
static_assert(sizeof(struct area_event) == 32, "area_event is part of the format");

/*
 * A constant format of trace_printk() or text of trace_puts() that has been printed in this
 * process. Records ftrace:bprint and ftrace:bputs have a hash of the text. So a text has the same
 * number in every process, and the row stays valid when the object is unloaded.
 */
struct area_printk {
	/* the hash: field fmt or str of the records; printk_formats shows it as the address */
	uint64_t number;
	uint32_t text; /* offset into AREA_FORMATS; NUL-terminated */
	uint32_t reserved;
};
static_assert(sizeof(struct area_printk) == 16, "area_printk is part of the format");

/*
 * A hist trigger of an event: a part of events/SYSTEM/NAME/hist. Rows are reused: after `gen` has
 * changed, a row may belong to another histogram. Offsets are in bytes from the beginning of
 * AREA_HIST_ROOM (area_hist.h).
 */
struct area_hist {
	uint32_t gen;	/* odd while the row changes */
	uint16_t event; /* the id of the event whose file shows it; 0: a free row */
	uint8_t paused;
	uint8_t reserved;
	uint64_t order; /* the file `hist` shows the trigger with the smallest one first */
	uint64_t about; /* offset of its struct area_hist_desc */
	/* offset of its struct area_hist_map, shared by triggers with the same name=; 0: there was
	 * no memory for it */
	uint64_t map;
	/*
	 * CLOCK_MONOTONIC: when it was made or last cleared; a fork's child has its parent's time
	 */
	uint64_t since_ns;
	uint64_t reserved2[3];
};
static_assert(sizeof(struct area_hist) == 64, "area_hist is part of the format");

#define AREA_HIST_PIECE 4096u

struct area_task {
	int32_t tid;
	int32_t tgid;
	char comm[16];	      /* NUL-terminated; the last name that was seen */
	uint64_t start_stamp; /* when the engine first saw it */
	uint64_t end_stamp;   /* 0 while it runs */
	uint64_t reserved[3];
};
static_assert(sizeof(struct area_task) == 64, "area_task is part of the format");

/* The same moment on both clocks; see docs/formats/area.md for the conversion. */
struct area_clock {
	uint64_t stamp;	  /* clock units: the middle between two reads of that clock */
	uint64_t mono_ns; /* CLOCK_MONOTONIC */
	uint64_t real_ns; /* CLOCK_REALTIME, taken next to it */
	uint64_t bracket; /* clock units between these reads: a bound of the error */
};
static_assert(sizeof(struct area_clock) == 32, "area_clock is part of the format");

enum area_buffer_flag {
	AREA_BUFFER_OVERWRITE = 1,
	/*
	 * since 1.5: a latency tracer is on. The snapshot has the longest stretch (AREA_LATENCIES),
	 * in pages of state PAGE_KEPT, and `trace` shows the snapshot.
	 */
	AREA_BUFFER_PRINT_MAX = 2,
};

/* trace_clock: the clock in which a reader shows a record's stamp. */
enum area_trace_clock {
	AREA_TRACE_LOCAL = 0, /* CLOCK_MONOTONIC in ns, as the next two */
	AREA_TRACE_GLOBAL = 1,
	AREA_TRACE_MONO = 2,
	AREA_TRACE_BOOT = 3,	  /* CLOCK_BOOTTIME: mono + clock_offset_ns */
	AREA_TRACE_TAI = 4,	  /* CLOCK_TAI: the same */
	AREA_TRACE_X86_TSC = 5,	  /* the stamp itself */
	AREA_TRACE_NONE = 6,	  /* calls have no stamp of their own, only their page's */
	AREA_TRACE_COUNTER = 7,	  /* stamps are not times: they count the records of the buffer */
	AREA_TRACE_UPTIME = 8,	  /* CLOCK_MONOTONIC in hundredths of a second */
	AREA_TRACE_PERF = 9,	  /* as local */
	AREA_TRACE_MONO_RAW = 10, /* CLOCK_MONOTONIC_RAW: mono + clock_offset_ns */
};

/* An instance's ring: its pages are consecutive, and each CPU has its share of them. */
struct area_buffer {
	char name[32];	    /* "" for the top instance */
	char tracer[32];    /* current_tracer */
	uint32_t first_cpu; /* its rows in AREA_CPUS are consecutive, one a CPU */
	uint32_t nr_cpus;
	uint32_t flags;	      /* enum area_buffer_flag */
	uint32_t trace_clock; /* enum area_trace_clock */
	uint64_t take_seq;    /* pages taken so far */
	uint64_t publish_seq; /* pages published so far */
	uint64_t options;     /* one bit each, see option.h */
	int64_t clock_offset_ns;
	uint32_t buffer_percent; /* percentage at which waiting readers are woken; 0: at any data */
	/* buffer_subbuf_size_kb, size of trace_pipe_raw's sub-buffers; 0: 4; since 1.2 */
	uint32_t subbuf_kb;
	uint64_t reserved2[1];
};
static_assert(sizeof(struct area_buffer) == 128, "area_buffer is part of the format");

/* One CPU's share of a buffer. Every counter counts from the buffer's begin. */
struct area_cpu {
	uint32_t cpu;
	uint32_t first_page;	 /* index into AREA_PAGES */
	uint32_t nr_pages;	 /* its quota */
	uint32_t nr_backed;	 /* the first nr_backed of these pages have memory */
	uint64_t hand;		 /* the search for a page begins here, modulo nr_backed */
	uint64_t overrun;	 /* records overwritten before a reader freed them */
	uint64_t dropped_events; /* records dropped because no page was free */
	uint64_t commit_overrun; /* records lost to nesting in signal handlers */
	uint64_t no_memory;	 /* times that a page could get no memory (/dev/shm is full) */
	/* when the share was last cleared: older records and losses do not count */
	uint64_t cleared_stamp;
	uint64_t cleared_overrun;
	uint64_t cleared_dropped;
	uint64_t cleared_commit;
	/* written by consuming readers: the number of records that they consumed, and of losses
	 * that they reported */
	uint64_t read_events;
	uint64_t told_lost; /* of dropped_events + commit_overrun, since the share was cleared */
	uint64_t told_overrun;
	uint64_t no_growth; /* times that a page was not backed: the thread makes no system calls */
	uint64_t reserved[1];
};
static_assert(sizeof(struct area_cpu) == 128, "area_cpu is part of the format");

/*
 * The snapshot of one CPU of a buffer. Times alone divide it from the live records, not pages:
 * records from from_stamp on and before to_stamp are in the snapshot; records from
 * area_cpu.cleared_stamp on are live. A swap sets cleared_stamp to the time of to_stamp. While a
 * snapshot is allocated, a CPU has twice its quota, in two shares of pages. Each swap changes the
 * share from which writers take pages, so that they do not overwrite the snapshot.
 */
struct area_snapshot {
	uint32_t first_page; /* of the second share; 0: there is none */
	uint32_t nr_backed;  /* as in area_cpu, for the second share */
	uint64_t hand;	     /* as in area_cpu */
	uint32_t live;	     /* 1: writers take pages of the second share */
	uint32_t allocated;  /* 0: no snapshot: the share that writers do not use has no records */
	uint32_t gen; /* odd while it is swapped; a copy is good when it was even and the same */
	uint32_t reserved_gen;
	uint64_t from_stamp;   /* clock units */
	uint64_t to_stamp;     /* 0: it is empty */
	uint64_t from_publish; /* pages published up to it have only records before from_stamp */
	uint64_t to_publish;   /* the same for to_stamp */
	/* the CPU's losses at from_stamp and at to_stamp */
	uint64_t from_overrun, from_dropped, from_commit;
	uint64_t to_overrun, to_dropped, to_commit;
	uint64_t reserved[2];
};
static_assert(sizeof(struct area_snapshot) == 128, "area_snapshot is part of the format");

/*
 * What the function profiler counts of one function on one CPU, since header.profile_since. An
 * unused row has kind 0. If two rows have the same function and CPU, a reader adds them.
 *
 * A time is in one bucket of octave 0 if it is below AREA_TIMES_BUCKETS ns, and else in octave o =
 * (number of its highest bit) - 4; the bucket is 2^(o - 1) ns wide (1 in octave 0), so that its
 * middle is within 1.6 % of each time in it. Octave o >= 1 begins at AREA_TIMES_BUCKETS << (o - 1).
 */
#define AREA_TIMES_BUCKETS 32u
#define AREA_TIMES_OCTAVES 40u
#define AREA_PROFILE_ROW   1u
struct area_profile {
	uint32_t kind; /* AREA_PROFILE_ROW; 0: not used */
	uint32_t function, cpu;
	uint32_t no_times; /* calls whose time is in no bucket, because AREA_TIMES was full */
	uint64_t hits;	   /* calls that began */
	uint64_t time_ns;  /* time of the calls that returned */
	uint64_t squares;  /* sum of the squares of these times, ns * ns */
	uint64_t self_ns;  /* time without the functions that they called, also of open calls */
	uint64_t max_ns;
	uint32_t times[AREA_TIMES_OCTAVES]; /* row of AREA_TIMES, from 1; 0: none in that octave */
	uint64_t reserved[5];
};
static_assert(sizeof(struct area_profile) == 256, "area_profile is part of the format");

struct area_times {
	uint64_t nr[AREA_TIMES_BUCKETS];
};
static_assert(sizeof(struct area_times) == 256, "area_times is part of the format");

/* The sort of a lock, for area_latency.lock_sort. */
enum area_lock_sort {
	AREA_LOCK_NONE = 0,
	AREA_LOCK_MUTEX = 1,
	AREA_LOCK_READER = 2, /* of an rwlock */
	AREA_LOCK_WRITER = 3,
	AREA_LOCK_SPIN = 4,
	AREA_LOCK_MTX = 5, /* C11 */
	AREA_LOCK_SEM = 6,
};

/* A thread that waited for the lock while it was held. */
#define AREA_LATENCY_WAITERS 4u
struct area_waiter {
	uint64_t waited_ns; /* until the stretch ended */
	int32_t tid;
	uint32_t reserved;
	char comm[16]; /* NUL-terminated */
};
static_assert(sizeof(struct area_waiter) == 32, "area_waiter is part of the format");

/*
 * The stretch that a latency tracer keeps: the longest one, or with tracing_thresh the last one
 * that was longer than that. The row changes while area_snapshot.gen of the buffer's rows is odd.
 */
struct area_latency {
	uint64_t from_stamp; /* clock units */
	uint64_t to_stamp;   /* 0: there is none yet */
	uint64_t latency_ns;
	uint64_t started_at,
		ended_at; /* return addresses of the calls that began and ended it; 0: unknown */
	int32_t tid;
	uint32_t cpu;  /* on which it ended */
	char comm[16]; /* NUL-terminated */
	uint32_t uid;
	int32_t nice;
	uint32_t policy, rt_prio;
	uint64_t lock;	     /* its address; 0: the stretch was not of a lock */
	uint64_t lock_site;  /* address in the code that allocated its memory; 0: unknown */
	uint32_t lock_sort;  /* enum area_lock_sort */
	uint32_t nr_waiters; /* all of them; the first AREA_LATENCY_WAITERS are below */
	struct area_waiter waiters[AREA_LATENCY_WAITERS];
	uint64_t reserved[5];
};
static_assert(sizeof(struct area_latency) == 272, "area_latency is part of the format");

#endif
