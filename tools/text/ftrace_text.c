/* SPDX-License-Identifier: MIT */
/*
 * See ftrace_text.h. For a new form add a function and a row of the table. Tests:
 * tests/engine/tracers.
 */
#include "tools/text/ftrace_text.h"

#include <inttypes.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "tools/code/symbols.h"
#include "tools/reader/tasks.h"

static uint64_t number(const struct tep_event *ev, const char *data, const char *name)
{
	struct tep_format_field *f = tep_find_field((struct tep_event *)(uintptr_t)ev, name);
	uint64_t v = 0;

	if (f && f->size > 0)
		memcpy(&v, data + f->offset, f->size < 8 ? (size_t)f->size : 8);
	return v;
}

static void put_string(struct out *o, const struct tep_event *ev, const char *data,
		       const char *name)
{
	struct tep_format_field *f = tep_find_field((struct tep_event *)(uintptr_t)ev, name);

	if (f && f->size > 0)
		out_string(o, data + f->offset, strnlen(data + f->offset, (size_t)f->size));
}

/* `[  ok  ] FUNC:FILE:LINE` */
static void put_branch(const struct reader *r, struct out *o, const struct tep_event *ev,
		       const char *data)
{
	(void)r;
	out_text(o, number(ev, data, "correct") ? "[  ok  ] " : "[ MISS ] ");
	put_string(o, ev, data, "func");
	out_text(o, ":");
	put_string(o, ev, data, "file");
	out_printf(o, ":%u", (unsigned int)number(ev, data, "line"));
}

/* `NAME+0x0/0x8` */
static void put_function(const struct reader *r, struct out *o, uint64_t addr)
{
	const struct symbol *sym = symbols_find(r->symbols, addr);

	if (sym)
		out_printf(o, "%s+0x%" PRIx64 "/0x%" PRIx64, sym->name, addr - sym->addr,
			   symbols_size(r->symbols, sym));
	else
		out_printf(o, "0x%" PRIx64, addr);
}

static void put_boot_call(const struct reader *r, struct out *o, const struct tep_event *ev,
			  const char *data)
{
	out_text(o, "calling  ");
	put_function(r, o, number(ev, data, "func"));
	out_printf(o, " @ %d", (int)number(ev, data, "caller"));
}

static void put_boot_ret(const struct reader *r, struct out *o, const struct tep_event *ev,
			 const char *data)
{
	out_text(o, "initcall ");
	put_function(r, o, number(ev, data, "func"));
	out_printf(o, " returned %d after %" PRIu64 " usecs", (int)number(ev, data, "result"),
		   number(ev, data, "duration") / 1000);
}

/* The kernel's columns: alloc, type, requested, given, flags, pointer, node, caller. */
static void put_kmem_alloc(const struct reader *r, struct out *o, const struct tep_event *ev,
			   const char *data)
{
	out_printf(o, "+ K %6" PRIu64 " %6" PRIu64 " %08x 0x%012" PRIx64 " %2d ",
		   number(ev, data, "bytes_req"), number(ev, data, "bytes_alloc"),
		   (unsigned int)number(ev, data, "gfp_flags"), number(ev, data, "ptr"),
		   (int)number(ev, data, "node"));
	put_function(r, o, number(ev, data, "call_site"));
}

static void put_kmem_free(const struct reader *r, struct out *o, const struct tep_event *ev,
			  const char *data)
{
	out_printf(o, "- K %22s 0x%012" PRIx64 "    ", "", number(ev, data, "ptr"));
	put_function(r, o, number(ev, data, "call_site"));
}

static void put_kmem_leak(const struct reader *r, struct out *o, const struct tep_event *ev,
			  const char *data)
{
	uint64_t ms = number(ev, data, "age") / 1000000;

	(void)r;
	out_printf(o,
		   "%" PRIu64 " bytes in %" PRIu64 " blocks, the oldest %" PRIu64 ".%03" PRIu64
		   " s",
		   number(ev, data, "bytes"), number(ev, data, "blocks"), ms / 1000, ms % 1000);
}

/* The kind of access, the variable, the address of the accessing code. */
static void put_ksym(const struct reader *r, struct out *o, const struct tep_event *ev,
		     const char *data)
{
	out_text(o, number(ev, data, "type") == 3 ? " RW  " : " W   ");
	put_string(o, ev, data, "ksym_name");
	out_text(o, " ");
	put_function(r, o, number(ev, data, "ip"));
}

/* `# KIND ADDRESS FRAME`, the form of old kernels; of a mark the last two numbers are its own. */
static void put_special(const struct reader *r, struct out *o, const struct tep_event *ev,
			const char *data)
{
	(void)r;
	out_printf(o, "# %" PRIu64 " %" PRIu64 " %" PRIu64, number(ev, data, "arg1"),
		   number(ev, data, "arg2"), number(ev, data, "arg3"));
}

/* `MAJOR,MINOR ACT RWBS SECTOR + NUMBER [COMM]`, of C [ERROR], as the kernel prints them. */
static void put_blk(const struct reader *r, struct out *o, const struct tep_event *ev,
		    const char *data)
{
	const char act[2] = {(char)number(ev, data, "act"), 0};
	char rwbs[4] = {0};
	uint64_t nr = number(ev, data, "nr_sector"), sector = number(ev, data, "sector");
	uint64_t flags = number(ev, data, "rwbs");

	memcpy(rwbs, &flags, 3);
	out_printf(o, "%3u,%-3u %2s %3s ", (unsigned int)number(ev, data, "major"),
		   (unsigned int)number(ev, data, "minor"), act, rwbs);
	if (act[0] == 'C' && nr)
		out_printf(o, "%" PRIu64 " + %u [%d]", sector, (unsigned int)nr,
			   (int)number(ev, data, "error"));
	else if (act[0] == 'C')
		out_printf(o, "%" PRIu64 " [%d]", sector, (int)number(ev, data, "error"));
	else if (nr)
		out_printf(o, "%" PRIu64 " + %u [%s]", sector, (unsigned int)nr,
			   tasks_comm(r->tasks, (int32_t)number(ev, data, "pid")));
	else
		out_printf(o, "[%s]", tasks_comm(r->tasks, (int32_t)number(ev, data, "pid")));
}

