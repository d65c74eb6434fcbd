/* SPDX-License-Identifier: MIT */
/*
 * files:descriptor: a descriptor that the program got, and the file or socket that it leads to
 * (sources/descriptors.h). If the event is on at the program's start, those that are open then are
 * recorded first. `vestige sched` names files by it. Any context. fork: the child reports its own.
 * Tests: tests/cli/test_sched.py.
 */
#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/events/builtin_event.h"
#include "engine/sources/descriptors.h"

struct descriptor {
	struct builtin_record head;
	int fd;
	uint32_t name;
	char text[DESCRIPTOR_NAME_BYTES];
};

static const struct vestige_event_field fields[] = {
	BUILTIN_FIELD(struct descriptor, fd, "int", 1),
	BUILTIN_FIELD(struct descriptor, name, "__data_loc char[]", 0),
	BUILTIN_FIELDS_END,
};

static int enable(struct builtin_event *e, int on);

static struct builtin_event row = {
	.system = "files",
	.name = "descriptor",
	.fields = fields,
	.print_fmt = "\"%d %s\", REC->fd, __get_str(name)",
	.enable = enable,
};

static void note(int fd, const char *name)
{
	struct descriptor r = {.fd = fd};
	uint32_t bytes = (uint32_t)str_copy(r.text, sizeof(r.text), name) + 1;

	r.name = BUILTIN_DATA_LOC(offsetof(struct descriptor, text), bytes);
	builtin_event_write(&row, &r, (uint32_t)offsetof(struct descriptor, text) + bytes);
}

static struct descriptor_listener listener = {.call = note};

static int enable(struct builtin_event *e, int on)
{
	(void)e;
	return source_switch(&descriptors, &listener.link, on);
}

static void start(const struct lifecycle_start *how)
{
	(void)how;
	builtin_events_add(&row, 1);
}

static void report_first(const struct lifecycle_start *how)
{
	(void)how;
	if (builtin_event_is_on(&row))
		descriptors_report_all();
}

static void fork_files(const struct lifecycle_fork *f)
{
	if (f->when == LIFECYCLE_FORK_UNLOCKED && builtin_event_is_on(&row))
		descriptors_report_all();
}

LIFECYCLE(LIFECYCLE_SYSTEM, start, NULL, NULL);
LIFECYCLE(LIFECYCLE_LIVE, report_first, fork_files, NULL);
