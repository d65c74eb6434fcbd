/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as an ELF file that is searched for functions. Promises: no read outside of it;
 * functions in order and inside the code, each with a way to redirect it or a reason for the
 * refusal.
 */
#include "fuzz.h"

#include <string.h>

#include "object/entries.h"

static void run(const uint8_t *data, size_t n)
{
	/* of its own, so that the sanitizer sees a byte too many */
	uint8_t *copy = malloc(n + !n);
	struct entries e;

	PROMISE(copy);
	memcpy(copy, data, n);
	if (!entries_open(&e, copy, n, fuzz_get, fuzz_put)) {
		PROMISE(!entries_add(&e, e.text_lo + 1, 3, "added"));
		PROMISE(!entries_find_ways(&e));
		for (uint32_t i = 0; i < e.nr; i++) {
			const struct entry *f = &e.functions[i];

			PROMISE(f->at >= e.text_lo && f->at < e.text_hi);
			PROMISE(!i || e.functions[i - 1].at < f->at);
			PROMISE(f->way < ENTRY_NR_WAYS && f->why < ENTRY_NR_WHYS);
			PROMISE(f->is_part || (f->way == ENTRY_REFUSED) == (f->why != 0));
		}
		entries_close(&e);
	}
	free(copy);
}

static void mutate(struct mangle *m)
{
	static const uint8_t widths[] = {1, 2, 4, 8};

	/* the head and the program headers more often than the rest */
	if (mangle_random(m, 2))
		mangle_field(m, mangle_random(m, 1024) & ~UINT64_C(1), widths[mangle_random(m, 4)]);
	else
		mangle_any(m);
}

const struct fuzz_target fuzz_entries = {"entries", run, mutate};
