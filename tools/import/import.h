/* SPDX-License-Identifier: MIT */
/*
 * Traces that other tools wrote, as a reader: each format is one file with a function that adds
 * what it finds to a struct import, and its row in import.c. Records are sorted and kept outside memory
 * where there are many (import_records.h); names of functions and threads are in memory.
 *
 * Calls begin and end in order of time within each thread; an end without a begin is left out.
 * Functions are known by name: their addresses are numbers of ours. Texts of events are as they
 * were: an event with one field (import_events.h). A text whose name is no event's is a record
 * RECORD_PRINT of a function of that name; where there are calls, a mark of name and text.
 */
#ifndef VESTIGE_TOOLS_IMPORT_H
#define VESTIGE_TOOLS_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/import/import_text.h"

struct import;

struct importer {
	const char *name; /* in errors, with its article */
	/* Is it that format, by the first bytes? They are followed by a NUL. */
	bool (*is)(const char *head, size_t bytes);
	/* Return: 0 or -errno with fail() set. */
	int (*read)(struct import_text *in, struct import *im);
	/* Of a format that is a folder, in->fd: the file in it with those bytes. NULL: a file. */
	const char *head_file;
	/* Of one that is known by more than a file's beginning, in place of head_file and is(). */
	bool (*is_folder)(int fd);
};

extern const struct importer blk_importer, chrome_importer, ctf_importer, ftrace_importer,
	kft_importer, perf_importer, perfetto_importer, uftrace_importer;

#define IMPORT_MAX_CPUS	   4096u
#define IMPORT_MAX_RECORDS (UINT64_C(1) << 28)

/*
 * Each returns 0, or -errno with fail() set, which read() returns.
 * @ip: gets the number of the function of that name.
 */
int import_function(struct import *im, const char *name, const char *object, uint64_t *ip);
/*
 * The thread that the file calls @pid, @tid; threads of other processes with that number are
 * different ones.
 */
int import_thread(struct import *im, int64_t pid, int64_t tid, int32_t *thread);
/* @thread: as import_thread() has it. */
int import_task(struct import *im, int32_t thread, int32_t pid, const char *comm);
/* CLOCK_REALTIME less the file's clock, if it is known. */
void import_realtime(struct import *im, uint64_t offset_ns);
int import_enter(struct import *im, unsigned int cpu, int32_t thread, uint64_t ts, uint64_t ip);
int import_leave(struct import *im, unsigned int cpu, int32_t thread, uint64_t ts);
/* A call whose length is known; in any order. It ends with the call around it at the latest. */
int import_call(struct import *im, int32_t thread, uint64_t ts, uint64_t ns, uint64_t ip);
int import_hit(struct import *im, unsigned int cpu, int32_t thread, uint64_t ts, uint64_t ip,
	       uint64_t parent_ip);
int import_text(struct import *im, unsigned int cpu, int32_t thread, uint64_t ts, uint64_t ip,
		const char *text);

#endif
