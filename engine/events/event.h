/* SPDX-License-Identifier: MIT */
/*
 * Events: the registry, and which are on in which instance. Everything under the tree's lock (or in
 * the loader's notification, which has it), except functions whose comment says that probes call
 * them.
 *
 *	event		SYSTEM:NAME, its id, fields and print format; made once, never freed: there
 *			may be records of it, and it may come back with the object that has it
 *	event_class	how an event of that sort is switched on and off
 * 	event_file an event in an instance, events/SYSTEM/NAME of it: passed to a probe; made at the
 * 	event's first use there, never freed: a probe may hold it
 */
#ifndef VESTIGE_EVENTS_EVENT_H
#define VESTIGE_EVENTS_EVENT_H

#include "engine/base/seq_buf.h"
#include "engine/core/trace_array.h"
#include "engine/events/filter/filter_chain.h"
#include "vestige/tracepoint.h"

#define EVENT_FIRST_ID	 32u /* those before it are the system ftrace's */
#define EVENT_MAX_FIELDS 256u

struct event;
struct event_file;
struct event_filter;
struct event_trigger;

struct event_class {
	/* Make records for @file from now on, or no more. Return: 0 or -errno. */
	int (*enable)(struct event *e, struct event_file *file, int on);
	/* When many are switched at once, one of these that cannot be on is no error, if others
	 * are. */
	uint8_t may_fail;
	/* They are tracepoints without a place in the program: their fields are the arguments. */
	uint8_t is_tracepoint;
};

struct event_field {
	const char *type;
	const char *name;
	uint32_t size;
	uint32_t offset; /* from the record's beginning */
	uint8_t is_signed;
	uint8_t filter_type; /* enum vestige_filter_type */
};

struct event {
	const char *system;
	const char *name;
	uint16_t id;
	uint8_t gone;	   /* its object was unloaded: there are no files of it */
	uint8_t described; /* its row of AREA_EVENTS is there */
	uint8_t padded;	   /* its records may have bytes that belong to no field */
	uint32_t nr_users; /* event probes that hang on it: it cannot be removed */
	uint32_t nr_fields;
	const struct event_field *fields; /* common fields excluded */
	const char *print_fmt;
	const struct event_class *class;
	void *data;		  /* the class's own */
	struct event_file *files; /* by instance */
	struct event *next;	  /* registered before it */
};

enum event_file_flag {
	EVENT_FILE_ENABLED = 1,	  /* by its enable file or set_event */
	EVENT_FILE_SOFT_MODE = 2, /* a trigger or a function's command may switch it */
	EVENT_FILE_SOFT_DISABLED =
		4,		   /* it is in soft mode and off: its probe runs without a record */
	EVENT_FILE_REGISTERED = 8, /* its probe is on */
};

struct event_file {
	struct vestige_event_file pub; /* first: probes know it */
	uint64_t head;		       /* of its records' head words: kind and id */
	uint32_t ring;		       /* the instance's */
	uint32_t flags;
	struct event *event;
	struct trace_array *tr;
	uint32_t soft_count;
	struct event_filter *filter; /* NULL: none */
	struct filter_chain chain;   /* the filter, where it is so simple */
	struct event_trigger *triggers;
	char *filter_error;	 /* what its file shows after a bad filter; NULL: there was none */
	struct event_file *next; /* of the event */
	struct tracepoint_func solo[2]; /* when it is a tracepoint's only probe */
};

/* Newest first, `gone` ones among them; behind events_settle(). */
extern struct event *events;

/* Some events are looked for only when needed: call this before reading `events`. */
void events_settle(void);
/* @settle: called by it, and not again before it has returned. */
void events_on_demand(void (*settle)(void));

/*
 * event_add() - register an event. @def: its names and fields are copied. @print_fmt: copied.
 * @data: the class's own. Return: the event, also one that was gone and is the same; NULL: there is
 * no memory, the ids are used up or (*@clash then set to it) there is another event of that name.
 */
struct event *event_add(const char *system, const char *name,
			const struct vestige_event_field *fields, const char *print_fmt,
			const struct event_class *class, void *data, struct event **clash);

/* It is no more: switched off everywhere, and no longer listed. */
void event_gone(struct event *e);

/* The event of that name, or NULL. */
struct event *event_find(const char *system, size_t system_bytes, const char *name,
			 size_t name_bytes);
const struct event_field *event_field(const struct event *e, const char *name, size_t n);

int event_name_is(const char *s, const char *name, size_t n);

/*
 * event_name_fits() - whether a pattern names an event: globs, and an empty part matches anything.
 * @either: only @name is given, and may be the system's or the event's.
 */
int event_name_fits(const char *event_system, const char *event_name, const char *system,
		    size_t system_bytes, const char *name, size_t name_bytes, int either);

/* Whether the fields are the event's. */
int event_same_fields(const struct event *e, const struct vestige_event_field *fields);

/* The event in an instance; NULL: no memory. */
struct event_file *event_file_get(struct event *e, struct trace_array *tr);
/* The same, or NULL when it was never used there. */
struct event_file *event_file_find(const struct event *e, const struct trace_array *tr);

static inline int event_file_is_on(const struct event_file *f)
{
	return f && f->flags & (EVENT_FILE_ENABLED | EVENT_FILE_SOFT_MODE) &&
	       !(f->flags & EVENT_FILE_SOFT_DISABLED);
}

/* Filters or triggers of all events of an instance have changed. */
void events_update(const struct trace_array *tr);

/* All of an instance's events are off, without filters and triggers. */
void events_clear(const struct trace_array *tr);

/* Whether one of an instance is on or has triggers. */
int events_any_on(const struct trace_array *tr);

/* Switch an event on or off in an instance. Return: 0 or -errno. */
int event_enable(struct event *e, struct trace_array *tr, int on);

/*
 * event_enable_soft() - a trigger may switch it from now on, or no more; counted.
 * Return: 0 or -errno.
 */
int event_enable_soft(struct event_file *f, int on);

/*
 * event_file_switch() - a trigger or a function's command switches it, if it is in soft mode.
 * event_file_may_switch() - whether that would change anything. Any context.
 */
void event_file_switch(struct event_file *f, int on);
int event_file_may_switch(const struct event_file *f, int on);

/*
 * event_set() - switch what a word of set_event names: `NAME`, `SYSTEM`, `SYSTEM:`, `SYSTEM:NAME`,
 * `*:*`, with `!` before it: off. Each part may be a glob: the kernel's `*` stands only for a whole part.
 * Return: 0; -EINVAL: it names nothing.
 */
int event_set(struct trace_array *tr, const char *word, size_t n);

/*
 * event_each() - call @act for each event that a word of set_event names (without `!`); events that were not
 * used yet are made. Return: how many there are.
 */
uint32_t event_each(const char *word, size_t n, void (*act)(void *arg, struct event *e), void *arg);

/* The text of `format`. */
void event_format(const struct event *e, struct seq_buf *s);

/* Put its format into the area, so that its records can be read. Return: 0 or -ENOSPC. */
int event_describe(struct event *e);

/* Set what a probe of @file does from now on, by its flags, filter and triggers. */
void event_file_update(struct event_file *f);

/* They make no record. */
extern const struct vestige_event_ops event_ops_none;

/*
 * event_write() - make a record of an event in C, for classes of our own.
 * @bytes: of the record from its common fields on. Return: as ring_reserve(). Any context.
 */
void *event_reserve(struct event_file *f, struct vestige_event_slot *slot, uint32_t bytes);
void event_commit(struct event_file *f, struct vestige_event_slot *slot);

#endif
