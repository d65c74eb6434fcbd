/* SPDX-License-Identifier: MIT */
/* The flags of commands: every way to write one, and what is refused. */
#include "cm.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/cli/cmd.h"
#include "tools/base/nearest.h"
#include "tools/cli/options.h"

struct shared {
	const char *input;
	bool verbose;
};

struct own {
	unsigned long long top;
	const char *list[4];
	unsigned int nr;
	bool json, jsonl;
};

static int take_top(const struct parsing *p, void *to, const char *value)
{
	return options_number(value, 10, &((struct own *)to)->top)
		       ? 0
		       : options_bad(p, "not a number up to 10", value);
}

static int take_list(const struct parsing *p, void *to, const char *value)
{
	struct own *own = to;

	assert_string_equal(p->typed[1] == '-' ? "--list" : "-l", p->typed);
	own->list[own->nr++] = value;
	return 0;
}

static const struct flag shared_flags[] = {
	{'i', "input", "FILE", "a file", NULL, offsetof(struct shared, input)},
	{'v', NULL, NULL, "more", NULL, offsetof(struct shared, verbose)},
	FLAGS_END};
static const struct flag own_flags[] = {
	{0, "top", "N", "a number", take_top, 0},
	{'l', "list", "WORD", "may be repeated", take_list, 0},
	{'j', "json", NULL, "a switch", NULL, offsetof(struct own, json)},
	{0, "jsonlines", NULL, "another", NULL, offsetof(struct own, jsonl)},
	FLAGS_END};

static const struct command plain = {
	.name = "plain",
	.words = "[FILE]",
	.what = "a test",
	.help = "A test.\n",
	.flags = (const struct flag *const[]){shared_flags, own_flags, NULL},
};
static struct command other;

static struct shared shared;
static struct own own;
static char words[512];

/* The exit status, or -1; what is left of the words in `words`. */
static int parse(const struct command *c, const char *line)
{
	static char text[256];
	char *argv[32] = {(char *)(uintptr_t)c->name}, **rest = argv;
	int argc = 1, status;

	snprintf(text, sizeof(text), "%s", line);
	for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	memset(&shared, 0, sizeof(shared));
	memset(&own, 0, sizeof(own));
	status = options_parse(c, (void *[]){&shared, &own}, &argc, &rest);
	words[0] = '\0';
	for (int i = 0; status < 0 && i < argc; i++)
		snprintf(words + strlen(words), sizeof(words) - strlen(words), "%s%s", i ? " " : "",
			 rest[i]);
	if (status < 0)
		assert_null(rest[argc]);
	return status;
}

static void test_forms(void **state)
{
	static const char *const inputs[] = {"-i f",	"-if",	       "--input f", "--input=f",
					     "--inp f", "-vif",	       "x -i f",    "--in=f",
					     "-i f --", "--top 3 -i f"};

	for (size_t i = 0; i < sizeof(inputs) / sizeof(*inputs); i++) {
		assert_int_equal(parse(&plain, inputs[i]), -1);
		assert_string_equal(shared.input, "f");
	}
	assert_int_equal(parse(&plain, "-vj"), -1);
	assert_true(shared.verbose && own.json && !own.jsonl);
	/* a whole name, and one that begins like another */
	assert_int_equal(parse(&plain, "--json"), -1);
	assert_true(own.json && !own.jsonl);
	assert_int_equal(parse(&plain, "--jsonl"), -1);
	assert_true(own.jsonl && !own.json);
	assert_int_equal(parse(&plain, "-l a --list b --list=c -l -v"), -1);
	assert_int_equal(own.nr, 4);
	assert_string_equal(own.list[3], "-v");
	/* an empty value is none */
	assert_int_equal(parse(&plain, "--input="), CMD_USAGE);
}

static void test_words(void **state)
{
	assert_int_equal(parse(&plain, "a -v b"), -1);
	assert_string_equal(words, "a b");
	assert_true(shared.verbose);
	assert_int_equal(parse(&plain, "a -- -v b"), -1);
	assert_string_equal(words, "a -v b");
	assert_false(shared.verbose);
	assert_int_equal(parse(&plain, "- a"), -1);
	assert_string_equal(words, "- a");
	other = plain;
	other.runs_program = true;
	assert_int_equal(parse(&other, "-v prog -v --input"), -1);
	assert_string_equal(words, "prog -v --input");
	assert_int_equal(parse(&other, "-v -- prog --"), -1);
	assert_string_equal(words, "prog --");
	other.keeps_dashes = true;
	assert_int_equal(parse(&other, "-v -- prog"), -1);
	assert_string_equal(words, "-- prog");
}

static void test_wrong(void **state)
{
	static const char *const bad[] = {"-x",	     "--nosuch", "-i",	    "--input",	 "-vi",
					  "--top 0", "--top 11", "--top x", "--top=",	 "--json=1",
					  "--j",     "-vx",	 "--",	    "--list --", "--t"};

	for (size_t i = 0; i < 12; i++)
		assert_int_equal(parse(&plain, bad[i]), CMD_USAGE);
	other = plain;
	other.usage_status = 125;
	assert_int_equal(parse(&other, "-x"), 125);
	/* a value may look like a flag */
	assert_int_equal(parse(&plain, "--list --"), -1);
	assert_string_equal(own.list[0], "--");
}

static const char *name_at(const void *arg, size_t i)
{
	static const char *const names[] = {"record", "report", "", "json", NULL};

	(void)arg;
	return names[i];
}

static void test_nearest(void **state)
{
	assert_string_equal(nearest_name("recrod", name_at, NULL), "record");
	assert_string_equal(nearest_name("rport", name_at, NULL), "report");
	assert_null(nearest_name("nosuchthing", name_at, NULL));
	assert_null(nearest_name("x", name_at, NULL));
	assert_null(nearest_name("xx", name_at, NULL));
	assert_null(nearest_name("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", name_at,
				 NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_nearest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
