/* SPDX-License-Identifier: MIT */
/*
 * See hist.h; the output has the form of trace-cmd hist. The callers of a record are in the
 * kernel_stack or user_stack behind it. Without one they are the open calls of its thread, from
 * function records. Memory: a row for each chain of callers. Tests: tests/cli/test_hist.py.
 */
#include "tools/report/hist.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>
#include <unistd.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/code/symbols.h"
#include "tools/reader/tasks.h"
#include "tools/report/report_impl.h"
#include "tools/text/json.h"

#define MAX_FRAMES  64u
#define MAX_COLUMNS 256u

/* A name in a chain, and its callers. */
struct node {
	const char *name;
	char own[32];  /* its name if there is no symbol */
	int32_t pid;   /* of a node at the top */
	bool is_event; /* of a node at the top */
	uint64_t count;
	struct node **callers;
	size_t nr, room;
};

/* The open calls of a thread, and its last record while it is not known if a stack follows. */
struct thread {
	int64_t key; /* pid; of the idle tasks, which share pid 0, -1 - CPU */
	int32_t pid;
	uint64_t at[MAX_FRAMES];
	unsigned int depth;
	struct tep_event *waits; /* NULL: none does */
};

struct hist {
	bool all;
	struct node top; /* its `callers` are the rows */
	struct thread *threads;
	size_t nr_threads, threads_room;
	uint64_t count;
	/* ids of events; -1: there is none */
	int function, entry, exit, kernel_stack, user_stack;
	struct dat_field ip, parent, entry_func, caller, stack_size;
	unsigned int long_bytes;
};

static struct dat_field field_of(struct tep_handle *tep, const char *event, const char *name,
				 int *id)
{
	struct tep_event *ev = tep_find_event_by_name(tep, "ftrace", event);
	struct tep_format_field *f = ev ? tep_find_field(ev, name) : NULL;

	*id = ev ? ev->id : -1;
	if (!f || f->offset < 0 || f->offset > UINT16_MAX || f->size < 0 || f->size > UINT16_MAX)
		return (struct dat_field){0, 0};
	return (struct dat_field){(uint16_t)f->offset, (uint16_t)f->size};
}

static uint64_t get(const struct report_file *f, const struct record *rec, struct dat_field at)
{
	if (!at.bytes || at.bytes > 8 || (uint32_t)at.offset + at.bytes > rec->data_bytes)
		return 0;
	return line_number(f->line, (const char *)rec->data + at.offset, at.bytes);
}

static struct thread *thread_of(struct hist *h, const struct record *rec)
{
	int64_t key = rec->pid ? rec->pid : -1 - (int64_t)rec->cpu;
	size_t lo = LOWER_BOUND(i, 0, h->nr_threads, h->threads[i].key < key);

	if (lo < h->nr_threads && h->threads[lo].key == key)
		return &h->threads[lo];
	if (ARRAY_ROOM(h->threads, h->nr_threads, h->threads_room, 64))
		return NULL;
	memmove(&h->threads[lo + 1], &h->threads[lo], (h->nr_threads - lo) * sizeof(*h->threads));
	h->nr_threads++;
	h->threads[lo] = (struct thread){.key = key, .pid = rec->pid};
	return &h->threads[lo];
}

/* The caller of that name below a node, which is added. NULL: memory is short. */
static struct node *child(struct node *n, const char *name, int32_t pid, bool is_event)
{
	struct node *c;

	for (size_t i = 0; i < n->nr; i++)
		if (n->callers[i]->pid == pid && n->callers[i]->is_event == is_event &&
		    !strcmp(n->callers[i]->name, name))
			return n->callers[i];
	c = calloc(1, sizeof(*c));
	if (!c || ARRAY_ROOM(n->callers, n->nr, n->room, 4)) {
		free(c);
		return NULL;
	}
	c->name = name;
	c->pid = pid;
	c->is_event = is_event;
	n->callers[n->nr++] = c;
	return c;
}

static struct node *function_below(struct node *n, struct report_file *f, uint64_t addr,
				   int32_t pid)
{
	const struct symbol *s = symbols_find(f->d->head.symbols, addr);
	char own[32];
	struct node *c;

	snprintf(own, sizeof(own), "0x%" PRIx64, addr);
	c = child(n, s ? s->name : own, pid, false);
	if (c && !s && c->name == own) {
		memcpy(c->own, own, sizeof(own));
		c->name = c->own;
	}
	return c;
}

/* Count a node and, from @frames[@nr - 1] outwards to [0], its callers. */
static int count(struct hist *h, struct node *n, struct report_file *f, const uint64_t *frames,
		 unsigned int nr)
{
	if (!n)
		return fail(ENOMEM, "out of memory");
	n->count++;
	h->count++;
	while (nr--) {
		n = function_below(n, f, frames[nr], 0);
		if (!n)
			return fail(ENOMEM, "out of memory");
		n->count++;
	}
	return 0;
}

