/* SPDX-License-Identifier: MIT */
/*
 * Chrome's trace event format: an array of events, or an object that has one as traceEvents. Phases
 * X, and B and E, are calls, i, I and R instants, M names threads; others are skipped. Only the
 * first level of an event is read, and the name in a metadata's args; deeper levels are skipped
 * without recursion.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/import/import.h"

#define STRING_BYTES 4096u /* the rest of a longer one is left out */

struct event {
	char phase, name[STRING_BYTES], category[STRING_BYTES], arg_name[STRING_BYTES];
	char text[STRING_BYTES]; /* args.text: what vestige writes */
	uint64_t ts, ns;
	int64_t pid, tid;
	bool has_ts, has_ns;
};

static int damaged(const struct import_text *in, const char *what)
{
	return fail(EINVAL, "line %llu: %s", (unsigned long long)in->line + 1, what);
}

static int next(struct import_text *in)
{
	int c;

	do
		c = import_get(in);
	while (c == ' ' || c == '\t' || c == '\n' || c == '\r');
	return c;
}

static int peek(struct import_text *in)
{
	int c;

	while ((c = import_peek(in)) == ' ' || c == '\t' || c == '\n' || c == '\r')
		import_get(in);
	return c;
}

static void put(char to[STRING_BYTES], size_t *n, unsigned int c)
{
	if (*n < STRING_BYTES - 1)
		to[(*n)++] = (char)c;
}

static void put_code(char to[STRING_BYTES], size_t *n, unsigned int code)
{
	if (*n + 5 > STRING_BYTES || !code)
		return;
	if (code < 0x80) {
		put(to, n, code);
	} else if (code < 0x800) {
		put(to, n, 0xc0 | code >> 6);
		put(to, n, 0x80 | (code & 63));
	} else if (code < 0x10000) {
		put(to, n, 0xe0 | code >> 12);
		put(to, n, 0x80 | (code >> 6 & 63));
		put(to, n, 0x80 | (code & 63));
	} else {
		put(to, n, 0xf0 | code >> 18);
		put(to, n, 0x80 | (code >> 12 & 63));
		put(to, n, 0x80 | (code >> 6 & 63));
		put(to, n, 0x80 | (code & 63));
	}
}

/* Four digits behind \u; -1: they are none. */
static int take_hex(struct import_text *in)
{
	int v = 0;

	for (int i = 0; i < 4; i++) {
		int c = import_get(in);

		if (c >= '0' && c <= '9')
			v = 16 * v + c - '0';
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			v = 16 * v + (c | 32) - 'a' + 10;
		else
			return -1;
	}
	return v;
}

