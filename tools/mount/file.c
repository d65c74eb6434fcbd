/* SPDX-License-Identifier: MIT */
/*
 * Open files. What the agent answers is asked once and handed out by offset; a read at offset 0 asks
 * anew, as the kernel's files do. `trace` is made as it is read, and begins anew when it is read from
 * the start. Writes go to the agent one by one; lists of words are cut behind whole words, and what is
 * left of a word waits for the next write or the close, as in the kernel. Where O_TRUNC means
 * "clear", the first write carries it, or the last close when there was none.
 * Any thread; a file has a lock. Tests: tests/tracefs/.
 */
#include "tools/mount/file.h"

#define FUSE_USE_VERSION 314

#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/option.h"
#include "tools/base/fail.h"
#include "tools/mount/members_pipe.h"
#include "tools/mount/members_raw.h"
#include "tools/mount/text.h"
#include "tools/mount/wake.h"
#include "tools/target/pipe.h"
#include "tools/target/raw.h"
#include "tools/target/render.h"

#define MAX_WORD      4096u
#define PAUSED	      "vestige_paused"
#define CLAIM_TRIES   20
#define CLAIM_WAIT_MS 10
#define RAW_WAIT_MS   5

/* What a file's O_TRUNC and its writes mean; all others take writes as they come. */
static const struct truncation {
	const char *name;
	bool at_open; /* it clears when it is opened, else with the first write or the close */
	bool words;   /* a word cut by the end of a write goes on in the next */
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
	struct process *p;
	struct session *session; /* NULL: the process's own */
	struct process_file at;
	const struct truncation *truncation; /* NULL: O_TRUNC means nothing */
	bool readable, writable;
	bool paused; /* nothing is recorded for as long as this is open */
	char path[256];
	pthread_mutex_t lock;		 /* of what follows */
	struct text *text;		 /* what is read */
	struct pipe *pipe;		 /* instead, of trace_pipe */
	struct members_pipe *members;	 /* of a session's */
	struct raw *raw;		 /* of trace_pipe_raw */
	struct members_raw *members_raw; /* of a session's */
	size_t raw_at;	  /* of a page read in pieces: what is handed out; 0 none is left */
	size_t raw_bytes; /* of a page */
	char *raw_page;
	bool clear;	/* O_TRUNC has not been carried out */
	size_t nr_left; /* of a word */
	char left[MAX_WORD];
};

static const struct truncation *truncation_of(const char *name)
{
	for (size_t i = 0; i < sizeof(truncations) / sizeof(*truncations); i++)
		if (!strcmp(truncations[i].name, name))
			return &truncations[i];
	return NULL;
}

/* The errno of a file system, of what the tools say. A live process has an ESRCH of its own: in a filter. */
static int fs_errno(const struct file *f, int err)
{
	return err == -ESRCH && !process_lives(f->p) ? -ENODEV : err;
}

/* The tracer cannot change while its records are read: as the kernel has it. */
static int check_tracer(struct file *f, const char *text, size_t n)
{
	char word[64], names[512], *p, *next;
	int busy = 0;

	if (strcmp(f->at.name, "current_tracer") || n >= sizeof(word))
		return 0;
	if (!(f->session ? session_has_pipes(f->session) : process_has_pipes(f->p)))
		return 0;
	snprintf(word, sizeof(word), "%.*s", (int)n, text);
	word[strcspn(word, " \t\n")] = '\0';
	process_text(f->p, "available_tracers", names, sizeof(names));
	for (p = strtok_r(names, " \n", &next); p; p = strtok_r(NULL, " \n", &next))
		busy |= !strcmp(p, word);
	process_text(f->p, "current_tracer", names, sizeof(names));
	names[strcspn(names, "\n")] = '\0';
	return busy && strcmp(names, word) ? -EBUSY : 0;
}

static int send_write(struct file *f, const char *text, size_t n)
{
	const struct fuse_context *caller = fuse_get_context();
	int err = check_tracer(f, text, n), tid = caller ? (int)caller->pid : 0;

	if (err)
		return err;
	if (f->session)
		err = session_write(f->session, f->path, text, n, f->clear, tid);
	else
		err = target_write_as(&f->p->t, f->path, text, n, f->clear, tid);

	f->clear = false;
	return fs_errno(f, err);
}

