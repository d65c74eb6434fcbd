/* SPDX-License-Identifier: MIT */
/*
 * The event formats of a trace.dat. The fields that our own decoder needs (the common fields and
 * ftrace:function) are read here, all others by libtraceevent.
 */
#ifndef VESTIGE_TOOLS_FORMATS_H
#define VESTIGE_TOOLS_FORMATS_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/base/load_number.h"
#include "tools/code/symbols.h"

/* The system of events that hold a text of another tool's trace, and the offset of that text. */
#define FORMATS_IMPORTED      "imported"
#define FORMATS_IMPORTED_TEXT 12u

struct dat_swap;
struct tep_handle;

/*
 * The position of a field in an event's records, from its format; bytes 0: there is no such field.
 */
struct dat_field {
	uint16_t offset;
	uint16_t bytes;
};

/* The field's number in the @bytes of a record; 0 if the record has it not, or the event. */
static inline uint64_t formats_field_value(struct dat_field f, const void *record, uint32_t bytes,
					   bool swap)
{
	if (f.bytes > sizeof(uint64_t) || (uint32_t)f.offset + f.bytes > bytes)
		return 0;
	return load_number((const char *)record + f.offset, f.bytes, swap);
}

/* The facts of a file that hold for all its CPUs. */
struct dat_layout {
	int fd;
	const char *path;    /* for fail() */
	uint32_t page_bytes; /* of a sub-buffer */
	uint32_t head_bytes; /* of its head: 16, or 12 with a long of 4 bytes */
	bool compressed;
	bool swap; /* its numbers are in the other byte order than ours */
	/* swaps the numbers in records; NULL: they are not swapped. Owned by the file's reader. */
	const struct dat_swap *swaps;
	/*
	 * Give all records as they are in the file: none is decoded, and the formats of the system
	 * ftrace are kept, too.
	 */
	bool as_is;
	int32_t function_id; /* of ftrace:function, -1 none */
	int32_t print_id;    /* of ftrace:print, -1 none */
	int32_t entry_id;    /* of ftrace:funcgraph_entry, -1 none */
	int32_t exit_id;     /* of ftrace:funcgraph_exit, -1 none */
	struct dat_field type, flags, preempt_count, pid;
	bool usual; /* these four have the offsets of all kernels and our byte order */
	struct dat_field ip, parent_ip; /* of ftrace:function */
	/* offset of args[] in both (newer kernels, ours), up to the record's end; 0: none */
	uint16_t function_args, entry_args;
	struct dat_field print_ip; /* of ftrace:print, whose text begins at print_buf */
	uint16_t print_buf;
	/* of ftrace:funcgraph_entry and funcgraph_exit; only our files have stack and how */
	struct dat_field entry_func, entry_depth, entry_stack, entry_how;
	struct dat_field exit_func, exit_depth, exit_overrun, exit_calltime, exit_rettime;
	struct dat_field exit_retval, exit_stack, exit_how;
	uint64_t ts_offset;   /* added to each stamp, modulo 2^64 */
	uint32_t mult, shift; /* ns = (stamp * mult) >> shift; mult 0: stamps are ns */
};

/*
 * formats_handle_new() - an empty handle of libtraceevent. @s: names functions; borrowed.
 * @long_bytes: of a long in the file, 4 or 8. @swap: the file has the other byte order.
 * Return: the handle, freed by the caller; NULL: no memory.
 */
struct tep_handle *formats_handle_new(struct symbols *s, unsigned int long_bytes, bool swap);

struct format {
	int32_t id;
	char *system; /* "ftrace", "sched", ... */
	char *text;   /* ended by NUL */
	size_t bytes; /* without it */
};

/* All formats of a file, as texts. Zeroed is empty. */
struct formats {
	struct format *at;
	size_t nr, room;
};

/*
 * formats_add() - keep an event's format, or read it into @layout if its records are decoded here.
 * @text: malloced and ended by NUL; owned by @f in any case.
 * A text without name or ID is left out: its events are printed as unknown.
 * Return: 0 or -ENOMEM.
 */
int formats_add(struct formats *f, struct dat_layout *layout, const char *system, char *text,
		size_t bytes);
void formats_free(struct formats *f);

/*
 * formats_parse() - have libtraceevent parse the formats of the events that occur.
 * @wanted: by event id, 65536 of them: the event occurs.
 * libtraceevent 1.7.1 crashes on many texts that are no format. So a child process reads them
 * first, and texts on which it crashes are left out.
 * Return: 0, or -errno with fail() set when no child can be made.
 */
int formats_parse(const struct formats *f, struct tep_handle *tep, const bool *wanted);

/*
 * formats_tracer() - guess the tracer by the events of the system ftrace that occur.
 * @seen: by event id. Return: its name; NULL: no event of a tracer occurs.
 */
const char *formats_tracer(const struct formats *f, const bool *seen);

/* The position of field @name by a format's text; {0, 0}: there is no such field. */
struct dat_field formats_field(const char *text, const char *name);

#endif
