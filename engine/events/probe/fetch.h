/* SPDX-License-Identifier: MIT */
/*
 * Arguments of dynamic probes: `dfd=%di`, `name=+0(%si):string`, `$retval:s64`. The kernel's
 * grammar (Documentation/trace/kprobetrace.rst there), an argument a word. Parsed under the tree's
 * lock; run by hits in any context.
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
#define FETCH_MAX_TEXT	 63u /* of an argument behind its `=` */
#define FETCH_MAX_DEREFS 13u
#define FETCH_MAX_ARRAY	 64u
#define FETCH_MAX_STRING 1024u /* bytes, NUL included: longer ones are cut */
#define FETCH_FAULT	 "(fault)"
#define FETCH_MAX_BEGUN	 14u /* arguments that are kept for the return, with those in registers */

enum fetch_base {
	FETCH_REG,
	FETCH_STACK,  /* the word at this number of words above sp */
	FETCH_RETVAL, /* of return probes */
	FETCH_ERRNO, /* there: errno of a call that has failed; `value`: the result of such a one */
	FETCH_BEGUN, /* there: the argument of the call, which was kept when it began; from 0 */
	FETCH_IMM,
	FETCH_COMM,
	FETCH_TEXT,
	FETCH_FIELD,   /* of the record of another event */
	FETCH_INDEXED, /* a register, and another one times `scale`; of markers */
};

struct fetch_type {
	const char *name;
	const char *field;	/* as the format has it */
	const char *conversion; /* as the print format has it */
	uint8_t size;
	uint8_t is_signed;
	uint8_t is_string;
	uint16_t most; /* bytes of a string that are read; 0: FETCH_MAX_STRING */
};

struct fetch_arg {
	char name[FETCH_MAX_NAME + 1];
	char text[FETCH_MAX_TEXT + 1]; /* as it was written, type included */
	const struct fetch_type *type;
	const struct fetch_type *narrow; /* what is fetched, to be widened; NULL: `type` */
	uint8_t base;			 /* enum fetch_base */
	uint8_t reg;			 /* enum fetch_reg */
	uint8_t index, scale;		 /* FETCH_INDEXED; ARCH_NR_REGS as `reg`: only the index */
	uint8_t left, right;		 /* of a bitfield: shifts of its container */
	uint8_t text_at, text_bytes;	 /* FETCH_TEXT: where in `text` */
	uint32_t count;			 /* of an array's elements; 0: none */
	uint32_t nr_derefs;
	const struct event_field *field; /* FETCH_FIELD; it stays as long as the event has a name */
	uint64_t value;			 /* FETCH_IMM: itself; FETCH_STACK, FETCH_BEGUN: N */
	int64_t derefs[FETCH_MAX_DEREFS]; /* innermost first */
	uint32_t offset;		  /* in the record */
};

struct fetch_context {
	int is_return;
	int is_file;		   /* a uprobe: no symbols; file offsets are */
	int is_function;	   /* an fprobe: arguments and results, and no registers */
	const struct event *event; /* an event's probe: fields of that one; NULL: it is none */
	int is_tracepoint;	   /* arguments of one, or with `event` its fields instead */
	/* The address of `@SYMBOL`, or of `@+OFFSET` in the probe's file. 0 or -ENOENT. */
	int (*symbol)(void *arg, const char *name, size_t n, uint64_t *address);
	int (*file_offset)(void *arg, uint64_t offset, uint64_t *address);
	void *arg;
};

/*
 * One argument as it was written, and the meaning of its names; 0: it has no names that need one.
 */
struct fetch_word {
	const char *text, *means;
	size_t bytes, means_bytes;
};

/*
 * fetch_parse() - read one argument.
 * @index: which argument it is, from 0: its name when it has none.
 * @others: the arguments before it, whose names are used.
 * Return: 0; -errno and *@error, positions from the word's beginning; -ENOENT: no such symbol.
 */
int fetch_parse(struct fetch_arg *arg, const struct fetch_word *word, uint32_t index,
		const struct fetch_arg *others, const struct fetch_context *ctx,
		struct parse_error *error);

/*
 * The error in the names of an argument, as the writer gave it: enum probe_word_wrong; NULL: none.
 */
const char *fetch_wrong(char which);

/* An integer's type, by its size (1, 2, 4, 8) and sign. */
const struct fetch_type *fetch_integer(uint32_t size, int is_signed);

/* Whether the arguments have the same names and types: of one event then. */
int fetch_same_field(const struct fetch_arg *a, const struct fetch_arg *b);

/* The size of the argument in the record's fixed part, in bytes. */
uint32_t fetch_field_bytes(const struct fetch_arg *arg);

/* `0x%Lx` and the like, an array's in braces; the argument behind it: `REC->name`. */
void fetch_put_conversion(const struct fetch_arg *arg, struct seq_buf *s);
void fetch_put_value(const struct fetch_arg *arg, struct seq_buf *s);

/* A C identifier. */
int fetch_good_name(const char *name, size_t n);

/* The state of a hit. */
struct fetch_regs {
	const uint64_t *r; /* by enum arch_reg; NULL: not known */
	uint64_t ip, sp, retval;
	const uint64_t *begun; /* FETCH_BEGUN: their number */
	uint32_t nr_begun;
	const uint8_t *record; /* the other event's record, for an event's probe */
	int tid;	       /* of the calling thread */
	char *kept; /* FETCH_KEPT bytes: short strings stay there between the two below */
	uint32_t nr_kept;
};

/* Where each thread's errno is, from its thread pointer, once an argument of a probe wants it. */
extern ptrdiff_t fetch_errno_at;

#define FETCH_KEPT     512u
#define FETCH_NOT_KEPT UINT16_MAX

/* A string of a hit. */
struct fetch_string {
	uint16_t bytes; /* NUL included; 0: the argument has none */
	uint16_t at;	/* in `kept`, or FETCH_NOT_KEPT */
};

/*
 * fetch_measure() - the length of the argument's string, for fetch_store(), which may cut it. Any
 * context: no lock, no libc; memory is read by a system call, so a wrong address does no harm.
 */
struct fetch_string fetch_measure(const struct fetch_arg *arg, struct fetch_regs *regs);

/*
 * fetch_memory() - read memory of the program, by thread @tid, the caller. Return: how many bytes.
 */
size_t fetch_memory(int tid, void *to, uint64_t address, size_t n);

/* fetch_store() - write the argument into a record. @string_at: where its string goes. */
void fetch_store(const struct fetch_arg *arg, const struct fetch_regs *regs, uint8_t *record,
		 uint32_t string_at, struct fetch_string string);

#endif
