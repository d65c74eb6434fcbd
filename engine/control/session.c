/* SPDX-License-Identifier: MIT */
/*
 * See session.h. The file is another process's of the same user: it is read as hostile as areas are by
 * tools. fork: nothing is left of it by then. Costs: two system calls for a member of a session that nobody serves.
 * Tests: tests/tracefs/test_sessions.py.
 */
#include "engine/control/session.h"

#include <errno.h>
#include <sys/file.h>

#include "abi/session.h"
#include "engine/arch/sys.h"
#include "engine/base/mem.h"
#include "engine/base/seq_buf.h"
#include "engine/base/text.h"
#include "engine/control/tree.h"

static struct session_file_head *file;

/* Whether it is a file that somebody alive keeps. */
static int is_kept(int fd, struct stat *st)
{
	if (sys_fstat(fd, st) || !S_ISREG(st->st_mode) || st->st_uid != sys_geteuid() ||
	    st->st_size < (long)sizeof(*file) || st->st_size > (long)SESSION_FILE_MAX_BYTES)
		return 0;
	return arch_syscall(SYS_flock, fd, LOCK_SH | LOCK_NB, 0, 0, 0, 0) == -EWOULDBLOCK;
}

static struct session_file_head *read_file(int fd, size_t bytes)
{
	long p = sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct session_file_head *f = (struct session_file_head *)p;

	if (sys_failed(p))
		return NULL;
	if (sys_pread(fd, f, bytes, 0) == (long)bytes && f->magic == SESSION_FILE_MAGIC &&
	    f->bytes == bytes - sizeof(*f))
		return f;
	sys_munmap(f, bytes);
	return NULL;
}

uint64_t session_read(const char *dir, const char *name)
{
	char path[1024];
	struct seq_buf s;
	struct stat st;
	int fd;

	if (!*name || text_find(name, strlen(name), '/') < strlen(name))
		return 0;
	seq_init(&s, path, sizeof(path) - 1);
	seq_puts(&s, dir);
	seq_puts(&s, "/" SESSION_FILE_PREFIX);
	seq_puts(&s, name);
	if (s.lost)
		return 0;
	path[s.len] = 0;
	fd = sys_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	file = is_kept(fd, &st) ? read_file(fd, (size_t)st.st_size) : NULL;
	sys_close(fd);
	return file ? file->seq : 0;
}

/* Return: the bytes of the write at @at; 0: there is none that fits @left. */
static uint64_t replay_one(const uint8_t *at, uint64_t left)
{
	const struct session_write *w = (const struct session_write *)at;
	const char *path = (const char *)(w + 1);
	uint64_t bytes;

	if (left < sizeof(*w))
		return 0;
	bytes = (sizeof(*w) + (uint64_t)w->path_bytes + w->text_bytes + 7) & ~UINT64_C(7);
	if (bytes > left || !w->path_bytes || path[w->path_bytes - 1])
		return 0;
	if (w->flags & SESSION_WRITE_INSTANCE)
		tree_mkdir(path);
	else
		tree_write(path, path + w->path_bytes, w->text_bytes,
			   !!(w->flags & SESSION_WRITE_TRUNCATES));
	return bytes;
}

void session_replay(void)
{
	uint64_t at = 0, n;

	if (!file)
		return;
	for (; (n = replay_one((const uint8_t *)(file + 1) + at, file->bytes - at)); at += n)
		;
	sys_munmap(file, sizeof(*file) + file->bytes);
	file = NULL;
}
