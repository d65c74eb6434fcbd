/* SPDX-License-Identifier: MIT */
/*
 * The text of `inject`, for an event with each kind of field. Promises: the texts of the record are
 * inside it and end with NUL; and its values, written as a text, make a record of the same values.
 */
#include "fuzz.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "abi/page.h"
#include "engine/events/event_act.h"
#include "engine/events/inject.h"

#define MAX_TEXT 8192

static const struct event_field fields[] = {
	{"int", "i", 4, 8, 1, FILTER_OTHER},
	{"unsigned long", "ul", 8, 16, 0, FILTER_OTHER},
	{"char", "c", 1, 24, 1, FILTER_OTHER},
	{"unsigned short", "sh", 2, 26, 0, FILTER_OTHER},
	{"char[8]", "name", 8, 28, 0, FILTER_STATIC_STRING},
	{"__data_loc char[]", "dyn", 4, 36, 0, FILTER_DYN_STRING},
	{"__rel_loc char[]", "rel", 4, 40, 0, FILTER_RDYN_STRING},
	{"const char *", "ptr", 8, 48, 0, FILTER_PTR_STRING},
	{"struct odd", "odd", 12, 56, 0, FILTER_OTHER},
};
#define NR_FIELDS  (sizeof(fields) / sizeof(fields[0]))
#define NR_NUMBERS 4u
#define FIXED	   68u

static struct event event = {
	.system = "fuzz", .name = "injected", .id = 31, .nr_fields = NR_FIELDS, .fields = fields};
static struct event_file file = {.event = &event};
static struct trace_array tr;

/* The record that was made of a text. */
struct made {
	uint32_t bytes;
	uint64_t numbers[NR_NUMBERS];
	char texts[3][PAGE_BYTES];
};
static struct made made;

struct event_file *event_file_get(struct event *e, struct trace_array *t)
{
	PROMISE(e == &event && t == &tr);
	return &file;
}

int event_describe(struct event *e)
{
	PROMISE(e == &event);
	return 0;
}

void event_file_update(struct event_file *f)
{
	PROMISE(f == &file);
}

/* A text of the record, whose last byte is a NUL. */
static void keep_text(char *to, const uint8_t *record, uint32_t at, uint32_t n)
{
	PROMISE(n && at >= FIXED && at <= made.bytes && n <= made.bytes - at);
	PROMISE(strnlen((const char *)record + at, n) <= n - 1 && !record[at + n - 1]);
	memcpy(to, record + at, n);
}

void event_act_injected(struct event_file *f, const void *record, uint32_t bytes)
{
	const uint8_t *r = record;
	uint32_t i, word;
	const char *ptr;

	PROMISE(f == &file && bytes >= FIXED && bytes <= PAGE_BYTES - PAGE_HEAD_BYTES);
	made.bytes = bytes;
	for (i = 0; i < NR_NUMBERS; i++) {
		made.numbers[i] = 0;
		memcpy(&made.numbers[i], r + fields[i].offset, fields[i].size);
	}
	PROMISE(memchr(r + 28, 0, 8));
	strcpy(made.texts[0], (const char *)r + 28);
	memcpy(&word, r + 36, 4);
	keep_text(made.texts[1], r, word & 0xffff, word >> 16);
	memcpy(&word, r + 40, 4);
	keep_text(made.texts[2], r, (word & 0xffff) + 44, word >> 16);
	memcpy(&ptr, r + 48, sizeof(ptr));
	PROMISE(ptr && strlen(ptr) < 64);
}

/* The same values as another text. */
static void inject_again(void)
{
	static char text[4 * PAGE_BYTES];
	static struct made first;
	uint32_t i;
	size_t n = 0;

	first = made;
	for (i = 0; i < NR_NUMBERS; i++)
		n += (size_t)sprintf(text + n, " %s=%" PRIu64, fields[i].name, made.numbers[i]);
	for (i = 0; i < 3; i++) {
		const char *quote = strchr(made.texts[i], '"') ? "'" : "\"";

		if (strchr(made.texts[i], *quote))
			return; /* of two texts that were taken one after the other */
		n += (size_t)sprintf(text + n, "\n%s = %s%s%s", fields[4 + i].name, quote,
				     made.texts[i], quote);
	}
	PROMISE(!event_inject(&event, &tr, text, n));
	PROMISE(!memcmp(first.numbers, made.numbers, sizeof(made.numbers)));
	for (i = 0; i < 3; i++)
		PROMISE(!strcmp(first.texts[i], made.texts[i]));
}

static void run(const uint8_t *data, size_t n)
{
	char *text;
	int err;

	if (n > MAX_TEXT)
		return;
	text = malloc(n ? n : 1); /* of its own, so that the sanitizer sees a byte too many */
	PROMISE(text);
	memcpy(text, data, n);
	made.bytes = 0;
	err = event_inject(&event, &tr, text, n);
	free(text);
	PROMISE(!err == (made.bytes != 0));
	PROMISE(!err || err == -EINVAL || err == -ENOENT || err == -E2BIG);
	if (!err)
		inject_again();
}

static void mutate(struct mangle *m)
{
	static const char *const words[] = {
		"i=",	 "ul=",	 "c=",	 "sh=",	   "name=", "dyn=",
		"rel=",	 "ptr=", "odd=", "=",	   " ",	    "\n",
		"\"x\"", "'y'",	 "\"\"", "-1",	   "0x7f",  "18446744073709551615",
		"017",	 "\"",	 "'",	 "nosuch",
	};
	const char *word = words[mangle_random(m, sizeof(words) / sizeof(words[0]))];
	char much[1500];

	switch (mangle_random(m, 12)) {
	case 0: /* a record is a page at most */
		memset(much, 'x', sizeof(much));
		mangle_insert(m, mangle_random(m, m->n + 1), much, mangle_random(m, sizeof(much)));
		break;
	case 1:
	case 2:
	case 3:
		mangle_any(m);
		break;
	default:
		mangle_insert(m, mangle_random(m, m->n + 1), word, strlen(word));
	}
}

const struct fuzz_target fuzz_inject = {"inject", run, mutate};
