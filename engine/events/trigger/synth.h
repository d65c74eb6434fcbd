/* SPDX-License-Identifier: MIT */
/*
 * Synthetic events: `NAME type field; type field ...`, whose records are made by an action of a
 * histogram (synth_fire()), not by a call of the program. They are in the system `synthetic`, and
 * have files as any other. Under the tree's lock, but for synth_fire().
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
	uint16_t size;	 /* as its format has it */
	uint32_t offset; /* in the record */
};

struct synth_event {
	struct dyn_event dyn; /* first */
	const char *name;
	struct event *event;
	uint32_t nr_users; /* actions that make it: it cannot go */
	uint32_t nr_fields;
	uint32_t fixed_bytes; /* of its records, without data of variable length */
	struct synth_field fields[];
};

/* The event of that name, or NULL. @name: @n bytes. */
struct synth_event *synth_find(const char *name, size_t n);

/* One line of synthetic_events: a definition, or `!NAME`. Return: 0 or -errno and *@error. */
int synth_command(const char *text, size_t n, struct dyn_error *error);
/* One of dynamic_events, `s:NAME ...`; -ECANCELED: it is none. */
int synth_dynamic_command(const char *text, size_t n, struct dyn_error *error);

/* Return: 0; -ENOENT; -EBUSY: it is on or an action makes it. */
int synth_remove(const char *name, size_t n);

/* The text of synthetic_events. */
void synth_show_all(struct seq_buf *s);

/* A field's type. */
struct synth_type {
	uint8_t kind;
	uint8_t is_signed;
	uint16_t size;
	const char *conversion; /* of its print format */
};

/*
 * synth_type_of() - the type of a field, `unsigned long[]`, `char[16]`.
 * Return: 0; -EINVAL: it is none; -ERANGE: its array is none.
 */
int synth_type_of(const char *type, struct synth_type *out);

/*
 * synth_define() - make the event. @fields: types and names are copied.
 * Return: 0 or -ENOMEM, -EEXIST.
 */
int synth_define(const char *name, size_t name_bytes, const struct synth_field *fields,
		 uint32_t nr);

/*
 * synth_fire() - make a record in each instance in which it is on. @vals: for each field: a number,
 * the address of a string, or the address of a stack: SYNTH_STACK_FRAMES places, or fewer and a
 * zero. Any context, between ring_enter() and ring_leave().
 */
void synth_fire(const struct synth_event *e, const uint64_t *vals);

#endif
