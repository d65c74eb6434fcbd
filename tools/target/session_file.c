/* SPDX-License-Identifier: MIT */
/*
 * See session_file.h. The file is overwritten in place, so the mtime of the folder of areas does
 * not change with each write. If this process is killed, the file stays, unlocked, and the next
 * process that serves the session uses it. Tests: tests/tracefs/test_sessions.py.
 */
#include "tools/target/session_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/session.h"

/* The file gets the folder's owner, since that user's processes read it. */
static int open_file(struct session_file *f)
{
	struct stat st, dir;
	int fd;

again:
	fd = openat(f->dir_fd, f->name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -1;
	if (flock(fd, LOCK_EX | LOCK_NB) || fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    st.st_nlink > 1 || fstat(f->dir_fd, &dir) ||
	    (st.st_uid != dir.st_uid && fchown(fd, dir.st_uid, dir.st_gid))) {
		close(fd);
		return -1;
	}
	if (st.st_nlink)
		return fd;
	/* kept_session_clean() has removed it meanwhile */
	close(fd);
	goto again;
}

static char *put_write(char *p, const struct session_write *s, const char *path, const char *text)
{
	memcpy(p, s, sizeof(*s));
	p += sizeof(*s);
	memcpy(p, path, s->path_bytes);
	p += s->path_bytes;
	if (s->text_bytes)
		memcpy(p, text, s->text_bytes);
	return p + s->text_bytes;
}

/* The bytes of a write in the file, with its meanings. */
static size_t bytes_of(const struct written *one)
{
	size_t n = sizeof(struct session_write) + strlen(one->path) + one->n;

	for (unsigned int i = 0; i < one->nr_meanings; i++)
		n += sizeof(struct session_write) + one->meanings[i].n;
	return n;
}

/* Return: behind it. */
static char *put_one(char *p, const struct written *one)
{
	struct session_write s = {.flags = (one->text ? 0u : SESSION_MKDIR) |
					   (one->truncate ? SESSION_TRUNCATE : 0u) |
					   (one->depends ? SESSION_DEPENDS : 0u),
				  .path_bytes = (uint32_t)strlen(one->path),
				  .text_bytes = one->text ? (uint32_t)one->n : 0,
				  .end_ns = one->end_ns};

	p = put_write(p, &s, one->path, one->text);
	for (unsigned int i = 0; i < one->nr_meanings; i++) {
		s = (struct session_write){.flags = SESSION_MEANING,
					   .text_bytes = (uint32_t)one->meanings[i].n,
					   .objects = one->meanings[i].objects};
		p = put_write(p, &s, "", one->meanings[i].text);
	}
	return p;
}

/* Return: the writes as the file has them, or NULL: there are too many. */
static char *flatten(const struct writes *w, struct session_head *head)
{
	char *text, *p;
	size_t n = 0;

	for (unsigned int i = 0; i < w->nr; i++)
		n += bytes_of(&w->at[i]);
	if (n > SESSION_MAX_BYTES - sizeof(*head))
		return NULL;
	text = p = malloc(n + 1);
	for (unsigned int i = 0; text && i < w->nr; i++) {
		if (w->at[i].end_ns > head->until_ns)
			head->until_ns = w->at[i].end_ns;
		head->nr++;
		p = put_one(p, &w->at[i]);
	}
	head->bytes = (uint32_t)(p - text);
	return text;
}

static bool put(int fd, const void *from, size_t n, off_t at)
{
	return pwrite(fd, from, n, at) == (ssize_t)n;
}

void session_file_write(struct session_file *f, const struct areas_dir *dir, const char *session,
			const char *instance, const struct writes *w)
{
	struct session_head head = {.magic = SESSION_MAGIC, .version = SESSION_VERSION};
	char *text;

	if (f->others)
		return;
	if (!f->open) {
		snprintf(f->name, sizeof(f->name), SESSION_PREFIX "%s%s%s", session,
			 *instance ? ":" : "", instance);
		f->dir_fd = fcntl(dir->fd, F_DUPFD_CLOEXEC, 0);
		f->fd = f->dir_fd < 0 ? -1 : open_file(f);
		f->open = f->fd >= 0;
		f->others = !f->open;
		if (f->others) {
			if (f->dir_fd >= 0)
				close(f->dir_fd);
			return;
		}
	}
	text = flatten(w, &head);
	head.gen = f->gen + 1;
	f->gen += 2;
	if (put(f->fd, &head, sizeof(head), 0) && text &&
	    put(f->fd, text, head.bytes, sizeof(head))) {
		head.gen = f->gen;
		put(f->fd, &head, sizeof(head), 0);
	}
	free(text);
}

void session_file_remove(struct session_file *f)
{
	if (!f->open)
		return;
	unlinkat(f->dir_fd, f->name, 0);
	close(f->fd);
	close(f->dir_fd);
	*f = (struct session_file){0};
}
