/* SPDX-License-Identifier: MIT */
/*
 * See blk_program.h. One pass over the recording, with the open calls of each thread. A request
 * gets the state of its thread at its time, so memory is needed only for the requests and the open
 * calls.
 */
#include "tools/cli/blk_program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/hash_index.h"
#include "tools/base/note.h"
#include "tools/reader/joined.h"
#include "tools/text/event_field.h"
#include "tools/text/syscall_names.h"
#include "tools/text/view.h"

/* A thread of the program, with its system call and open calls. */
struct thread {
	int32_t tid;
	uint32_t process;
	const char *call; /* the system call; NULL: none */
	bool by_kernel;	  /* known from the kernel's records, not the program's */
	const char *file; /* the file of its descriptor */
	struct frame {
		uint64_t ip, start;
		uint32_t function;
	} * frames; /* its open calls */
	uint32_t nr, room;
};

/* The file of a descriptor of a process, since the last record of it. */
struct descriptor {
	uint32_t process;
	uint32_t fd;
	const char *name;
};

struct text {
	struct text *next;
	char text[];
};

struct blk_finder {
	struct view v;
	struct thread *threads;
	size_t nr_threads, room_threads;
	struct hash_index by_tid;
	struct descriptor *fds;
	size_t nr_fds, room_fds;
	struct hash_index by_fd;
	struct text *texts; /* all names of files */
	struct blk_io *ios;
	size_t nr, at;
	int err;
};

/* The system calls that have a descriptor, and which argument it is. */
static const struct {
	const char *name;
	unsigned int arg;
} with_fd[] = {
	{"read", 0},	 {"write", 0},	   {"pread64", 0},	   {"pwrite64", 0},
	{"readv", 0},	 {"writev", 0},	   {"preadv", 0},	   {"pwritev", 0},
	{"preadv2", 0},	 {"pwritev2", 0},  {"fsync", 0},	   {"fdatasync", 0},
	{"syncfs", 0},	 {"ftruncate", 0}, {"fallocate", 0},	   {"sync_file_range", 0},
	{"splice", 0},	 {"fadvise64", 0}, {"copy_file_range", 0}, {"sendfile64", 1},
	{"sendfile", 1}, {"readahead", 0}, {"getdents64", 0},	   {"ioctl", 0},
};

static void no_memory(struct blk_finder *f)
{
	f->err = fail(ENOMEM, "out of memory for the calls of the program");
}

static struct thread *thread_find(struct blk_finder *f, int32_t tid)
{
	int64_t found = HASH_INDEX_FIND(&f->by_tid, (uint32_t)tid, i, f->threads[i].tid == tid);

	return found < 0 ? NULL : &f->threads[found];
}

/* Borrowed until the next call. NULL: f->err. */
static struct thread *thread_get(struct blk_finder *f, int32_t tid)
{
	struct thread *t = thread_find(f, tid);

	if (t)
		return t;
	if (ARRAY_ROOM(f->threads, f->nr_threads, f->room_threads, 16) ||
	    hash_index_add(&f->by_tid, (uint32_t)tid, (uint32_t)f->nr_threads)) {
		no_memory(f);
		return NULL;
	}
	t = &f->threads[f->nr_threads++];
	*t = (struct thread){.tid = tid};
	return t;
}

/* Give the requests before @ts the current state of their threads. */
static void advance(struct blk_finder *f, uint64_t ts)
{
	for (; f->at < f->nr && f->ios[f->at].ts_ns < ts; f->at++) {
		struct blk_io *io = &f->ios[f->at];
		const struct thread *t = thread_find(f, (int32_t)io->tid);

		if (!t)
			continue;
		io->call = t->call;
		io->file = t->call ? t->file : NULL;
		if (t->nr)
			io->function =
				call_filter_function(f->v.filter, t->frames[t->nr - 1].function)
					->name;
	}
}

static void on_enter(void *arg, struct call *call, struct call *parent, const struct record *rec)
{
	struct blk_finder *f = arg;
	struct thread *t;
	uint32_t function;
	int shown = call_filter_enter(f->v.filter, call, parent, &function);

	(void)rec;
	advance(f, call->start);
	t = thread_get(f, call->pid);
	if (shown < 0 || !t || ARRAY_ROOM(t->frames, t->nr, t->room, 32)) {
		no_memory(f);
		return;
	}
	t->frames[t->nr++] = (struct frame){call->ip, call->start, function};
}

