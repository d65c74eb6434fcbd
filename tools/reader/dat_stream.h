/* SPDX-License-Identifier: MIT */
/* One CPU's sub-buffers in a trace.dat, read and decoded piece by piece. */
#ifndef VESTIGE_TOOLS_DAT_STREAM_H
#define VESTIGE_TOOLS_DAT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader.h"

/* Where a field of an event lies, as its format says; bytes is 0 if it has no such field. */
struct dat_field {
	uint16_t offset;
	uint16_t bytes;
};

/* What all CPUs of a file share. */
struct dat_layout {
	int fd;
	const char *path;    /* for fail() */
	uint32_t page_bytes; /* of a sub-buffer */
	uint32_t head_bytes; /* of its head: 16, or 12 with a long of 4 bytes */
	bool compressed;
	int32_t function_id; /* of ftrace:function, -1 none */
	int32_t print_id;    /* of ftrace:print, -1 none */
	int32_t entry_id;    /* of ftrace:funcgraph_entry, -1 none */
	int32_t exit_id;     /* of ftrace:funcgraph_exit, -1 none */
	struct dat_field type, flags, preempt_count, pid;
	struct dat_field ip, parent_ip; /* of ftrace:function */
	/* where args[] begin in those of newer kernels and ours, to the record's end; 0 none */
	uint16_t function_args, entry_args;
	struct dat_field print_ip; /* of ftrace:print, whose text begins at print_buf */
	uint16_t print_buf;
	/* of ftrace:funcgraph_entry and funcgraph_exit; stack and how are in files of ours alone */
	struct dat_field entry_func, entry_depth, entry_stack, entry_how;
	struct dat_field exit_func, exit_depth, exit_overrun, exit_calltime, exit_rettime;
	struct dat_field exit_retval, exit_stack, exit_how;
	int64_t ts_offset;    /* added to each stamp */
	uint32_t mult, shift; /* ns = (stamp * mult) >> shift; mult 0: stamps are ns */
};

struct dat_stream {
	const struct dat_layout *layout;
	unsigned int cpu;
	uint64_t start, end;  /* of the CPU's data in the file */
	uint64_t pos;	      /* what is loaded next */
	uint32_t chunks_left; /* compressed files */
	bool begun;
	unsigned char *buf; /* whole sub-buffers */
	size_t buf_room, buf_bytes, buf_pos;
	unsigned char *packed;
	size_t packed_room;
	const unsigned char *data; /* of the current sub-buffer, NULL none */
	uint32_t at, commit;	   /* in data */
	uint64_t ts;		   /* of the last event, raw */
	uint64_t page_ts;
	uint64_t lost; /* before the next record */
};

/* @bytes from @start are the CPU's; the caller has checked them against the file's size. */
void dat_stream_init(struct dat_stream *s, const struct dat_layout *layout, unsigned int cpu,
		     uint64_t start, uint64_t bytes);
/* Free what it has loaded and go back to the start. */
void dat_stream_reset(struct dat_stream *s);
/* As reader_ops.read. */
int dat_stream_read(struct dat_stream *s, struct record *out, unsigned int max);

#endif
