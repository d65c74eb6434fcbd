/* SPDX-License-Identifier: MIT */
/*
 * System calls as `strace -f -ttt -T` prints them, from the events syscalls:sys_enter_* and
 * sys_exit_*: the thread, the stamp of the entry, the call with its arguments, its result, and its
 * duration. A line is written when the call ends, so no call is split into two lines. A call that
 * has not ended has the result `?`. A recording does not have the memory to which pointers point,
 * so a pointer is printed as an address. Names are the ones that programs use. Lines of buffers
 * other than the first end with ` buffer=NAME`. Tests: tests/cli/test_export_texts.py.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/hash_index.h"
#include "tools/export/call_export.h"
#include "tools/reader/joined.h"
#include "tools/text/syscall_names.h"

#define TEXT_BYTES 512u

/* A thread in one buffer, and the call that it is in. */
struct open {
	int32_t tid;
	unsigned int buffer;
	bool is_open;
	uint64_t ts;
	char text[TEXT_BYTES]; /* name(args) */
};

struct strace {
	struct open *threads;
	size_t nr, room;
	struct hash_index by_tid; /* of threads, with the buffer */
	bool any;
};

/* Borrowed until the next call. */
static struct open *thread_of(struct call_export *x, const struct record *rec)
{
	struct strace *own = x->own;
	unsigned int buffer = record_buffer(rec);
	uint64_t key = (uint64_t)buffer << 32 | (uint32_t)rec->pid;
	int64_t found = HASH_INDEX_FIND(&own->by_tid, key, i,
					own->threads[i].tid == rec->pid &&
						own->threads[i].buffer == buffer);

	if (found >= 0)
		return &own->threads[found];
	if (ARRAY_ROOM(own->threads, own->nr, own->room, 16) ||
	    hash_index_add(&own->by_tid, key, (uint32_t)own->nr)) {
		x->err = fail(ENOMEM, "out of memory");
		return NULL;
	}
	own->threads[own->nr] = (struct open){.tid = rec->pid, .buffer = buffer};
	return &own->threads[own->nr++];
}

static void begin_line(struct call_export *x, const struct open *t)
{
	out_printf(&x->o, "%-6d %" PRIu64 ".%09u %s", (int)t->tid, t->ts / 1000000000,
		   (unsigned int)(t->ts % 1000000000), t->text);
	((struct strace *)x->own)->any = true;
}

static void end_line(struct call_export *x, const struct open *t)
{
	if (t->buffer) {
		out_text(&x->o, " buffer=");
		for (const char *p = reader_buffer_name(x->v->r, t->buffer); *p; p++)
			out_write(&x->o, (unsigned char)*p < ' ' ? " " : p, 1);
	}
	out_text(&x->o, "\n");
}

/* A field's value; 0 if the field is not inside the record. */
static uint64_t value_of(const struct tep_event *ev, const struct tep_format_field *f,
			 const struct record *rec)
{
	if (f->offset < 0 || f->size < 1 || f->size > 8 ||
	    (uint64_t)f->offset + (uint64_t)f->size > rec->data_bytes)
		return 0;
	return tep_read_number(ev->tep, (const char *)rec->data + f->offset, f->size);
}

/* Print an argument by its type. @v: the whole register; an int has only its lower 32 bits. */
static void put_argument(char *to, size_t room, const struct tep_format_field *f, uint64_t v)
{
	bool is_pointer = strchr(f->type, '*') != NULL, is_signed = !strstr(f->type, "unsigned");
	bool is_int = strstr(f->type, "int") != NULL || strstr(f->type, "pid_t") != NULL;

	if (is_pointer)
		snprintf(to, room, v ? "0x%" PRIx64 : "NULL", v);
	else if (strstr(f->name, "dfd") && (int)v == AT_FDCWD)
		snprintf(to, room, "AT_FDCWD");
	else if (strstr(f->type, "size_t") != NULL)
		snprintf(to, room, "%" PRIu64, v);
	else if (strstr(f->type, "off_t") != NULL)
		snprintf(to, room, "%" PRId64, (int64_t)v);
	else if (is_int && is_signed)
		snprintf(to, room, "%d", (int)v);
	else if (is_int && (uint32_t)v > INT32_MAX) /* unsigned, but passed as negative: fd -1 */
		snprintf(to, room, "%d", (int)v);
	else if (v > 0xffff)
		snprintf(to, room, "0x%" PRIx64, v);
	else
		snprintf(to, room, "%" PRIu64, v);
}

