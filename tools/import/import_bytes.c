/* SPDX-License-Identifier: MIT */
/* See import_bytes.h. Tests: tests/cli/test_import_uftrace.py, tests/fuzz/import.c. */
#include "tools/import/import_bytes.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

size_t import_bytes_have(struct import_bytes *in, size_t n)
{
	while (in->nr - in->pos < n) {
		ssize_t got;

		memmove(in->buf, in->buf + in->pos, in->nr - in->pos);
		in->nr -= in->pos;
		in->pos = 0;
		got = pread(in->fd, in->buf + in->nr, sizeof(in->buf) - in->nr, in->at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			in->err = -errno;
		if (got <= 0)
			return in->nr;
		in->nr += (size_t)got;
		in->at += got;
	}
	return n;
}

size_t import_bytes_take(struct import_bytes *in, void *to, size_t n)
{
	size_t done = 0;

	while (done < n) {
		size_t want = n - done < sizeof(in->buf) ? n - done : sizeof(in->buf);
		size_t got = import_bytes_have(in, want);

		memcpy((char *)to + done, in->buf + in->pos, got);
		in->pos += got;
		done += got;
		if (got < want)
			break;
	}
	return done;
}
