/* SPDX-License-Identifier: MIT */
/* Shared by the files of `record`: record.c, record_output.c, record_process.c. */
#ifndef VESTIGE_TOOLS_RECORD_IMPL_H
#define VESTIGE_TOOLS_RECORD_IMPL_H

#include <limits.h>
#include <stdbool.h>

#include "tools/code/symbols.h"
#include "tools/net/send.h"
#include "tools/reader/reader.h"
#include "tools/record/kernel.h"
#include "tools/record/launch.h"
#include "tools/record/libcall.h"
#include "tools/record/record.h"
#include "tools/record/recorder.h"
#include "tools/target/areas_dir.h"

#define RECORD_BOOT_BYTES (124 * 1024) /* the kernel takes 128 KiB for a variable */

struct record_run {
	struct record_options opt;
	struct areas_dir dir;
	struct launch launch;
	struct libcalls libcalls;
	unsigned int nr_files; /* of objects that were asked for them; the first is the program */
	struct net_sender *sender; /* NULL: the output stays here */
	struct spool_writer *spool;
	struct recorder *recorder;
	struct dat_live *live; /* the output, encoded while the program runs; NULL: it is not */
	struct kernel_record *kernel; /* NULL: the program alone */
	struct reader *kernel_reader;
	uint64_t kernel_clock_ns;   /* how exact its stamps are; 0: it is not known */
	char kernel_path[PATH_MAX]; /* of its trace.dat; "" none */
	struct recorder_summary sum;
	char spool_path[PATH_MAX];
	char boot[RECORD_BOOT_BYTES];
	char unmodified[RECORD_BOOT_BYTES]; /* names of objects, see hook/redirect.h */
	bool as_it_is;			    /* unmodified by default, not by a flag */
	char last_comm[16];		    /* of the program when it ended */
	int status;			    /* of the program, as exit() gives it */
	bool ended;			    /* the program has, or the recording of processes */
	bool ours;			    /* we failed */
};

/*
 * record_buffer_kb() - set opt->buffer_kb to the user's value, or the default. As record_spool().
 */
int record_buffer_kb(struct record_options *opt);

/*
 * record_spool() - make the file beside the output into which the records go.
 * @cmdline: the command in trace.dat. Return: 0 or -errno with fail() set.
 */
int record_spool(struct record_run *run, const char *cmdline);

/*
 * record_kernel() - the kernel's part, if one is asked for: it is made, nothing is recorded yet.
 * record_kernel_start() - it records from now on, of the threads of these @nr processes if it is limited.
 * As record_spool().
 */
int record_kernel(const struct record_options *opt, struct kernel_record **out);
int record_kernel_start(const struct record_options *opt, struct kernel_record *k, const int *pids,
			unsigned int nr);

/* The names of the kernel's functions, for its events that have addresses. */
void record_kernel_symbols(struct symbols *s);

/*
 * record_drain() - take the records until run->ended.
 * @signals: of record_whole(); readable, @signalled is called. @look: sets run->ended when that
 * is so, called every 10 ms. Return: as above.
 */
int record_drain(struct record_run *run, int signals,
		 void (*signalled)(struct record_run *run, int signals),
		 void (*look)(struct record_run *run));

/*
 * record_whole() - a recording between its preparation and its report: the spool, the kernel's part, the
 * signals that end it, @take, the output. A recording that fails leaves no spool.
 * @take: records; @signals is a descriptor of the blocked signals. Return: 0 or -errno with fail() set:
 * what @take returned, or EIO of a step before it.
 */
int record_whole(struct record_run *run, const char *cmdline,
		 int (*take)(struct record_run *run, int signals));

/* record_live() - begin to encode the output beside the program, if that is known to work. */
void record_live(struct record_run *run);

/* record_end() - recorder_finish(), and the kernel's part ends. */
void record_end(struct record_run *run);

/*
 * record_output() - write the output from the spool. If that fails, the spool stays and is named on
 * stderr.
 */
void record_output(struct record_run *run);

/*
 * record_leave() - processes of the recording that live on, such as a daemon that PROG became: their
 * tracers and events go off, and a line names them. Before record_end().
 */
void record_leave(struct record_run *run);

/* The way of -P: see record_process.c. Return: as above. */
int record_processes(struct record_run *run);

#endif
