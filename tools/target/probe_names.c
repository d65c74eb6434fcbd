/* SPDX-License-Identifier: MIT */
/*
 * See probe_names.h. Only words with a name are examined, and only then an area and DWARF are read.
 * A line with an unknown name is passed on with that name marked, so the program's error_log shows
 * the line as it was written. A line of a function that is not found, or has no DWARF, is passed on
 * unmarked, and the engine reports its own error. Grammar and expansion are the kernel's (6.12).
 *
 * Tests: tests/engine/events/names.
 */
#include "tools/target/probe_names.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/code/variable.h"
#include "tools/target/object_address.h"

#define MAX_WORDS 131

struct word {
	const char *text;
	size_t n;
};

/* A word taken apart: `[NAME=][+N(]...BASE[)...][:TYPE]`. */
struct parts {
	size_t body;	  /* where that begins, behind `=` */
	size_t base, end; /* of BASE */
	size_t colon;	  /* of the type; the word's length: there is none */
	bool is_inner;	  /* there are brackets around BASE */
};

struct line {
	struct word words[MAX_WORDS];
	size_t nr;
	/* the probe's address, which replaces its second word; 0: the word stays */
	uint64_t address;
	bool inside; /* not where the function begins */
	bool is_tracepoint;
	struct variables *v;
	bool has_all; /* `$arg*` was there */
	size_t bad;   /* the word that is wrong; 0: none */
	int wrong;
	size_t position;
};

struct translation {
	const struct image *t;
	struct meta *meta; /* read when it is first needed */
	FILE *f;
	bool is_own; /* translated.is_own */
};

static bool is_name_letter(char c)
{
	return isalpha((unsigned char)c) || c == '_';
}

static struct parts take_apart(const struct word *w)
{
	const char *equals = memchr(w->text, '=', w->n), *at;
	struct parts p = {.body = equals ? (size_t)(equals - w->text) + 1 : 0};
	size_t i = p.body;

	while (i < w->n && (w->text[i] == '+' || w->text[i] == '-')) {
		at = memchr(w->text + i, '(', w->n - i);
		if (!at)
			break;
		i = (size_t)(at - w->text) + 1;
		p.is_inner = true;
	}
	p.base = i;
	while (i < w->n && w->text[i] != ')' && w->text[i] != ':')
		i++;
	p.end = i;
	at = memchr(w->text + i, ':', w->n - i);
	p.colon = at ? (size_t)(at - w->text) : w->n;
	return p;
}

static bool is_base(const struct word *w, const struct parts *p, const char *text)
{
	return p->end - p->base == strlen(text) && !memcmp(w->text + p->base, text, strlen(text));
}

static bool begins(const struct word *w, size_t at, const char *text)
{
	return w->n - at >= strlen(text) && !memcmp(w->text + at, text, strlen(text));
}

/* The N of `$argN`; 0: it is none. */
static unsigned int argument_number(const struct word *w, const struct parts *p)
{
	unsigned int n = 0;
	size_t i = p->base + 4;

	if (!begins(w, p->base, "$arg") || i == p->end || p->end - i > 4)
		return 0;
	for (; i < p->end; i++) {
		if (!isdigit((unsigned char)w->text[i]))
			return 0;
		n = 10 * n + (unsigned int)(w->text[i] - '0');
	}
	return n;
}

static bool has_name(const struct word *w)
{
	struct parts p = take_apart(w);

	if (p.base == p.end)
		return false;
	if (is_base(w, &p, "$retval"))
		return p.colon == w->n;
	return is_name_letter(w->text[p.base]) || is_base(w, &p, "$arg*") ||
	       begins(w, p.base, "$retval") || argument_number(w, &p);
}

static bool split(struct line *l, const char *text, size_t n)
{
	size_t i = 0, start;

	for (;;) {
		while (i < n && strchr(" \t\r", text[i]))
			i++;
		for (start = i; i < n && !strchr(" \t\r", text[i]); i++)
			;
		if (i == start)
			return true;
		if (l->nr == MAX_WORDS)
			return false;
		l->words[l->nr++] = (struct word){text + start, i - start};
	}
}

