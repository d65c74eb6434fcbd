/* SPDX-License-Identifier: MIT */
/*
 * See function_names.h. This file knows the control files and parses their words; function_find.c
 * finds the functions that match a word.
 */
#include "tools/target/function_names.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/code/name_pattern.h"
#include "tools/target/function_find.h"

/*
 * Up to this many names are written one by one. More are written as prefixes that match no others.
 */
#define MAX_NAMES 16u

enum kind {
	NONE,
	SETS,	    /* words of functions, with commands */
	PROBES,	    /* lines of definitions, the second word is one function */
	PREDICATES, /* one function behind `.function` and an operator */
};

static enum kind kind_of(const char *file)
{
	static const struct {
		const char *name;
		enum kind kind;
	} files[] = {{"set_ftrace_filter", SETS},  {"set_ftrace_notrace", SETS},
		     {"set_graph_function", SETS}, {"set_graph_notrace", SETS},
		     {"stack_trace_filter", SETS}, {"kprobe_events", PROBES},
		     {"dynamic_events", PROBES},   {"filter", PREDICATES},
		     {"trigger", PREDICATES}};
	const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (!strcmp(files[i].name, name))
			return files[i].kind;
	return NONE;
}

/* A name in an object, and whether it is wanted. */
struct entry {
	const char *name;
	bool wanted;
};

static int by_name(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : (int)y->wanted - (int)x->wanted;
}

static bool is_wanted(const struct functions_found *f, uint32_t id)
{
	return bsearch(&id, f->ids, f->nr, sizeof(id), function_by_id) != NULL;
}

/* The names of all functions that can be traced, in order; @f's are wanted. Locked. */
static struct entry *all_names(const struct meta *m, const struct functions_found *f, size_t *nr)
{
	size_t room = 0, n = 0, unique = 0;
	struct entry *all;

	for (uint32_t i = 0; i < m->nr_objects; i++) {
		const struct object_functions *names =
			m->objects[i].nr_functions ? function_names_of(m, i) : NULL;

		room += names ? names->code.nr_symbols : 0;
	}
	all = calloc(room + 1, sizeof(*all));
	for (uint32_t i = 0; all && i < m->nr_objects; i++) {
		const struct object_functions *names =
			m->objects[i].nr_functions ? function_names_of(m, i) : NULL;

		for (size_t s = 0; names && s < names->code.nr_symbols && n < room; s++) {
			uint32_t id = function_find_at(m, i, names->code.symbols[s].addr);

			const struct elf_symbol *symbol = &names->code.symbols[s];

			if (id != UINT32_MAX)
				all[n++] =
					(struct entry){symbol->alias ? symbol->alias : symbol->name,
						       is_wanted(f, id)};
		}
	}
	if (!all) {
		fail(ENOMEM, "out of memory for %zu names", room);
		return NULL;
	}
	qsort(all, n, sizeof(*all), by_name);
	for (size_t k = 0; k < n; k++)
		if (!unique || strcmp(all[unique - 1].name, all[k].name))
			all[unique++] = all[k];
	*nr = unique;
	return all;
}

struct cover {
	FILE *to;
	const struct function_word *w;
	char between;
	bool any;
};

/* One name, or a common prefix, with the text around it in the word. */
static void put_name(struct cover *c, const char *name, size_t n, const char *star)
{
	if (c->any)
		fputc(c->between, c->to);
	c->any = true;
	fprintf(c->to, "%s%.*s%s%.*s", c->w->remove ? "!" : "", (int)n, name, star,
		(int)c->w->rest_bytes, c->w->rest);
}

/*
 * The wanted names among @nr that begin with the same @depth characters; @one_by_one: each by its
 * name.
 */
