/* SPDX-License-Identifier: MIT */
/*
 * Open files. A text from the agent is requested once and handed out by offset; a read at offset 0
 * requests it again, as the kernel's files do. `trace` is made as it is read, and is made again
 * when it is read from the start. Writes go to the agent one by one. In a list of words, an
 * incomplete word at the end of a write is kept for the next write or the close, as in the kernel.
 * If O_TRUNC clears the file, the first write does it, or the last close if there was no write. Any
 * thread; a file has a lock. Tests: tests/tracefs/.
 */
#include "tools/mount/file.h"

#define FUSE_USE_VERSION 314

#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <fuse3/fuse_lowlevel.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/mount/text.h"
#include "tools/mount/wake.h"
#include "tools/target/hist_file.h"

#define MAX_WORD      4096u
#define CLOSE_WAIT_MS 10
#define RAW_WAIT_MS   5

/* Files whose O_TRUNC and writes have a special meaning; all others take writes as they come. */
static const struct truncation {
	const char *name;
	bool at_open; /* cleared by open(), else by the first write or the close */
	bool words;   /* a word may be continued in the next write */
} truncations[] = {
	{"atrace_tags", true, false},
	{"error_log", true, false},
	{"set_event", true, false},
	{"set_event_notrace_pid", true, false},
	{"set_event_pid", true, false},
	{"set_ftrace_filter", false, true},
	{"set_ftrace_notrace", false, true},
	{"set_ftrace_notrace_pid", true, false},
	{"set_ftrace_pid", true, false},
	{"set_graph_function", false, true},
	{"set_graph_notrace", false, true},
	{"stack_trace_filter", false, true},
	{"trace", true, false},
	{"dynamic_events", true, false},
	{"kprobe_events", true, false},
	{"uprobe_events", true, false},
	{"synthetic_events", true, false},
	{"trigger", true, false},
};

struct file {
	struct target *t;
	struct target *first; /* the process whose files represent @t's, while this is open */
	struct target_file at;
	const struct truncation *truncation; /* NULL: O_TRUNC has no effect */
	bool readable, writable;
	bool paused; /* recording is paused while this is open */
	char path[256];
	pthread_mutex_t lock; /* of what follows */
	struct text *text;    /* the text to read, except for: */
	void *pipe;	      /* trace_pipe */
	void *raw;	      /* trace_pipe_raw */
	size_t raw_at;	      /* of a page read in pieces: bytes handed out; 0: no page is left */
	size_t raw_bytes;     /* of a page */
	char *raw_page;
	bool clear;	/* O_TRUNC has not been carried out */
	size_t nr_left; /* bytes of an incomplete word */
	char left[MAX_WORD];
	/* of a histogram, as poll() looks at it: what it had counted then */
	bool is_hist;
	unsigned int wanted; /* by waiters: POLLIN, POLLPRI */
	uint64_t hits_read, hits_polled;
	uint64_t hits, hits_ms; /* the count at the last look, and its time */
};

static const struct truncation *truncation_of(const char *name)
{
	for (size_t i = 0; i < sizeof(truncations) / sizeof(*truncations); i++)
		if (!strcmp(truncations[i].name, name))
			return &truncations[i];
	return NULL;
}

/*
 * The errno of a file system for an error of the tools. ESRCH of a live process is about a filter,
 * and stays.
 */
static int fs_errno(const struct file *f, int err)
{
	return err == -ESRCH && !f->first->ops->lives(f->first) ? -ENODEV : err;
}

bool file_close_comes(int err, int *tries)
{
	return err == -EBUSY && ++*tries < FILE_CLOSE_TRIES && !fuse_interrupted() &&
	       !poll(NULL, 0, CLOSE_WAIT_MS);
}

static int send_write(struct file *f, const char *text, size_t n)
{
	const struct fuse_context *caller = fuse_get_context();
	int tid = caller ? (int)caller->pid : 0, err, tries = 0;

	do { /* a tracer is not changed while trace_pipe is open */
		err = f->t->ops->write(f->t, f->path, text, n, f->clear, tid);
	} while (!strcmp(f->path, "current_tracer") && file_close_comes(err, &tries));
	f->clear = false;
	return fs_errno(f, err);
}

