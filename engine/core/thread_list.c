/* SPDX-License-Identifier: MIT */
/* See thread_list.h. Holds nothing; fork: nothing to do. Tests: tests/engine/events/switches. */
#include "engine/core/thread_list.h"

#include "engine/arch/sys.h"
#include "engine/base/mem.h"

struct entry {
	uint64_t ino;
	int64_t off;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

int thread_list_each(int (*each)(int tid, void *data), void *data)
{
	int fd = sys_open("/proc/self/task", O_RDONLY | O_CLOEXEC | O_DIRECTORY, 0), ret = 0;
	char buf[4096] __attribute__((aligned(8)));
	long n = 0, at;

	if (fd < 0)
		return fd;
	while (!ret &&
	       (n = arch_syscall(SYS_getdents64, fd, (long)buf, sizeof(buf), 0, 0, 0)) > 0) {
		for (at = 0; !ret && at < n; at += ((const struct entry *)(buf + at))->bytes) {
			const struct entry *e = (const struct entry *)(buf + at);
			uint64_t tid;

			if (!str_to_u64(e->name, strlen(e->name), &tid))
				ret = each((int)tid, data);
		}
	}
	sys_close(fd);
	return ret ? ret : (int)n;
}
