/* SPDX-License-Identifier: MIT */
/* See thread_list.h. Holds nothing; fork: nothing to do. Tests: tests/engine/events/switches. */
#include "engine/core/thread_list.h"

#include "engine/arch/sys.h"
#include "engine/base/mem.h"

int thread_list_each(int (*each)(int tid, void *data), void *data)
{
	int fd = sys_open("/proc/self/task", O_RDONLY | O_CLOEXEC | O_DIRECTORY, 0), ret = 0;
	char buf[4096] __attribute__((aligned(8)));
	long n = 0, at;

	if (fd < 0)
		return fd;
	while (!ret && (n = sys_getdents(fd, buf, sizeof(buf))) > 0) {
		for (at = 0; !ret && at < n; at += ((const struct sys_dirent *)(buf + at))->bytes) {
			const struct sys_dirent *e = (const struct sys_dirent *)(buf + at);
			uint64_t tid;

			if (!str_to_u64(e->name, strlen(e->name), &tid))
				ret = each((int)tid, data);
		}
	}
	sys_close(fd);
	return ret ? ret : (int)n;
}