/* May the user open it so? The kernel lets root, and says EINVAL at the call instead. */
static int check_mode(const struct process_file *at, bool readable, bool writable)
{
	if (!geteuid())
		return 0;
	if ((readable && !(at->mode & 0444)) || (writable && !(at->mode & 0222)))
		return -EACCES;
	return 0;
}

/* FUSE tells of a last close behind its caller's back: who comes right after it is not refused. */
static int claim(struct file *f)
{
	int err, tries = CLAIM_TRIES;

	do {
		err = f->session ? session_claim(f->session, f->at.cpu)
				 : process_claim(f->p, f->at.cpu);
	} while (err == -EBUSY && --tries && !fuse_interrupted() && !poll(NULL, 0, CLAIM_WAIT_MS));
	return err;
}

static void unclaim(struct file *f)
{
	if (f->session)
		session_unclaim(f->session, f->at.cpu);
	else
		process_unclaim(f->p, f->at.cpu);
}

static int open_pipe(struct file *f)
{
	int err = claim(f);

	if (err)
		return err;
	err = f->session ? members_pipe_open(f->session, f->at.cpu, &f->members)
			 : pipe_open(&f->p->t, f->at.cpu, &f->pipe);
	if (err)
		unclaim(f);
	return fs_errno(f, err);
}

/* Option pause-on-trace: nothing is recorded while `trace` is open, so that it stays as it is. */
static void pause_trace(struct file *f)
{
	if (!f->readable || f->session || strcmp(f->at.name, "trace") ||
	    !process_option(f->p, AREA_OPTION_PAUSE_ON_TRACE) || !process_lives(f->p))
		return;
	f->paused = !target_write(&f->p->t, PAUSED, "1", 1, true);
}

/*
 * At the first close, for which its caller waits, as it does not for the last one: what comes then is
 * recorded.
 */
static void unpause_trace(struct file *f)
{
	if (f->paused && process_lives(f->p))
		target_write(&f->p->t, PAUSED, "0", 1, true);
	f->paused = false;
}

static void close_raw(struct file *f)
{
	if (f->members_raw) {
		session_raw_closed(f->session);
		members_raw_put(f->members_raw, f->at.cpu);
	} else {
		process_raw_put(f->p, f->at.cpu);
	}
}

static bool is_raw(const struct file *f)
{
	return f->raw || f->members_raw;
}

/* Of a session with those in it that have come. */
static struct raw *raw_of(const struct file *f, bool look)
{
	return f->members_raw ? members_raw_now(f->members_raw, look) : f->raw;
}

static int open_raw(struct file *f)
{
	int err;

	if (f->session) {
		err = members_raw_get(f->session, f->at.cpu, &f->members_raw);
		if (!err)
			session_raw_opened(f->session);
	} else {
		err = process_raw_get(f->p, f->at.cpu, &f->raw);
	}
	if (err)
		return fs_errno(f, err);
	f->raw_bytes = raw_page_bytes(raw_of(f, false));
	f->raw_page = malloc(f->raw_bytes);
	if (f->raw_page)
		return 0;
	close_raw(f);
	f->raw = NULL;
	f->members_raw = NULL;
	return -ENOMEM;
}

int file_open(struct process *p, const char *path, int flags, struct file **out)
{
	return file_open_session(NULL, p, path, flags, out);
}

int file_open_session(struct session *s, struct process *p, const char *path, int flags,
		      struct file **out)
{
	int access = flags & O_ACCMODE, err;
	struct process_file at;
	struct file *f;

