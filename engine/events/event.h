/* SPDX-License-Identifier: MIT */
/*
 * Events: the registry, and which are on in which instance. Everything is under the tree lock (or
 * in the loader's notification, which holds it), except functions that probe functions call: their
 * comments say so.
 *
 *	event		SYSTEM:NAME, its id, fields and print format; made once, never freed: there
 *			may be records of it, and it comes back with an object that is loaded again
 *	event_class	how an event of a sort is switched on and off
 *	event_file	an event in an instance, events/SYSTEM/NAME there; passed to a probe
 *			function; made when the event is first used there, never freed: a probe
 *			function may hold it
 */
#ifndef VESTIGE_EVENTS_EVENT_H
#define VESTIGE_EVENTS_EVENT_H

#include "engine/base/mem.h"
#include "engine/base/seq_buf.h"
#include "engine/core/trace_array.h"
#include "engine/events/filter/filter_chain.h"
#include "vestige/tracepoint.h"

#define EVENT_FIRST_ID	 32u /* lower ids are of the system ftrace */
#define EVENT_MAX_FIELDS 256u

struct event;
struct event_file;
struct event_filter;
struct event_trigger;

struct event_class {
	/* Start (@on) or stop making records for @file. Return: 0 or -errno. */
	int (*enable)(struct event *e, struct event_file *file, int on);
	/*
	 * When many events are switched at once, it is no error if some of this class cannot be on
	 * and others are.
	 */
	uint8_t may_fail;
	/*
	 * Its events are tracepoints without a site in the program: their fields are the arguments.
	 */
	uint8_t is_tracepoint;
};

struct event_field {
	const char *type;
	const char *name;
	uint32_t size;
	uint32_t offset; /* in the record */
	uint8_t is_signed;
	uint8_t filter_type; /* enum vestige_filter_type */
};

/* Does the record have the place of the data in it, `__data_loc T[]` or `__rel_loc T[]`? */
static inline int event_field_is_data_loc(const struct event_field *f)
{
	return str_starts(f->type, "__data_loc") || str_starts(f->type, "__rel_loc");
}

struct event {
	const char *system;
	const char *name;
	uint16_t id;
	uint8_t gone;	   /* its object was unloaded: it has no files */
	uint8_t described; /* it has a row of AREA_EVENTS */
	uint8_t padded;	   /* its records may have bytes that belong to no field */
	uint32_t nr_users; /* event probes that are attached to it: it cannot be removed */
	uint32_t nr_fields;
	const struct event_field *fields; /* without the common fields */
	const char *print_fmt;
	const struct event_class *class;
	void *data;		  /* for the class */
	struct event_file *files; /* one for each instance */
	struct event *next;	  /* the event registered before it */
};

enum event_file_flag {
	EVENT_FILE_ENABLED = 1,	  /* switched on by its enable file or set_event */
	EVENT_FILE_SOFT_MODE = 2, /* a trigger or a func command may switch it */
	EVENT_FILE_SOFT_DISABLED =
		4, /* it is in soft mode and off: its probe function runs and makes no record */
	EVENT_FILE_REGISTERED = 8, /* its probe function is registered */
};

struct event_file {
	struct vestige_event_file pub; /* first member: probe functions get its address */
	uint64_t head;		       /* head word of its records without the stamp: kind and id */
	uint32_t ring;		       /* number of the instance's ring */
	uint32_t flags;
	struct event *event;
	struct trace_array *tr;
	uint32_t soft_count;
	struct event_filter *filter; /* NULL: none */
	struct filter_chain chain;   /* the filter in a faster form, if it is simple enough */
	struct event_trigger *triggers;
	/* what its file shows after a bad filter; NULL: the last filter was good */
	char *filter_error;
	struct event_file *next;	/* next file of the same event */
	struct tracepoint_func solo[2]; /* array for a tracepoint whose only probe this is */
};

/* Newest first, with `gone` ones among them. Call events_settle() before. */
extern struct event *events;

/* Look for events that are only made when needed. Call this before reading `events`. */
void events_settle(void);
/* Set @settle, which events_settle() calls, and not again before it has returned. */
void events_on_demand(void (*settle)(void));

