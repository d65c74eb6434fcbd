/* SPDX-License-Identifier: MIT */
/* A finished file in another one's place, tools/base/replace_file.c. */
#include "cm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scratch.h"
#include "tools/base/replace_file.h"

static char *file(const char *name, const char *text)
{
	char *path = scratch_path(name);

	scratch_write(path, text, strlen(text));
	return path;
}

static void assert_holds(const char *path, const char *text)
{
	size_t bytes;
	char *is = scratch_read(path, &bytes);

	assert_non_null(is);
	assert_string_equal(is, text);
	free(is);
}

static void test_of_an_old_file(void **state)
{
	char *to = file("to", "old"), *from = file("from", "new");
	struct stat st;

	assert_int_equal(chmod(to, 0640), 0);
	assert_int_equal(chmod(from, 0666), 0);
	assert_int_equal(replace_file(from, to), 0);
	assert_holds(to, "new");
	assert_int_equal(access(from, F_OK), -1);
	assert_int_equal(stat(to, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	unlink(to);
	free(from);
	free(to);
}

static void test_of_none(void **state)
{
	char *to = scratch_path("none"), *from = file("from", "new");

	assert_int_equal(replace_file(from, to), 0);
	assert_holds(to, "new");
	assert_int_equal(access(from, F_OK), -1);
	unlink(to);
	free(from);
	free(to);
}

/* A folder is not replaced, and both stay where they are. */
static void test_of_a_folder(void **state)
{
	char *to = scratch_path("folder"), *from = file("from", "new");
	struct stat st;

	assert_int_equal(mkdir(to, 0700), 0);
	assert_int_equal(replace_file(from, to), -EISDIR);
	assert_holds(from, "new");
	assert_int_equal(stat(to, &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	rmdir(to);
	unlink(from);
	free(from);
	free(to);
}

static void test_without_a_source(void **state)
{
	char *to = file("to", "old"), *from = scratch_path("nothing");

	assert_int_equal(replace_file(from, to), -ENOENT);
	assert_holds(to, "old");
	unlink(to);
	free(from);
	free(to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_of_an_old_file),
		cmocka_unit_test(test_of_none),
		cmocka_unit_test(test_of_a_folder),
		cmocka_unit_test(test_without_a_source),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
