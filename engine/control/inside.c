/* SPDX-License-Identifier: MIT */
/* The inside door: what vestige.h calls. Any thread; sets errno, which nothing else here does. */
#include <errno.h>

#include "engine/base/compiler.h"
#include "engine/control/tree.h"
#include "vestige/vestige.h"

VESTIGE_EXPORT ssize_t vestige_file_read(const char *file, char *buf, size_t bytes)
{
	struct seq_buf s;
	long n;

	seq_init(&s, buf, bytes);
	n = tree_read(file, &s);
	if (n < 0) {
		errno = (int)-n;
		return -1;
	}
	return n;
}

VESTIGE_EXPORT ssize_t vestige_file_write(const char *file, const char *buf, size_t bytes,
					  int truncate)
{
	int err = tree_write(file, buf, bytes, truncate);

	if (err) {
		errno = -err;
		return -1;
	}
	return (ssize_t)bytes;
}
