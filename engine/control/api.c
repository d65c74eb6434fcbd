/* SPDX-License-Identifier: MIT */
/*
 * The functions behind vestige.h. Files: any thread, not in signal handlers; these functions set
 * errno, and nothing else in the engine does. vestige_print(): any context. In a fork's child
 * without an area they do nothing. Tests: tests/engine/fire/inside.
 */
#include <errno.h>

#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/control/oops.h"
#include "engine/control/api.h"
#include "engine/control/tree.h"
#include "engine/base/mem.h"
#include "engine/process/area.h"
#include "engine/core/options.h"
#include "engine/process/area_copy.h"
#include "engine/core/stack.h"
#include "engine/core/trace_array.h"
#include "engine/core/tracer.h"
#include "engine/events/bprint.h"
#include "engine/events/ftrace_event.h"
#include "engine/ring/ring_write.h"
#include "engine/sources/work.h"
#include "engine/tracers/mmiotrace.h"
#include "vestige/vestige.h"

static ssize_t file_read(const char *file, char *buf, size_t bytes)
{
	struct seq_buf s;
	long n;

	seq_init(&s, buf, bytes);
	n = tree_read(file, &s);
	if (n < 0) {
		errno = (int)-n;
		return -1;
	}
	return n;
}

static ssize_t file_write(const char *file, const char *buf, size_t bytes, int truncate)
{
	int err = tree_write(file, buf, bytes, truncate);

	if (err) {
		errno = -err;
		return -1;
	}
	return (ssize_t)bytes;
}

static int instance_make(const char *name, int make)
{
	char path[128] = "instances/";
	int err = -ENAMETOOLONG;
	size_t n = strlen(path);

	if (strlen(name) < sizeof(path) - n) {
		str_copy(path + n, sizeof(path) - n, name);
		err = make ? tree_mkdir(path) : tree_rmdir(path);
	}
	if (err) {
		errno = -err;
		return -1;
	}
	return 0;
}

static int area_snapshot(const char *path)
{
	int err = tree_enter();

	if (!err) {
		err = snapshot_to_file(path);
		tree_lock_release();
	}
	if (err) {
		errno = -err;
		return -1;
	}
	return 0;
}

#define PRINT_MAX_TEXT 1024u

/* What is printed: a text, or a format with its arguments. */
struct print {
	const void *ip;
	const char *text;
	uint32_t bytes;
	const struct bprint_format *format; /* NULL: text */
	va_list *args;
};

/*
 * Print into one instance. Return: 0; -1: recording is off, or the record is lost; 1: the caller
 * must format it and print text.
 */
static int print_to(struct trace_array *tr, const struct print *p)
{
	int ret;

	if (!p->format)
		ret = ftrace_print(tr, p->ip, p->text, p->bytes);
	else if (!ring_is_on(tr->ring))
		return -1;
	else if (load_relaxed(&tr->print_file)) /* its filters act on all prints */
		return 1;
	else
		ret = bprint_record(tr, p->format, p->ip, p->args);
	if (ret > 0 && stack_is_wanted(tr->ring))
		stack_record_wanted(tr->ring);
	return ret == -E2BIG ? 1 : ret < 0 ? -1 : 0;
}

/* trace_printk(): print into the instance that has its option. */
static int printk(const struct print *p)
{
	struct srcu_thread *inside;
	struct trace_array *tr;
	int ret;

	if (!area_option_on(load_relaxed(&ring_top->buffer->options), AREA_OPTION_TRACE_PRINTK))
		return -1;
	if (likely(load_relaxed(&printk_trace) == &global_trace))
		return print_to(&global_trace, p);
	inside = ring_enter();
	if (!inside)
		return -1;
	tr = load_acquire(&printk_trace);
	/* no ring: the instance is about to be removed */
	ret = print_to(load_acquire(&tr->ring) ? tr : &global_trace, p);
	ring_leave(inside);
	return ret;
}

/*
 * Write a mark into each instance that has copy_trace_marker, as a write to the top trace_marker
 * does. An instance that is removed clears the option first, and then waits for a grace period.
 */
static void copy_mark(const struct print *p)
{
	struct srcu_thread *inside = ring_enter();
	uint32_t i;

	if (!inside)
		return;
	for (i = 1; i < RING_MAX; i++) {
		struct trace_array *tr = trace_array_at(i);

		if (tr && option_is_on(tr, AREA_OPTION_COPY_TRACE_MARKER) &&
		    option_is_on(tr, AREA_OPTION_MARKERS))
			print_to(tr, p);
	}
	ring_leave(inside);
}

