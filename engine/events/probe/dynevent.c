/* SPDX-License-Identifier: MIT */
/*
 * See dynevent.h: the list, the words of a command, `-:` and `!`. The event's class understands its
 * definition; a class is registered in the file that defines it. Errors are as the kernel's (6.12).
 * Control context. fork: the child has the same events. Tests: tests/engine/events/kprobe,
 * tests/fuzz/probes.c.
 */
#include "engine/events/probe/dynevent.h"

#include <errno.h>

#include "abi/probe_word.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"

struct dyn_event *dyn_events;

void dyn_event_add(struct dyn_event *e)
{
	struct dyn_event **at = &dyn_events;

	while (*at)
		at = &(*at)->next;
	e->next = NULL;
	*at = e;
}

void dyn_event_remove(struct dyn_event *e)
{
	struct dyn_event **at = &dyn_events;

	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	e->class->free(e);
}

static int is_mark(char c)
{
	return c == PROBE_WORD_MEANS || c == PROBE_WORD_WRONG;
}

int dyn_command_split(struct dyn_command *c, const char *text, size_t n)
{
	size_t i = 0, start, mark;

	/* a NUL ends it, as in the kernel */
	n = text_find(text, n, '\0');
	c->raw = text;
	c->raw_bytes = n;
	c->nr_words = c->text_bytes = 0;
	for (;;) {
		while (i < n && is_blank(text[i]))
			i++;
		for (start = i; i < n && !is_blank(text[i]); i++)
			;
		if (i == start)
			break;
		for (mark = start + 1; mark < i && !is_mark(text[mark]); mark++)
			;
		if (c->nr_words == DYN_MAX_WORDS ||
		    c->text_bytes + (mark - start) + 1 > sizeof(c->text))
			return -E2BIG;
		if (c->nr_words)
			c->text[c->text_bytes++] = ' ';
		c->word[c->nr_words] = c->text + c->text_bytes;
		c->bytes[c->nr_words] = (uint32_t)(mark - start);
		c->said[c->nr_words] = text + mark;
		c->said_bytes[c->nr_words] = (uint32_t)(i - mark);
		c->at[c->nr_words++] = c->text_bytes;
		memcpy(c->text + c->text_bytes, text + start, mark - start);
		c->text_bytes += (uint32_t)(mark - start);
	}
	c->at[c->nr_words] = c->text_bytes + 1;
	return 0;
}

int dyn_command_words_are(const struct dyn_command *c, uint32_t first, const char *words, size_t n)
{
	uint32_t at;

	if (first >= c->nr_words)
		return !n;
	at = c->at[first];
	return c->text_bytes - at == n && !memcmp(c->text + at, words, n);
}

/* The events that a word of `-:` or `!` names. */
struct named {
	const char *group, *name; /* NULL: any */
	size_t group_bytes, name_bytes;
};

/* Parse `-:[GRP/]EV`, `-:GRP/`, `!p:[GRP/]EV`. Return: 0 or -EINVAL. */
static int read_named(const char *word, size_t n, struct named *out)
{
	size_t colon = word[0] == '-' ? 1 : text_find(word, n, ':'), slash;

	if (colon >= n || word[colon] != ':')
		return -EINVAL;
	word += colon + 1;
	n -= colon + 1;
	slash = text_find(word, n, '/');
	if (slash == n)
		slash = text_find(word, n, '.');
	*out = (struct named){.name = word, .name_bytes = n};
	if (slash < n) {
		out->group = word;
		out->group_bytes = slash;
		out->name = word + slash + 1;
		out->name_bytes = n - slash - 1;
	}
	if (!out->name_bytes) {
		if (!out->group_bytes)
			return -EINVAL;
		out->name = NULL;
	}
	return 0;
}

static int names(const struct dyn_event *e, const struct named *m, const struct dyn_command *c,
		 uint32_t kinds)
{
	return e->class->kind & kinds &&
	       e->class->matches(e, m->group, m->group_bytes, m->name, m->name_bytes, c);
}

static int remove_some(const struct dyn_command *c, uint32_t kinds)
{
	struct dyn_event **at, *e;
	struct named m;
	int err = read_named(c->word[0], c->bytes[0], &m), found = 0;

	if (err)
		return err;
	for (e = dyn_events; e; e = e->next) {
		if (!names(e, &m, c, kinds))
			continue;
		found = 1;
		if (e->class->is_busy(e))
			return -EBUSY;
	}
	for (at = &dyn_events; (e = *at);) {
		if (names(e, &m, c, kinds)) {
			*at = e->next;
			e->class->free(e);
		} else {
			at = &e->next;
		}
	}
	return found ? 0 : -ENOENT;
}

int dyn_event_command(const struct dyn_command *c, uint32_t kinds, struct dyn_error *error)
{
	const struct dyn_class *const *class;
	uint32_t kind;
	int err;

	*error = (struct dyn_error){0};
	if (!c->nr_words)
		return 0;
	if (*c->word[0] == '-' || *c->word[0] == '!')
		return remove_some(c, kinds);
	for (kind = 1; kind; kind <<= 1) {
		REGISTRY_EACH (vestige_dyn_classes, class) {
			if ((*class)->kind != kind || !(kind & kinds))
				continue;
			err = (*class)->create(c, error);
			if (err != -ECANCELED)
				return err;
		}
	}
	return -EINVAL;
}

int dyn_events_clear(uint32_t kinds)
{
	struct dyn_event **at, *e;

	for (e = dyn_events; e; e = e->next)
		if (e->class->kind & kinds && e->class->is_busy(e))
			return -EBUSY;
	for (at = &dyn_events; (e = *at);) {
		if (e->class->kind & kinds) {
			*at = e->next;
			e->class->free(e);
		} else {
			at = &e->next;
		}
	}
	return 0;
}

void dyn_events_show(uint32_t kinds, struct seq_buf *s)
{
	const struct dyn_event *e;

	for (e = dyn_events; e; e = e->next) {
		if (!(e->class->kind & kinds))
			continue;
		e->class->show(e, s);
		seq_putc(s, '\n');
	}
}
