/* SPDX-License-Identifier: MIT */
/*
 * See line_plugin.h. It prints the texts of libtraceevent's plug-ins `function` and `sched_switch`.
 * As the second plug-in does, this registers the names of threads in libtraceevent. Tests:
 * tests/cli/test_report.py.
 */
#include "tools/report/line_plugin.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "tools/base/array.h"
#include "tools/base/control_byte.h"
#include "tools/base/load_number.h"
#include "tools/report/line_expr.h"
#include "tools/text/number.h"

#define SEEN_SLOTS 1024u /* a power of two */

/* sched_switch and sched_wakeup, by libtraceevent's plug-in. */
struct sched_fields {
	uint16_t comm, pid, prio, state, next_comm, next_pid, next_prio, cpu;
	uint8_t state_bytes;
};

/* The chain of calls on a CPU, each function called by the one before it, from the records. */
struct callers {
	const char **at;
	size_t nr, room;
};

struct line_plugin {
	struct tep_handle *tep;
	const char *(*name)(void *arg, uint64_t addr);
	void *arg;
	bool swap;
	enum { PLUGIN_FUNCTION, PLUGIN_SWITCH, PLUGIN_WAKEUP } how;
	uint16_t ip, ip_bytes, parent_ip, parent_ip_bytes;
	struct callers *callers; /* by CPU */
	unsigned int nr_callers;
	struct sched_fields sched;
	int32_t *seen; /* threads whose names are registered */
};

/*
 * Set @offset of field @name. @bytes: its size; 0: a number of any size. Return: whether it is
 * there.
 */
static bool at(struct tep_event *ev, const char *name, uint16_t *offset, int bytes)
{
	struct tep_format_field *field = tep_find_field(ev, name);

	if (!field || field->size != bytes || field->flags & TEP_FIELD_IS_DYNAMIC ||
	    field->offset < 0)
		return false;
	*offset = (uint16_t)field->offset;
	return true;
}

static bool take_switch(struct line_plugin *f, struct tep_event *ev)
{
	struct tep_format_field *state = tep_find_field(ev, "prev_state");
	struct sched_fields *s = &f->sched;

	if (!line_field_is_number(state) || !at(ev, "prev_comm", &s->comm, 16) ||
	    !at(ev, "prev_pid", &s->pid, 4) || !at(ev, "prev_prio", &s->prio, 4) ||
	    !at(ev, "next_comm", &s->next_comm, 16) || !at(ev, "next_pid", &s->next_pid, 4) ||
	    !at(ev, "next_prio", &s->next_prio, 4))
		return false;
	s->state = (uint16_t)state->offset;
	s->state_bytes = (uint8_t)state->size;
	return true;
}

static bool take_wakeup(struct line_plugin *f, struct tep_event *ev)
{
	struct sched_fields *s = &f->sched;

	return !tep_find_field(ev, "success") && at(ev, "comm", &s->comm, 16) &&
	       at(ev, "pid", &s->pid, 4) && at(ev, "prio", &s->prio, 4) &&
	       at(ev, "target_cpu", &s->cpu, 4);
}

/* An event that a plug-in prints. Return: whether it is one of those that are known here. */
static bool take(struct line_plugin *f, struct tep_event *ev)
{
	struct tep_format_field *ip = tep_find_field(ev, "ip");
	struct tep_format_field *parent = tep_find_field(ev, "parent_ip");

	if (!strcmp(ev->system, "ftrace") && !strcmp(ev->name, "function") &&
	    line_field_is_number(ip) && line_field_is_number(parent)) {
		f->how = PLUGIN_FUNCTION;
		f->parent_ip = (uint16_t)parent->offset;
		f->parent_ip_bytes = (uint16_t)parent->size;
		f->ip = (uint16_t)ip->offset;
		f->ip_bytes = (uint16_t)ip->size;
		return true;
	}
	if (strcmp(ev->system, "sched") != 0)
		return false;
	f->how = !strcmp(ev->name, "sched_switch") ? PLUGIN_SWITCH : PLUGIN_WAKEUP;
	if (f->how == PLUGIN_WAKEUP && strncmp(ev->name, "sched_wakeup", 12) != 0)
		return false;
	f->seen = malloc(SEEN_SLOTS * sizeof(*f->seen));
	for (unsigned int i = 0; f->seen && i < SEEN_SLOTS; i++)
		f->seen[i] = INT32_MIN;
	return f->seen && (f->how == PLUGIN_SWITCH ? take_switch(f, ev) : take_wakeup(f, ev));
}

struct line_plugin *line_plugin_new(struct tep_event *ev,
				    const char *(*name)(void *arg, uint64_t addr), void *arg,
				    bool swap)
{
	struct line_plugin *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->tep = ev->tep;
	f->name = name;
	f->arg = arg;
	f->swap = swap;
	if (take(f, ev))
		return f;
	line_plugin_free(f);
	return NULL;
}

void line_plugin_free(struct line_plugin *f)
{
	if (!f)
		return;
	for (unsigned int i = 0; i < f->nr_callers; i++)
		free(f->callers[i].at);
	free(f->callers);
	free(f->seen);
	free(f);
}