static void enter(struct call_export *x, const struct tep_event *ev, const char *name,
		  const struct record *rec)
{
	struct open *t = thread_of(x, rec);
	size_t n;

	if (!t)
		return;
	if (t->is_open) { /* its end is lost, or it has none: rt_sigreturn */
		begin_line(x, t);
		out_text(&x->o, " = ?");
		end_line(x, t);
	}
	t->is_open = true;
	t->ts = rec->ts;
	n = (size_t)snprintf(t->text, TEXT_BYTES, "%.64s(", name);
	for (const struct tep_format_field *f = ev->format.fields; f && n < TEXT_BYTES - 64;
	     f = f->next) {
		if (!strcmp(f->name, "__syscall_nr") || !strcmp(f->name, "nr"))
			continue;
		if (t->text[n - 1] != '(')
			n += (size_t)snprintf(t->text + n, TEXT_BYTES - n, ", ");
		put_argument(t->text + n, TEXT_BYTES - n, f, value_of(ev, f, rec));
		n += strlen(t->text + n);
	}
	snprintf(t->text + n, TEXT_BYTES - n, ")");
}

/* Results that only the kernel sees: it restarts the call, or the program gets EINTR. */
#define FIRST_RESTART 512
static const char *const restarts[] = {
	"ERESTARTSYS (To be restarted if SA_RESTART is set)", "ERESTARTNOINTR (To be restarted)",
	"ERESTARTNOHAND (To be restarted if no handler)",     NULL,
	"ERESTART_RESTARTBLOCK (Interrupted by signal)",
};
#define NR_RESTARTS (sizeof(restarts) / sizeof(*restarts))

static bool returns_address(const char *name)
{
	return !strcmp(name, "mmap") || !strcmp(name, "brk") || !strcmp(name, "mremap") ||
	       !strcmp(name, "shmat") || !strcmp(name, "mmap_pgoff");
}

static void leave(struct call_export *x, const struct tep_event *ev, const char *name,
		  const struct record *rec)
{
	struct tep_format_field *f = tep_find_field((struct tep_event *)(uintptr_t)ev, "ret");
	struct open *t = thread_of(x, rec);
	int64_t ret = f ? (int64_t)value_of(ev, f, rec) : 0;
	const char *error = ret < 0 && ret > -4096 ? strerrorname_np((int)-ret) : NULL;
	size_t n = strlen(name);
	uint64_t ns;
	bool begun;

	if (!t)
		return;
	begun = t->is_open && !strncmp(t->text, name, n) && t->text[n] == '(';
	if (!begun) { /* it was made before the recording began, or its entry is lost */
		t->ts = rec->ts;
		snprintf(t->text, TEXT_BYTES, "%.64s(...)", name);
	}
	ns = rec->ts - t->ts;
	begin_line(x, t);
	if (error)
		out_printf(&x->o, " = -1 %s (%s)", error, strerrordesc_np((int)-ret));
	else if (ret <= -FIRST_RESTART && ret > -FIRST_RESTART - (int64_t)NR_RESTARTS &&
		 restarts[-ret - FIRST_RESTART])
		out_printf(&x->o, " = ? %s", restarts[-ret - FIRST_RESTART]);
	else if (returns_address(name))
		out_printf(&x->o, " = 0x%" PRIx64, (uint64_t)ret);
	else
		out_printf(&x->o, " = %" PRId64, ret);
	if (begun)
		out_printf(&x->o, " <%" PRIu64 ".%09u>", ns / 1000000000,
			   (unsigned int)(ns % 1000000000));
	end_line(x, t);
	t->is_open = false;
}

static void strace_other(struct call_export *x, const struct record *rec)
{
	struct tep_event *ev = NULL;

	if (rec->kind == RECORD_EVENT && x->v->r->tep)
		ev = tep_find_event(x->v->r->tep, rec->event);
	if (!ev || strcmp(ev->system, "syscalls") != 0)
		return;
	if (!strncmp(ev->name, "sys_enter_", 10))
		enter(x, ev, syscall_names_program(ev->name + 10), rec);
	else if (!strncmp(ev->name, "sys_exit_", 9))
		leave(x, ev, syscall_names_program(ev->name + 9), rec);
}

static void strace_end(struct call_export *x)
{
	struct strace *own = x->own;

	for (size_t i = 0; i < own->nr; i++) {
		if (!own->threads[i].is_open)
			continue;
		begin_line(x, &own->threads[i]);
		out_text(&x->o, " = ?");
		end_line(x, &own->threads[i]);
	}
	if (!own->any)
		x->err = fail(ENODATA, "'%s' has no system call: record it with -e syscalls",
			      x->v->path);
}

static void strace_free(struct call_export *x)
{
	struct strace *own = x->own;

	free(own->threads);
	hash_index_clear(&own->by_tid);
}

int strace_export(const char *path, struct reader *r, const struct export_options *opt)
{
	static const struct call_format format = {.own_bytes = sizeof(struct strace),
						  .other = strace_other,
						  .end = strace_end,
						  .free = strace_free};

	(void)r;
	return call_export_each(path, opt, &format);
}
