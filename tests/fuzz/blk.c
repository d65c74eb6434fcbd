/* SPDX-License-Identifier: MIT */
/* Recordings of blktrace: records of either byte order with lengths, kinds and payloads changed. */
#include "fuzz.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/blk/blk_parse.h"
#include "tools/blk/blk_times.h"

#define RECORD sizeof(struct blk_event)

static int drop(void *arg, const char *text, size_t bytes)
{
	(void)arg;
	(void)text;
	(void)bytes;
	return 0;
}

static void run(const uint8_t *data, size_t n)
{
	int fd = memfd_create("blk", 0);
	char path[64];
	const char *names[] = {path};
	struct blk_parse parse = {
		.names = names, .nr_names = 1, .times = true, .processes = true, .messages = true};
	struct blk_times_flags times = {.names = names, .nr_names = 1, .all = true, .range_s = 0.1};
	struct out o;

	if (fd >= 0 && write(fd, data, n) == (ssize_t)n) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		fuzz_notes(0);
		if (!out_init_sink(&o, drop, NULL)) {
			(void)blk_parse(&parse, &o);
			(void)blk_times(&times, &o);
			(void)out_end(&o);
		}
		fuzz_notes(1);
	}
	close(fd);
}

/* Mostly a field of a record. */
static void mutate(struct mangle *m)
{
	uint64_t nr = mangle_random(m, 6) + 1;

	if (m->n < RECORD || !mangle_random(m, 4)) {
		mangle_any(m);
		return;
	}
	while (nr--) {
		uint64_t at = mangle_random(m, m->n / RECORD) * RECORD + mangle_random(m, RECORD);

		m->p[at] = (uint8_t)mangle_random(m, 256);
	}
}

const struct fuzz_target fuzz_blk = {"blk", run, mutate};
