/* SPDX-License-Identifier: MIT */
/*
 * The blk tracer: the program's file I/O with the letters of blktrace, as the kernel's tracer of
 * that name prints them. Q is a call that is about to be made, C is its return. A sector is an
 * offset in the file, in units of 512 bytes, on the device of the file system. Only the kernel
 * knows where the data is on the disk, and it may be in the page cache. In the top instance alone.
 * fork: the child goes on. Tests: tests/engine/tracers/blk.
 */
#include "engine/arch/sys.h"
#include "engine/core/ftrace_formats.h"
#include "engine/core/tracer.h"
#include "engine/ring/ring_write.h"
#include "engine/sources/file_io.h"

#define SECTOR 512u

struct blk_record {
	uint64_t head, sector;
	uint32_t nr_sectors, bytes;
	uint32_t major, minor;
	int32_t error;
	char act, rwbs[3];
	int32_t tid, padding;
};

static void put_rwbs(char *to, const struct file_io *io)
{
	if (io->op == FILE_IO_FLUSH)
		*to++ = 'F';
	*to++ = io->op == FILE_IO_READ ? 'R' : 'W';
	if (io->sync)
		*to = 'S';
}

static uint32_t at_most_32(uint64_t v)
{
	return v < UINT32_MAX ? (uint32_t)v : UINT32_MAX;
}

static void note(const struct file_io *io)
{
	const uint64_t first = io->offset / SECTOR;
	struct ring_slot slot;
	struct blk_record *r;

	if (!ring_reserve(global_trace.ring, &slot, sizeof(*r)))
		return;
	r = (struct blk_record *)slot.words;
	r->sector = first;
	if (io->bytes)
		r->nr_sectors = at_most_32((io->offset % SECTOR + io->bytes + SECTOR - 1) / SECTOR);
	r->bytes = at_most_32(io->bytes);
	/* the kernel's dev_t, in the form that user space gets */
	r->major = (uint32_t)(io->device >> 8 & 0xfff) | (uint32_t)(io->device >> 32 & ~0xfffu);
	r->minor = (uint32_t)(io->device & 0xff) | (uint32_t)(io->device >> 12 & ~0xffu);
	r->error = io->error;
	r->act = io->done ? 'C' : 'Q';
	put_rwbs(r->rwbs, io);
	r->tid = sys_own_tid();
	ring_commit(&slot, RECORD_EVENT, RECORD_EVENT_ID(FTRACE_BLK, sizeof(*r)));
}

static struct file_io_listener listener = {.call = note};

static int blk_init(struct trace_array *tr)
{
	int err = ftrace_format_text(FTRACE_BLK);

	(void)tr;
	return err ? err : source_listen(&file_ios, &listener.link);
}

static void blk_reset(struct trace_array *tr)
{
	(void)tr;
	source_ignore(&file_ios, &listener.link);
}

static const struct tracer blk = {
	.name = "blk",
	.init = blk_init,
	.reset = blk_reset,
};
TRACER_REGISTER(blk);
