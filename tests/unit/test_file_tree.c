/* SPDX-License-Identifier: MIT */
/* The table of control files in an area, good and hostile: tools/target/file_tree.c. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "abi/option.h"
#include "tools/target/file_tree.h"

#define AT 4096u

/* Load a table that holds @text. @gen, @bytes, @count: as its head and the area's say. */
static int load_as(const char *text, uint32_t gen, uint32_t bytes, uint32_t count,
		   struct file_tree *tree)
{
	struct area_header head = {.nr_tables = AREA_NR_TABLES};
	struct area_files files = {.gen = gen, .bytes = bytes};
	int fd = memfd_create("area", 0), err;

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, &files, sizeof(files), AT), sizeof(files));
	assert_int_equal(pwrite(fd, text, strlen(text), AT + sizeof(files)), strlen(text));
	head.tables[AREA_FILES] =
		(struct area_table){.offset = AT, .entry_bytes = 1, .count = count};
	err = file_tree_load(fd, &head, tree);
	close(fd);
	return err;
}

static int load(const char *text, struct file_tree *tree)
{
	uint32_t n = (uint32_t)strlen(text);

	return load_as(text, 2, n, n + sizeof(struct area_files), tree);
}

#define GOOD                                                                                       \
	"644 e i 00004 current_tracer\nnop\n"                                                      \
	"444 r g 00000 saved_cmdlines\n"                                                           \
	"644 r i 00000 trace\n"                                                                    \
	"444 r c 00000 stats\n"                                                                    \
	"644 e o 00000 overwrite\n"                                                                \
	"222 e i 00000 trace_marker\n"                                                             \
	"755 d g 00000 events\n"

static int count(void *arg, const char *name, const struct file_at *at)
{
	(void)at;
	assert_true(strlen(name) > 0);
	++*(unsigned int *)arg;
	return 0;
}

static unsigned int nr_in(const struct file_tree *tree, const char *dir)
{
	unsigned int n = 0;

	assert_int_equal(file_tree_list(tree, dir, 3, count, &n), 0);
	return n;
}

static void paths(void **state)
{
	static const char *const files[] = {
		"current_tracer",     "saved_cmdlines",	   "trace",	  "per_cpu/cpu0/stats",
		"per_cpu/cpu2/stats", "options/overwrite", "trace_marker"};
	static const char *const dirs[] = {
		"", "options", "per_cpu", "per_cpu/cpu1", "events", "events/sched/enable"};
	static const char *const nothing[] = {"nosuch",
					      "per_cpu/cpu3/stats",
					      "per_cpu/cpu0/trace",
					      "per_cpu/cpu00/stats",
					      "per_cpu/cpu/stats",
					      "per_cpu/cpu-1/stats",
					      "options/nosuch",
					      "stats",
					      "overwrite",
					      "trace/",
					      "per_cpux",
					      "per_cpu/cpu99999999999999/stats"};
	struct file_tree tree;
	struct file_at at;

	assert_int_equal(load(GOOD, &tree), 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		assert_int_equal(file_tree_find(&tree, files[i], 3, &at), 0);
		assert_non_null(at.row);
	}
	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
		assert_int_equal(file_tree_find(&tree, dirs[i], 3, &at), 0);
		assert_null(at.row);
	}
	for (size_t i = 0; i < sizeof(nothing) / sizeof(*nothing); i++)
		if (!file_tree_find(&tree, nothing[i], 3, &at))
			fail_msg("there is a %s", nothing[i]);
	assert_int_equal(file_tree_find(&tree, "options/overwrite", 3, &at), 0);
	assert_int_equal(at.option, AREA_OPTION_OVERWRITE);
	assert_int_equal(file_tree_find(&tree, "current_tracer", 3, &at), 0);
	assert_int_equal(at.row->bytes, 4);
	assert_memory_equal(at.row->text, "nop\n", 4);
	assert_int_equal(nr_in(&tree, ""), 7); /* with options and per_cpu */
	assert_int_equal(nr_in(&tree, "per_cpu"), 3);
	assert_int_equal(nr_in(&tree, "per_cpu/cpu2"), 1);
	assert_int_equal(nr_in(&tree, "options"), 1);
	file_tree_free(&tree);
}

