/* SPDX-License-Identifier: MIT */
/*
 * dynamic_events, kprobe_events, uprobe_events, synthetic_events and the two profiles. A write is a command a line, `#`
 * begins a comment; opened with O_TRUNC the file's kind of events goes first. Under the tree's lock.
 * Tests: tests/engine/events/kprobe.
 */
#include <errno.h>

#include "engine/base/mem.h"
#include "engine/control/error_log.h"
#include "engine/control/tree.h"
#include "engine/core/heap.h"
#include "engine/events/dynevent.h"
#include "engine/events/probe_event.h"
#include "engine/events/synth.h"

static int run_line(struct dyn_command *c, const char *text, size_t n, uint32_t kinds)
{
	struct dyn_error error;
	int err = n > DYN_MAX_COMMAND ? -EINVAL : dyn_command_split(c, text, n);

	if (err)
		return err;
	err = dyn_event_command(c, kinds, &error);
	if (err && error.location)
		error_log_add(error.location, error.error.text,
			      error.command ? error.command : c->text,
			      error.command ? error.bytes : c->text_bytes, error.error.position);
	return err;
}

static int run_synthetic(const char *text, size_t n)
{
	struct dyn_error error;
	int err = n > DYN_MAX_COMMAND ? -EINVAL : synth_command(text, n, &error);

	if (err && n <= DYN_MAX_COMMAND && error.location)
		error_log_add(error.location, error.error.text, error.command, error.bytes,
			      error.error.position);
	return err;
}

static int store(const char *text, size_t n, int truncate, uint32_t kinds)
{
	struct dyn_command *c;
	size_t i, end, comment;
	int err = truncate ? dyn_events_clear(kinds) : 0;

	if (err || !n)
		return err;
	c = heap_alloc(sizeof(*c));
	if (!c)
		return -ENOMEM;
	for (i = 0; i < n && !err; i = end + 1) {
		for (end = i; end < n && text[end] != '\n'; end++)
			;
		for (comment = i; comment < end && text[comment] != '#'; comment++)
			;
		err = kinds == DYN_SYNTH ? run_synthetic(text + i, comment - i)
					 : run_line(c, text + i, comment - i, kinds);
	}
	heap_free(c);
	return err;
}

int dynamic_events_show(const struct tree_at *at, struct seq_buf *s)
{
	(void)at;
	dyn_events_show(DYN_ANY, s);
	return 0;
}

int dynamic_events_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	(void)at;
	return store(text, n, truncate, DYN_ANY);
}

int kprobe_events_show(const struct tree_at *at, struct seq_buf *s)
{
	(void)at;
	dyn_events_show(DYN_PROBE_KPROBE, s);
	return 0;
}

int kprobe_events_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	(void)at;
	return store(text, n, truncate, DYN_PROBE_KPROBE);
}

int uprobe_events_show(const struct tree_at *at, struct seq_buf *s)
{
	(void)at;
	dyn_events_show(DYN_PROBE_UPROBE, s);
	return 0;
}

int uprobe_events_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	(void)at;
	return store(text, n, truncate, DYN_PROBE_UPROBE);
}

int synthetic_events_show(const struct tree_at *at, struct seq_buf *s)
{
	(void)at;
	synth_show_all(s);
	return 0;
}

int synthetic_events_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	(void)at;
	return store(text, n, truncate, DYN_SYNTH);
}

int kprobe_profile_show(const struct tree_at *at, struct seq_buf *s)
{
	(void)at;
	probe_events_profile(DYN_PROBE_KPROBE, s);
	return 0;
}

int uprobe_profile_show(const struct tree_at *at, struct seq_buf *s)
{
	(void)at;
	probe_events_profile(DYN_PROBE_UPROBE, s);
	return 0;
}
