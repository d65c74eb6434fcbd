/* SPDX-License-Identifier: MIT */
/*
 * Carries out the writes that were made to the files of this process's session before the process
 * started (abi/session.h), so that they apply from the program's first instruction. Errors of
 * single writes are not reported.
 *
 * The file comes from another process. It is trusted only if its owner is this user, as that user
 * could write through the agent as well. Constructor context, before the agent. fork: a child has
 * its parent's settings.
 * Tests: tests/tracefs/test_sessions.py.
 */
#include <sys/file.h>

#include "abi/session.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/base/seq_buf.h"
#include "engine/control/tree.h"
#include "engine/process/area.h"
#include "engine/process/heap.h"
#include "engine/process/object.h"
#include "engine/core/trace_array.h"

#define MAX_TRIES  50
#define PATH_BYTES 512u

/*
 * Open the file of the session, or of one of its instances, in the area's folder. Return: its
 * descriptor, or -errno.
 */
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
	/* if the lock is free, the file's server has ended */
	if (sys_fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    (st.st_uid && st.st_uid != (uid_t)sys_geteuid()) ||
	    !arch_syscall(SYS_flock, fd, LOCK_SH | LOCK_NB, 0, 0, 0, 0)) {
		sys_close(fd);
		return -1;
	}
	return fd;
}

/* Read into @file, SESSION_MAX_BYTES. Return: whether the copy is consistent. */
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

static uint64_t our_objects(void)
{
	uint64_t h = SESSION_OBJECTS_SEED;
	uint32_t i;

	for (i = 0; i < object_count(); i++)
		h = session_objects_add(h, object_row(object_at(i)));
	return h;
}

/*
 * Carry out writes up to the first SESSION_DEPENDS that has no meaning here. Return:
 * head->until_ns: all of them; else end_ns of the last one that was carried out.
 */
static uint64_t carry_out_all(const uint8_t *at, const struct session_head *head,
			      const char *instance)
{
	uint64_t done_ns = 0, objects = our_objects();
	char path[PATH_BYTES];
	/* waits: a SESSION_DEPENDS whose meaning is looked for; end_ns 0: none */
	struct session_write w, waits = {0};
	uint32_t bytes = head->bytes;

	for (; bytes >= sizeof(w); bytes -= w.path_bytes + w.text_bytes) {
		memcpy(&w, at, sizeof(w));
		at += sizeof(w);
		bytes -= (uint32_t)sizeof(w);
		if (w.path_bytes >= sizeof(path) || w.path_bytes > bytes ||
		    w.text_bytes > bytes - w.path_bytes)
			return done_ns;
		if (!(w.flags & SESSION_MEANING)) {
			if (waits.end_ns)
				return done_ns;
			memcpy(path, at, w.path_bytes);
			path[w.path_bytes] = 0;
		}
		at += w.path_bytes;
		if (w.flags & SESSION_DEPENDS) {
			waits = w;
		} else if (!(w.flags & SESSION_MEANING)) {
			carry_out(&w, path, (const char *)at, instance);
			done_ns = w.end_ns;
		} else if (waits.end_ns && w.objects == objects) {
			done_ns = waits.end_ns;
			waits.text_bytes = w.text_bytes;
			carry_out(&waits, path, (const char *)at, instance);
			waits.end_ns = 0;
		}
		at += w.text_bytes;
	}
	return waits.end_ns ? done_ns : head->until_ns;
}

static void replay(const char *instance)
{
	const struct trace_array *tr =
		instance[0] ? trace_array_find(instance, strlen(instance)) : &global_trace;
	int fd = tr && tr->ring ? open_file(instance) : -1;
	uint8_t *file = fd >= 0 ? heap_alloc(SESSION_MAX_BYTES) : NULL;
	const struct session_head *head = (const struct session_head *)file;

	if (file && read_file(fd, file)) {
		tr->ring->area->session_ns = carry_out_all(file + sizeof(*head), head, instance);
	}
	heap_free(file);
	if (fd >= 0)
		sys_close(fd);
}

static void start(const struct lifecycle_start *how)
{
	(void)how;
	if (area->session[0])
		replay("");
}

LIFECYCLE(LIFECYCLE_SESSION, start, NULL, NULL);
