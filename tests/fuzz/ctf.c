/* SPDX-License-Identifier: MIT */
/*
 * A CTF trace: an input has the length of the metadata, two bytes, then the metadata and a stream.
 * Another project's library reads them, in a process of its own. The promise: whatever it answers,
 * and however it ends, the result is an error or records in order.
 */
#include "fuzz.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "tools/reader/reader.h"

static char folder[300];

static char *path_of(const char *name)
{
	static char path[340];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void remove_folder(void)
{
	unlink(path_of("metadata"));
	unlink(path_of("stream"));
	rmdir(folder);
}

static int open_import(const char *path, struct reader **out)
{
	return reader_open_import(path, out) ? -1 : 0;
}

static void put_file(const char *name, const uint8_t *data, size_t n)
{
	int fd = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	PROMISE(fd >= 0 && write(fd, data, n) == (ssize_t)n);
	close(fd);
}

static void run(const uint8_t *data, size_t n)
{
	const char *tmp = getenv("TMPDIR");
	size_t bytes;

	if (n < 2)
		return;
	if (!*folder) {
		snprintf(folder, sizeof(folder), "%s/vestige-fuzz-XXXXXX", tmp ? tmp : "/tmp");
		PROMISE(mkdtemp(folder));
		atexit(remove_folder);
	}
	bytes = data[0] | (size_t)data[1] << 8;
	bytes = bytes < n - 2 ? bytes : n - 2;
	put_file("metadata", data + 2, bytes);
	put_file("stream", data + 2 + bytes, n - 2 - bytes);
	fuzz_notes(0);
	fuzz_path_read(folder, open_import, 1);
	fuzz_notes(1);
}

/* Mostly of the stream: a change of the metadata is mostly refused. */
static void mutate(struct mangle *m)
{
	size_t bytes = m->n < 2 ? 0 : m->p[0] | (size_t)m->p[1] << 8;

	if (bytes + 2 >= m->n || !mangle_random(m, 3))
		mangle_any(m);
	else if (mangle_random(m, 2))
		mangle_field(m, 2 + bytes + mangle_random(m, m->n - 2 - bytes), 4);
	else
		m->p[2 + bytes + mangle_random(m, m->n - 2 - bytes)] =
			(uint8_t)mangle_random(m, 256);
}

const struct fuzz_target fuzz_ctf = {"ctf", run, mutate};