/* Behind its quote. */
static int take_string(struct import_text *in, char to[STRING_BYTES])
{
	static const char escapes[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
	unsigned int high = 0;
	const char *e;
	size_t n = 0;
	int c;

	while ((c = import_get(in)) != '"') {
		if (c < 0)
			return damaged(in, "a string without an end");
		if (c != '\\') {
			put(to, &n, (unsigned int)c);
			continue;
		}
		c = import_get(in);
		if (c == 'u') {
			c = take_hex(in);
			if (c < 0)
				return damaged(in, "a wrong \\u");
			if (c >= 0xd800 && c < 0xdc00) {
				high = (unsigned int)c;
				continue;
			}
			if (c >= 0xdc00 && c < 0xe000)
				put_code(to, &n,
					 high ? 0x10000 + ((high - 0xd800) << 10) +
							 ((unsigned int)c - 0xdc00)
					      : '?');
			else
				put_code(to, &n, (unsigned int)c);
			high = 0;
			continue;
		}
		e = c > 0 ? strchr(escapes, c) : NULL;
		if (!e)
			return damaged(in, "a wrong escape");
		put(to, &n, (unsigned char)means[e - escapes]);
	}
	to[n] = '\0';
	return 0;
}

/* A number or a word, unchanged. */
static int take_word(struct import_text *in, char to[STRING_BYTES])
{
	size_t n = 0;
	int c;

	while ((c = import_peek(in)) > ' ' && c != ',' && c != '}' && c != ']' && c != ':')
		put(to, &n, (unsigned int)import_get(in));
	to[n] = '\0';
	return n ? 0 : damaged(in, "a value is missing");
}

/* Take a string or a word. Any other value is skipped, at any depth of nesting, and gives "". */
static int take_value(struct import_text *in, char to[STRING_BYTES])
{
	uint64_t depth = 0;
	int c = peek(in), err;

	if (c == '"') {
		import_get(in);
		return take_string(in, to);
	}
	if (c != '{' && c != '[')
		return take_word(in, to);
	do {
		c = next(in);
		if (c < 0)
			return damaged(in, "the file ends within a value");
		if (c == '"') {
			err = take_string(in, to);
			if (err)
				return err;
		}
		depth += c == '{' || c == '[';
		depth -= c == '}' || c == ']';
	} while (depth);
	to[0] = '\0';
	return 0;
}

/*
 * An object: @take is called with each key, and takes the value. Return: 0 or -errno with fail()
 * set.
 */
static int each_key(struct import_text *in,
		    int (*take)(struct import_text *in, const char *key, void *arg), void *arg)
{
	char key[STRING_BYTES];
	int c = next(in), err;

	if (c != '{')
		return damaged(in, "an object is missing");
	if (peek(in) == '}') {
		import_get(in);
		return 0;
	}
	do {
		if (next(in) != '"')
			return damaged(in, "a key is missing");
		err = take_string(in, key);
		if (!err && next(in) != ':')
			err = damaged(in, "a colon is missing");
		if (!err)
			err = take(in, key, arg);
		if (err)
			return err;
		c = next(in);
	} while (c == ',');
	return c == '}' ? 0 : damaged(in, "a brace is missing");
}

static int take_arg(struct import_text *in, const char *key, void *arg)
{
	struct event *ev = arg;
	char other[STRING_BYTES];

	return take_value(in, !strcmp(key, "name")   ? ev->arg_name
			      : !strcmp(key, "text") ? ev->text
						     : other);
}

/* Microseconds. Return: false: they are none. */
static bool parse_us(const char *text, uint64_t *ns)
{
	const char *end;
	double v;

	if (import_decimal(text, 1000, ns, &end) && !*end)
		return true;
	v = strtod(text, NULL);
	if (!(v >= 0 && v < 9e15))
		return false;
	*ns = (uint64_t)(v * 1000);
	return true;
}

static int take_event_key(struct import_text *in, const char *key, void *arg)
{
	struct event *ev = arg;
	char value[STRING_BYTES];
	int err;

	if (!strcmp(key, "args") && peek(in) == '{')
		return each_key(in, take_arg, ev);
	if (!strcmp(key, "name"))
		return take_value(in, ev->name);
	if (!strcmp(key, "cat"))
		return take_value(in, ev->category);
	err = take_value(in, value);
	if (err)
		return err;
	if (!strcmp(key, "ph"))
		ev->phase = value[0];
	else if (!strcmp(key, "ts"))
		ev->has_ts = parse_us(value, &ev->ts);
	else if (!strcmp(key, "dur"))
		ev->has_ns = parse_us(value, &ev->ns);
	else if (!strcmp(key, "pid"))
		ev->pid = strtoll(value, NULL, 10);
	else if (!strcmp(key, "tid"))
		ev->tid = strtoll(value, NULL, 10);
	return 0;
}

static int take_event(struct import *im, const struct event *ev)
{
	bool is_mark = strchr("iIR", ev->phase) && ev->phase;
	int32_t thread, process = 0;
	uint64_t ip;
	int err;

	if (ev->phase == 'M') {
		if (strcmp(ev->name, "thread_name") != 0)
			return 0;
		err = import_thread(im, ev->pid, ev->tid, &thread);
		if (ev->pid > 0 && ev->pid < INT32_MAX)
			process = (int32_t)ev->pid;
		return err ? err : import_task(im, thread, process, ev->arg_name);
	}
	if (!ev->has_ts || !(is_mark || ev->phase == 'B' || ev->phase == 'E' || ev->phase == 'X'))
		return 0;
	err = import_thread(im, ev->pid, ev->tid, &thread);
	if (err)
		return err;
	if (ev->phase == 'E')
		return import_leave(im, 0, thread, ev->ts);
	err = import_function(im, ev->name, is_mark ? NULL : ev->category, &ip);
	if (err)
		return err;
	if (is_mark)
		return import_text(im, 0, thread, ev->ts, ip, ev->text);
	if (ev->phase == 'B')
		return import_enter(im, 0, thread, ev->ts, ip);
	return import_call(im, thread, ev->ts, ev->has_ns ? ev->ns : 0, ip);
}

/*
 * An array whose end may be missing: a program that was killed writes none, and readers accept
 * that.
 */
static int take_events(struct import_text *in, struct import *im)
{
	struct event *ev = malloc(sizeof(*ev));
	int c, err = ev ? 0 : fail(ENOMEM, "out of memory");

	if (!err && next(in) != '[')
		err = damaged(in, "the array of events is missing");
	while (!err && (c = peek(in)) >= 0 && c != ']') {
		if (c == ',') {
			import_get(in);
			continue;
		}
		*ev = (struct event){0};
		err = each_key(in, take_event_key, ev);
		if (!err)
			err = take_event(im, ev);
	}
	if (!err)
		import_get(in);
	free(ev);
	return err;
}

static int take_top_key(struct import_text *in, const char *key, void *arg)
{
	char value[STRING_BYTES];

	if (!strcmp(key, "traceEvents"))
		return take_events(in, arg);
	return take_value(in, value);
}

static int chrome_read(struct import_text *in, struct import *im)
{
	return peek(in) == '[' ? take_events(in, im) : each_key(in, take_top_key, im);
}

static bool chrome_is(const char *head, size_t bytes)
{
	(void)bytes;
	head += strspn(head, " \t\r\n");
	if (*head == '[')
		return strstr(head, "\"ph\"");
	return *head == '{' &&
	       (strstr(head, "\"traceEvents\"") || strstr(head, "\"displayTimeUnit\""));
}

const struct importer chrome_importer = {"Chrome's JSON", chrome_is, chrome_read};