/*
 * Do the mode bits allow this open? The kernel lets root open any file, and read() or write()
 * fails.
 */
static int check_mode(const struct target_file *at, bool readable, bool writable)
{
	if (!geteuid())
		return 0;
	if ((readable && !(at->mode & 0444)) || (writable && !(at->mode & 0222)))
		return -EACCES;
	return 0;
}

static int open_pipe(struct file *f)
{
	int err, tries = 0;

	do {
		err = f->t->ops->pipe_open(f->t, f->at.cpu, &f->pipe);
	} while (file_close_comes(err, &tries));
	return fs_errno(f, err);
}

static void pause_trace(struct file *f)
{
	if (f->readable && !strcmp(f->at.name, "trace") && f->t->ops->pause)
		f->paused = f->t->ops->pause(f->t, true);
}

/*
 * Resume recording at the first close() (FUSE's flush), since close() returns after this. FUSE's
 * release may come after close() has returned, so records would be missed.
 */
static void unpause_trace(struct file *f)
{
	if (f->paused)
		f->t->ops->pause(f->t, false);
	f->paused = false;
}

static int open_raw(struct file *f)
{
	uint32_t bytes;
	int err = f->t->ops->raw_open(f->t, f->at.cpu, &f->raw, &bytes);

	if (err)
		return fs_errno(f, err);
	f->raw_bytes = bytes;
	f->raw_page = malloc(bytes);
	if (f->raw_page)
		return 0;
	f->t->ops->raw_close(f->t, f->at.cpu, f->raw);
	f->raw = NULL;
	return -ENOMEM;
}

#define HITS_MS 50 /* least time between two looks at histograms for waiters */

