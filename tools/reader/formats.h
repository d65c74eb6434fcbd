/* SPDX-License-Identifier: MIT */
/*
 * The event formats of a trace.dat. The fields that our own decoder needs (the common fields and
 * ftrace:function) are read here, all others by libtraceevent.
 */
#ifndef VESTIGE_TOOLS_FORMATS_H
#define VESTIGE_TOOLS_FORMATS_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/code/symbols.h"

/* The system of events that are texts of another tool's trace; where their one field, the text, is. */
#define FORMATS_IMPORTED      "imported"
#define FORMATS_IMPORTED_TEXT 12u

struct dat_swap;
struct tep_handle;

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
	bool swap; /* its numbers are in the other byte order than ours */
	/* turns those of records round; NULL: they stay as they are. Owned by the file's reader. */
	const struct dat_swap *swaps;
	/*
	 * All records are wanted as their formats have them: none is decoded here, and the formats
	 * of the system ftrace are kept, too.
	 */
	bool as_is;
	int32_t function_id; /* of ftrace:function, -1 none */
	int32_t print_id;    /* of ftrace:print, -1 none */
	int32_t entry_id;    /* of ftrace:funcgraph_entry, -1 none */
	int32_t exit_id;     /* of ftrace:funcgraph_exit, -1 none */
	struct dat_field type, flags, preempt_count, pid;
	bool usual; /* these four lie where they are in every kernel, in our byte order */
	struct dat_field ip, parent_ip; /* of ftrace:function */
	/* where args[] begin in those of newer kernels and ours, to the record's end; 0 none */
	uint16_t function_args, entry_args;
	struct dat_field print_ip; /* of ftrace:print, whose text begins at print_buf */
	uint16_t print_buf;
	/* of ftrace:funcgraph_entry and funcgraph_exit; stack and how are in files of ours alone */
	struct dat_field entry_func, entry_depth, entry_stack, entry_how;
	struct dat_field exit_func, exit_depth, exit_overrun, exit_calltime, exit_rettime;
	struct dat_field exit_retval, exit_stack, exit_how;
	uint64_t ts_offset;   /* added to each stamp, modulo 2^64 */
	uint32_t mult, shift; /* ns = (stamp * mult) >> shift; mult 0: stamps are ns */
};

/*
 * An empty handle of files with longs of @long_bytes, in the other byte order if @swap, that names
 * functions by @s; NULL: no memory.
 */
struct tep_handle *formats_handle_new(struct symbols *s, unsigned int long_bytes, bool swap);

struct format {
	int32_t id;
	char *system; /* "ftrace", "sched", ... */
	char *text;   /* ended by NUL */
	size_t bytes; /* without it */
};

/* All of a file, as texts. Zeroed is empty. */
struct formats {
	struct format *at;
	size_t nr, room;
};

/*
 * formats_add() - keep an event's format, or read it if it is ftrace:function.
 * @text: malloced and ended by NUL; owned by this now.
 * A text without name or ID is left out: its events print as unknown.
 * Return: 0 or -ENOMEM.
 */
int formats_add(struct formats *f, struct dat_layout *layout, const char *system, char *text,
		size_t bytes);
void formats_free(struct formats *f);

/*
 * formats_parse() - give libtraceevent the formats of the events that occur.
 * @wanted: by id, 65536 of them.
 * libtraceevent 1.7.1 crashes on many texts that are no format. So a child process reads them
 * first, and texts on which it crashes are left out.
 * Return: 0, or -errno with fail() set when there can be no child.
 */
int formats_parse(const struct formats *f, struct tep_handle *tep, const bool *wanted);

/*
 * formats_tracer() - the tracer that makes events of the system ftrace of which one occurs; NULL:
 * none does. @seen: by id.
 */
const char *formats_tracer(const struct formats *f, const bool *seen);

/* Where field @name lies by a format's text; {0, 0} if it has none. */
struct dat_field formats_field(const char *text, const char *name);

#endif