static void put_names(struct cover *c, const struct entry *all, size_t nr, size_t depth,
		      bool one_by_one)
{
	size_t wanted = 0, i, k;

	for (i = 0; i < nr; i++)
		wanted += all[i].wanted;
	if (!wanted)
		return;
	if (one_by_one || wanted == 1) {
		for (i = 0; i < nr; i++)
			if (all[i].wanted)
				put_name(c, all[i].name, strlen(all[i].name), "");
		return;
	}
	if (wanted == nr && depth) {
		put_name(c, all[0].name, depth, "*");
		return;
	}
	for (i = 0; i < nr; i = k) {
		for (k = i + 1; k < nr && all[k].name[depth] == all[i].name[depth]; k++)
			;
		/* a name that ends here is alone: it has no more characters */
		put_names(c, all + i, k - i, depth + (all[i].name[depth] != 0), false);
	}
}

static bool has_aliases(const struct meta *m)
{
	for (uint32_t i = 0; i < m->nr_objects; i++) {
		const struct object_functions *names =
			m->objects[i].nr_functions ? function_names_of(m, i) : NULL;

		if (names && names->code.has_aliases)
			return true;
	}
	return false;
}

/* Locked. Return: 0 or -ENOMEM with fail() set. */
static int put_cover(FILE *to, const struct meta *m, const struct function_word *w,
		     const struct functions_found *f, char between)
{
	struct cover c = {.to = to, .w = w, .between = between};
	struct entry *all;
	size_t nr;

	all = all_names(m, f, &nr);
	if (!all)
		return -ENOMEM;
	if (f->raw)
		put_name(&c, w->pattern, w->n, "");
	/* the engine takes *+0xADDRESS, but no glob of that */
	put_names(&c, all, nr, 0, f->nr <= MAX_NAMES || has_aliases(m));
	free(all);
	return 0;
}

static int put_set_word(FILE *to, const struct meta *m, const char *text, size_t n)
{
	struct function_word w = function_word_split(text, n);
	struct functions_found f;
	int err = function_find(m, &w, &f);

	if (err || !f.nr) {
		fwrite(text, 1, n, to);
	} else if (w.rest_bytes && !w.module) {
		err = put_cover(to, m, &w, &f, ' ');
	} else {
		if (f.raw)
			fprintf(to, "%.*s", (int)n, text);
		for (size_t i = 0; i < f.nr; i++)
			fprintf(to, "%s%s%" PRIu32, i || f.raw ? " " : "", w.remove ? "!" : "",
				f.ids[i] + 1);
	}
	free(f.ids);
	return err;
}

/* Copy what lies between words. */
static void put_between(FILE *to, const char *text, size_t from, size_t end)
{
	fwrite(text + from, 1, end - from, to);
}

static int translate_sets(FILE *to, const struct meta *m, const char *text, size_t n)
{
	size_t at = 0, last = 0, bytes;
	const char *word;
	int err = 0;

	while (!err && (word = name_pattern_word(text, n, NAME_PATTERN_BLANKS, &at, &bytes))) {
		put_between(to, text, last, (size_t)(word - text));
		err = put_set_word(to, m, word, bytes);
		last = at;
	}
	put_between(to, text, last, n);
	return err;
}

/* `[OBJECT:]FUNCTION[+OFFSET][%return]` of a probe. */
static int put_place(FILE *to, const struct meta *m, const char *text, size_t n)
{
	size_t colon = function_word_colon(text, n), from = colon < n ? colon + 1 : 0, end = n,
	       plus;
	const char *name = NULL;
	int err = 0;

	if (end - from > 7 && !memcmp(text + end - 7, "%return", 7))
		end -= 7;
	plus = end;
	while (plus > from && isxdigit((unsigned char)text[plus - 1]))
		plus--;
	if (plus > from + 2 && text[plus - 1] == 'x' && text[plus - 2] == '0')
		plus -= 2;
	if (plus > from + 1 && plus < end && text[plus - 1] == '+')
		end = plus - 1;
	if (name_pattern_is_source(text + from, end - from) || !memchr(text, '/', n))
		err = function_find_one(m, text + from, end - from, &name);
	if (err || !name)
		fwrite(text, 1, n, to);
	else
		fprintf(to, "%.*s%s%.*s", (int)from, text, name, (int)(n - end), text + end);
	return err;
}

