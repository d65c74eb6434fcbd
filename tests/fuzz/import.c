/* SPDX-License-Identifier: MIT */
/* Traces of other tools: their texts, with changed digits, brackets and lines. */
#include "fuzz.h"

#include <string.h>
#include <unistd.h>

#include "tools/reader/reader.h"

#define BASE sizeof(struct fuzz_file)

static int open_import(const char *path, struct reader **out)
{
	return reader_open_import(path, out) ? -1 : 0;
}

static void run(const uint8_t *data, size_t n)
{
	fuzz_notes(0);
	fuzz_file_read(data, n, open_import, 1);
	fuzz_notes(1);
}

static void mutate(struct mangle *m)
{
	static const char marks[] = "[]{}\":,-+.()0919 \n\t|\\uE";
	uint64_t nr = mangle_random(m, 6) + 1, at;

	switch (mangle_random(m, 8)) {
	case 0:
		mangle_change(m);
		break;
	case 1:
		mangle_any(m);
		break;
	case 2:
		mangle_repeat(m, BASE + mangle_random(m, m->n), 1 + mangle_random(m, 200));
		break;
	default:
		while (nr-- && m->n > BASE) {
			at = BASE + mangle_random(m, m->n - BASE);
			m->p[at] = (uint8_t)marks[mangle_random(m, sizeof(marks) - 1)];
		}
	}
}

const struct fuzz_target fuzz_import = {"import", run, mutate};