/* Must a read that waits end? The reader was interrupted, or the server ends. */
static int must_end(void)
{
	return fuse_interrupted() ||
	       fuse_session_exited(fuse_get_session(fuse_get_context()->fuse));
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static struct text *new_text(struct file *f)
{
	return text_new(f->t, f->path);
}

/* The sum of the file's histograms: the lines `Hits: N` of its text. */
static uint64_t count_hits(struct file *f)
{
	static const char hits[] = "Hits: ";
	char buf[4096 + 1], *at;
	struct text *x = new_text(f);
	uint64_t sum = 0, offset = 0;
	ssize_t n;

	while (x && (n = text_read(x, buf, sizeof(buf) - 1, offset)) > 0) {
		size_t whole = (size_t)n;

		buf[n] = 0;
		/* the last line continues in the next piece */
		at = strrchr(buf, '\n');
		if (n == (ssize_t)sizeof(buf) - 1 && at) {
			whole = (size_t)(at + 1 - buf);
			*at = 0;
		}
		for (at = buf; (at = strstr(at, hits)); at += sizeof(hits) - 1)
			sum += strtoull(at + sizeof(hits) - 1, NULL, 10);
		offset += whole;
	}
	text_free(x);
	return sum;
}

static uint64_t hits_now(struct file *f, bool at_once)
{
	const uint64_t now = now_ms();
	bool due;

	pthread_mutex_lock(&f->lock);
	due = at_once || now - f->hits_ms >= HITS_MS;
	if (due)
		f->hits_ms = now;
	pthread_mutex_unlock(&f->lock);
	if (due)
		f->hits = count_hits(f);
	return f->hits;
}

/*
 * As in the kernel. POLLIN: the count has risen since the last read; POLLPRI: since the last poll.
 */
static unsigned int hist_events(struct file *f, bool at_once)
{
	const uint64_t hits = hits_now(f, at_once);

	return (hits != f->hits_read ? POLLIN | POLLRDNORM : 0) |
	       (hits != f->hits_polled ? POLLPRI : 0);
}

/* The errors of open(2) that are found before it has any effect. */
static int check_open(struct file *f, const char *path, int access)
{
	int err = f->first->ops->find(f->first, path, &f->at);

	if (err)
		return err;
	if (f->at.is_dir)
		return -EISDIR;
	f->readable = access != O_WRONLY;
	f->writable = access != O_RDONLY;
	err = check_mode(&f->at, f->readable, f->writable);
	return err || !f->writable || f->first->ops->lives(f->first) ? err : -EROFS;
}

static int open_first(struct file *f, const char *path, int flags)
{
	int err;

	f->first = f->t->ops->first(f->t);
	err = f->first ? check_open(f, path, flags & O_ACCMODE) : -ENOENT;
	if (err)
		return err;
	snprintf(f->path, sizeof(f->path), "%s", path);
	f->truncation = truncation_of(f->at.name);
	if (f->readable && !strcmp(f->at.name, "trace_pipe"))
		err = open_pipe(f);
	if (f->readable && !strcmp(f->at.name, "trace_pipe_raw"))
		err = open_raw(f);
	if (!err && f->writable && (flags & O_TRUNC)) {
		f->clear = true;
		if (f->truncation && f->truncation->at_open)
			err = send_write(f, "", 0);
	}
	return err;
}

int file_open(struct target *t, const char *path, int flags, struct file **out)
{
	struct file *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	f->t = t;
	pthread_mutex_init(&f->lock, NULL);
	err = open_first(f, path, flags);
	if (err) {
		target_put(f->first);
		pthread_mutex_destroy(&f->lock);
		free(f);
		return err;
	}
	f->is_hist = f->readable && hist_file_is(path);
	if (f->is_hist)
		f->hits_polled = hits_now(f, true);
	pause_trace(f);
	t->ops->opened(t, 1);
	f->first->ops->opened(f->first, 1);
	*out = f;
	return 0;
}

/*
 * Read a sub-buffer, or the rest of one, without waiting. Two threads may read the same file at
 * once.
 */
static ssize_t take_raw(struct file *f, char *buf, size_t bytes, enum file_how how)
{
	static const enum raw_how raw_how[] = {
		[FILE_WAIT] = RAW_PARTIAL,
		[FILE_NONBLOCK] = RAW_ALL,
		[FILE_SPLICE] = RAW_FULL,
	};
	int ret = 1;
	size_t n = 0;

	pthread_mutex_lock(&f->lock);
	if (!f->raw_at)
		ret = f->t->ops->raw_page(f->raw, f->at.cpu, f->raw_page, raw_how[how]);
	if (ret > 0) {
		n = f->raw_bytes - f->raw_at;
		n = n < bytes ? n : bytes;
		memcpy(buf, f->raw_page + f->raw_at, n);
		f->raw_at = (f->raw_at + n) % f->raw_bytes;
	}
	pthread_mutex_unlock(&f->lock);
	return ret > 0 ? (ssize_t)n : ret ? ret : -EAGAIN;
}

static ssize_t read_raw(struct file *f, char *buf, size_t bytes, enum file_how how)
{
	for (;;) {
		/* checked first, so that the records taken below are all up to the end */
		bool over = !f->t->ops->raw_lives(f->raw);
		ssize_t n = take_raw(f, buf, bytes, how);

		if (n != -EAGAIN || how == FILE_NONBLOCK)
			return n;
		/* the kernel caches an end that splice() has seen, but more records may come */
		if (over)
			return how == FILE_SPLICE && f->t->ops->grows ? -EAGAIN : 0;
		if (must_end())
			return -EINTR;
		poll(NULL, 0, RAW_WAIT_MS);
	}
}

/*
 * In the kernel, files that are only written have no read(), except inject, whose read() says this.
 */
static int refuse_read(const struct file *f)
{
	const char *slash = strrchr(f->path, '/');

	return f->readable && slash && !strcmp(slash, "/inject") ? -EPERM : -EINVAL;
}

ssize_t file_read(struct file *f, char *buf, size_t bytes, off_t offset, enum file_how how)
{
	ssize_t n;

	if (!f->readable || !(f->at.mode & 0444))
		return refuse_read(f);
	if (f->pipe)
		return fs_errno(f, (int)f->t->ops->pipe_read(f->pipe, buf, bytes,
							     how == FILE_NONBLOCK, must_end));
	if (f->raw)
		return fs_errno(f, (int)read_raw(f, buf, bytes, how));
	if (f->is_hist && !offset)
		f->hits_read = hits_now(f, true);
	pthread_mutex_lock(&f->lock);
	if (!f->text)
		f->text = new_text(f);
	n = f->text ? text_read(f->text, buf, bytes, (uint64_t)offset) : -ENOMEM;
	pthread_mutex_unlock(&f->lock);
	return n < 0 ? fs_errno(f, (int)n) : n;
}

/* As in the kernel, a NUL ends a word, too. */
static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || !c;
}