static bool is_address_of_trace(const struct word *w)
{
	char text[32], *end;

	if (w->n >= sizeof(text) || !isdigit((unsigned char)*w->text))
		return false;
	memcpy(text, w->text, w->n);
	text[w->n] = '\0';
	return object_address_is_of_trace(strtoull(text, &end, 0)) && !*end;
}

/* Is it a definition of a probe with names in it, or at an address? */
static bool is_wanted(const struct line *l)
{
	if (l->nr < 2 || !strchr("prft", *l->words[0].text))
		return false;
	if (is_address_of_trace(&l->words[1]))
		return true;
	for (size_t i = 2; i < l->nr; i++)
		if (has_name(&l->words[i]))
			return true;
	return false;
}

static int load(struct translation *to)
{
	int err = to->meta ? 0 : image_meta(to->t, &to->meta);

	to->is_own |= !!err;
	return err;
}

static bool is_object(const char *path, const char *name, size_t n)
{
	const char *slash = strrchr(path, '/');

	path = slash ? slash + 1 : path;
	return strlen(path) == n && !memcmp(path, name, n);
}

/*
 * The function of `[OBJECT:]SYMBOL`, in the first object that has it, as the engine looks for it;
 * or the function that calls the probes of a tracepoint.
 */
static void find_symbol(struct translation *to, const char *text, size_t n, bool is_tracepoint,
			struct variables **v)
{
	const char *colon = memchr(text, ':', n);
	size_t object_bytes = colon ? (size_t)(colon - text) : 0;
	struct variable_place place = {.symbol = colon ? colon + 1 : text,
				       .symbol_bytes = colon ? n - object_bytes - 1 : n,
				       .is_tracepoint = is_tracepoint};

	for (uint32_t i = 0; i < to->meta->nr_objects; i++) {
		const struct area_object *row = &to->meta->objects[i];
		const char *path = meta_string(to->meta, row->path);

		if (row->unload_stamp || !*path || (colon && !is_object(path, text, object_bytes)))
			continue;
		if (!variables_open(path, row, &place, v)) {
			to->is_own |= !!row->load_stamp;
			return;
		}
	}
}

static void find_address(struct translation *to, uint64_t address, struct variables **v)
{
	to->is_own = true;
	for (uint32_t i = 0; i < to->meta->nr_objects; i++) {
		const struct area_object *row = &to->meta->objects[i];
		struct variable_place place = {.at = address - row->bias};

		if (!row->unload_stamp && address >= row->lo && address < row->hi) {
			variables_open(meta_string(to->meta, row->path), row, &place, v);
			return;
		}
	}
}

/* `PATH:OFFSET[(COUNTER)]`. */
static void find_in_file(const char *text, size_t n, struct variables **v)
{
	const char *colon = memrchr(text, ':', n);
	struct variable_place place = {.is_offset = true};
	char *path = strndup(text, (size_t)(colon - text)), *end;

	place.at = strtoull(colon + 1, &end, 0);
	if (path && end > colon + 1)
		variables_open(path, NULL, &place, v);
	free(path);
}

/* The function that the line is about; l->v stays NULL if it is not known. */
static void find_function(struct translation *to, struct line *l)
{
	const struct word *w = &l->words[1];
	const char *percent = memchr(w->text, '%', w->n), *plus;
	size_t n = percent ? (size_t)(percent - w->text) : w->n;
	char *copy, *end;
	uint64_t number;

	if (memchr(w->text, '/', n) && memchr(w->text, ':', n)) {
		find_in_file(w->text, n, &l->v);
		return;
	}
	if (load(to))
		return;
	if (l->is_tracepoint) {
		find_symbol(to, w->text, w->n, true, &l->v);
		return;
	}
	copy = strndup(w->text, n);
	number = copy ? strtoull(copy, &end, 0) : 0;
	if (copy && end > copy && !*end) {
		if (object_address_is_of_trace(number)) {
			number = object_address_now(to->meta, number);
			l->address = number;
		}
		find_address(to, number, &l->v);
	} else {
		plus = memchr(w->text, '+', n);
		l->inside = plus && strtoull(plus + 1, NULL, 0);
		find_symbol(to, w->text, plus ? (size_t)(plus - w->text) : n, false, &l->v);
	}
	free(copy);
}

