/* SPDX-License-Identifier: MIT */
/*
 * Triggers: actions at an event, events/SYSTEM/NAME/trigger. Under the tree lock, except
 * triggers_fire().
 */
#ifndef VESTIGE_EVENTS_TRIGGER_TRIGGER_H
#define VESTIGE_EVENTS_TRIGGER_TRIGGER_H

#include "engine/base/registry.h"
#include "engine/base/seq_buf.h"
#include "engine/events/event.h"
#include "engine/events/filter/filter.h"

#define TRIGGER_UNLIMITED INT64_MAX

struct event_trigger;
struct hist;

/*
 * Of each group an event may have one trigger (for a target, if it has one), except histograms and
 * probes.
 */
enum trigger_group {
	GROUP_HIST,
	GROUP_TRACING,
	GROUP_SWITCH,
	GROUP_SWITCH_HIST,
	GROUP_SNAPSHOT,
	GROUP_STACK,
	GROUP_PROBE, /* not made by a user: trigger_attach() */
};

/*
 * A trigger command. TRIGGER_REGISTER() registers it; the files `trigger` list commands by `order`.
 */
struct trigger_ops {
	const char *name;
	uint8_t order;	  /* the kernel's order in the list */
	uint8_t group;	  /* enum trigger_group */
	uint8_t targeted; /* `NAME:system:event` */
	uint8_t post;	  /* it fires after the event is recorded */
	/*
	 * Allocate what it needs, before the trigger is added; NULL: nothing. Return: 0 or -errno.
	 */
	int (*prepare)(struct trace_array *tr);
	/* Act. @record: the event's. Any context. */
	void (*fire)(struct event_trigger *t, const void *record);
};

REGISTRY(vestige_triggers, const struct trigger_ops);
#define TRIGGER_REGISTER(self) REGISTRY_ADD(vestige_triggers, self)

struct event_trigger {
	struct event_trigger *next;
	const struct trigger_ops *ops;
	struct event_file *file;
	struct event_file *target; /* the other event, if it switches one */
	struct event_filter *filter;
	int64_t count; /* how often it may still fire; if counted */
	int counted;
	struct hist *hist;
	void *data; /* of trigger_attach(), which is not listed; else NULL */
};

/* Its filter as it was written; NULL: none. */
const char *trigger_filter(const struct event_trigger *t);

/*
 * For histograms that need another histogram. trigger_make_hist() makes one for @f, as if a user
 * had written the line; trigger_drop_hist() says that it is no longer needed. Return: 0 or -errno.
 */
int trigger_make_hist(struct event_file *f, const char *text, size_t n);
void trigger_drop_hist(struct hist *h);

/*
 * trigger_attach() - call @ops->fire at each event, without being listed or written by a user.
 * @data: not NULL; trigger_detach() finds the trigger by it. @filter: for the event's records,
 * copied; NULL: none. Return: 0 or -errno. If the event is removed, it is detached, too; then no
 * thread is in @ops any more.
 */
int trigger_attach(struct event_file *f, const struct trigger_ops *ops, void *data,
		   const char *filter);
void trigger_detach(struct event_file *f, const struct trigger_ops *ops, const void *data);

/* The error in a command: the parser, the error and its position. */
struct trigger_error {
	char location[96]; /* "": nothing to log */
	const char *command;
	size_t bytes;
	struct parse_errors errors;
};

/*
 * trigger_store() - carry out one line of a trigger file: `[!]command[:arguments] [if filter]`.
 * Return: 0; -EINVAL, -EEXIST, -EBUSY, -ENOENT, -ENOMEM and *@error.
 */
int trigger_store(struct event_file *f, const char *text, size_t n, struct trigger_error *error);

/* Put the file's text; @f: NULL: the event was never used. */
void triggers_show(const struct event_file *f, struct seq_buf *s);

/* Put the text of hist_debug. */
void triggers_show_hists_debug(const struct event_file *f, struct seq_buf *s);

/* O_TRUNC: remove its histograms; other triggers stay. */
void triggers_clear_hists(struct event_file *f);

/* Remove all of its triggers. */
void triggers_clear(struct event_file *f);

/*
 * triggers_fire() - the event happened. @with_filter: fire the triggers with a filter, if it
 * matches; else the triggers without one. Any context, between ring_enter() and ring_leave().
 */
void triggers_fire(struct event_file *f, const void *record, int with_filter);

#endif