/*
 * event_add() - register an event. @fields: their names and types are copied. @print_fmt: copied.
 * @data: for the class. Return: the event, perhaps one that was gone and is the same; NULL: there
 * is no memory, the ids are used up, or there is another event of that name (then *@clash is that
 * event).
 */
struct event *event_add(const char *system, const char *name,
			const struct vestige_event_field *fields, const char *print_fmt,
			const struct event_class *class, void *data, struct event **clash);

/* The event's object is unloaded: switch it off everywhere, and list it no longer. */
void event_gone(struct event *e);

/* The event of that name, or NULL. event_field(): the field of that name, or NULL. */
struct event *event_find(const char *system, size_t system_bytes, const char *name,
			 size_t name_bytes);
const struct event_field *event_field(const struct event *e, const char *name, size_t n);

int event_name_is(const char *s, const char *name, size_t n);

/*
 * event_name_fits() - whether a pattern matches an event. Both parts may be globs, and an empty
 * part matches anything. @either: only @name is given, and may be the system's or the event's.
 */
int event_name_fits(const char *event_system, const char *event_name, const char *system,
		    size_t system_bytes, const char *name, size_t name_bytes, int either);

/* Whether the event has exactly these fields. */
int event_same_fields(const struct event *e, const struct vestige_event_field *fields);

/* The event's file in an instance, which is made if there is none; NULL: no memory. */
struct event_file *event_file_get(struct event *e, struct trace_array *tr);
/* The event's file in an instance; NULL: it was never used there. */
struct event_file *event_file_find(const struct event *e, const struct trace_array *tr);

static inline int event_file_is_on(const struct event_file *f)
{
	return f && f->flags & (EVENT_FILE_ENABLED | EVENT_FILE_SOFT_MODE) &&
	       !(f->flags & EVENT_FILE_SOFT_DISABLED);
}

/* Filters or triggers of an instance's events have changed: update all its files. */
void events_update(const struct trace_array *tr);

/* Switch all of an instance's events off, and remove their filters and triggers. */
void events_clear(const struct trace_array *tr);

/* Whether an event of the instance is on or has triggers. */
int events_any_on(const struct trace_array *tr);

/* Switch an event on or off in an instance. Return: 0 or -errno. */
int event_enable(struct event *e, struct trace_array *tr, int on);

/*
 * event_enable_soft() - allow triggers to switch the event (@on 1), or no longer (@on 0); the calls
 * are counted. Return: 0 or -errno.
 */
int event_enable_soft(struct event_file *f, int on);

/*
 * event_file_switch() - switch an event by a trigger or func command, if it is in soft mode.
 * event_file_may_switch() - whether that would change anything. Any context.
 */
void event_file_switch(struct event_file *f, int on);
int event_file_may_switch(const struct event_file *f, int on);

/*
 * event_set() - switch the events that a word of set_event names: `NAME`, `SYSTEM`, `SYSTEM:`,
 * `SYSTEM:NAME`, `*:*`; with `!` before it: off. Each part may be a glob, but the kernel's `*`
 * stands only for a whole part. Return: 0; -EINVAL: no event matches.
 */
int event_set(struct trace_array *tr, const char *word, size_t n);

/*
 * event_each() - call @act for each event that a word of set_event names (without `!`). Events that
 * were not used yet are made. Return: how many.
 */
uint32_t event_each(const char *word, size_t n, void (*act)(void *arg, struct event *e), void *arg);

/* Put the text of the file `format`. */
void event_format(const struct event *e, struct seq_buf *s);

/* Put the event's format into the area, so that its records can be read. Return: 0 or -ENOSPC. */
int event_describe(struct event *e);

/* Set what probe functions of @file do from now on, by its flags, filter and triggers. */
void event_file_update(struct event_file *f);

/* Operations that make no record. */
extern const struct vestige_event_ops event_ops_none;

/*
 * event_reserve() and its commit - make a record in C, for classes of our own. @bytes: size of the
 * record, common fields included. Return: as ring_reserve(). Any context.
 */
void *event_reserve(struct event_file *f, struct vestige_event_slot *slot, uint32_t bytes);
void event_commit(struct event_file *f, struct vestige_event_slot *slot);

#endif