/* @ip: the caller of trace_printk(); NULL: a mark, for the top instance. */
static int print(const void *ip, const char *text, size_t bytes)
{
	const struct print p = {
		.ip = ip,
		.text = text,
		.bytes = (uint32_t)(bytes < PRINT_MAX_TEXT ? bytes : PRINT_MAX_TEXT),
	};

	if (!area)
		return -1;
	if (ip)
		return printk(&p);
	if (unlikely(load_relaxed(&marker_copies)))
		copy_mark(&p);
	return option_is_on(&global_trace, AREA_OPTION_MARKERS) ? print_to(&global_trace, &p) : -1;
}

/*
 * Register a format at its first print. NULL: print text this time, because a handler may have
 * interrupted the thread that holds the lock, or a system call may be fatal.
 */
static const struct bprint_format *learn_format(void **known, const char *text, int puts)
{
	const struct bprint_format *f;

	if (sys_is_forbidden() || !tree_lock_try(TREE_SOON_NS))
		return NULL;
	f = bprint_format_get(text, puts);
	tree_lock_release();
	store_release(known, (void *)(uintptr_t)f);
	return f;
}

/* See struct vestige_api. */
static int print_known(void **known, const void *ip, const char *text, va_list *args)
{
	struct print p = {.ip = ip, .format = load_acquire(known), .args = args};

	if (!area)
		return -1;
	if (unlikely(!p.format))
		p.format = learn_format(known, text, !args);
	return p.format ? printk(&p) : 1;
}

/*
 * Print the caller's stack. The first call sets up what later ones need, and must not be in a
 * signal handler.
 */
static int dump_stack(uint32_t skip)
{
	int err = 0;

	if (!stack_started()) {
		err = sys_is_forbidden() ? -EPERM : stack_prepare();
		if (!err)
			err = tree_enter();
		if (!err) {
			err = stack_start();
			tree_lock_release();
		}
	}
	if (!err)
		stack_record_from(ring_top, skip);
	return err;
}

static int trace_do(int what, unsigned long arg)
{
	if (!area)
		return -ENODEV;
	switch (what) {
	case VESTIGE_TRACING_ON_:
	case VESTIGE_TRACING_OFF_:
		tracing_set(&global_trace, what == VESTIGE_TRACING_ON_);
		return 0;
	case VESTIGE_TRACING_IS_ON_:
		return ring_is_on(ring_top);
	case VESTIGE_TRACING_SNAPSHOT_:
		return tracer_snapshot(&global_trace, UINT32_MAX);
	case VESTIGE_TRACE_DUMP_STACK_:
		return dump_stack(arg < UINT32_MAX ? (uint32_t)arg : UINT32_MAX);
	default:
		return -ENOSYS;
	}
}

static void put_number(struct seq_buf *s, int64_t v)
{
	if (v < 0)
		seq_putc(s, '-');
	seq_putu(s, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

/*
 * Print a line as Android's atrace writes it to trace_marker. @kind: B, E, C, S or F. Any context.
 */
static int atrace(int kind, const char *name, int64_t value)
{
	char text[PRINT_MAX_TEXT];
	struct seq_buf s;

	if (!area)
		return -1;
	/* leave room for the value behind a name that is too long */
	seq_init(&s, text, sizeof(text) - 32);
	seq_putc(&s, (char)kind);
	seq_putc(&s, '|');
	seq_putu(&s, (uint64_t)area->pid);
	if (kind != 'E') {
		seq_putc(&s, '|');
		seq_puts(&s, name ? name : "(null)"); /* as printf() has it */
	}
	s.bytes = sizeof(text);
	if (kind != 'B' && kind != 'E') {
		seq_putc(&s, '|');
		put_number(&s, value);
	}
	return print(NULL, text, s.len);
}

static int watch(const void *at, size_t bytes, const char *name)
{
	int err = tree_enter();

	if (!err) {
		err = mmio_watch(at, bytes, name);
		tree_lock_release();
	}
	if (err) {
		errno = -err;
		return -1;
	}
	return 0;
}

VESTIGE_EXPORT const struct vestige_api vestige_api_1 = {
	.bytes = sizeof(struct vestige_api),
	.file_read = file_read,
	.file_write = file_write,
	.area_snapshot = area_snapshot,
	.print = print,
	.ops_register = inside_ops_register,
	.ops_unregister = inside_ops_unregister,
	.ops_set_filter = inside_ops_set_filter,
	.return_address = inside_return_address,
	.instance_make = instance_make,
	.trace_do = trace_do,
	.atrace = atrace,
	.print_known = print_known,
	.warn = oops_warn,
	.on_oops = oops_on,
	.work = work_say,
	.watch = watch,
};