	err = process_find(p, path, &at);
	if (err)
		return err;
	if (at.is_dir)
		return -EISDIR;
	err = check_mode(&at, access != O_WRONLY, access != O_RDONLY);
	if (err)
		return err;
	if (access != O_RDONLY && !process_lives(p))
		return -EROFS;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->p = p;
	f->session = s;
	f->at = at;
	f->readable = access != O_WRONLY;
	f->writable = access != O_RDONLY;
	snprintf(f->path, sizeof(f->path), "%s", path);
	f->truncation = truncation_of(at.name);
	pthread_mutex_init(&f->lock, NULL);
	if (f->readable && !strcmp(at.name, "trace_pipe"))
		err = open_pipe(f);
	if (f->readable && !strcmp(at.name, "trace_pipe_raw"))
		err = open_raw(f);
	if (!err && f->writable && (flags & O_TRUNC)) {
		f->clear = true;
		if (f->truncation && f->truncation->at_open)
			err = send_write(f, "", 0);
	}
	if (err) {
		pthread_mutex_destroy(&f->lock);
		free(f);
		return err;
	}
	pause_trace(f);
	process_opened(p, 1);
	if (s)
		session_opened(s, 1);
	*out = f;
	return 0;
}

/* A sub-buffer, or the rest of one. */
static ssize_t read_raw(struct file *f, char *buf, size_t bytes, enum file_how how)
{
	static const enum raw_how raw_how[] = {
		[FILE_WAIT] = RAW_PARTIAL,
		[FILE_NONBLOCK] = RAW_ALL,
		[FILE_SPLICE] = RAW_FULL,
	};
	size_t n;
	int ret;

	while (!f->raw_at) {
		struct raw *raw = raw_of(f, how == FILE_NONBLOCK);

		ret = raw_page(raw, f->at.cpu, f->raw_page, raw_how[how]);
		if (ret < 0)
			return ret;
		if (ret)
			break;
		if (how != FILE_WAIT)
			return -EAGAIN;
		if (!raw_lives(raw))
			return 0;
		if (fuse_interrupted())
			return -EINTR;
		poll(NULL, 0, RAW_WAIT_MS);
	}
	n = f->raw_bytes - f->raw_at;
	n = n < bytes ? n : bytes;
	memcpy(buf, f->raw_page + f->raw_at, n);
	f->raw_at = (f->raw_at + n) % f->raw_bytes;
	return (ssize_t)n;
}

/* In the kernel files that are written alone have no read(), but for inject, whose says this. */
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
	if (f->members)
		return members_pipe_read(f->members, buf, bytes, how == FILE_NONBLOCK,
					 fuse_interrupted);
	if (f->pipe)
		return fs_errno(f, (int)pipe_read(f->pipe, buf, bytes, how == FILE_NONBLOCK,
						  fuse_interrupted));
	if (is_raw(f))
		return fs_errno(f, (int)read_raw(f, buf, bytes, how));
	pthread_mutex_lock(&f->lock);
	if (!f->text)
		f->text = f->session ? text_new_session(f->session, f->path)
				     : text_new(&f->p->t, f->path);
	n = f->text ? text_read(f->text, buf, bytes, (uint64_t)offset) : -ENOMEM;
	pthread_mutex_unlock(&f->lock);
	return n < 0 ? fs_errno(f, (int)n) : n;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/* Words: those that are whole go, what is left of the last waits. */
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
	if (f->members) {
		members_pipe_close(f->members);
		unclaim(f);
	}
	if (f->pipe) {
		pipe_close(f->pipe);
		unclaim(f);
	}
	if (is_raw(f))
		close_raw(f);
	free(f->raw_page);
	process_opened(f->p, -1);
	process_put(f->p);
	if (f->session) {
		session_opened(f->session, -1);
		session_put(f->session);
	}
	pthread_mutex_destroy(&f->lock);
	free(f);
}

bool file_ready(struct file *f)
{
	if (is_raw(f))
		return f->raw_at || raw_ready(raw_of(f, false), f->at.cpu);
	if (f->members)
		return members_pipe_ready(f->members);
	return !f->pipe || pipe_ready(f->pipe);
}

unsigned int file_poll(struct file *f, void *handle)
{
	const unsigned int in = POLLIN | POLLRDNORM;

	if (file_ready(f)) {
		wake_drop(handle);
		return f->pipe || is_raw(f) || f->members ? in : in | POLLOUT | POLLWRNORM;
	}
	wake_when(f, handle);
	/* it may have become so before it was waited for */
	return file_ready(f) ? in : 0;
}