static void hostile(void **state)
{
	static const char *const texts[] = {
		"644 e i 99999 trace\n",
		"644 e i 00005 trace\nabc",
		"644 e i 00000 trace",
		"999 e i 00000 trace\n",
		"644 e x 00000 trace\n",
		"644 e i 00000 \n",
		"644 e i 00000 ../etc\n",
		"644 e i 00000 a/b\n",
		"644 e i 00000 .\n",
		"644 e i -0001 trace\n",
		"\n",
		"garbage\n",
		"644 e i 00000 trace\nrest",
		"644 e i 00000 tr ace\n",
		"644",
	};
	struct file_tree tree;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		if (!load(texts[i], &tree))
			fail_msg("'%s' was taken", texts[i]);
		file_tree_free(&tree);
	}
}

static void sizes(void **state)
{
	const uint32_t n = (uint32_t)strlen(GOOD), all = n + sizeof(struct area_files);
	struct file_tree tree;

	assert_int_equal(load_as(GOOD, 2, n, 0, &tree), -ENODATA);
	assert_int_equal(load_as(GOOD, 2, n, 7, &tree), -ENODATA);
	assert_int_equal(load_as(GOOD, 2, n, all - 1, &tree), -EINVAL);
	assert_int_equal(load_as(GOOD, 2, UINT32_MAX, UINT32_MAX, &tree), -EINVAL);
	/* longer than the file */
	assert_int_equal(load_as(GOOD, 2, n + 1, UINT32_MAX, &tree), -EIO);
	/* being written all the time */
	/* its writer was stopped */
	assert_int_equal(load_as(GOOD, 3, n, all, &tree), 0);
	assert_int_equal(tree.nr_rows, 7);
	file_tree_free(&tree);
	assert_int_equal(load_as("", 2, 0, 8, &tree), 0);
	assert_int_equal(tree.nr_rows, 0);
	file_tree_free(&tree);
}

/* What a writer left that was stopped between old and new: all rows but where they meet. */
static void torn(void **state)
{
	static const char *const texts[] = {
		"644 e i 00009 current_tracer\nfunction\n0 saved_cmdlines\n644 r i 00000 trace\n",
		"644 e i 00009 current_tracer\nfunc\n644 r i 00000 trace\n644 r i 000",
		("r g 00000 saved_cmdlines\n644 e i 00004 current_tracer\nnop\n"
		 "644 r i 00000 trace\n"),
		"644 r i 00000 trace\n644 e i 00002 a\n644 e i 00004 current_tracer\nnop\n\n\n",
	};
	static const unsigned int rows[] = {2, 1, 2, 2};
	struct file_tree tree;
	char *text;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		uint32_t n = (uint32_t)strlen(texts[i]);
		unsigned int found = 0;
		struct file_at at;

		assert_int_equal(load_as(texts[i], 5, n, n + sizeof(struct area_files), &tree), 0);
		found += !file_tree_find(&tree, "current_tracer", 3, &at);
		found += !file_tree_find(&tree, "trace", 3, &at);
		assert_int_equal(found, rows[i]);
		file_tree_free(&tree);
		/* of a whole table that is damage */
		assert_int_not_equal(load(texts[i], &tree), 0);
		file_tree_free(&tree);
	}
	/* megabytes of nothing cost no more than one look at each byte */
	text = malloc(4u << 20);
	memset(text, 'x', 4u << 20);
	text[(4u << 20) - 1] = '\0';
	for (size_t i = 1; i < (4u << 20) - 1; i += 2)
		text[i] = '\n';
	assert_int_equal(load_as(text, 5, (4u << 20) - 1, (4u << 20) + 7, &tree), 0);
	assert_int_equal(tree.nr_rows, 0);
	file_tree_free(&tree);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths),
		cmocka_unit_test(hostile),
		cmocka_unit_test(sizes),
		cmocka_unit_test(torn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