static void on_leave(void *arg, struct call *call, struct call *parent, const struct record *rec)
{
	struct blk_finder *f = arg;
	struct thread *t;

	(void)parent;
	/* a call that is open at the end includes the last moment */
	advance(f, rec || !(call->flags & CALL_UNFINISHED) ? call->end : call->end + 1);
	t = thread_find(f, call->pid);
	while (t && t->nr) {
		const struct frame *top = &t->frames[--t->nr];

		if (top->ip == call->ip && top->start == call->start)
			break;
	}
}

static const struct calls_ops calls_ops = {.enter = on_enter, .leave = on_leave};

/* The name of an argument of a system call's own event, by its position. */
static const char *argument_name(const struct tep_event *ev, unsigned int arg)
{
	for (const struct tep_format_field *f = ev->format.fields; f; f = f->next)
		if (strcmp(f->name, "__syscall_nr") != 0 && strcmp(f->name, "nr") != 0 && !arg--)
			return f->name;
	return "";
}

static int64_t find_fd(const struct blk_finder *f, uint32_t process, uint32_t fd)
{
	return HASH_INDEX_FIND(&f->by_fd, (uint64_t)process << 32 | fd, i,
			       f->fds[i].process == process && f->fds[i].fd == fd);
}

static const char *keep_text(struct blk_finder *f, const char *data, size_t bytes)
{
	struct text *t = calloc(1, sizeof(*t) + bytes + 1);

	if (!t) {
		no_memory(f);
		return NULL;
	}
	memcpy(t->text, data, bytes);
	t->next = f->texts;
	f->texts = t;
	return t->text;
}

static void put_fd(struct blk_finder *f, uint32_t process, uint32_t fd, const char *name)
{
	int64_t found = find_fd(f, process, fd);

	if (found < 0) {
		if (ARRAY_ROOM(f->fds, f->nr_fds, f->room_fds, 64) ||
		    hash_index_add(&f->by_fd, (uint64_t)process << 32 | fd, (uint32_t)f->nr_fds)) {
			no_memory(f);
			return;
		}
		found = (int64_t)f->nr_fds++;
		f->fds[found] = (struct descriptor){.process = process, .fd = fd};
	}
	f->fds[found].name = name;
}

static const char *name_of_fd(struct blk_finder *f, uint32_t process, uint32_t fd)
{
	int64_t found = find_fd(f, process, fd);
	const char *name;
	char number[24];

	if (found >= 0)
		return f->fds[found].name;
	/* the file is not known: use the number of the descriptor */
	name = keep_text(f, number, (size_t)snprintf(number, sizeof(number), "fd %u", fd));
	if (name)
		put_fd(f, process, fd, name);
	return name;
}

static void on_descriptor(struct blk_finder *f, const struct tep_event *ev,
			  const struct record *rec)
{
	struct tep_format_field *field = tep_find_field((struct tep_event *)(uintptr_t)ev, "name");
	const char *data, *name;
	size_t bytes = field ? event_field_data(ev, field, rec, &data) : 0;
	uint64_t fd;

	if (!bytes || !event_field_number(ev, "fd", 0, rec, &fd))
		return;
	name = keep_text(f, data, strnlen(data, bytes));
	if (name)
		put_fd(f, record_process(rec), (uint32_t)fd, name);
}

/* Is it a record of the kernel (`record -k`)? Those are of all processes. */
static bool is_kernel(const struct blk_finder *f, const struct record *rec)
{
	unsigned int buffer = record_buffer(rec);

	return buffer && !strcmp(reader_buffer_name(f->v.r, buffer), READER_KERNEL_BUFFER);
}

