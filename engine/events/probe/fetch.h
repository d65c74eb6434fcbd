/* SPDX-License-Identifier: MIT */
/*
 * Arguments of dynamic probes: `dfd=%di`, `name=+0(%si):string`, `$retval:s64`. The grammar is the
 * kernel's (Documentation/trace/kprobetrace.rst there), one argument in each word. Parsed under the
 * tree lock; run by hits in any context.
 */
#ifndef VESTIGE_EVENTS_PROBE_FETCH_H
#define VESTIGE_EVENTS_PROBE_FETCH_H

#include <stddef.h>
#include <stdint.h>

#include "arch_frame.h"
#include "engine/base/seq_buf.h"
#include "engine/events/filter/filter.h"

#define FETCH_MAX_ARGS	 128u
#define FETCH_MAX_NAME	 32u
#define FETCH_MAX_TEXT	 63u /* of an argument, behind its `=` */
#define FETCH_MAX_DEREFS 13u
#define FETCH_MAX_ARRAY	 64u
#define FETCH_MAX_STRING 1024u /* bytes, NUL included: longer ones are cut */
#define FETCH_FAULT	 "(fault)"
#define FETCH_MAX_BEGUN	 14u /* arguments that are kept for the return, registers included */

enum fetch_base {
	FETCH_REG,
	FETCH_STACK,  /* the word at this distance in words above sp */
	FETCH_RETVAL, /* return probes: the result */
	/* return probes: errno of a failed call; `value`: the result that means failure */
	FETCH_ERRNO,
	/* return probes: an argument of the call, from its entry data; numbered from 0 */
	FETCH_BEGUN,
	FETCH_IMM,
	FETCH_COMM,
	FETCH_TEXT,
	FETCH_FIELD,   /* a field of another event's record */
	FETCH_INDEXED, /* a register, and another one times `scale`; for markers */
};

struct fetch_type {
	const char *name;
	const char *field;	/* the type in the format */
	const char *conversion; /* the conversion in the print format */
	uint8_t size;
	uint8_t is_signed;
	uint8_t is_string;
	uint16_t most; /* bytes of a string that are read at most; 0: FETCH_MAX_STRING */
};

struct fetch_arg {
	char name[FETCH_MAX_NAME + 1];
	char text[FETCH_MAX_TEXT + 1]; /* as it was written, type included */
	const struct fetch_type *type;
	const struct fetch_type *narrow; /* the type that is fetched, to be widened; NULL: `type` */
	uint8_t base;			 /* enum fetch_base */
	uint8_t reg;			 /* enum fetch_reg */
	uint8_t index, scale;		 /* FETCH_INDEXED; `reg` ARCH_NR_REGS: the index alone */
	uint8_t left, right;		 /* of a bitfield: shifts within its container */
	uint8_t text_at, text_bytes;	 /* FETCH_TEXT: offset and length in `text` */
	uint32_t count;			 /* elements of an array; 0: no array */
	uint32_t nr_derefs;
	const struct event_field *field;  /* FETCH_FIELD; valid as long as the event */
	uint64_t value;			  /* FETCH_IMM: the number; FETCH_STACK, FETCH_BEGUN: N */
	int64_t derefs[FETCH_MAX_DEREFS]; /* innermost first */
	uint32_t offset;		  /* in the record */
};

struct fetch_context {
	int is_return;
	int is_file;	 /* a uprobe: symbols are refused, file offsets are allowed */
	int is_function; /* an fprobe: arguments and results are allowed, registers are refused */
	/* an event probe: the event whose fields it has; NULL: another kind */
	const struct event *event;
	/* a tracepoint's arguments, or with `event` that event's fields instead */
	int is_tracepoint;
	/* Looks up `@SYMBOL`, or `@+OFFSET` in the probe's file. Return: 0 or -ENOENT. */
	int (*symbol)(void *arg, const char *name, size_t n, uint64_t *address);
	int (*file_offset)(void *arg, uint64_t offset, uint64_t *address);
	void *arg;
};

/*
 * One argument as it was written, and the meaning of its names; means_bytes 0: none is needed.
 */
struct fetch_word {
	const char *text, *means;
	size_t bytes, means_bytes;
};

/*
 * fetch_parse() - parse one argument. @index: its number, from 0; its name is made of it if it has
 * none. @others: the arguments before it, whose names are taken. Return: 0; -errno and *@error,
 * with positions from the word's beginning; -ENOENT: no such symbol.
 */
int fetch_parse(struct fetch_arg *arg, const struct fetch_word *word, uint32_t index,
		const struct fetch_arg *others, const struct fetch_context *ctx,
		struct parse_error *error);

/*
 * The text for an error in an argument's names that the tools found: enum probe_word_wrong; NULL:
 * none.
 */
const char *fetch_wrong(char which);

/* The integer type of that size (1, 2, 4, 8) and sign. */
const struct fetch_type *fetch_integer(uint32_t size, int is_signed);

/* Whether both arguments have the same name and type, so that they may be of one event. */
int fetch_same_field(const struct fetch_arg *a, const struct fetch_arg *b);

/* The size of the argument in the record's fixed part, in bytes. */
uint32_t fetch_field_bytes(const struct fetch_arg *arg);

/*
 * Put `0x%Lx` and the like, an array's in braces. The second function: the argument for it,
 * `REC->name`.
 */
void fetch_put_conversion(const struct fetch_arg *arg, struct seq_buf *s);
void fetch_put_value(const struct fetch_arg *arg, struct seq_buf *s);

/* Whether the name is a C identifier. */
int fetch_good_name(const char *name, size_t n);

/* What is known at a hit. */
struct fetch_regs {
	const uint64_t *r; /* indexed by enum arch_reg; NULL: not known */
	uint64_t ip, sp, retval;
	const uint64_t *begun; /* FETCH_BEGUN: the entry data, nr_begun words */
	uint32_t nr_begun;
	const uint8_t *record; /* the other event's record, for an event probe */
	int tid;	       /* of the calling thread */
	/* FETCH_KEPT bytes: short strings are kept there between the two functions below */
	char *kept;
	uint32_t nr_kept;
};

/*
 * Offset of each thread's errno from its thread pointer; known once an argument of a probe needs
 * it.
 */
extern ptrdiff_t fetch_errno_at;

#define FETCH_KEPT     512u
#define FETCH_NOT_KEPT UINT16_MAX

/* A string of a hit. */
struct fetch_string {
	uint16_t bytes; /* NUL included; 0: the argument has no string */
	uint16_t at;	/* offset in `kept`, or FETCH_NOT_KEPT */
};

/*
 * fetch_measure() - get the length of the argument's string, for fetch_store(), which may cut it.
 * Any context: no lock, no libc; memory is read by a system call, so a wrong address does no harm.
 */
struct fetch_string fetch_measure(const struct fetch_arg *arg, struct fetch_regs *regs);

/*
 * fetch_memory() - read memory of the program. @tid: the calling thread. Return: bytes that were
 * read.
 */
size_t fetch_memory(int tid, void *to, uint64_t address, size_t n);

/* fetch_store() - write the argument into a record. @string_at: offset for its string. */
void fetch_store(const struct fetch_arg *arg, const struct fetch_regs *regs, uint8_t *record,
		 uint32_t string_at, struct fetch_string string);

#endif
