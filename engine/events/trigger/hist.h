/* SPDX-License-Identifier: MIT */
/*
 * Histograms of events: `hist:keys=op,size.log2:vals=bytes:sort=bytes.descending`. Under the tree
 * lock, except hist_fire().
 */
#ifndef VESTIGE_EVENTS_TRIGGER_HIST_H
#define VESTIGE_EVENTS_TRIGGER_HIST_H

#include "engine/base/seq_buf.h"
#include "engine/events/event.h"
#include "engine/events/filter/filter.h"

struct hist;

/* Commands of a line. */
enum hist_wish { HIST_MAKE, HIST_PAUSE, HIST_CONTINUE, HIST_CLEAR };

/*
 * hist_parse() - parse `hist:...` without the `if`. The histogram does not count before
 * hist_start(). @text: @n bytes, `hist` included. @remove: the line names a histogram that is to be
 * removed. @out: to be freed with hist_free(). Return: 0; -EINVAL, -EDOM with *@errors, which may
 * be empty: nothing to log; -ENOMEM.
 */
int hist_parse(const struct event_file *f, const char *text, size_t n, int remove,
	       struct hist **out, enum hist_wish *wish, struct parse_errors *errors);

/*
 * hist_actions_make() - make the events and histograms that its actions need, before hist_start().
 * Return: as hist_parse(); -EBUSY: another histogram of the instance takes snapshots.
 */
int hist_actions_make(struct hist *h, const struct event_file *f, const char *text, size_t n,
		      struct parse_errors *errors);

/* Whether other histograms refer to its variables, so that it cannot be removed. */
int hist_is_used(const struct hist *h);

/* @target is removed in any case: @h's references to it have no value from now on. */
void hist_forget(struct hist *h, const struct hist *target);

/*
 * hist_start() - get memory for counting, in the area of the instance. @filter: text of its
 * trigger's filter; NULL: none. Return: 0; -ENOMEM, -ENOSPC.
 */
int hist_start(struct hist *h, const struct event_file *f, const char *filter);

/*
 * hist_join() - if it has a name, and the instance has a histogram of that name, count into the
 * rows of that one. Before hist_start(). Return: 0; -EINVAL with *@errors: the other histogram has
 * other fields.
 */
int hist_join(struct hist *h, struct trace_array *tr, struct parse_errors *errors);

/* Register the function that sets an instance's trace_clock. Constructor context. */
void hists_set_clock_by(int (*set)(struct trace_array *tr, const char *name, size_t n));

/*
 * hist_use_clock() - if it uses times, set the instance's clock to the one that its line asks for.
 * Return: 0; -errno with *@errors.
 */
int hist_use_clock(const struct hist *h, struct trace_array *tr, struct parse_errors *errors);

/* Remove it from the files. Before it is freed, a grace period must end. */
void hist_stop(struct hist *h);
void hist_free(struct hist *h);

/* Whether both are the same except for their counts. */
int hist_same(const struct hist *a, const struct hist *b);

void hist_pause(struct hist *h, int paused);
int hist_paused(const struct hist *h);

/* Set all counts to 0. Return: 0; -ENOMEM, -ENOSPC. */
int hist_clear(struct hist *h);

/* Count a record. Any context, between ring_enter() and ring_leave(). */
void hist_fire(struct hist *h, const void *record);

/* Put its part of hist_debug. */
void hist_show_debug(const struct hist *h, const struct event *e, struct seq_buf *s);

/*
 * Put its line as it was written, with the defaults:
 * `hist:keys=a:vals=hitcount:sort=hitcount:size=2048`.
 */
void hist_show_trigger(const struct hist *h, struct seq_buf *s);

#endif
