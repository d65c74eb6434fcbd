/* SPDX-License-Identifier: MIT */
/*
 * syscalls:sys_enter_NAME and sys_exit_NAME for each system call of the table, and
 * raw_syscalls:sys_enter and sys_exit, with the kernel's names, fields and print formats. They are
 * made at their first use (event_source.h). Their source is sources/syscall.h. A call through
 * syscall(2) makes the event of the number that it passes.
 *
 * Records are made in any context, where the program calls libc: no lock, no libc. fork: nothing.
 * Costs: bench "syscalls". Tests: tests/engine/events/syscalls.
 */
#include "arch_barrier.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/events/event_source.h"
#include "engine/events/builtin_event.h"
#include "engine/events/system/syscall_table.h"
#include "engine/sources/syscall.h"

#define MAX_ARGS 6u

/* A record, without the common fields. */
struct enter_record {
	struct builtin_record head;
	uint64_t nr; /* an int and padding */
	uint64_t args[MAX_ARGS];
};
struct exit_record {
	struct builtin_record head;
	uint64_t nr;
	uint64_t ret;
};

static struct event_source syscalls, raw_syscalls;

static const struct event_class class;

/* The event of a number, if it has been made. */
static struct event *made(const struct event_source *s, uint64_t i)
{
	struct event **all = load_acquire(&s->made);
	struct event *e = all && i < s->nr ? load_acquire(&all[i]) : NULL;

	/* the program may have replaced it by one of its own */
	return e && e->class == &class ? e : NULL;
}

static void enter(uint64_t nr, const uint64_t *args)
{
	struct enter_record r = {.nr = nr};
	struct event *raw = made(&raw_syscalls, 0), *e = made(&syscalls, 2 * nr);

	memcpy(r.args, args, sizeof(r.args));
	if (raw)
		event_write_each(raw, &r, sizeof(r));
	if (e)
		event_write_each(e, &r, 16 + 8 * (e->nr_fields - 1));
}

static void leave(uint64_t nr, uint64_t ret)
{
	struct exit_record r = {.nr = nr, .ret = ret};
	struct event *raw = made(&raw_syscalls, 1), *e = made(&syscalls, 2 * nr + 1);

	if (raw)
		event_write_each(raw, &r, sizeof(r));
	if (e)
		event_write_each(e, &r, sizeof(r));
}

static struct syscall_listener listener = {.enter.call = enter, .exit.call = leave};

/* @data: the system call's number. */
static int enable(struct event *e, struct event_file *file, int on)
{
	(void)file;
	return syscall_listen(&listener, (uint32_t)(uintptr_t)e->data, on);
}

static const struct event_class class = {.enable = enable};

static struct event *add(const char *system, const char *name,
			 const struct vestige_event_field *fields, const char *print, uint32_t nr)
{
	struct event *clash;

	return event_add(system, name, fields, print, &class, (void *)(uintptr_t)nr, &clash);
}

static int syscalls_name(uint32_t i, char *name)
{
	const char *call = syscall_name(i / 2);

	if (!call)
		return 0;
	str_copy(name, EVENT_SOURCE_NAME, i % 2 ? "sys_exit_" : "sys_enter_");
	str_copy(name + strlen(name), EVENT_SOURCE_NAME - strlen(name), call);
	return 1;
}

static const struct vestige_event_field nr_field = {"int", "__syscall_nr", 4, 8, 1, 0, 0};

static struct event *make_exit(uint32_t nr, const char *name)
{
	const struct vestige_event_field fields[] = {
		nr_field, {"long", "ret", 8, 16, 1, 0, 0}, {NULL}};

	return add("syscalls", name, fields, "\"0x%lx\", REC->ret", nr);
}

static struct event *make_enter(uint32_t nr, const char *name)
{
	struct vestige_event_field fields[MAX_ARGS + 2] = {nr_field};
	const char *type = syscall_name(nr);
	char print[1024];
	struct seq_buf s;
	uint32_t i, n = 1;

	while ((type = syscall_arg(type)) && n <= MAX_ARGS) {
		fields[n] = (struct vestige_event_field){
			.type = type, .name = syscall_arg(type), .size = 8, .offset = 8 + 8 * n};
		type = fields[n++].name;
	}
	seq_init(&s, print, sizeof(print) - 1);
	seq_putc(&s, '"');
	for (i = 1; i < n; i++) {
		seq_puts(&s, i > 1 ? ", " : "");
		seq_puts(&s, fields[i].name);
		seq_puts(&s, ": 0x%08lx");
	}
	seq_putc(&s, '"');
	for (i = 1; i < n; i++) {
		seq_puts(&s, ", ((unsigned long)(REC->");
		seq_puts(&s, fields[i].name);
		seq_puts(&s, "))");
	}
	print[s.len] = 0;
	return add("syscalls", name, fields, print, nr);
}

static struct event *syscalls_make(uint32_t i, const char *name)
{
	return i % 2 ? make_exit(i / 2, name) : make_enter(i / 2, name);
}

static int raw_name(uint32_t i, char *name)
{
	str_copy(name, EVENT_SOURCE_NAME, i ? "sys_exit" : "sys_enter");
	return 1;
}

static struct event *raw_make(uint32_t i, const char *name)
{
	static const struct vestige_event_field id = {"long", "id", 8, 8, 1, 0, 0};
	const struct vestige_event_field entry[] = {
		id, {"unsigned long[6]", "args", 48, 16, 0, 0, 0}, {NULL}};
	const struct vestige_event_field exit[] = {id, {"long", "ret", 8, 16, 1, 0, 0}, {NULL}};

	if (i)
		return add("raw_syscalls", name, exit, "\"NR %ld = %ld\", REC->id, REC->ret",
			   SYSCALLS_MAX);
	return add("raw_syscalls", name, entry,
		   "\"NR %ld (%lx, %lx, %lx, %lx, %lx, %lx)\", REC->id, REC->args[0], "
		   "REC->args[1], REC->args[2], REC->args[3], REC->args[4], REC->args[5]",
		   SYSCALLS_MAX);
}

static struct event_source syscalls = {
	.system = "syscalls",
	.nr = 2 * SYSCALL_NUMBERS,
	.name = syscalls_name,
	.make = syscalls_make,
};

static struct event_source raw_syscalls = {
	.system = "raw_syscalls",
	.nr = 2,
	.name = raw_name,
	.make = raw_make,
};

static void start(const struct lifecycle_start *how)
{
	(void)how;
	event_source_add(&raw_syscalls);
	event_source_add(&syscalls);
}

LIFECYCLE(LIFECYCLE_SYSTEM, start, NULL, NULL);
