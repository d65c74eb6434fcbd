/* SPDX-License-Identifier: MIT */
/*
 * uftrace's folder: an input has the length of each file, two bytes, then the files. Each file is
 * changed, and ends early.
 */
#include "fuzz.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "tools/reader/reader.h"

static const char *const names[] = {"info",  "task.txt", "sid-1.map",	  "prog.sym",
				    "7.dat", "8.dat",	 "perf-cpu0.dat", "events.txt"};

#define NR	   (sizeof(names) / sizeof(names[0]))
#define HEAD_BYTES (2 * NR)

static char folder[300];

static char *path_of(size_t i)
{
	static char path[340];

	snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
	return path;
}

static void remove_folder(void)
{
	for (size_t i = 0; i < NR; i++)
		unlink(path_of(i));
	rmdir(folder);
}

static int open_import(const char *path, struct reader **out)
{
	return reader_open_import(path, out) ? -1 : 0;
}

static void run(const uint8_t *data, size_t n)
{
	const char *tmp = getenv("TMPDIR");
	size_t at = HEAD_BYTES;

	if (n < HEAD_BYTES)
		return;
	if (!*folder) {
		snprintf(folder, sizeof(folder), "%s/vestige-fuzz-XXXXXX", tmp ? tmp : "/tmp");
		PROMISE(mkdtemp(folder));
		atexit(remove_folder);
	}
	for (size_t i = 0; i < NR; i++) {
		size_t bytes = data[2 * i] | (size_t)data[2 * i + 1] << 8;
		int fd = open(path_of(i), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

		bytes = bytes < n - at ? bytes : n - at;
		PROMISE(fd >= 0 && write(fd, data + at, bytes) == (ssize_t)bytes);
		close(fd);
		at += bytes;
	}
	fuzz_notes(0);
	fuzz_path_read(folder, open_import, 1);
	fuzz_notes(1);
}

static void mutate(struct mangle *m)
{
	static const char marks[] = "0123456789abcdef=-\" \n/?:";
	uint64_t nr = mangle_random(m, 4) + 1, at;

	switch (mangle_random(m, 4)) {
	case 0:
		mangle_field(m, 2 * mangle_random(m, NR), 2);
		break;
	case 1:
		mangle_any(m);
		break;
	case 2:
		mangle_field(m, HEAD_BYTES + (mangle_random(m, m->n) & ~7u), 8);
		break;
	default:
		while (nr-- && m->n > HEAD_BYTES) {
			at = HEAD_BYTES + mangle_random(m, m->n - HEAD_BYTES);
			m->p[at] = (uint8_t)marks[mangle_random(m, sizeof(marks) - 1)];
		}
	}
}

const struct fuzz_target fuzz_uftrace = {"uftrace", run, mutate};
