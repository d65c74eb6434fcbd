/* SPDX-License-Identifier: MIT */
/*
 * See session_file.h. Written beside its place, locked, and moved there: nobody reads half of one, or one whose lock is
 * not there yet. Tests: tests/tracefs/test_sessions.py.
 */
#include "tools/mount/session_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "abi/session.h"

uint64_t session_file_seq(const struct writes *w)
{
	return (uint64_t)(uint32_t)getpid() << 32 | (uint32_t)w->nr_added;
}

uint64_t session_file_done(uint64_t session_seq)
{
	return session_seq >> 32 == (uint32_t)getpid() ? (uint32_t)session_seq : 0;
}

static void put_write(FILE *f, const struct written *w)
{
	struct session_write head = {
		.flags = (w->truncate ? SESSION_WRITE_TRUNCATES : 0u) |
			 (w->text ? 0u : SESSION_WRITE_INSTANCE),
		.path_bytes = (uint32_t)strlen(w->path) + 1,
		.text_bytes = w->text ? (uint32_t)w->n : 0,
	};
	static const char instances[] = "instances/", zeros[8];
	size_t bytes;

	if (!w->text)
		head.path_bytes += (uint32_t)strlen(instances);
	bytes = sizeof(head) + head.path_bytes + head.text_bytes;
	fwrite(&head, sizeof(head), 1, f);
	fprintf(f, "%s%s%c", w->text ? "" : instances, w->path, 0);
	if (w->text)
		fwrite(w->text, 1, w->n, f);
	fwrite(zeros, 1, -bytes & 7, f);
}

/* All as one text, malloced; NULL: no memory, or too much. */
static char *text_of(const struct writes *w, size_t *n)
{
	struct session_file_head head = {SESSION_FILE_MAGIC, session_file_seq(w), 0};
	char *text = NULL;
	FILE *f = open_memstream(&text, n);

	if (!f)
		return NULL;
	fwrite(&head, sizeof(head), 1, f);
	for (unsigned int i = 0; i < w->nr; i++)
		if (!w->at[i].by_server)
			put_write(f, &w->at[i]);
	if (fclose(f) || *n > SESSION_FILE_MAX_BYTES) {
		free(text);
		return NULL;
	}
	head.bytes = *n - sizeof(head);
	memcpy(text, &head, sizeof(head));
	return text;
}

/* Where it is before it is moved to @path. Return: its descriptor, locked; -1. */
static int make(const char *beside, const char *text, size_t n)
{
	int fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || (!flock(fd, LOCK_EX | LOCK_NB) && write(fd, text, n) == (ssize_t)n))
		return fd;
	unlink(beside);
	close(fd);
	return -1;
}

void session_file_put(struct session_file *f, const char *dir, const char *session,
		      const struct writes *w)
{
	char *path = NULL, *beside = NULL, *text;
	int fd = -1;
	size_t n;

	if (!w->nr)
		session_file_free(f);
	text = w->nr ? text_of(w, &n) : NULL;
	if (text && asprintf(&path, "%s/" SESSION_FILE_PREFIX "%s", dir, session) >= 0 &&
	    asprintf(&beside, "%s.%d", path, (int)getpid()) >= 0)
		fd = make(beside, text, n);
	if (fd >= 0 && !rename(beside, path)) {
		if (f->path)
			close(f->fd);
		free(f->path);
		f->fd = fd;
		f->path = path;
		path = NULL;
	} else if (fd >= 0) {
		unlink(beside);
		close(fd);
	}
	free(text);
	free(beside);
	free(path);
}

void session_file_free(struct session_file *f)
{
	if (!f->path)
		return;
	unlink(f->path);
	close(f->fd);
	free(f->path);
	*f = (struct session_file){0};
}