static int count_event(struct hist *h, struct report_file *f, struct thread *t,
		       const uint64_t *frames, unsigned int nr)
{
	const char *name = t->waits->name;

	t->waits = NULL;
	return count(h, child(&h->top, name, h->all ? 0 : t->pid, true), f, frames, nr);
}

/* Count the waiting event of a thread, with the open calls, since no stack has followed. */
static int settle(struct hist *h, struct report_file *f, struct thread *t)
{
	return t->waits ? count_event(h, f, t, t->at, t->depth) : 0;
}

static int take_function(struct hist *h, struct report_file *f, struct thread *t, uint64_t ip,
			 uint64_t parent)
{
	while (t->depth && t->at[t->depth - 1] != parent)
		t->depth--;
	if (!t->depth && parent)
		t->at[t->depth++] = parent;
	if (t->depth < MAX_FRAMES)
		t->at[t->depth++] = ip;
	return count(h, function_below(&h->top, f, ip, h->all ? 0 : t->pid), f, t->at,
		     t->depth - 1);
}

static int take_entry(struct hist *h, struct report_file *f, struct thread *t, uint64_t ip)
{
	if (t->depth < MAX_FRAMES)
		t->at[t->depth++] = ip;
	return count(h, function_below(&h->top, f, ip, h->all ? 0 : t->pid), f, t->at,
		     t->depth - 1);
}

static int take_stack(struct hist *h, struct report_file *f, struct thread *t,
		      const struct record *rec)
{
	unsigned int nr = 0, long_bytes = h->long_bytes;
	uint64_t frames[MAX_FRAMES], ip, most = MAX_FRAMES;

	if (h->stack_size.bytes && get(f, rec, h->stack_size) < most)
		most = get(f, rec, h->stack_size);
	for (uint32_t at = h->caller.offset; at + long_bytes <= rec->data_bytes && nr < most;
	     at += long_bytes) {
		ip = line_number(f->line, (const char *)rec->data + at, long_bytes);
		if (!ip || ip == (long_bytes == 8 ? UINT64_MAX : UINT32_MAX))
			break;
		frames[nr++] = ip;
	}
	/* count() goes from the last one on */
	for (unsigned int i = 0; i < nr / 2; i++) {
		ip = frames[i];
		frames[i] = frames[nr - 1 - i];
		frames[nr - 1 - i] = ip;
	}
	return count_event(h, f, t, frames, nr);
}

static int take(void *arg, struct report_file *f, const struct record *rec, uint64_t ts)
{
	struct hist *h = arg;
	struct thread *t = thread_of(h, rec);
	struct tep_event *ev;
	int ret;

	(void)ts;
	if (!t)
		return fail(ENOMEM, "out of memory");
	if (rec->event == h->kernel_stack && t->waits && h->caller.offset)
		return take_stack(h, f, t, rec);
	if (rec->event == h->kernel_stack || rec->event == h->user_stack)
		return 0;
	ret = settle(h, f, t);
	if (ret)
		return ret;
	if (rec->event == h->function && h->ip.bytes)
		return take_function(h, f, t, get(f, rec, h->ip), get(f, rec, h->parent));
	if (rec->event == h->entry && h->entry_func.bytes)
		return take_entry(h, f, t, get(f, rec, h->entry_func));
	if (rec->event == h->exit && h->entry >= 0) {
		t->depth -= t->depth > 0;
		return 0;
	}
	ev = tep_find_event(line_tep(f->line), rec->event);
	t->waits = ev;
	return 0;
}

static int by_count(const void *a, const void *b)
{
	const struct node *x = *(struct node *const *)a, *y = *(struct node *const *)b;
	int names;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	names = strcmp(x->name, y->name);
	return names ? names : x->pid < y->pid ? -1 : x->pid > y->pid;
}

static void sort(struct node *n)
{
	if (n->nr)
		qsort(n->callers, n->nr, sizeof(*n->callers), by_count);
	for (size_t i = 0; i < n->nr; i++)
		sort(n->callers[i]);
}

static void nodes_free(struct node *n)
{
	for (size_t i = 0; i < n->nr; i++) {
		nodes_free(n->callers[i]);
		free(n->callers[i]);
	}
	free(n->callers);
}

struct print {
	struct out *o;
	char bars[MAX_COLUMNS]; /* what a line begins with: blanks and the bars of branches */
};

static void put_bars(struct print *p, unsigned int columns)
{
	if (columns > MAX_COLUMNS)
		columns = MAX_COLUMNS;
	out_write(p->o, p->bars, columns);
}

static void set_bar(struct print *p, unsigned int column, char c)
{
	if (column < MAX_COLUMNS)
		p->bars[column] = c;
}

/* Whether there is one chain of callers for all. */
static bool is_single(const struct node *n)
{
	for (; n->nr; n = n->callers[0])
		if (n->nr > 1 || n->callers[0]->count != n->count)
			return false;
	return true;
}

static void put_branches(struct print *p, struct node *n, unsigned int column);

