/* SPDX-License-Identifier: MIT */
/*
 * The lines of synthetic_events and the `s:` of dynamic_events. Grammar, messages, errno and
 * positions are the kernel's (6.12), which points to the first occurrence of a word's text in the
 * line. Control context. Tests: tests/engine/events/synth, tests/fuzz/synth.c.
 */
#include <errno.h>

#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/process/heap.h"
#include "engine/events/trigger/synth.h"

#define MAX_TYPE_BYTES	48u
#define MAX_NAME_BYTES	128u
#define MAX_ARRAY_BYTES 3u
#define GROUP		"synthetic/"

struct line {
	struct word text;
	struct dyn_error *error;
	uint32_t nr;
	struct synth_field fields[SYNTH_MAX_FIELDS];
	char types[SYNTH_MAX_FIELDS][MAX_TYPE_BYTES];
	char names[SYNTH_MAX_FIELDS][MAX_NAME_BYTES];
};

static const char bad_command[] = "Command must be of the form: <name> field[;field] ...";

/* The offset of the first occurrence of @w. */
static uint32_t position(const struct word *text, const struct word *w)
{
	size_t i;

	for (i = 0; i + w->n <= text->n; i++)
		if (!memcmp(text->at + i, w->at, w->n))
			return (uint32_t)i;
	return 0;
}

static int bad(struct line *l, const char *message, const struct word *w)
{
	*l->error = (struct dyn_error){.location = "synthetic_events",
				       .error = {message, w ? position(&l->text, w) : 0},
				       .command = l->text.at,
				       .bytes = l->text.n};
	return -EINVAL;
}

static int is_good_name(const char *name, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!is_name_char(name[i]))
			return 0;
	return n && !is_digit(*name);
}

/* The first occurrence of @part in a text; NULL: none. */
static const char *find(const char *text, const char *part)
{
	for (; *text; text++)
		if (str_starts(text, part))
			return text;
	return NULL;
}

static const struct {
	const char *name;
	struct synth_type type;
} numbers[] = {
	{"s64", {SYNTH_NUMBER, 1, 8, "%lld"}}, {"u64", {SYNTH_NUMBER, 0, 8, "%llu"}},
	{"s32", {SYNTH_NUMBER, 1, 4, "%d"}},   {"u32", {SYNTH_NUMBER, 0, 4, "%u"}},
	{"s16", {SYNTH_NUMBER, 1, 2, "%d"}},   {"u16", {SYNTH_NUMBER, 0, 2, "%u"}},
	{"s8", {SYNTH_NUMBER, 1, 1, "%d"}},    {"u8", {SYNTH_NUMBER, 0, 1, "%u"}},
	{"char", {SYNTH_NUMBER, 1, 1, "%d"}},  {"unsigned char", {SYNTH_NUMBER, 0, 1, "%u"}},
	{"int", {SYNTH_NUMBER, 1, 4, "%d"}},   {"unsigned int", {SYNTH_NUMBER, 0, 4, "%u"}},
	{"long", {SYNTH_NUMBER, 1, 8, "%ld"}}, {"unsigned long", {SYNTH_NUMBER, 0, 8, "%lu"}},
	{"bool", {SYNTH_NUMBER, 1, 1, "%d"}},  {"pid_t", {SYNTH_NUMBER, 1, 4, "%d"}},
	{"gfp_t", {SYNTH_NUMBER, 0, 4, "%x"}},
};

/* Parse `char[16]`, `char[]`: @array is behind the bracket. */
static int string_type(const char *type, const char *array, struct synth_type *out)
{
	uint64_t size = 0;
	size_t n = 0;

	while (array[n] && array[n] != ']')
		n++;
	if (array[n] != ']' || array[n + 1] || n > MAX_ARRAY_BYTES)
		return -ERANGE;
	if (n && (str_to_u64(array, n, &size) || array[n - 1] == '\n' || size > SYNTH_STRING_BYTES))
		return -ERANGE;
	/* a string of any length counts as signed, since its type in the format begins otherwise */
	*out = (struct synth_type){.kind = size ? SYNTH_STRING : SYNTH_DYN_STRING,
				   .is_signed = !size || type[0] != 'u',
				   .size = size ? (uint16_t)size : 8,
				   .conversion = "%s"};
	return 0;
}

int synth_type_of(const char *type, struct synth_type *out)
{
	const char *array = find(type, "char[");
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (str_equal(numbers[i].name, type)) {
			*out = numbers[i].type;
			return 0;
		}
	}
	if (array)
		return string_type(type, array + strlen("char["), out);
	if (!find(type, "long["))
		return -EINVAL;
	*out = (struct synth_type){
		.kind = SYNTH_STACK, .is_signed = 1, .size = 8, .conversion = "%s"};
	return 0;
}

