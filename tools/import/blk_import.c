/* SPDX-License-Identifier: MIT */
/*
 * Recordings of blktrace, see tools/blk/blk_read.h. A name NAME.blktrace.CPU stands for the files
 * of all CPUs; a file of another name is one stream of all CPUs (`blktrace -o -`, `blkparse -d`). A
 * record becomes an event with the kernel's name of the action and blkparse's text. Times are the
 * recording's: CLOCK_MONOTONIC of the machine. Tests: tests/cli/test_import_blk.py,
 * tests/fuzz/import.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/blk/blk_line.h"
#include "tools/blk/blk_read.h"
#include "tools/import/import.h"

struct blk_import {
	struct import *im;
	struct blk_reader *reader;
	struct out line; /* into text */
	char text[IMPORT_LINE_BYTES];
	size_t bytes;
	uint64_t zero_ns;
};

/* The events of the kernel that blk's tracer takes the actions from. */
static const char *event_name(unsigned int act)
{
	static const char *const names[] = {
		[BLK_QUEUE] = "block_bio_queue",
		[BLK_BACKMERGE] = "block_bio_backmerge",
		[BLK_FRONTMERGE] = "block_bio_frontmerge",
		[BLK_GETRQ] = "block_getrq",
		[BLK_SLEEPRQ] = "block_sleeprq",
		[BLK_REQUEUE] = "block_rq_requeue",
		[BLK_ISSUE] = "block_rq_issue",
		[BLK_COMPLETE] = "block_rq_complete",
		[BLK_PLUG] = "block_plug",
		[BLK_UNPLUG_IO] = "block_unplug",
		[BLK_UNPLUG_TIMER] = "block_unplug_timer",
		[BLK_INSERT] = "block_rq_insert",
		[BLK_SPLIT] = "block_split",
		[BLK_BOUNCE] = "block_bio_bounce",
		[BLK_REMAP] = "block_bio_remap",
	};

	return act < sizeof(names) / sizeof(*names) ? names[act] : NULL;
}

static int put_text(void *arg, const char *text, size_t bytes)
{
	struct blk_import *own = arg;
	size_t room = sizeof(own->text) - 1 - own->bytes;

	if (bytes > room)
		bytes = room;
	memcpy(own->text + own->bytes, text, bytes);
	own->bytes += bytes;
	return 0;
}

static int take(struct blk_import *own, const struct blk_record *rec)
{
	bool is_message = BLK_HAS(&rec->e, BLK_CAT_NOTIFY);
	struct blk_line line = blk_line_of(rec);
	uint64_t ts = own->zero_ns + rec->e.time_ns, ip;
	int32_t thread;
	int err;

	if (!line.letters || ts > INT64_MAX) /* drv_data's, or damaged */
		return 0;
	line.name = blk_reader_name(own->reader, rec->e.pid);
	own->bytes = 0;
	blk_line_text(&own->line, rec, &line);
	out_flush(&own->line);
	if (own->bytes && own->text[own->bytes - 1] == '\n')
		own->bytes--;
	own->text[own->bytes] = '\0';
	err = import_thread(own->im, 0, rec->e.pid, &thread);
	if (!err && line.name)
		err = import_task(own->im, thread, 0, line.name);
	if (!err)
		err = import_function(
			own->im, is_message ? "blk_message" : event_name(BLK_ACT(rec->e.action)),
			NULL, &ip);
	return err ? err : import_text(own->im, rec->e.cpu, thread, ts, ip, own->text);
}

static int read_all(struct blk_import *own, const char *path)
{
	struct blk_record rec;
	struct timespec day;
	unsigned int input;
	int got, err = blk_reader_open(NULL, &path, 1, true, NULL, NULL, &own->reader);

	if (err)
		return err;
	own->zero_ns = blk_reader_zero(own->reader);
	while (!err && (got = blk_reader_next(own->reader, &input, &rec)) > 0)
		err = take(own, &rec);
	if (!err && !got && blk_reader_start(own->reader, &day) && day.tv_sec > 0)
		import_realtime(own->im, (uint64_t)day.tv_sec * 1000000000 + (uint64_t)day.tv_nsec -
						 own->zero_ns);
	blk_reader_close(own->reader);
	return err ? err : got;
}

static int blk_import_read(struct import_text *in, struct import *im)
{
	struct blk_import *own = calloc(1, sizeof(*own));
	int err = own ? out_init_sink(&own->line, put_text, own) : -ENOMEM;

	if (err) {
		free(own);
		return fail(ENOMEM, "out of memory");
	}
	own->im = im;
	err = read_all(own, in->path);
	(void)out_end(&own->line); /* its text has been taken */
	free(own);
	return err;
}

static bool blk_import_is(const char *head, size_t bytes)
{
	uint32_t magic;

	if (bytes < sizeof(struct blk_event))
		return false;
	memcpy(&magic, head, sizeof(magic));
	return (magic & ~0xffu) == BLK_MAGIC || (__builtin_bswap32(magic) & ~0xffu) == BLK_MAGIC;
}

const struct importer blk_importer = {"blktrace's recording", blk_import_is, blk_import_read, NULL};
