/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as an instruction. Promises: no read beyond their end; the result does not depend on
 * the bytes behind; and a moved instruction is an instruction again, with the same target.
 */
#include "fuzz.h"

#include <string.h>

#include "object/x86_64/insn.h"

#define FROM UINT64_C(0x555500001000)
#define TO   UINT64_C(0x555501000000)

static void check_moved(const struct insn *in, const uint8_t *code)
{
	uint8_t out[INSN_MAX_MOVED];
	struct insn moved;
	int n = insn_move(in, code, FROM, TO, out), at = 0;

	if (n < 0)
		return;
	PROMISE(n && (uint32_t)n <= INSN_MAX_MOVED);
	while (at < n) {
		PROMISE(insn_decode(&moved, out + at, (size_t)(n - at)));
		at += moved.bytes;
	}
	PROMISE(at == n);
	if (insn_has_target(in) && in->kind != INSN_LOOP)
		PROMISE(TO + (uint64_t)(n - moved.bytes) + (uint64_t)moved.target ==
			FROM + (uint64_t)in->target);
	PROMISE(moved.rip_relative == in->rip_relative);
}

static void run(const uint8_t *data, size_t n)
{
	size_t at = 0;

	while (at < n) {
		/* of its own, so that the sanitizer sees a byte too many */
		size_t left = n - at < INSN_MAX_BYTES ? n - at : INSN_MAX_BYTES;
		uint8_t *copy = malloc(left);
		struct insn in, cut;
		uint32_t bytes;

		PROMISE(copy);
		memcpy(copy, data + at, left);
		bytes = insn_decode(&in, copy, left);
		PROMISE(bytes <= left);
		if (bytes) {
			PROMISE(insn_decode(&cut, copy, bytes) == bytes);
			PROMISE(!insn_decode(&cut, copy, bytes - 1));
			check_moved(&in, copy);
		}
		free(copy);
		at += bytes ? bytes : 1;
	}
}

static void mutate(struct mangle *m)
{
	mangle_any(m);
}

const struct fuzz_target fuzz_insn = {"insn", run, mutate};