static void is_wrong(struct line *l, size_t word, int wrong, size_t position)
{
	if (l->bad)
		return;
	l->bad = word;
	l->wrong = wrong;
	l->position = position;
}

/* A word, and its meaning. @shown: the text of BASE. */
static void put(const struct translation *to, struct line *l, size_t i, const struct parts *p,
		const char *shown, const struct variable *x)
{
	const struct word *w = &l->words[i];
	const char *type = w->text + p->colon, *fetch = x->fetch;
	size_t type_bytes = w->n - p->colon;
	bool is_text = !p->is_inner && type_bytes &&
		       (begins(w, p->colon, ":string") || begins(w, p->colon, ":ustring"));
	int n;

	if (is_text && !x->string[0])
		is_wrong(l, i, PROBE_WRONG_STRING, p->base);
	if (is_text)
		fetch = x->string;
	if (!p->is_inner && !type_bytes && !x->type[0])
		is_wrong(l, i, (int)x->wrong, p->base);
	fprintf(to->f, "%.*s%s%.*s%c", (int)p->base, w->text, shown, (int)(w->n - p->end),
		w->text + p->end, PROBE_WORD_MEANS);
	n = fprintf(to->f, "%.*s%s%.*s%.*s", (int)(p->base - p->body), w->text + p->body, fetch,
		    (int)(p->colon - p->end), w->text + p->end, (int)type_bytes, type);
	if (!p->is_inner && !type_bytes)
		n += fprintf(to->f, ":%s", x->type);
	if (n > PROBE_WORD_BYTES)
		is_wrong(l, i, PROBE_WRONG_LENGTH, p->base);
}

/* All parameters that can be fetched. */
static void put_all(const struct translation *to, struct line *l, size_t i, const struct parts *p)
{
	struct variable x;
	size_t position;

	if (p->base || p->end != l->words[i].n)
		is_wrong(l, i, PROBE_WRONG_ALL, p->base);
	if (l->inside)
		is_wrong(l, i, PROBE_WRONG_ALL_INSIDE, 0);
	if (l->has_all)
		is_wrong(l, i, PROBE_WRONG_ALL_TWICE, 0);
	l->has_all = true;
	for (unsigned int k = 0; k < variables_count(l->v); k++) {
		const char *name = variables_name(l->v, k);

		if (name && !variables_find(l->v, name, strlen(name), &x, &position) && x.type[0])
			fprintf(to->f, "%s%c%s:%s ", name, PROBE_WORD_MEANS, x.fetch, x.type);
	}
}

/*
 * `$argN`: the N-th parameter, whose name it gets if it has none. Return: whether it was written.
 */
static bool put_argument(const struct translation *to, struct line *l, size_t i,
			 const struct parts *p)
{
	const struct word *w = &l->words[i];
	unsigned int number = argument_number(w, p);
	const char *name = variables_name(l->v, number - 1);
	char shown[16];
	struct variable x;
	size_t position;
	int wrong;

	snprintf(shown, sizeof(shown), "$arg%u", number);
	if (number > variables_count(l->v) && !variables_variadic(l->v) && !p->base)
		is_wrong(l, i, PROBE_WRONG_NAME, 0);
	if (!name || l->inside)
		return false;
	wrong = variables_find(l->v, name, strlen(name), &x, &position);
	if (wrong) {
		is_wrong(l, i, wrong, p->base);
		return false;
	}
	if (!p->body && !p->is_inner) {
		put(to, l, i, p, name, &x);
		return true;
	}
	/* with a name of the user's own, only its place is translated */
	strcpy(x.type, "x64");
	put(to, l, i, p, shown, &x);
	return true;
}