/* In the words of the kernel's first events of power: type 1 is an idle state, 2 a frequency. */
static void put_power(const struct reader *r, struct out *o, const struct tep_event *ev,
		      const char *data)
{
	unsigned int state = (unsigned int)number(ev, data, "state");
	unsigned int cpu = (unsigned int)number(ev, data, "cpu_id");

	(void)r;
	switch (number(ev, data, "kind")) {
	case 0:
		if (state == UINT32_MAX)
			out_printf(o, "power_end: cpu_id=%u", cpu);
		else
			out_printf(o, "power_start: type=1 state=%u cpu_id=%u", state, cpu);
		break;
	case 1:
		out_printf(o, "power_frequency: type=2 state=%u cpu_id=%u", state, cpu);
		break;
	default:
		out_printf(o, "cpu_idle_miss: cpu_id=%u state=%u type=%s", cpu, state,
			   number(ev, data, "below") ? "below" : "above");
	}
}

/* `CPU FROM -> TO` */
static void put_hw_branch(const struct reader *r, struct out *o, const struct tep_event *ev,
			  const char *data)
{
	out_printf(o, "%4u  ", (unsigned int)number(ev, data, "cpu_id"));
	put_function(r, o, number(ev, data, "from"));
	out_text(o, " -> ");
	put_function(r, o, number(ev, data, "to"));
}

static char state_of(uint64_t index)
{
	static const char letters[] = "RSDTtXZPI";

	return index < sizeof(letters) - 1 ? letters[index] : '?';
}

static void put_tasks(const struct reader *r, struct out *o, const struct tep_event *ev,
		      const char *data, const char *arrow)
{
	int32_t next = (int32_t)number(ev, data, "next_pid");

	out_printf(o, " %7d:%3d:%c %s [%03u] %7d:%3d:%c %s", (int)number(ev, data, "prev_pid"),
		   (int)number(ev, data, "prev_prio"), state_of(number(ev, data, "prev_state")),
		   arrow, (unsigned int)number(ev, data, "next_cpu"), next,
		   (int)number(ev, data, "next_prio"), state_of(number(ev, data, "next_state")),
		   tasks_comm(r->tasks, next));
}

/* `PID:PRIO:STATE ==> [CPU] PID:PRIO:STATE COMM` */
static void put_switch(const struct reader *r, struct out *o, const struct tep_event *ev,
		       const char *data)
{
	put_tasks(r, o, ev, data, "==>");
}

static void put_wakeup(const struct reader *r, struct out *o, const struct tep_event *ev,
		       const char *data)
{
	put_tasks(r, o, ev, data, "  +");
}

static const struct {
	const char *event;
	const char *tracer;
	void (*put)(const struct reader *r, struct out *o, const struct tep_event *ev,
		    const char *data);
	const char *titles; /* NULL: the common titles */
} forms[] = {
	{"branch", "branch", put_branch,
	 "#           TASK-PID    CPU#    TIMESTAMP  CORRECT  FUNC:FILE:LINE\n"
	 "#              | |       |          |         |       |\n"},
	{"boot_call", "initcall", put_boot_call, NULL},
	{"boot_ret", "initcall", put_boot_ret, NULL},
	{"kmem_alloc", "kmemtrace", put_kmem_alloc,
	 "#           TASK-PID    CPU#    TIMESTAMP  ALLOC TYPE REQ GIVEN FLAGS POINTER NODE "
	 "CALLER\n"
	 "#              | |       |          |      |\n"},
	{"kmem_free", "kmemtrace", put_kmem_free, NULL},
	{"kmem_leak", "kmemtrace", put_kmem_leak, NULL},
	{"ksym_trace", "ksym_tracer", put_ksym,
	 "#           TASK-PID    CPU#    TIMESTAMP  TYPE SYMBOL FUNCTION\n"
	 "#              | |       |          |        |    |      |\n"},
	{"special", "sysprof", put_special, NULL},
	{"blk", "blk", put_blk, ""},
	{"power", "power", put_power, NULL},
	{"hw_branch", "hw-branch", put_hw_branch, NULL},
	{"context_switch", "sched_switch", put_switch, NULL},
	{"wakeup", "sched_switch", put_wakeup, NULL},
};
#define NR_FORMS (sizeof(forms) / sizeof(forms[0]))

bool ftrace_text_titles(struct out *o, const char *tracer)
{
	for (size_t i = 0; i < NR_FORMS; i++)
		if (forms[i].titles && !strcmp(forms[i].tracer, tracer)) {
			out_text(o, forms[i].titles);
			return true;
		}
	return false;
}

bool ftrace_text(const struct reader *r, struct out *o, const struct tep_event *ev,
		 const char *data)
{
	for (size_t i = 0; i < NR_FORMS; i++)
		if (!strcmp(forms[i].event, ev->name)) {
			forms[i].put(r, o, ev, data);
			return true;
		}
	return false;
}
