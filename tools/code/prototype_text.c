/* SPDX-License-Identifier: MIT */
/*
 * A prototype as a line of text, as trace.dat files of ours keep it (docs/formats/arguments.md).
 * The text is untrusted: a register that no record has counts as not known.
 * Tests: tests/unit/test_value_text.c, tests/engine/args.
 */
#include "tools/code/prototype_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "abi/record.h"

#define MAX_PARAMS 64u
#define MAX_NAMES  4096u

/* By enum value_kind. */
static const char kinds[] = "?vsubcpew";

/* Names of C have no blanks; a name with a blank is not kept. */
static bool is_word(const char *text)
{
	return *text && !text[strcspn(text, " \t\n,=")];
}

static void put_type(FILE *f, const struct value_type *t)
{
	fprintf(f, "%c%x", kinds[t->kind], t->bytes);
	if (t->is_signed)
		fputc('-', f);
	for (unsigned int w = 0; w < t->nr_words && w < VALUE_MAX_WORDS; w++)
		fprintf(f, "@%d/%x", t->reg[w], t->word_bytes[w]);
	if (t->is_constant)
		fprintf(f, "!%" PRIx64, t->constant);
	for (uint32_t i = 0; i < t->nr_names; i++)
		if (is_word(t->names[i].name))
			fprintf(f, ",%" PRId64 "=%s", t->names[i].value, t->names[i].name);
}

void prototype_put(FILE *f, uint64_t addr, const struct prototype *t)
{
	fprintf(f, "%" PRIx64 "\t%s\t", addr, t->variadic ? "..." : "");
	put_type(f, &t->result);
	for (uint32_t i = 0; i < t->nr; i++) {
		const char *name = t->params[i].name;

		fprintf(f, "\t%s ", name && is_word(name) ? name : "");
		put_type(f, &t->params[i].type);
	}
	fputc('\n', f);
}

/* The number at *@at, in @base; *@at is moved behind it. */
static bool take_number(const char **at, int base, int64_t *v)
{
	char *end;

	errno = 0;
	*v = (int64_t)(base == 16 ? strtoull(*at, &end, 16)
				  : (unsigned long long)strtoll(*at, &end, 10));
	if (end == *at || errno)
		return false;
	*at = end;
	return true;
}

/* `,VALUE=NAME` to the end of the field. */
static int take_names(const char *at, struct value_type *t)
{
	uint32_t room = 0;

	while (*at++ == ',' && t->nr_names < MAX_NAMES) {
		size_t n;

		if (t->nr_names == room) {
			struct value_name *more;

			room = room ? 2 * room : 8;
			more = realloc(t->names, room * sizeof(*more));
			if (!more)
				return -ENOMEM;
			t->names = more;
		}
		if (!take_number(&at, 10, &t->names[t->nr_names].value) || *at++ != '=')
			return -EINVAL;
		n = strcspn(at, ",");
		t->names[t->nr_names].name = strndup(at, n);
		if (!t->names[t->nr_names++].name)
			return -ENOMEM;
		at += n;
	}
	return 0;
}

/* @nr_registers: how many a value can be in. */
static int take_type(const char *at, struct value_type *t, int nr_registers)
{
	const char *kind = *at ? strchr(kinds, *at) : NULL;
	int64_t v;
	int ret;

	if (!kind)
		return -EINVAL;
	t->kind = (enum value_kind)(kind - kinds);
	at++;
	if (!take_number(&at, 16, &v) || v < 0 || v > 16)
		return -EINVAL;
	t->bytes = (uint8_t)v;
	if (*at == '-') {
		t->is_signed = true;
		at++;
	}
	t->reg[0] = t->reg[1] = -1;
	while (*at == '@' && t->nr_words < VALUE_MAX_WORDS) {
		at++;
		if (!take_number(&at, 10, &v) || v < -1 || v >= nr_registers || *at++ != '/')
			return -EINVAL;
		t->reg[t->nr_words] = (int8_t)v;
		if (!take_number(&at, 16, &v) || v < 0 || v > 8)
			return -EINVAL;
		t->word_bytes[t->nr_words++] = (uint8_t)v;
	}
	if (*at == '!') {
		at++;
		if (!take_number(&at, 16, &v))
			return -EINVAL;
		t->is_constant = true;
		t->constant = (uint64_t)v;
	}
	ret = take_names(at, t);
	if (t->reg[0] < 0 && !t->is_constant && t->kind != VALUE_VOID && t->kind != VALUE_WORDS)
		t->kind = VALUE_UNKNOWN;
	return ret;
}

static int take_param(char *field, struct prototype *t)
{
	char *type = strchr(field, ' ');
	struct prototype_param *more, *param;

	if (!type || t->nr == MAX_PARAMS)
		return -EINVAL;
	*type++ = '\0';
	more = realloc(t->params, (t->nr + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	t->params = more;
	param = &more[t->nr++];
	*param = (struct prototype_param){.name = *field ? strdup(field) : NULL};
	if (*field && !param->name)
		return -ENOMEM;
	return take_type(type, &param->type, (int)RECORD_NR_ARGS);
}

int prototype_parse(char *line, uint64_t *addr, struct prototype *t)
{
	char *field, *rest = line, *end;
	int ret = 0;

	for (int i = 0; !ret && (field = strsep(&rest, "\t")); i++) {
		if (i == 0) {
			*addr = strtoull(field, &end, 16);
			ret = end == field || *end || !*addr ? -EINVAL : 0;
		} else if (i == 1) {
			t->variadic = strcmp(field, "...") == 0;
		} else if (i == 2) {
			ret = take_type(field, &t->result, 1);
		} else {
			ret = take_param(field, t);
		}
		if (!ret && !rest && i < 2)
			ret = -EINVAL;
	}
	return ret;
}
