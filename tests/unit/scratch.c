/* SPDX-License-Identifier: MIT */
/* See scratch.h. */
#include "scratch.h"

#include <dirent.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char dir[512];
static pid_t owner;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void remove_all(void)
{
	if (getpid() == owner)
		nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

char *scratch_path(const char *name)
{
	const char *tmp = getenv("TMPDIR");
	char *path;

	if (!dir[0]) {
		snprintf(dir, sizeof(dir), "%s/vestige-unit-XXXXXX", tmp ? tmp : "/tmp");
		if (!mkdtemp(dir))
			abort();
		owner = getpid();
		atexit(remove_all);
	}
	if (asprintf(&path, "%s/%s", dir, name) < 0)
		abort();
	return path;
}

int scratch_count(void)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d)))
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

static char *read_stream(FILE *f, size_t *bytes)
{
	size_t room = 4096, n = 0, got;
	char *text = malloc(room + 1);

	while (text && (got = fread(text + n, 1, room - n, f)) > 0) {
		n += got;
		if (n == room)
			text = realloc(text, (room *= 2) + 1);
	}
	if (!text)
		abort();
	text[n] = '\0';
	if (bytes)
		*bytes = n;
	return text;
}

char *scratch_read(const char *path, size_t *bytes)
{
	FILE *f = fopen(path, "r");
	char *text = f ? read_stream(f, bytes) : NULL;

	if (f)
		fclose(f);
	return text;
}

void scratch_write(const char *path, const void *data, size_t bytes)
{
	FILE *f = fopen(path, "w");

	if (!f || fwrite(data, 1, bytes, f) != bytes || fclose(f))
		abort();
}

char *scratch_run(const char *fmt, ...)
{
	char command[2048], *text;
	va_list ap;
	FILE *f;
	int status;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	f = popen(command, "r");
	if (!f)
		abort();
	text = read_stream(f, NULL);
	status = pclose(f);
	if (status) {
		fprintf(stderr, "%s: status %d\n", command, status);
		exit(1);
	}
	return text;
}

char *data_path(const char *name)
{
	const char *source = getenv("SOURCE_DIR");
	char *path;

	if (asprintf(&path, "%s/tests/data/%s", source ? source : ".", name) < 0)
		abort();
	return path;
}
