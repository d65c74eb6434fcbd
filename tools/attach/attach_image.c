/* SPDX-License-Identifier: MIT */
/*
 * See attach_impl.h: whether a process still runs the program that it ran before. The kernel gives
 * each image 16 random bytes (AT_RANDOM, getauxval(3)). A fork's child has its parent's. To compare
 * them is one system call. Tests: tests/cli/test_attach_children.py.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/attach/attach_impl.h"

#define MAX_AUXV 128u

int attach_image(int pid, struct attach_image *i)
{
	Elf64_auxv_t auxv[MAX_AUXV];
	char path[64];
	ssize_t n;
	int fd, err;

	*i = (struct attach_image){0};
	snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	n = read(fd, auxv, sizeof(auxv));
	n = n < 0 ? -errno : n;
	close(fd);
	if (n <= 0)
		return n ? (int)n : -ESRCH; /* it has no memory any more */
	for (size_t at = 0; at < (size_t)n / sizeof(*auxv); at++)
		if (auxv[at].a_type == AT_RANDOM)
			i->at = auxv[at].a_un.a_val;
	if (!i->at)
		return -ENOEXEC; /* of 32 bits */
	err = attach_peek(pid, i->at, i->bytes, sizeof(i->bytes));
	if (err)
		i->at = 0;
	return err;
}

bool attach_image_same(int pid, const struct attach_image *i)
{
	uint8_t bytes[sizeof(i->bytes)];

	return i->at && !attach_peek(pid, i->at, bytes, sizeof(bytes)) &&
	       !memcmp(bytes, i->bytes, sizeof(bytes));
}
