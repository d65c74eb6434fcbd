/* SPDX-License-Identifier: MIT */
/*
 * Values as text, tools/text/value_text.c, by prototypes in the form in which a trace.dat keeps
 * them (tools/code/prototype_text.c); damaged ones must leave nothing but less knowledge.
 */
#include "cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scratch.h"
#include "synth.h"
#include "tools/code/prototype.h"
#include "tools/code/symbols.h"
#include "tools/text/value_text.h"

#include <fcntl.h>
#include <unistd.h>

/* What @print prints. */
static char *printed(void (*print)(struct value_text *v, struct out *o, const void *arg),
		     struct value_text *v, const void *arg)
{
	char *path = scratch_path("value"), *text;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct out o;
	size_t bytes;

	assert_true(fd >= 0);
	assert_int_equal(out_init(&o, fd), 0);
	print(v, &o, arg);
	assert_int_equal(out_end(&o), 0);
	close(fd);
	text = scratch_read(path, &bytes);
	free(path);
	return text;
}

static const uint64_t regs[6] = {0xfffffffffffffffe, 5, 0x1ffffff41, 0x7fff12345678, 1, 0x8000};

static void args(struct value_text *v, struct out *o, const void *arg)
{
	value_text_args(v, o, *(const uint64_t *)arg, regs);
}

struct result {
	uint64_t ip, value;
	bool hex;
};

static void result(struct value_text *v, struct out *o, const void *arg)
{
	const struct result *r = arg;

	value_text_result(v, o, r->ip, r->value, r->hex);
}

static const struct {
	const char *line; /* behind the address */
	const char *args;
} lines[] = {
	{"\tv0", "()"},
	{"\ts4@0/4\ta s4@0/4\tb u4@0/4", "(a=-2, b=0xfffffffe)"},
	{"\tv0\tc c1-@2/1\td s1@2/1", "(c='A', d=65)"},
	{"\tv0\tp p8@3/8\tb b1@4/1\tb2 b1@1/1", "(p=0x7fff12345678, b=true, b2=0x5)"},
	{"\tv0\te e4@1/4,5=FIVE,6=SIX", "(e=FIVE)"},
	{"\tv0\te e4@1/4,1=A,4=B", "(e=A|B)"},
	{"\tv0\te e4-@0/4,1=A,4=B", "(e=-2)"},
	{"\tv0\ts w10@-1/8@2/4", "(s={..., 0xffffff41})"},
	{"\tv0\te w1", "(e={})"},
	{"\tv0\tx ?8\ty s4!fffffffffffffff9\t s4@1/4", "(x=..., y=-7, 5)"},
	{"...\tv0\tx s4@1/4", "(x=5, ...)"},
	{"...\tv0", "(...)"},
	/* without a register there is no value */
	{"\tv0\ta s4", "(a=...)"},
	/* what does not parse is as if it were not there */
	{"\tv0\ta s4@6/4", NULL},
	{"\tv0\ta s4@-2/4", NULL},
	{"\tv0\ta s44@0/4", NULL},
	{"\tv0\ta s4@0/9", NULL},
	{"\tv0\ta z4@0/4", NULL},
	{"\tv0\tas4@0/4", NULL},
	{"\ts4@1/4\ta s4@0/4", NULL},
	{"", NULL},
	{"\t", NULL},
	{"\tv0\te e4@1/4,5", NULL},
};

#define NR_LINES (sizeof(lines) / sizeof(lines[0]))
#define IP(i)	 (UINT64_C(0x1000) * ((i) + 1))

static struct prototypes *known(struct reader *r)
{
	struct prototypes *p = prototypes_new(r->symbols);
	char *text = NULL;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);

	assert_non_null(p);
	for (size_t i = 0; i < NR_LINES; i++)
		fprintf(f, "%llx\t%s\n", (unsigned long long)IP(i), lines[i].line);
	fputs("not a line at all\n\n0\t\tv0\n", f);
	fclose(f);
	assert_int_equal(prototypes_add_text(p, text), 0);
	free(text);
	return p;
}

static void test_args(void **state)
{
	struct reader r = {.symbols = symbols_new()};
	struct value_text *v = value_text_new(&r);

	r.prototypes = known(&r);
	for (size_t i = 0; i < NR_LINES; i++) {
		uint64_t ip = IP(i);
		char *text = printed(args, v, &ip);

		assert_string_equal(text, lines[i].args ? lines[i].args
							: "(0xfffffffffffffffe, 0x5, 0x1ffffff41, "
							  "0x7fff12345678, 0x1, 0x8000)");
		free(text);
	}
	value_text_free(v);
	prototypes_free(r.prototypes);
	symbols_free(r.symbols);
}

static void test_results(void **state)
{
	static const struct {
		struct result result;
		const char *text;
	} cases[] = {
		{{IP(1), 0xfffffffe, false}, "-2"},
		{{IP(1), 0xfffffffe, true}, "0xfffffffe"},
		/* no type: what looks like -errno, of 32 bits or 64, is decimal */
		{{IP(200), 0xfffffffe, false}, "-2"},
		{{IP(200), 0xfffffffffffffff3, false}, "-13"},
		{{IP(200), 0xfffffffffffffff3, true}, "0xfffffffffffffff3"},
		{{IP(200), 0xffff0000, false}, "0xffff0000"},
		{{IP(200), 31, false}, "0x1f"},
	};
	struct reader r = {.symbols = symbols_new()};
	struct value_text *v = value_text_new(&r);

	r.prototypes = known(&r);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text = printed(result, v, &cases[i].result);

		assert_string_equal(text, cases[i].text);
		free(text);
	}
	assert_true(value_text_is_void(v, IP(0)));
	assert_false(value_text_is_void(v, IP(1)));
	assert_false(value_text_is_void(v, IP(200)));
	value_text_free(v);
	prototypes_free(r.prototypes);
	symbols_free(r.symbols);
}

/* What is written reads back to the same, and is written the same again. */
static void test_round(void **state)
{
	struct reader r = {.symbols = symbols_new()};
	struct prototypes *p = known(&r), *q = prototypes_new(r.symbols);
	char *text[2] = {NULL, NULL}, *copy;
	size_t bytes[2];
	FILE *f;

	f = open_memstream(&text[0], &bytes[0]);
	prototypes_put(p, f);
	fclose(f);
	assert_true(bytes[0] > 100);
	copy = strdup(text[0]);
	assert_int_equal(prototypes_add_text(q, copy), 0);
	f = open_memstream(&text[1], &bytes[1]);
	prototypes_put(q, f);
	fclose(f);
	assert_string_equal(text[0], text[1]);
	free(copy);
	free(text[0]);
	free(text[1]);
	prototypes_free(p);
	prototypes_free(q);
	symbols_free(r.symbols);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_args),
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_round),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
