/* SPDX-License-Identifier: MIT */
/*
 * See eval.h. A list. Names outlive their object, as the formats that contain them do. Control
 * context. Tests: tests/engine/events/.
 */
#include "engine/events/trigger/eval.h"

#include <errno.h>

#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/events/object_items.h"
#include "engine/process/heap.h"

static struct eval {
	struct vestige_eval pub;
	size_t bytes; /* length of the name */
	struct eval *next;
} * evals;

/* Add a name; adding it again changes nothing. Return: 0 or -ENOMEM. */
static int eval_add(const struct vestige_eval *eval)
{
	struct eval **end = &evals, *v;

	for (; (v = *end); end = &v->next)
		if (str_equal(v->pub.name, eval->name) && str_equal(v->pub.system, eval->system))
			return 0;
	v = heap_alloc(sizeof(*v));
	if (!v)
		return -ENOMEM;
	v->bytes = strlen(eval->name);
	v->pub.system = heap_copy(eval->system, strlen(eval->system));
	v->pub.name = heap_copy(eval->name, v->bytes);
	v->pub.value = eval->value;
	if (!v->pub.system || !v->pub.name)
		return -ENOMEM;
	*end = v;
	return 0;
}

static void put_number(struct seq_buf *s, uint64_t v)
{
	if ((int64_t)v < 0) {
		seq_putc(s, '-');
		v = -v;
	}
	seq_putu(s, v);
}

static size_t word_bytes(const char *p)
{
	size_t n = 0;

	while (is_name_char(p[n]))
		n++;
	return n;
}

static const struct eval *find(const char *system, const char *p, size_t n)
{
	const struct eval *v;

	for (v = evals; v; v = v->next) {
		size_t bytes = v->bytes;

		/* sizeof(x) is longer than its first word */
		if (bytes < n || memcmp(v->pub.name, p, n) || !str_equal(v->pub.system, system))
			continue;
		if (bytes == n || (p[n] == '(' && str_starts(p, v->pub.name)))
			return v;
	}
	return NULL;
}

void eval_put(struct seq_buf *s, const char *system, const char *text)
{
	const char *start = text;
	int quoted = 0;

	while (*text) {
		const struct eval *v;
		int member;
		size_t n;

		if (*text == '\\' && text[1]) {
			seq_putc(s, *text++);
			seq_putc(s, *text++);
			continue;
		}
		if (*text == '"')
			quoted = !quoted;
		n = quoted ? 0 : word_bytes(text);
		if (!n) {
			seq_putc(s, *text++);
			continue;
		}
		member = text > start && (text[-1] == '.' || text[-1] == '>');
		v = member ? NULL : find(system, text, n);
		if (v) {
			put_number(s, v->pub.value);
			text += v->bytes;
		} else {
			while (n--)
				seq_putc(s, *text++);
		}
	}
}

void eval_map(struct seq_buf *s)
{
	const struct eval *v;

	for (v = evals; v; v = v->next) {
		seq_puts(s, v->pub.name);
		seq_putc(s, ' ');
		put_number(s, v->pub.value);
		seq_puts(s, " (");
		seq_puts(s, v->pub.system);
		seq_puts(s, ")\n");
	}
}

static void come(const struct object_items *h)
{
	const struct vestige_item *item = NULL;

	while ((item = object_items_next(h, item, VESTIGE_ITEM_EVAL)))
		eval_add(item->at);
}

ITEMS_READER(ITEMS_NAMES, come, NULL);