/* One definition: the second word is where the probe is. */
static int translate_probe(FILE *to, const struct meta *m, const char *text, size_t n)
{
	size_t at = 0, bytes, second = 0, second_bytes = 0;
	const char *word = name_pattern_word(text, n, NAME_PATTERN_BLANKS, &at, &bytes);
	int err;

	if (word && strchr("prf", *word)) {
		word = name_pattern_word(text, n, NAME_PATTERN_BLANKS, &at, &bytes);
		if (word) {
			second = (size_t)(word - text);
			second_bytes = bytes;
		}
	}
	if (!second_bytes || strchr("0123456789", text[second])) {
		fwrite(text, 1, n, to);
		return 0;
	}
	put_between(to, text, 0, second);
	at = second + second_bytes;
	err = put_place(to, m, text + second, second_bytes);
	put_between(to, text, at, n);
	return err;
}

static int translate_probes(FILE *to, const struct meta *m, const char *text, size_t n)
{
	int err = 0;

	for (size_t i = 0, end; i < n && !err; i = end + 1) {
		for (end = i; end < n && text[end] != '\n'; end++)
			;
		err = translate_probe(to, m, text + i, end - i);
		if (end < n)
			fputc('\n', to);
	}
	return err;
}

/* Where the name ends that a predicate has at @i. */
static size_t operand_end(const char *text, size_t n, size_t i)
{
	int depth = 0;

	for (; i < n; i++) {
		depth += text[i] == '(' || text[i] == '<';
		if (text[i] == ')' && !depth)
			break;
		depth -= (text[i] == ')' || text[i] == '>') && depth > 0;
		if (!depth && strchr(" \t\n&|", text[i]) &&
		    !(text[i] == ' ' && n - i > 6 && !memcmp(text + i, " const", 6)))
			break;
	}
	return i;
}

static int translate_predicates(FILE *to, const struct meta *m, const char *text, size_t n)
{
	static const char suffix[] = ".function";
	const size_t k = sizeof(suffix) - 1;
	size_t last = 0, i = 0, end;
	const char *name;
	int err = 0;

	while (!err && i + k < n) {
		if (memcmp(text + i, suffix, k)) {
			i++;
			continue;
		}
		for (i += k; i < n && text[i] == ' '; i++)
			;
		if (n - i < 3 || (text[i] != '=' && text[i] != '!') || text[i + 1] != '=')
			continue;
		for (i += 2; i < n && text[i] == ' '; i++)
			;
		end = operand_end(text, n, i);
		name = NULL;
		if (end > i && !strchr("0123456789", text[i]))
			err = function_find_one(m, text + i, end - i, &name);
		if (name) {
			put_between(to, text, last, i);
			fputs(name, to);
			last = end;
		}
		i = end;
	}
	put_between(to, text, last, n);
	return err;
}

/* Is there a word that only a source has? */
static bool has_source_word(enum kind kind, const char *text, size_t n)
{
	size_t at = 0, line = 0, bytes;
	unsigned int number = 0;
	struct function_word w;
	const char *word;

	if (kind == PREDICATES)
		return memmem(text, n, ".function", 9) != NULL;
	while ((word = name_pattern_word(text, n, NAME_PATTERN_BLANKS, &at, &bytes))) {
		number = memchr(text + line, '\n', (size_t)(word - text) - line) ? 1 : number + 1;
		line = (size_t)(word - text);
		w = function_word_split(word, bytes);
		/* of a probe the place alone */
		if (kind == PROBES ? number == 2 && name_pattern_is_source(word, bytes)
				   : name_pattern_is_source(w.pattern, w.n))
			return true;
	}
	return false;
}

/* In the engine a NUL ends the text; a list of words goes on behind it. */
static size_t bytes_of(enum kind kind, const char *text, size_t n)
{
	return kind == SETS ? n : strnlen(text, n);
}