static void put_variable(const struct translation *to, struct line *l, size_t i,
			 const struct parts *p)
{
	const struct word *w = &l->words[i];
	char shown[VARIABLE_BYTES];
	struct variable x;
	size_t position;
	int wrong;

	if (l->inside) {
		is_wrong(l, i, PROBE_WRONG_NAME, p->base);
		return;
	}
	if (p->end - p->base >= sizeof(shown)) {
		is_wrong(l, i, PROBE_WRONG_LENGTH, p->body);
		return;
	}
	wrong = variables_find(l->v, w->text + p->base, p->end - p->base, &x, &position);
	if (wrong) {
		is_wrong(l, i, wrong, p->base + position);
		return;
	}
	memcpy(shown, w->text + p->base, p->end - p->base);
	shown[p->end - p->base] = '\0';
	put(to, l, i, p, shown, &x);
}

static void put_word(const struct translation *to, struct line *l, size_t i)
{
	const struct word *w = &l->words[i];
	struct parts p = take_apart(w);

	if (i == 1 && l->address) {
		fprintf(to->f, "0x%" PRIx64, l->address);
		return;
	}
	/* a tracepoint returns nothing: the engine reports the error */
	if (i >= 2 && l->v && has_name(w) && !(l->is_tracepoint && begins(w, p.base, "$retval"))) {
		if (is_base(w, &p, "$arg*")) {
			put_all(to, l, i, &p);
			return;
		}
		if (!argument_number(w, &p)) {
			put_variable(to, l, i, &p);
			return;
		}
		if (put_argument(to, l, i, &p))
			return;
	}
	fprintf(to->f, "%.*s", (int)w->n, w->text);
}

static void put_wrong(const struct translation *to, const struct line *l)
{
	for (size_t i = 0; i < l->nr; i++) {
		fprintf(to->f, "%s%.*s", i ? " " : "", (int)l->words[i].n, l->words[i].text);
		if (i == l->bad)
			fprintf(to->f, "%c%c%zu", PROBE_WORD_WRONG, l->wrong, l->position);
	}
}

/* One line, without its end and comment. */
static void translate_line(struct translation *to, const char *text, size_t n)
{
	struct line l = {0};
	long start = ftell(to->f);

	if (split(&l, text, n) && is_wanted(&l)) {
		l.is_tracepoint = *l.words[0].text == 't';
		find_function(to, &l);
	}
	if (!l.v && !l.address) {
		fwrite(text, 1, n, to->f);
		return;
	}
	for (size_t i = 0; i < l.nr; i++) {
		if (i)
			fputc(' ', to->f);
		put_word(to, &l, i);
	}
	if (l.bad) {
		fseek(to->f, start, SEEK_SET);
		put_wrong(to, &l);
	}
	variables_free(l.v);
}

/* Is there a line with names at all? */
static bool any(const char *text, size_t n)
{
	for (size_t i = 0, end; i < n; i = end + 1) {
		struct line l = {0};

		for (end = i; end < n && text[end] != '\n'; end++)
			;
		if (split(&l, text + i, end - i) && is_wanted(&l))
			return true;
	}
	return false;
}

bool probe_names_are_in(const char *file, const char *text, size_t n)
{
	n = strnlen(text, n); /* the engine's text ends there, too */
	return (!strcmp(file, "kprobe_events") || !strcmp(file, "uprobe_events") ||
		!strcmp(file, "dynamic_events")) &&
	       n && any(text, n);
}

int probe_names_translate(const struct image *t, const char *file, const char *text, size_t n,
			  struct translated *translated)
{
	struct translation to = {.t = t};
	size_t i, end, comment;

	n = strnlen(text, n);
	if (!probe_names_are_in(file, text, n))
		return 0;
	to.f = open_memstream(&translated->text, &translated->n);
	if (!to.f)
		return fail(ENOMEM, "out of memory");
	for (i = 0; i < n; i = end + 1) {
		for (end = i; end < n && text[end] != '\n'; end++)
			;
		for (comment = i; comment < end && text[comment] != '#'; comment++)
			;
		translate_line(&to, text + i, comment - i);
		if (end < n)
			fputc('\n', to.f);
	}
	meta_free(to.meta);
	translated->is_own = to.is_own;
	if (fclose(to.f)) {
		free(translated->text);
		translated->text = NULL;
		return fail(ENOMEM, "out of memory");
	}
	return 0;
}
