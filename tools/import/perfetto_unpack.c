/* SPDX-License-Identifier: MIT */
/*
 * See perfetto_unpack.h. Memory is allocated as data is unpacked, not by a length in the file.
 * Tests: tests/cli/test_import_perfetto.py.
 */
#include "tools/import/perfetto_unpack.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include "tools/base/fail.h"

#define FIRST_BYTES (256u << 10)

struct unpacked {
	unsigned char *p;
	size_t nr, room;
};

/* Make room for more. Return: 0 or -errno with fail() set. */
static int grow(struct unpacked *u)
{
	size_t room = u->room ? 2 * u->room : FIRST_BYTES;
	unsigned char *p;

	if (room > PERFETTO_UNPACKED_MAX)
		return fail(E2BIG, "a compressed packet has more than %u MiB",
			    PERFETTO_UNPACKED_MAX >> 20);
	p = realloc(u->p, room);
	if (!p)
		return fail(ENOMEM, "out of memory");
	u->p = p;
	u->room = room;
	return 0;
}

static int damaged(void)
{
	return fail(EINVAL, "a compressed packet is damaged");
}

static int unpack_zlib(struct unpacked *u, const void *packed, size_t n)
{
	z_stream z = {.next_in = (Bytef *)(uintptr_t)packed, .avail_in = (uInt)n};
	int got = Z_OK, err = 0;

	if (inflateInit(&z) != Z_OK)
		return fail(ENOMEM, "out of memory");
	while (!err && got == Z_OK) {
		if (u->nr == u->room && (err = grow(u)))
			break;
		z.next_out = u->p + u->nr;
		z.avail_out = (uInt)(u->room - u->nr);
		got = inflate(&z, Z_NO_FLUSH);
		u->nr = u->room - z.avail_out;
	}
	inflateEnd(&z);
	return err ? err : got == Z_STREAM_END ? 0 : damaged();
}

static int unpack_zstd(struct unpacked *u, const void *packed, size_t n)
{
	ZSTD_DStream *z = ZSTD_createDStream();
	ZSTD_inBuffer in = {packed, n, 0};
	size_t left = 1;
	int err = z ? 0 : fail(ENOMEM, "out of memory");

	/* left is 0 at the end of a frame */
	while (!err && left) {
		ZSTD_outBuffer to;

		if (u->nr == u->room && (err = grow(u)))
			break;
		to = (ZSTD_outBuffer){u->p + u->nr, u->room - u->nr, 0};
		left = ZSTD_decompressStream(z, &to, &in);
		u->nr += to.pos;
		if (ZSTD_isError(left) || (left && in.pos == n && u->nr < u->room))
			err = damaged();
	}
	ZSTD_freeDStream(z);
	return err;
}

int perfetto_unpack(bool zstd, const void *packed, size_t n, unsigned char **out, size_t *bytes)
{
	struct unpacked u = {0};
	int err = zstd ? unpack_zstd(&u, packed, n) : unpack_zlib(&u, packed, n);

	if (err) {
		free(u.p);
		return err;
	}
	*out = u.p;
	*bytes = u.nr;
	return 0;
}