/* Print `comm:pid [prio]`, and register the name. */
static bool put_task(const struct line_plugin *f, struct out *o, const unsigned char *comm,
		     const unsigned char *pid, const unsigned char *prio)
{
	int32_t id = (int32_t)load_number(pid, 4, f->swap),
		*seen = &f->seen[(uint32_t)id & (SEEN_SLOTS - 1)];
	size_t n = strnlen((const char *)comm, 16);
	char *p;

	if (control_plain((const char *)comm, n) < n)
		return false;
	if (*seen != id) {
		char name[17];

		memcpy(name, comm, n);
		name[n] = '\0';
		tep_register_comm(f->tep, name, id);
		*seen = id;
	}
	p = out_room(o, 80);
	memcpy(p, comm, n);
	p += n;
	*p++ = ':';
	p = number_put(p, (uint32_t)id);
	*p++ = ' ';
	*p++ = '[';
	p = number_put(p, load_number(prio, 4, f->swap));
	*p++ = ']';
	out_done(o, p);
	return true;
}

static bool put_switch(const struct line_plugin *f, struct out *o, const unsigned char *d)
{
	static const char states[] = "SDTtZXxW";
	const struct sched_fields *s = &f->sched;
	uint64_t state = load_number(d + s->state, s->state_bytes, f->swap);
	char text[24];
	size_t n = 0;

	if (!put_task(f, o, d + s->comm, d + s->pid, d + s->prio))
		return false;
	text[n++] = ' ';
	for (unsigned int i = 0; i < sizeof(states) - 1; i++) {
		if (!(state >> i & 1))
			continue;
		if (n > 1)
			text[n++] = '|';
		text[n++] = states[i];
	}
	if (n == 1)
		text[n++] = 'R';
	out_write(o, text, n);
	out_write(o, " ==> ", 5);
	return put_task(f, o, d + s->next_comm, d + s->next_pid, d + s->next_prio);
}

static bool put_wakeup(const struct line_plugin *f, struct out *o, const unsigned char *d)
{
	const struct sched_fields *s = &f->sched;
	uint64_t cpu = load_number(d + s->cpu, 4, f->swap);
	char *p;

	if (!put_task(f, o, d + s->comm, d + s->pid, d + s->prio))
		return false;
	p = out_room(o, 40);
	memcpy(p, " CPU:", 5);
	p = cpu < 1000 ? number_zeros(p + 5, cpu, 3) : number_put(p + 5, cpu);
	out_done(o, p);
	return true;
}

static bool callers_set(struct callers *c, size_t i, const char *name)
{
	while (c->nr <= i) {
		if (ARRAY_ROOM(c->at, c->nr, c->room, 16))
			return false;
		c->at[c->nr++] = NULL;
	}
	c->at[i] = name;
	return true;
}

/* The depth of a function in the chain of its CPU, computed as the plug-in does. */
static size_t depth_below(struct line_plugin *f, unsigned int cpu, const char *parent,
			  const char *name)
{
	struct callers *c;

	if (cpu >= f->nr_callers) {
		struct callers *more = reallocarray(f->callers, cpu + 1u, sizeof(*more));

		if (!more)
			return 0;
		memset(more + f->nr_callers, 0, (cpu + 1u - f->nr_callers) * sizeof(*more));
		f->callers = more;
		f->nr_callers = cpu + 1;
	}
	c = &f->callers[cpu];
	for (size_t i = 0; i < c->nr && c->at[i]; i++) {
		if (c->at[i] != parent && strcmp(c->at[i], parent) != 0)
			continue;
		if (name)
			callers_set(c, i + 1, name);
		return i;
	}
	if (callers_set(c, 0, parent) && name)
		callers_set(c, 1, name);
	return 0;
}

static bool put_function(struct line_plugin *f, struct out *o, const struct record *rec)
{
	const unsigned char *d = rec->data;
	uint64_t ip = load_number(d + f->ip, f->ip_bytes, f->swap);
	const char *name = f->name(f->arg, ip);
	const char *parent =
		f->name(f->arg, load_number(d + f->parent_ip, f->parent_ip_bytes, f->swap));
	size_t n = name ? strlen(name) : 0, depth = 0;
	char *p;

	if (n > OUT_BYTES / 16) /* see line_fast_put() */
		return false;
	if (parent)
		depth = depth_below(f, rec->cpu, parent, name);
	/* names come from the file, so the depth is limited by their number */
	for (; depth && depth <= OUT_BYTES / 32; depth--) {
		p = out_room(o, 3);
		memcpy(p, "   ", 3);
		out_done(o, p + 3);
	}
	if (name && control_plain(name, n) == n)
		out_write(o, name, n);
	else if (name)
		return false;
	else
		out_printf(o, "0x%" PRIx64, ip);
	return true;
}

bool line_plugin_put(struct line_plugin *f, struct out *o, const struct record *rec)
{
	switch (f->how) {
	case PLUGIN_FUNCTION:
		return put_function(f, o, rec);
	case PLUGIN_SWITCH:
		return put_switch(f, o, rec->data);
	default:
		return put_wakeup(f, o, rec->data);
	}
}
