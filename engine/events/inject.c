/* SPDX-License-Identifier: MIT */
/*
 * See inject.h. Grammar and errno are the kernel's (6.12). The record is built here and passes
 * filters and triggers as any other, so that these can be tested without the event. Control
 * context; nothing for fork. Tests: tests/engine/events/inject.
 */
#include "engine/events/inject.h"

#include <errno.h>

#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/events/event_act.h"
#include "engine/ring/ring_write.h"

#define HEAD_BYTES 8u

struct record {
	uint32_t bytes;
	uint8_t at[RING_MAX_RECORD];
};

static int is_dynamic(const struct event_field *f)
{
	return f->filter_type == FILTER_DYN_STRING || f->filter_type == FILTER_RDYN_STRING;
}

static int is_string(const struct event_field *f)
{
	return is_dynamic(f) || f->filter_type == FILTER_STATIC_STRING ||
	       f->filter_type == FILTER_PTR_STRING;
}

/* Put a text of @n bytes behind the fields. */
static int put_dynamic(struct record *r, const struct event_field *f, const char *text, size_t n)
{
	uint32_t word, at = r->bytes;

	if (n + 1 > sizeof(r->at) - at)
		return -E2BIG;
	memcpy(r->at + at, text, n);
	r->at[at + n] = 0;
	r->bytes = at + (uint32_t)n + 1;
	if (f->filter_type == FILTER_RDYN_STRING)
		at -= f->offset + 4;
	word = at | (uint32_t)(n + 1) << 16;
	memcpy(r->at + f->offset, &word, sizeof(word));
	return 0;
}

static int put_text(struct record *r, const struct event_field *f, const char *text, size_t n)
{
	/* the kernel's text where it has no memory for a pointer to point to */
	static const char none[] = "STATIC STRING CAN NOT BE INJECTED";
	const char *pointed = n ? none : "";

	if (is_dynamic(f))
		return put_dynamic(r, f, text, n);
	if (f->filter_type == FILTER_PTR_STRING) {
		memcpy(r->at + f->offset, &pointed, sizeof(pointed));
		return 0;
	}
	if (!f->size)
		return -EINVAL;
	if (n >= f->size)
		n = f->size - 1;
	memcpy(r->at + f->offset, text, n);
	memset(r->at + f->offset + n, 0, f->size - n);
	return 0;
}

static int take_text(struct word *rest, struct record *r, const struct event_field *f)
{
	char quote = *rest->at;
	size_t n = 1;
	int err;

	if (!is_string(f))
		return -EINVAL;
	while (n < rest->n && rest->at[n] != quote)
		n++;
	if (n == rest->n)
		return -EINVAL;
	err = put_text(r, f, rest->at + 1, n - 1);
	rest->at += n + 1;
	rest->n -= n + 1;
	return err;
}

static int take_number(struct word *rest, struct record *r, const struct event_field *f)
{
	int minus = *rest->at == '-';
	struct word digits;
	uint64_t v;

	if (is_string(f) || event_field_is_data_loc(f) || f->size > sizeof(v))
		return -EINVAL;
	*rest = word_behind(*rest, (size_t)minus);
	digits = word_take_name(rest);
	if (!digits.n || str_to_u64(digits.at, digits.n, &v))
		return -EINVAL;
	v = minus ? 0 - v : v;
	memcpy(r->at + f->offset, &v, f->size);
	return 0;
}

/* Parse one `FIELD=VALUE`. */
static int take_field(const struct event *e, struct word *rest, struct record *r)
{
	const struct event_field *f;
	struct word name = word_take_name(rest);

	f = event_field(e, name.at, name.n);
	if (!f)
		return -ENOENT;
	*rest = word_skip_blanks(*rest);
	if (!rest->n || *rest->at != '=')
		return -EINVAL;
	rest->at++;
	rest->n--;
	*rest = word_skip_blanks(*rest);
	if (!rest->n)
		return -EINVAL;
	if (*rest->at == '"' || *rest->at == '\'')
		return take_text(rest, r, f);
	if (*rest->at == '-' || is_digit(*rest->at))
		return take_number(rest, r, f);
	return -EINVAL;
}

/* Begin with a record whose fields are 0 and whose texts are empty. */
static int begin(const struct event *e, struct record *r)
{
	uint32_t i;
	int err = 0;

	memset(r, 0, sizeof(*r));
	r->bytes = HEAD_BYTES;
	for (i = 0; i < e->nr_fields; i++) {
		const struct event_field *f = &e->fields[i];

		if (f->offset > sizeof(r->at) || f->size > sizeof(r->at) - f->offset)
			return -E2BIG;
		if (f->offset + f->size > r->bytes)
			r->bytes = f->offset + f->size;
	}
	for (i = 0; i < e->nr_fields && !err; i++)
		if (is_dynamic(&e->fields[i]) || e->fields[i].filter_type == FILTER_PTR_STRING)
			err = put_text(r, &e->fields[i], "", 0);
	return err;
}

int event_inject(struct event *e, struct trace_array *tr, const char *text, size_t n)
{
	struct word rest = {text, n};
	struct event_file *f;
	struct record r;
	int err = begin(e, &r);

	for (rest = word_skip_blanks(rest); !err && rest.n; rest = word_skip_blanks(rest))
		err = take_field(e, &rest, &r);
	if (err)
		return err;
	f = event_file_get(e, tr);
	if (!f)
		return -ENOMEM;
	err = event_describe(e);
	if (err)
		return err;
	event_file_update(f);
	event_act_injected(f, r.at, r.bytes);
	return 0;
}