/* The callers of @n below its name, which begins at @column. */
static void put_callers(struct print *p, struct node *n, unsigned int column)
{
	while (n->nr == 1 && n->callers[0]->count == n->count) {
		n = n->callers[0];
		put_bars(p, column);
		out_printf(p->o, "%s\n", n->name);
	}
	if (n->nr)
		put_branches(p, n, column + 2);
}

static void put_branches(struct print *p, struct node *n, unsigned int column)
{
	for (size_t i = 0; i < n->nr; i++) {
		struct node *c = n->callers[i];

		set_bar(p, column, '|');
		put_bars(p, column + 1);
		out_text(p->o, "\n");
		put_bars(p, column);
		out_printf(p->o, "|--%%%.2f-- %s  # %" PRIu64 "\n",
			   100.0 * (double)c->count / (double)n->count, c->name, c->count);
		if (i + 1 == n->nr)
			set_bar(p, column, ' ');
		put_callers(p, c, column + 11);
	}
	set_bar(p, column, ' ');
}

static void put_row(struct print *p, const struct hist *h, struct node *n,
		    const struct tasks *tasks)
{
	const char *comm = tasks_comm(tasks, n->pid);

	out_printf(p->o, "  %%%3.2f", 100.0 * (double)n->count / (double)h->count);
	if (h->all)
		out_text(p->o, " <all pids>");
	else
		out_printf(p->o, "  (%d) %s", n->pid, !n->pid ? "<idle>" : comm ? comm : "<...>");
	out_printf(p->o, " %30s #%" PRIu64 "\n         |\n         --- ", n->name, n->count);
	out_printf(p->o, n->is_event ? "*%s*\n" : "%s\n", n->name);
	if (is_single(n))
		put_callers(p, n, 10);
	else
		put_branches(p, n, 12);
	out_text(p->o, "\n");
}

static void put_json(struct out *o, const struct hist *h, const struct node *n,
		     const struct tasks *tasks, bool top)
{
	out_text(o, "{\"name\":");
	json_put(o, n->name);
	out_printf(o, ",\"count\":%" PRIu64, n->count);
	if (top)
		out_printf(o, ",\"event\":%s", n->is_event ? "true" : "false");
	if (top && !h->all) {
		out_printf(o, ",\"pid\":%d,\"comm\":", n->pid);
		json_put(o, n->pid ? tasks_comm(tasks, n->pid) : "<idle>");
	}
	if (n->nr)
		out_text(o, ",\"callers\":[");
	for (size_t i = 0; i < n->nr; i++) {
		out_text(o, i ? "," : "");
		put_json(o, h, n->callers[i], tasks, false);
	}
	out_text(o, n->nr ? "]}" : "}");
}

static void put(struct hist *h, struct report *r, bool json)
{
	const struct tasks *tasks = r->files[0].d->head.tasks;
	struct print p = {.o = &r->out};

	memset(p.bars, ' ', sizeof(p.bars));
	sort(&h->top);
	for (size_t i = 0; i < h->top.nr; i++) {
		if (json)
			out_text(&r->out, i ? ",\n" : "[");
		if (json)
			put_json(&r->out, h, h->top.callers[i], tasks, true);
		else
			put_row(&p, h, h->top.callers[i], tasks);
	}
	if (json)
		out_text(&r->out, "]\n");
}

static int count_all(struct hist *h, struct report *r)
{
	struct tep_handle *tep = line_tep(r->files[0].line);
	int id, ret;

	h->ip = field_of(tep, "function", "ip", &h->function);
	h->parent = field_of(tep, "function", "parent_ip", &id);
	h->entry_func = field_of(tep, "funcgraph_entry", "func", &h->entry);
	field_of(tep, "funcgraph_exit", "func", &h->exit);
	h->caller = field_of(tep, "kernel_stack", "caller", &h->kernel_stack);
	h->stack_size = field_of(tep, "kernel_stack", "size", &id);
	field_of(tep, "user_stack", "caller", &h->user_stack);
	h->long_bytes = r->files[0].d->layout.head_bytes - 8u;
	ret = report_each(r, take, h);
	for (size_t i = 0; i < h->nr_threads && !ret; i++)
		ret = settle(h, &r->files[0], &h->threads[i]);
	return ret;
}

int hist_print(const char *path, bool all, bool json)
{
	struct report_input in = {.path = path};
	const struct report_options opt = {.inputs = &in, .nr_inputs = 1, .how = DEMANGLE_SHORT};
	struct report r = {.o = &opt};
	struct hist h = {.all = all};
	int ret;

	if (out_init(&r.out, STDOUT_FILENO))
		return fail(ENOMEM, "out of memory");
	ret = report_open(&r);
	if (!ret)
		ret = count_all(&h, &r);
	if (!ret && !h.count)
		ret = fail(ENODATA, "'%s' has no records", path);
	if (!ret)
		put(&h, &r, json);
	ret = out_end_stdout(&r.out, ret, "the histogram");
	report_close(&r);
	nodes_free(&h.top);
	free(h.threads);
	return ret;
}
