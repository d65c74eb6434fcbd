/* SPDX-License-Identifier: MIT */
/*
 * See syscall_text.h. The kernel does not print these by their print format, which other readers
 * use. Tests: tests/engine/events/syscalls, against text of a real kernel.
 */
#include "tools/text/syscall_text.h"

#include <string.h>

static unsigned long load(const char *data, const struct tep_format_field *f)
{
	unsigned long v = 0;

	memcpy(&v, data + f->offset, f->size < 8 ? (size_t)f->size : 8);
	return v;
}

/* Whether its fields are a system call's: the number, then words. */
static bool is_syscall(const struct tep_event *ev)
{
	const struct tep_format_field *f = ev->format.fields;

	if (strcmp(ev->system, "syscalls") != 0 || !f || strcmp(f->name, "__syscall_nr") != 0)
		return false;
	for (f = f->next; f; f = f->next) {
		if (f->size != 8)
			return false;
	}
	return true;
}

bool syscall_text(struct out *o, const struct tep_event *ev, const char *data, bool verbose)
{
	static const char enter[] = "sys_enter_", leave[] = "sys_exit_";
	const struct tep_format_field *f;

	if (!is_syscall(ev))
		return false;
	f = ev->format.fields->next;
	if (!strncmp(ev->name, leave, sizeof(leave) - 1) && f) {
		out_printf(o, "sys_%s -> 0x%lx", ev->name + sizeof(leave) - 1, load(data, f));
		return true;
	}
	if (strncmp(ev->name, enter, sizeof(enter) - 1) != 0)
		return false;
	out_printf(o, "sys_%s(", ev->name + sizeof(enter) - 1);
	for (; f; f = f->next) {
		if (verbose)
			out_printf(o, "%s ", f->type);
		out_printf(o, "%s: %lx%s", f->name, load(data, f), f->next ? ", " : "");
	}
	out_text(o, ")");
	return true;
}
