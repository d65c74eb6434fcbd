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

#define RECORD_BOOT_BYTES (124 * 1024) /* the kernel's limit for a variable is 128 KiB */

struct record_run {
	struct record_options opt;
	struct areas_dir dir;
	struct launch launch;
	struct libcalls libcalls;
	unsigned int nr_files; /* files searched for library calls; the first is the program's */
	struct net_sender *sender; /* NULL: the output stays here */
	struct spool_writer *spool;
	struct recorder *recorder;
	struct dat_live *live; /* the output, if it is encoded while the program runs; else NULL */
	struct kernel_record *kernel; /* NULL: only the program is recorded */
	struct reader *kernel_reader;
	uint64_t kernel_clock_ns;   /* greatest error of its stamps; 0: not known */
	char kernel_path[PATH_MAX]; /* of its trace.dat; "" none */
	struct recorder_summary sum;
	char spool_path[PATH_MAX];
	char boot[RECORD_BOOT_BYTES];
	char unmodified[RECORD_BOOT_BYTES]; /* names of objects, see hook/redirect.h */
	bool as_it_is;			    /* unmodified by default, not by a flag */
	char last_comm[16];		    /* of the program when it ended */
	int status;			    /* of the program, as exit() gives it */
	bool ended; /* the program, or the recording of processes, has ended */
	bool ours;  /* vestige failed: CMD_OURS */
};

/*
 * record_buffer_kb() - set opt->buffer_kb to the user's value, or the default. As record_spool().
 */
int record_buffer_kb(struct record_options *opt);

/*
 * record_spool() - make the spool, the file beside the output to which records are written first.
 * @cmdline: the command in trace.dat. Return: 0 or -errno with fail() set.
 */
int record_spool(struct record_run *run, const char *cmdline);

/*
 * record_kernel() - prepare recording the kernel, if the user has requested it.
 * record_kernel_start() - start it; if it is limited, for the threads of these @nr processes.
 * Return: as record_spool().
 */
int record_kernel(const struct record_options *opt, struct kernel_record **out);
int record_kernel_start(const struct record_options *opt, struct kernel_record *k, const int *pids,
			unsigned int nr);

/* Add the names of the kernel's functions, for its events that have addresses. */
void record_kernel_symbols(struct symbols *s);

/*
 * record_drain() - drain records until run->ended is set.
 * @signals: from record_whole(); @signalled is called when it is readable. @look: called every 10
 * ms; sets run->ended when it is time. Return: as above.
 */
int record_drain(struct record_run *run, int signals,
		 void (*signalled)(struct record_run *run, int signals),
		 void (*look)(struct record_run *run));

/*
 * record_whole() - do a recording, except its preparation and its report: make the spool, prepare
 * the kernel's part, block the signals that end it, call @take, write the output. If it fails no
 * spool is left.
 * @take: does the recording; @signals is a signalfd of the blocked signals. Return: 0 or -errno
 * with fail() set: the result of @take, or EIO of a step before it.
 */
int record_whole(struct record_run *run, const char *cmdline,
		 int (*take)(struct record_run *run, int signals));

/* record_live() - begin to encode the output while the program runs, if the options allow that. */
void record_live(struct record_run *run);

/* record_end() - recorder_finish(), and end the kernel's part. */
void record_end(struct record_run *run);

/*
 * record_output() - write the output from the spool. If that fails, the spool stays and is named on
 * stderr.
 */
void record_output(struct record_run *run);

/*
 * record_leave() - switch tracers and events off in processes of the recording that still live,
 * such as a daemon, and print a line with their PIDs. To be called before record_end().
 */
void record_leave(struct record_run *run);

/* Record live processes (-P): see record_process.c. Return: as above. */
int record_processes(struct record_run *run);

#endif
