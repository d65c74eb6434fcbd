/* SPDX-License-Identifier: MIT */
/* Runs a program with the engine in it and writes its records to a trace.dat. */
#ifndef VESTIGE_TOOLS_RECORD_H
#define VESTIGE_TOOLS_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/record/event_rules.h"
#include "tools/record/kernel.h"

#define RECORD_MAX_PATTERNS 1024
#define RECORD_MAX_OPTIONS  64
#define RECORD_MAX_RULES    256
#define RECORD_MAX_PIDS	    64

struct record_options {
	const char *tracer;
	const char *output;
	const char *net; /* HOST:PORT of a listener, which gets the output; NULL: it stays here */
	uint64_t buffer_kb;   /* a CPU */
	uint64_t max_kb;      /* on disk, a CPU; 0 all */
	uint64_t graph_depth; /* 0 all */
	uint64_t thresh_us;   /* 0 none */
	uint64_t budget;      /* percent of a thread's time; 0: no guard */
	int file_version;
	bool unmodified; /* trace functions that were built without a flag, too */
	bool built_only; /* never trace them; neither is set: only if the program has no others */
	bool libcall;	 /* calls of the program's objects into others */
	bool no_native;
	bool native;	 /* the output is the native form */
	bool statistics; /* print statistics of each CPU at the end, even if no record was lost */
	bool no_summary; /* print neither them nor the two lines at the end */
	bool quiet;	 /* and no line while the file is written */
	struct {
		char kind;	   /* 'e', 'l', 'n', 'g', or 'G' for --graph-notrace */
		const char *text;  /* an event that is not recorded has a ! in front */
		bool negated;	   /* while flags are read: it will get a ! */
		bool has_trigger;  /* while flags are read: there was a -R for it */
		const char *names; /* the names in the objects that it matches; NULL: use text */
	} patterns[RECORD_MAX_PATTERNS];
	unsigned int nr_patterns;
	struct event_rule
		rules[RECORD_MAX_RULES]; /* -f and -R, behind the first ones the kernel's */
	unsigned int nr_rules, nr_kernel_rules;
	bool negate;	      /* events of the next patterns are not recorded */
	bool ignore_missing;  /* an event of the kernel that is not there is no error */
	bool date;	      /* stamps in the output are CLOCK_REALTIME's */
	int64_t ts_offset_ns; /* added to stamps in the output */
	bool kernel;	      /* record the kernel's events, too */
	struct kernel_event_wish kernel_events[RECORD_MAX_PATTERNS];
	unsigned int nr_kernel_events;
	const char *kernel_tracer; /* NULL: only its events */
	bool kernel_limited;	   /* only for threads of the program or the processes */
	const char *options[RECORD_MAX_OPTIONS]; /* words of trace_options */
	unsigned int nr_options;
	const char *boot;	   /* more words of VESTIGE_BOOT; NULL: none */
	int pids[RECORD_MAX_PIDS]; /* processes that run already, with the engine */
	unsigned int nr_pids;
	const char *session; /* pids are the processes of this session; NULL: the user named them */
	char **argv;	     /* the program, if no process is named */
};

/* The kernel's boot parameter that takes the patterns of a kind, in the order of VESTIGE_BOOT. */
struct record_param {
	char kind;
	const char *name;
};
#define RECORD_NR_PARAMS 5
extern const struct record_param record_params[RECORD_NR_PARAMS];

/* The control file that takes the patterns of a kind: functions, of a process that runs. */
#define RECORD_NR_LISTS 4
extern const struct record_param record_lists[RECORD_NR_LISTS];

/*
 * record() - run opt->argv and record it, or record the processes opt->pids until a signal or their
 * end. To be called once in a process. Return: the exit status: the program's; 0 for processes; or
 * CMD_OURS, CMD_CANNOT_EXEC, CMD_NOT_FOUND after a line on stderr.
 */
int record(const struct record_options *opt);

/*
 * record_take_session() - set opt->pids to the live processes of opt->session, at most
 * RECORD_MAX_PIDS.
 * Return: 0 or -errno with fail() set: there is none.
 */
int record_take_session(struct record_options *opt);

/*
 * record_open_killed() - open the spool of a killed recorder, with the records that are still in
 * the areas of its processes. Return: as reader_open().
 */
int record_open_killed(const char *spool, struct reader **out);

/*
 * record_kernel_half() - open the kernel's records of `record -k`, SPOOL.kernel, which are left
 * beside a spool if the writing of the output was ended.
 * @spool: the path of the spool. @r: its reader, which gets the names of the kernel's functions if
 * the machine has not been restarted since. @kernel: a reader, to be closed; NULL: there is no such
 * file.
 * Return: 0 or -errno with fail() set.
 */
int record_kernel_half(const char *spool, struct reader *r, struct reader **kernel);

#endif
