/* SPDX-License-Identifier: MIT */
/*
 * Synthetic events: `NAME type field; type field ...`. An action of a histogram makes their records
 * (synth_fire()), not a call of the program. They are in the system `synthetic`, and have the same
 * files as other events. Under the tree lock, except synth_fire().
 */
#ifndef VESTIGE_EVENTS_TRIGGER_SYNTH_H
#define VESTIGE_EVENTS_TRIGGER_SYNTH_H

#include "engine/events/probe/dynevent.h"
#include "engine/events/event.h"

#define SYNTH_MAX_FIELDS   64u
#define SYNTH_STRING_BYTES 256u /* of a string that is not dynamic, NUL included */
#define SYNTH_STACK_FRAMES 16u

enum synth_kind { SYNTH_NUMBER, SYNTH_STRING, SYNTH_DYN_STRING, SYNTH_STACK };

struct synth_field {
	const char *type; /* as it is listed */
	const char *name;
	uint8_t kind; /* enum synth_kind */
	uint8_t is_signed;
	uint16_t size;	 /* as in the format */
	uint32_t offset; /* in the record */
};

struct synth_event {
	struct dyn_event dyn; /* first member */
	const char *name;
	struct event *event;
	uint32_t nr_users; /* actions that make it; while there are any it cannot be removed */
	uint32_t nr_fields;
	uint32_t fixed_bytes; /* of its records, without data of variable length */
	struct synth_field fields[];
};

/* The event of that name, or NULL. @name: @n bytes. */
struct synth_event *synth_find(const char *name, size_t n);

/* Run a line of synthetic_events: a definition, or `!NAME`. Return: 0; -errno and *@error. */
int synth_command(const char *text, size_t n, struct dyn_error *error);
/*
 * Run a line `s:NAME ...` of dynamic_events. Return: the same; -ECANCELED: it is another kind of
 * line.
 */
int synth_dynamic_command(const char *text, size_t n, struct dyn_error *error);

/* Return: 0; -ENOENT; -EBUSY: it is on, or an action makes it. */
int synth_remove(const char *name, size_t n);

/* Put the text of synthetic_events. */
void synth_show_all(struct seq_buf *s);

/* A field's type. */
struct synth_type {
	uint8_t kind;
	uint8_t is_signed;
	uint16_t size;
	const char *conversion; /* conversion in the print format */
};

/*
 * synth_type_of() - parse a field's type, `unsigned long[]`, `char[16]`. Return: 0; -EINVAL: it is
 * no type; -ERANGE: the length of its array is wrong.
 */
int synth_type_of(const char *type, struct synth_type *out);

/*
 * synth_define() - make the event. @fields: types and names are copied. Return: 0, -ENOMEM or
 * -EEXIST.
 */
int synth_define(const char *name, size_t name_bytes, const struct synth_field *fields,
		 uint32_t nr);

/*
 * synth_fire() - make a record in each instance in which it is on. @vals: one for each field: a
 * number, the address of a string, or the address of a stack (SYNTH_STACK_FRAMES addresses, or
 * fewer and a zero). Any context, between ring_enter() and ring_leave().
 */
void synth_fire(const struct synth_event *e, const uint64_t *vals);

#endif
