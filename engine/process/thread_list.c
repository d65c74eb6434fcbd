/* SPDX-License-Identifier: MIT */
/*
 * See thread_list.h. Owns the descriptor of the folder in the agent's table, if thread_list_keep()
 * was called. fork: the child's agent opens its own. Tests: tests/engine/events/switches,
 * tests/engine/fire/alone.
 */
#include "engine/process/thread_list.h"

#include "engine/arch/sys.h"
#include "engine/base/mem.h"
#include "engine/base/seq_buf.h"

#define PATH_BYTES 32u

static int kept = -1, kept_by;

/* Open a path below /proc/self/task. Return: a descriptor or -errno. */
static int open_at(const char *path, int flags)
{
	char whole[64];
	struct seq_buf s;

	if (kept >= 0 && kept_by == sys_gettid())
		return (int)arch_syscall(SYS_openat, kept, (long)path, flags | O_CLOEXEC, 0, 0, 0);
	seq_init(&s, whole, sizeof(whole) - 1);
	seq_puts(&s, "/proc/self/task/");
	seq_puts(&s, path);
	whole[s.len] = 0;
	return sys_open(whole, flags | O_CLOEXEC, 0);
}

void thread_list_keep(void)
{
	kept = -1;
	kept = open_at(".", O_RDONLY | O_DIRECTORY);
	kept_by = sys_gettid();
}

/* Read all of @fd, and close it. */
static long read_all(int fd, char *text, size_t bytes)
{
	long n;

	if (fd < 0)
		return fd;
	n = sys_read(fd, text, bytes - 1);
	sys_close(fd);
	text[n > 0 ? n : 0] = 0;
	return n;
}

long thread_list_main(const char *file, char *text, size_t bytes)
{
	char path[32] = "../";

	str_copy(path + strlen(path), sizeof(path) - 4, file);
	return read_all(open_at(path, O_RDONLY), text, bytes);
}

/* Make `TID/FILE`. @path: PATH_BYTES. */
static const char *path_of(char *path, int tid, const char *file)
{
	struct seq_buf s;

	seq_init(&s, path, PATH_BYTES - 1);
	seq_putu(&s, (uint64_t)tid);
	seq_putc(&s, '/');
	seq_puts(&s, file);
	path[s.len] = 0;
	return path;
}

long thread_list_read(int tid, const char *file, char *text, size_t bytes)
{
	char path[PATH_BYTES];

	return read_all(open_at(path_of(path, tid, file), O_RDONLY), text, bytes);
}

int thread_list_open(void)
{
	return open_at(".", O_RDONLY | O_DIRECTORY);
}

int thread_list_each_in(int folder, int (*each)(int tid, void *data), void *data)
{
	char buf[4096] __attribute__((aligned(8)));
	long n = 0, at;
	int ret = 0;

	sys_rewind(folder);
	while (!ret && (n = sys_getdents(folder, buf, sizeof(buf))) > 0) {
		for (at = 0; !ret && at < n; at += ((const struct sys_dirent *)(buf + at))->bytes) {
			const struct sys_dirent *e = (const struct sys_dirent *)(buf + at);
			uint64_t tid;

			if (!str_to_u64(e->name, strlen(e->name), &tid))
				ret = each((int)tid, data);
		}
	}
	return ret ? ret : (int)n;
}

int thread_list_each(int (*each)(int tid, void *data), void *data)
{
	int fd = thread_list_open(), ret;

	if (fd < 0)
		return fd;
	ret = thread_list_each_in(fd, each, data);
	sys_close(fd);
	return ret;
}

long thread_list_read_in(int folder, int tid, const char *file, char *text, size_t bytes)
{
	char path[PATH_BYTES];
	long fd = arch_syscall(SYS_openat, folder, (long)path_of(path, tid, file),
			       O_RDONLY | O_CLOEXEC, 0, 0, 0);

	return read_all((int)fd, text, bytes);
}

char thread_list_state(int folder, int tid)
{
	char text[256];
	const char *state;

	if (thread_list_read_in(folder, tid, "stat", text, sizeof(text)) <= 0)
		return 'X';
	state = thread_list_stat(text, STAT_STATE);
	return *state ? *state : 'R';
}
