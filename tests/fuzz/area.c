/* SPDX-License-Identifier: MIT */
/* The area's reader; a hostile process changes or cuts its area while it is read. */
#include "fuzz.h"

#include "tools/reader/reader.h"

static void run(const uint8_t *data, size_t n)
{
	fuzz_file_read(data, n, reader_open_area, 1);
}

static void mutate(struct mangle *m)
{
	const size_t at = sizeof(struct fuzz_file);

	switch (mangle_random(m, 8)) {
	case 0:
		mangle_change(m);
		break;
	case 1:
		mangle_any(m);
		break;
	default:
		if (m->n > at)
			mangle_area(m, at, m->n - at);
	}
}

const struct fuzz_target fuzz_area = {"area", run, mutate};