bool function_names_are_in(const char *file, const char *text, size_t n)
{
	enum kind kind = kind_of(file);

	n = bytes_of(kind, text, n);
	return kind != NONE && n && !memchr(text, '\0', n) && has_source_word(kind, text, n);
}

/* Are all words numbers, `*` or removals of all functions? Then no table has to be read. */
static bool is_plain(enum kind kind, const char *text, size_t n)
{
	if (kind == PREDICATES)
		return !memmem(text, n, ".function", 9);
	for (size_t i = 0; i < n; i++)
		if (!strchr("0123456789*! \t\n", text[i]))
			return false;
	return true;
}

/* Were objects loaded, or unloaded, since the process began? */
static bool any_later(const struct meta *m)
{
	for (uint32_t i = 0; i < m->nr_objects; i++)
		if (m->objects[i].load_stamp || m->objects[i].unload_stamp)
			return true;
	return false;
}

int function_names_translate(const struct image *t, const char *file, const char *text, size_t n,
			     struct translated *translated)
{
	enum kind kind = kind_of(file);
	struct meta *m;
	FILE *to;
	int err;

	n = bytes_of(kind, text, n);
	if (kind == NONE || !n || memchr(text, '\0', n) || is_plain(kind, text, n))
		return 0;
	if (image_meta(t, &m)) {
		translated->is_own = true;
		return 0;
	}
	translated->is_own = any_later(m);
	to = open_memstream(&translated->text, &translated->n);
	if (!to) {
		meta_free(m);
		return fail(ENOMEM, "out of memory");
	}
	function_find_begin();
	err = kind == SETS     ? translate_sets(to, m, text, n)
	      : kind == PROBES ? translate_probes(to, m, text, n)
			       : translate_predicates(to, m, text, n);
	function_find_end();
	meta_free(m);
	if (fclose(to) && !err)
		err = fail(ENOMEM, "out of memory");
	if (err || (translated->n == n && !memcmp(translated->text, text, n))) {
		free(translated->text);
		translated->text = NULL;
	}
	return err;
}

/*
 * Translate the words of the list; @between: the separators. Return: 1 some were translated, 0 all
 * stay, -errno with fail() set.
 */
static int translate_boot_words(FILE *to, const struct meta *m, const char *text, size_t n,
				const char *between)
{
	size_t at = 0, bytes;
	bool is_first = true;
	const char *word;
	int one = 0, translated = 0;

	while (one >= 0 && (word = name_pattern_word(text, n, between, &at, &bytes))) {
		struct function_word w = function_word_split(word, bytes);
		struct functions_found f;

		if (!is_first)
			fputc(',', to);
		is_first = false;
		one = function_find(m, &w, &f);
		if (!one && f.nr) {
			one = put_cover(to, m, &w, &f, ',');
			translated = 1;
		} else if (!one && !f.raw && !strchr(between, ' ') && memchr(word, ' ', bytes)) {
			/* `int f<int>(int)` is one name, `f g` are two */
			one = translate_boot_words(to, m, word, bytes, NAME_PATTERN_BLANKS);
			translated |= one > 0;
		} else if (!one && !f.raw && name_pattern_is_source(w.pattern, w.n)) {
			one = fail(ENOENT, "%.*s", (int)bytes, word);
		} else if (!one) {
			fwrite(word, 1, bytes, to);
		}
		free(f.ids);
	}
	return one < 0 ? one : translated;
}

int function_names_boot(const struct meta *m, const char *list, char **out)
{
	size_t bytes;
	FILE *to = open_memstream(out, &bytes);
	int translated;

	if (!to) {
		*out = NULL;
		return fail(ENOMEM, "out of memory");
	}
	function_find_begin();
	translated = translate_boot_words(to, m, list, strlen(list), ",");
	function_find_end();
	if (fclose(to) && translated >= 0)
		translated = fail(ENOMEM, "out of memory");
	if (translated <= 0) {
		free(*out);
		*out = NULL;
	}
	return translated < 0 ? translated : 0;
}
