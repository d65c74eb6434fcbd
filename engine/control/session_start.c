/* SPDX-License-Identifier: MIT */
/*
 * See session_start.h. The file is somebody else's: nothing in it is trusted but for its owner, who could write
 * to the agent as well. fork: a child has what its parent has. Tests: tests/tracefs/test_sessions.py.
 */
#include "engine/control/session_start.h"

#include <sys/file.h>

#include "abi/session.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/base/seq_buf.h"
#include "engine/control/tree.h"
#include "engine/core/area.h"
#include "engine/core/heap.h"
#include "engine/core/trace_array.h"

#define MAX_TRIES  50
#define PATH_BYTES 512u

/* The file of the session, or of an instance of it, in the area's folder. Return: its descriptor, or -errno. */
static int open_file(const char *instance)
{
	const char *area_path = area_file(), *p, *name = area_path;
	char path[PATH_BYTES];
	struct seq_buf s;
	struct stat st;
	int fd;

	for (p = area_path; *p; p++)
		if (*p == '/')
			name = p + 1;
	seq_init(&s, path, sizeof(path) - 1);
	for (p = area_path; p < name; p++)
		seq_putc(&s, *p);
	seq_puts(&s, SESSION_PREFIX);
	seq_puts(&s, area->session);
	if (instance[0])
		seq_putc(&s, ':');
	seq_puts(&s, instance);
	if (s.lost)
		return -1;
	path[s.len] = 0;
	fd = sys_open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
	if (fd < 0)
		return fd;
	/* nobody holds the lock: who kept it is gone */
	if (sys_fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    (st.st_uid && st.st_uid != (uid_t)sys_geteuid()) ||
	    !arch_syscall(SYS_flock, fd, LOCK_SH | LOCK_NB, 0, 0, 0, 0)) {
		sys_close(fd);
		return -1;
	}
	return fd;
}

/* Return: whether @file, of SESSION_MAX_BYTES, is a copy that is good. */
static int read_once(int fd, uint8_t *file)
{
	struct session_head again, *head = (struct session_head *)file;
	long n = sys_pread(fd, file, SESSION_MAX_BYTES, 0);

	return n >= (long)sizeof(*head) && head->magic == SESSION_MAGIC &&
	       head->version == SESSION_VERSION && !(head->gen & 1) &&
	       head->bytes <= (uint64_t)n - sizeof(*head) &&
	       sys_pread(fd, &again, sizeof(again), 0) == sizeof(again) && again.gen == head->gen;
}

static int read_file(int fd, uint8_t *file)
{
	struct timespec nap = {.tv_nsec = 100000};
	int tries;

	for (tries = 0; tries < MAX_TRIES; tries++) {
		if (read_once(fd, file))
			return 1;
		arch_syscall(SYS_nanosleep, (long)&nap, 0, 0, 0, 0, 0);
	}
	return 0;
}

static void replay(const char *instance);

static void carry_out(const struct session_write *w, const char *path, const char *text,
		      const char *instance)
{
	char whole[PATH_BYTES];
	struct seq_buf s;

	seq_init(&s, whole, sizeof(whole) - 1);
	if (instance[0] || w->flags & SESSION_MKDIR)
		seq_puts(&s, "instances/");
	seq_puts(&s, instance);
	if (instance[0])
		seq_putc(&s, '/');
	seq_puts(&s, path);
	if (s.lost)
		return;
	whole[s.len] = 0;
	if (!(w->flags & SESSION_MKDIR))
		tree_write(whole, text, w->text_bytes, !!(w->flags & SESSION_TRUNCATE));
	else if (!instance[0] && !tree_mkdir(whole))
		replay(path);
}

static void carry_out_all(uint8_t *at, uint32_t bytes, const char *instance)
{
	char path[PATH_BYTES];
	struct session_write w;

	while (bytes >= sizeof(w)) {
		memcpy(&w, at, sizeof(w));
		at += sizeof(w);
		bytes -= (uint32_t)sizeof(w);
		if (w.path_bytes >= sizeof(path) || w.path_bytes > bytes ||
		    w.text_bytes > bytes - w.path_bytes)
			return;
		memcpy(path, at, w.path_bytes);
		path[w.path_bytes] = 0;
		carry_out(&w, path, (const char *)at + w.path_bytes, instance);
		at += w.path_bytes + w.text_bytes;
		bytes -= w.path_bytes + w.text_bytes;
	}
}

static void replay(const char *instance)
{
	const struct trace_array *tr =
		instance[0] ? trace_array_find(instance, strlen(instance)) : &global_trace;
	int fd = tr && tr->ring ? open_file(instance) : -1;
	uint8_t *file = fd >= 0 ? heap_alloc(SESSION_MAX_BYTES) : NULL;
	const struct session_head *head = (const struct session_head *)file;

	if (file && read_file(fd, file)) {
		carry_out_all(file + sizeof(*head), head->bytes, instance);
		tr->ring->area->session_ns = head->until_ns;
	}
	heap_free(file);
	if (fd >= 0)
		sys_close(fd);
}

void session_start(void)
{
	if (area->session[0])
		replay("");
}