/* Parse `[unsigned] TYPE NAME[ARRAY]` at the beginning of *@rest. */
static int parse_field(struct line *l, struct word *rest)
{
	struct word first = word_take(rest), type = first, name = word_take(rest), array;
	int is_unsigned = word_is(&first, "unsigned"), err;
	struct synth_field *f = &l->fields[l->nr];
	struct synth_type t;
	struct seq_buf s;
	size_t i;

	if (is_unsigned) {
		type = name;
		name = word_take(rest);
		if (!name.n)
			return bad(l, "Incomplete type", &first);
	}
	if (!name.n)
		return bad(l, "Invalid field", &type);
	i = text_find(name.at, name.n, '[');
	array = word_behind(name, i);
	if (!is_good_name(name.at, i) || i >= MAX_NAME_BYTES)
		return bad(l, "Illegal name", &name);
	/* too many fields are reported when the first surplus one has been parsed */
	if (l->nr == SYNTH_MAX_FIELDS)
		return bad(l, "Too many fields", NULL);
	memcpy(l->names[l->nr], name.at, i);
	l->names[l->nr][i] = 0;
	seq_init(&s, l->types[l->nr], MAX_TYPE_BYTES - 1);
	seq_puts(&s, is_unsigned ? "unsigned " : "");
	for (i = 0; i < type.n; i++)
		seq_putc(&s, type.at[i]);
	for (i = 0; i < array.n; i++)
		seq_putc(&s, array.at[i]);
	l->types[l->nr][s.len] = 0;
	err = s.lost ? (array.n ? -ERANGE : -EINVAL) : synth_type_of(l->types[l->nr], &t);
	if (err == -ERANGE && array.n)
		return bad(l, "Invalid array specification", &name);
	if (err)
		return bad(l, "Invalid type", &type);
	*f = (struct synth_field){.type = l->types[l->nr],
				  .name = l->names[l->nr],
				  .kind = t.kind,
				  .is_signed = t.is_signed,
				  .size = t.size};
	l->nr++;
	return 0;
}

static int define(struct line *l, struct word name, struct word fields)
{
	int err = 0;

	if (!name.n)
		return bad(l, bad_command, NULL);
	if (!is_good_name(name.at, name.n))
		return bad(l, "Illegal name", &name);
	if (synth_find(name.at, name.n)) {
		bad(l, "Event already exists", &name);
		return -EEXIST;
	}
	while (fields.n && !err) {
		size_t n = text_find(fields.at, fields.n, ';');
		struct word one = word_skip_blanks((struct word){fields.at, n});

		while (one.n && !err) {
			err = parse_field(l, &one);
			one = word_skip_blanks(one);
		}
		n += n < fields.n;
		fields = word_behind(fields, n);
	}
	if (err)
		return err;
	if (!l->nr)
		return bad(l, bad_command, NULL);
	return synth_define(name.at, name.n, l->fields, l->nr);
}

/* Whether there are a name and at least one field before the first `;`. */
static int is_complete(struct word text)
{
	struct word rest = {text.at, text_find(text.at, text.n, ';')};
	int i;

	for (i = 0; i < 3; i++)
		if (!word_take(&rest).n)
			return 0;
	return 1;
}

/* Take what is before the first blank or tab; *@rest is behind it. */
static struct word split_name(struct word text, struct word *rest)
{
	size_t n = 0;

	while (n < text.n && text.at[n] != ' ' && text.at[n] != '\t')
		n++;
	*rest = word_skip_blanks(word_behind(text, n));
	return (struct word){text.at, n};
}

static int run(const char *text, size_t n, struct dyn_error *error, int (*command)(struct line *l))
{
	struct line *l = heap_alloc(sizeof(*l));
	int err;

	*error = (struct dyn_error){0};
	if (!l)
		return -ENOMEM;
	l->text = word_skip_blanks((struct word){text, text_find(text, n, '\0')});
	l->error = error;
	err = l->text.n ? command(l) : 0;
	heap_free(l);
	return err;
}

static int legacy(struct line *l)
{
	struct word fields, name = split_name(l->text, &fields);

	if (*l->text.at == '!')
		return synth_remove(name.at + 1, name.n - 1);
	if (!is_complete(l->text))
		return bad(l, bad_command, NULL);
	return define(l, name, fields);
}

static int dynamic(struct line *l)
{
	struct word text = l->text, fields, name;

	if (text.n < 2 || text.at[0] != 's' || text.at[1] != ':')
		return -ECANCELED;
	text = word_behind(text, 2);
	if (!split_name(text, &fields).n || !fields.n)
		return bad(l, bad_command, NULL);
	if (text_find(text.at, text.n, '/') < text.n) {
		size_t n = strlen(GROUP);

		if (text.n < n || memcmp(text.at, GROUP, n) != 0)
			return bad(l,
				   "Command must be of the form: s or -:[synthetic/]<name> "
				   "field[;field] ...",
				   NULL);
		text = word_behind(text, n);
	}
	if (!is_complete(text))
		return bad(l, bad_command, NULL);
	name = split_name(text, &fields);
	return define(l, name, fields);
}

int synth_command(const char *text, size_t n, struct dyn_error *error)
{
	return run(text, n, error, legacy);
}

int synth_dynamic_command(const char *text, size_t n, struct dyn_error *error)
{
	return run(text, n, error, dynamic);
}
