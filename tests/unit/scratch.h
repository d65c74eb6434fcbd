/* SPDX-License-Identifier: MIT */
/* A folder of a test's own, gone with all that is in it when the test program ends. */
#ifndef VESTIGE_TESTS_SCRATCH_H
#define VESTIGE_TESTS_SCRATCH_H

#include <stddef.h>

/* The path of @name in the folder, which is made at the first call; malloced. */
char *scratch_path(const char *name);
/* How many files the folder holds. */
int scratch_count(void);
/* The whole of a file, NUL-terminated and malloced; NULL if it cannot be read. */
char *scratch_read(const char *path, size_t *bytes);
void scratch_write(const char *path, const void *data, size_t bytes);
/* The stdout of a shell command, malloced; ends the test program if it fails. */
char *scratch_run(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The path of a file in tests/data; malloced. */
char *data_path(const char *name);

#endif
