/* SPDX-License-Identifier: MIT */
/*
 * The I/O of one program by file, system call and function. A request belongs to a call if the
 * thread that queued it (Q) was in that call at that time. blk_times.c collects the requests. The
 * caller of blk_times() fills in the names from the program's recording (struct blk_program). The
 * tables are made here. Requests of a kworker are write-back of data that a program wrote earlier;
 * no record shows which program. Tests: tests/cli/test_blk_record.py.
 */
#ifndef VESTIGE_TOOLS_BLK_IO_H
#define VESTIGE_TOOLS_BLK_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/text/json.h"
#include "tools/text/out.h"

enum blk_io_of {
	BLK_IO_OTHER,	  /* another process */
	BLK_IO_WRITEBACK, /* a kworker */
	BLK_IO_THREAD,	  /* a thread of the program */
};

/* A request that was queued. */
struct blk_io {
	uint64_t ts_ns; /* when it was queued, CLOCK_MONOTONIC of the machine */
	uint64_t bytes;
	uint64_t q2c_ns; /* until it was complete; BLK_IO_OPEN */
	uint32_t tid;	 /* the thread that queued it */
	uint8_t of;	 /* enum blk_io_of */
	bool is_write;
	/* Borrowed from the struct blk_program, NULL: none is known. */
	const char *file, *call, *function;
};
#define BLK_IO_OPEN UINT64_MAX

/* The program's own recording. */
struct blk_program {
	/*
	 * Fill in `of`, `file`, `call` and `function` of requests, which are sorted by time.
	 * Return: 0 or -errno with fail() set.
	 */
	int (*find)(void *arg, struct blk_io *ios, size_t nr);
	void *arg;
};

struct blk_ios {
	struct blk_io *of;
	size_t nr, room;
};

/* Print the tables, behind btt's. Return: 0 or -ENOMEM with fail() set. */
int blk_ios_put(struct out *o, const struct blk_ios *ios);
/* The same as JSON: the member "program" of the object that @j is in. */
int blk_ios_json(struct json *j, const struct blk_ios *ios);

#endif
