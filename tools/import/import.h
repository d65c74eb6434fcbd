/* SPDX-License-Identifier: MIT */
/*
 * A reader for traces of other tools. Each format has one file, with a function that adds its
 * records to a struct import, and a row in import.c. Records are sorted; many records are kept in
 * files (import_records.h). Names of functions and threads are in memory.
 *
 * Calls begin and end in order of time within each thread; an end without a begin is left out.
 * Functions are identified by name: their addresses are numbers that we choose. The text of an
 * event is kept as it is: the event has one field (import_events.h). A text whose name cannot be an
 * event's becomes a RECORD_PRINT of a function of that name; in a trace of calls, a mark of name
 * and text.
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
	/* Is it this format, by the first bytes? They are followed by a NUL. */
	bool (*is)(const char *head, size_t bytes);
	/* Return: 0 or -errno with fail() set. */
	int (*read)(struct import_text *in, struct import *im);
	/*
	 * If the format is a folder (in->fd): the file in it with these bytes. NULL: it is a file.
	 */
	const char *head_file;
	/*
	 * For a folder that needs more checks than the first bytes, in place of head_file and is().
	 */
	bool (*is_folder)(int fd);
};

extern const struct importer blk_importer, chrome_importer, ctf_importer, ftrace_importer,
	kft_importer, perf_importer, perfetto_importer, uftrace_importer;

#define IMPORT_MAX_CPUS	   4096u
#define IMPORT_MAX_RECORDS (UINT64_C(1) << 28)

/*
 * The functions for read(). Each returns 0, or -errno with fail() set, which read() returns.
 * @ip: gets the number of the function of that name.
 */
int import_function(struct import *im, const char *name, const char *object, uint64_t *ip);
/*
 * The number of the thread with @pid and @tid in the file; @tid alone may not be unique. @thread:
 * gets the number.
 */
int import_thread(struct import *im, int64_t pid, int64_t tid, int32_t *thread);
/* Name a thread. @thread: the number of import_thread(). */
int import_task(struct import *im, int32_t thread, int32_t pid, const char *comm);
/* Set CLOCK_REALTIME - the file's clock, if it is known. */
void import_realtime(struct import *im, uint64_t offset_ns);
int import_enter(struct import *im, unsigned int cpu, int32_t thread, uint64_t ts, uint64_t ip);
int import_leave(struct import *im, unsigned int cpu, int32_t thread, uint64_t ts);
/* A call of known length @ns, added in any order. It is cut at the end of the call around it. */
int import_call(struct import *im, int32_t thread, uint64_t ts, uint64_t ns, uint64_t ip);
int import_hit(struct import *im, unsigned int cpu, int32_t thread, uint64_t ts, uint64_t ip,
	       uint64_t parent_ip);
int import_text(struct import *im, unsigned int cpu, int32_t thread, uint64_t ts, uint64_t ip,
		const char *text);

#endif