/* A thread begins a system call. */
static void on_call(struct blk_finder *f, const struct tep_event *ev, const char *name,
		    const struct record *rec)
{
	bool by_kernel = is_kernel(f, rec);
	struct thread *t = thread_find(f, rec->pid);
	uint64_t fd;

	if (!t || (by_kernel && t->call)) /* the program's own records know more */
		return;
	t->by_kernel = by_kernel;
	t->call = name;
	t->file = NULL;
	for (size_t i = 0; i < sizeof(with_fd) / sizeof(*with_fd); i++) {
		if (strcmp(with_fd[i].name, name) != 0)
			continue;
		if (!strcmp(ev->system, "raw_syscalls")
			    ? event_field_number(ev, "args", with_fd[i].arg, rec, &fd)
			    : event_field_number(ev, argument_name(ev, with_fd[i].arg), 0, rec,
						 &fd))
			t->file = name_of_fd(f, record_process(rec), (uint32_t)fd);
		return;
	}
}

static int on_other(void *arg, const struct record *rec)
{
	struct blk_finder *f = arg;
	struct tep_event *ev = NULL;
	struct thread *t;
	const char *name;
	uint64_t nr;

	advance(f, rec->ts);
	if (rec->kind != RECORD_EVENT || !f->v.r->tep)
		return f->err;
	ev = tep_find_event(f->v.r->tep, rec->event);
	if (!ev)
		return f->err;
	if (!is_kernel(f, rec) && !thread_get(f, rec->pid))
		return f->err;
	if (!strcmp(ev->system, "files") && !strcmp(ev->name, "descriptor")) {
		on_descriptor(f, ev, rec);
	} else if (!strcmp(ev->system, "raw_syscalls") && !strcmp(ev->name, "sys_enter")) {
		name = event_field_number(ev, "id", 0, rec, &nr) ? syscall_names_find(nr) : NULL;
		on_call(f, ev, name ? name : "unknown", rec);
	} else if (!strcmp(ev->system, "syscalls") && !strncmp(ev->name, "sys_enter_", 10)) {
		on_call(f, ev, ev->name + 10, rec);
	} else if ((!strcmp(ev->system, "raw_syscalls") && !strcmp(ev->name, "sys_exit")) ||
		   (!strcmp(ev->system, "syscalls") && !strncmp(ev->name, "sys_exit_", 9))) {
		t = thread_find(f, rec->pid);
		if (t && t->by_kernel == is_kernel(f, rec))
			t->call = NULL;
	}
	return f->err;
}

int blk_finder_open(const char *path, struct blk_finder **out)
{
	static const char *const clocks[] = {"", "local", "global", "mono"};
	struct blk_finder *f = calloc(1, sizeof(*f));
	bool known = false;
	int err;

	if (!f)
		return fail(ENOMEM, "out of memory for the recording of the program");
	view_init(&f->v);
	f->v.path = path;
	err = view_open(&f->v);
	for (size_t i = 0; !err && i < sizeof(clocks) / sizeof(*clocks); i++)
		known |= !strcmp(f->v.r->clock, clocks[i]);
	if (!err && (!known || !f->v.r->ts_is_ns))
		err = fail(EINVAL,
			   "%s has the clock '%s', which cannot be compared with the block "
			   "devices': record it with the trace_clock local or mono",
			   path, f->v.r->clock);
	if (err)
		blk_finder_close(f);
	else
		*out = f;
	return err;
}

void blk_finder_close(struct blk_finder *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->nr_threads; i++)
		free(f->threads[i].frames);
	while (f->texts) {
		struct text *t = f->texts;

		f->texts = t->next;
		free(t);
	}
	free(f->threads);
	free(f->fds);
	hash_index_clear(&f->by_tid);
	hash_index_clear(&f->by_fd);
	view_close(&f->v);
	free(f);
}

int blk_finder_find(void *arg, struct blk_io *ios, size_t nr)
{
	struct blk_finder *f = arg;
	int err;

	f->ios = ios;
	f->nr = nr;
	f->v.other = on_other;
	f->v.other_arg = f;
	err = view_run(&f->v, &calls_ops, f, &f->err);
	if (err)
		return err;
	/* the program may have continued outside of any recorded call */
	for (size_t i = 0; i < nr; i++)
		if (ios[i].of == BLK_IO_OTHER && thread_find(f, (int32_t)ios[i].tid))
			ios[i].of = BLK_IO_THREAD;
	if (nr && (ios[nr - 1].ts_ns < f->v.first_ts || ios[0].ts_ns > f->v.last_ts))
		note("%s and the requests have no time in common: record both at once, and give "
		     "the "
		     "files of `blk record`, not one of `blk parse -d`",
		     f->v.path);
	return 0;
}