/* Write whole words; an incomplete last word waits for the next write. */
static int write_words(struct file *f, const char *buf, size_t bytes)
{
	size_t whole = bytes;
	char *text;
	int err;

	while (whole && !is_blank(buf[whole - 1]))
		whole--;
	if (bytes - whole + (whole ? 0 : f->nr_left) > sizeof(f->left))
		return -EINVAL;
	if (whole) {
		text = malloc(f->nr_left + whole);
		if (!text)
			return -ENOMEM;
		memcpy(text, f->left, f->nr_left);
		memcpy(text + f->nr_left, buf, whole);
		for (size_t i = f->nr_left; i < f->nr_left + whole; i++)
			text[i] = text[i] ? text[i] : ' ';
		err = send_write(f, text, f->nr_left + whole);
		free(text);
		f->nr_left = 0;
		if (err)
			return err;
	}
	memcpy(f->left + f->nr_left, buf + whole, bytes - whole);
	f->nr_left += bytes - whole;
	return 0;
}

ssize_t file_write(struct file *f, const char *buf, size_t bytes)
{
	int err;

	if (!f->writable || !(f->at.mode & 0222))
		return -EINVAL;
	pthread_mutex_lock(&f->lock);
	if (f->truncation && f->truncation->words)
		err = write_words(f, buf, bytes);
	else
		err = send_write(f, buf, bytes);
	pthread_mutex_unlock(&f->lock);
	return err ? err : (ssize_t)bytes;
}

bool file_wants_flush(const struct file *f)
{
	return f->writable || f->paused;
}

int file_flush(struct file *f)
{
	int err = 0;

	pthread_mutex_lock(&f->lock);
	if (f->nr_left) {
		err = send_write(f, f->left, f->nr_left);
		f->nr_left = 0;
	}
	unpause_trace(f);
	pthread_mutex_unlock(&f->lock);
	return err;
}

void file_release(struct file *f)
{
	if (f->nr_left || (f->clear && f->truncation))
		send_write(f, f->left, f->nr_left);
	wake_forget(f);
	unpause_trace(f);
	text_free(f->text);
	if (f->pipe)
		f->t->ops->pipe_close(f->t, f->at.cpu, f->pipe);
	if (f->raw)
		f->t->ops->raw_close(f->t, f->at.cpu, f->raw);
	free(f->raw_page);
	f->first->ops->opened(f->first, -1);
	f->t->ops->opened(f->t, -1);
	target_put(f->first);
	target_put(f->t);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

bool file_ready(struct file *f)
{
	bool rest;

	if (f->raw) {
		pthread_mutex_lock(&f->lock);
		rest = f->raw_at != 0;
		pthread_mutex_unlock(&f->lock);
		return rest || f->t->ops->raw_ready(f->raw, f->at.cpu);
	}
	if (f->is_hist)
		return hist_events(f, false) & f->wanted;
	return !f->pipe || f->t->ops->pipe_ready(f->pipe);
}

static unsigned int poll_hist(struct file *f, void *handle, unsigned int wanted)
{
	unsigned int now;

	f->wanted = wanted;
	now = hist_events(f, true);
	if (!(now & wanted)) {
		wake_when(f, handle);
		return 0;
	}
	wake_drop(handle);
	if (now & POLLPRI)
		f->hits_polled = f->hits;
	return now;
}

unsigned int file_poll(struct file *f, void *handle, unsigned int wanted)
{
	const unsigned int in = POLLIN | POLLRDNORM;

	if (f->is_hist)
		return poll_hist(f, handle, wanted);
	if (file_ready(f)) {
		wake_drop(handle);
		return f->pipe || f->raw ? in : in | POLLOUT | POLLWRNORM;
	}
	wake_when(f, handle);
	/* it may have become ready before the wait began */
	return file_ready(f) ? in : 0;
}
