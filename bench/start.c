/* SPDX-License-Identifier: MIT */
/*
 * start - the time that a preloaded library adds to a program's start and end.
 *
 *	start PAIRS LIBRARY BOOT PROGRAM
 *
 * Runs PROGRAM in turn without and with LD_PRELOAD=LIBRARY and VESTIGE_BOOT=BOOT, from fork to
 * exit, and prints the two medians: `plain_us X preloaded_us Y`. VESTIGE_DIR is passed on; the
 * program's areas there are removed.
 */
#include <dirent.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static double once(const char *program, char **env)
{
	char *argv[] = {(char *)program, NULL};
	double start = now_us();
	int status;
	pid_t pid;

	if (posix_spawn(&pid, program, NULL, NULL, argv, env) || waitpid(pid, &status, 0) != pid ||
	    status) {
		fprintf(stderr, "start: %s did not run and exit with 0\n", program);
		exit(1);
	}
	return now_us() - start;
}

static void empty_dir(const char *path)
{
	DIR *d = path ? opendir(path) : NULL;
	const struct dirent *e;

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	char preload[4096], boot[4096], dir[4096];
	char *plain[] = {NULL}, *preloaded[] = {preload, boot, dir, NULL};
	const char *areas = getenv("VESTIGE_DIR");
	int pairs = argc == 5 ? atoi(argv[1]) : 0, i;
	double *a, *b;

	if (pairs < 1 || !areas) {
		fprintf(stderr, "usage: VESTIGE_DIR=DIR start PAIRS LIBRARY BOOT PROGRAM\n");
		return 2;
	}
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", argv[2]);
	snprintf(boot, sizeof(boot), "VESTIGE_BOOT=%s", argv[3]);
	snprintf(dir, sizeof(dir), "VESTIGE_DIR=%s", areas);
	a = calloc((size_t)pairs, sizeof(*a));
	b = calloc((size_t)pairs, sizeof(*b));
	if (!a || !b)
		return 1;
	once(argv[4], plain);
	for (i = 0; i < pairs; i++) {
		a[i] = once(argv[4], plain);
		b[i] = once(argv[4], preloaded);
		empty_dir(areas);
	}
	qsort(a, (size_t)pairs, sizeof(*a), compare);
	qsort(b, (size_t)pairs, sizeof(*b), compare);
	printf("plain_us %.1f preloaded_us %.1f\n", a[pairs / 2], b[pairs / 2]);
	return 0;
}
