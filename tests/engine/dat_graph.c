/* SPDX-License-Identifier: MIT */
/*
 * dat_graph - the calling contexts of a function_graph trace.dat, by libtracecmd, a reader that we
 * did not write.
 *
 *	dat_graph FILE
 *
 * A context is a function and the chain of those that called it, with direct recursion taken as
 * one, as callgrind's --separate-callers has it. Prints a line for each:
 *
 *	NUMBER PARENT IP CALLS RECURSIVE
 *
 * and one for each function, with what its calls took in ns:
 *
 *	function IP CALLS TOTAL SELF
 *
 * PARENT: the number of the caller's context, 0 for none; CALLS: those that did not come from the
 * same function, RECURSIVE: those that did. TOTAL is of the calls that were not made beneath
 * another of the same function, SELF of all, without the calls that they made. At the end `entries
 * N`, `exits N`, `wrong N` (exits of another function than was entered at that depth, entries below
 * no entry) and `missed N`.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event-parse.h>
#include <trace-cmd.h>

#define MAX_DEPTH     (1u << 16)
#define MAX_THREADS   64
#define MAX_FUNCTIONS (1u << 16)

struct context {
	uint64_t ip, calls, recursive;
	uint32_t parent, child, next;
};

struct function {
	uint64_t ip, calls, total, self;
};

struct thread {
	int pid;
	uint32_t depth; /* what is known of open[] */
	struct {
		uint64_t ip, beneath; /* beneath: what the calls took that it has made */
		uint32_t context;
	} open[MAX_DEPTH];
};

static struct context *contexts;
static uint32_t nr_contexts = 1, nr_allocated;
static struct function functions[MAX_FUNCTIONS]; /* a hash by ip */
static struct thread *threads[MAX_THREADS];
static struct tep_event *entry, *exited;
static struct tep_format_field *entry_func, *entry_depth, *exit_func, *exit_depth, *exit_call,
	*exit_return;
static uint64_t nr_entries, nr_exits, nr_wrong, nr_missed;

static struct thread *thread_of(int pid)
{
	unsigned i;

	for (i = 0; i < MAX_THREADS; i++) {
		if (!threads[i]) {
			threads[i] = calloc(1, sizeof(**threads));
			if (threads[i])
				threads[i]->pid = pid;
			return threads[i];
		}
		if (threads[i]->pid == pid)
			return threads[i];
	}
	return NULL;
}

/* The context of @ip beneath @parent, made if it is new; the last one used comes first. 0: no
 * memory. */
static uint32_t context_of(uint32_t parent, uint64_t ip)
{
	uint32_t *link = &contexts[parent].child, i;

	for (; *link; link = &contexts[*link].next) {
		i = *link;
		if (contexts[i].ip == ip) {
			*link = contexts[i].next;
			contexts[i].next = contexts[parent].child;
			contexts[parent].child = i;
			return i;
		}
	}
	if (nr_contexts >= nr_allocated) {
		struct context *more = realloc(contexts, nr_allocated * 2 * sizeof(*more));

		if (!more)
			return 0;
		contexts = more;
		memset(contexts + nr_allocated, 0, nr_allocated * sizeof(*more));
		nr_allocated *= 2;
	}
	i = nr_contexts++;
	contexts[i] = (struct context){.ip = ip, .parent = parent, .next = contexts[parent].child};
	contexts[parent].child = i;
	return i;
}

static int entered(struct thread *t, uint64_t ip, uint64_t depth)
{
	uint32_t parent = 0;

	nr_entries++;
	if (depth >= MAX_DEPTH)
		return -1;
	if (depth > t->depth) {
		nr_wrong++;
		return 0;
	}
	if (depth)
		parent = t->open[depth - 1].context;
	if (depth && t->open[depth - 1].ip == ip) {
		contexts[parent].recursive++;
	} else {
		parent = context_of(parent, ip);
		if (!parent)
			return -1;
		contexts[parent].calls++;
	}
	t->open[depth].ip = ip;
	t->open[depth].beneath = 0;
	t->open[depth].context = parent;
	t->depth = (uint32_t)depth + 1;
	return 0;
}

static struct function *function_of(uint64_t ip)
{
	uint32_t i = (uint32_t)(ip * UINT64_C(0x9e3779b97f4a7c15) >> 48);

	while (functions[i].ip && functions[i].ip != ip)
		i = (i + 1) % MAX_FUNCTIONS;
	functions[i].ip = ip;
	return &functions[i];
}

/* The call at @depth has taken @took. */
static void took(struct thread *t, uint64_t depth, uint64_t took)
{
	struct function *f = function_of(t->open[depth].ip);
	uint64_t i;

	f->calls++;
	f->self += took - t->open[depth].beneath;
	if (depth)
		t->open[depth - 1].beneath += took;
	for (i = 0; i < depth; i++)
		if (t->open[i].ip == t->open[depth].ip)
			return;
	f->total += took;
}

static int count(struct tracecmd_input *handle, struct tep_record *record, int cpu, void *data)
{
	struct tep_handle *tep = tracecmd_get_tep(handle);
	unsigned long long func, depth, from, to;
	int type = tep_data_type(tep, record);
	struct thread *t;

	if (record->missed_events)
		nr_missed += record->missed_events;
	if (type != entry->id && type != exited->id)
		return 0;
	t = thread_of(tep_data_pid(tep, record));
	if (!t ||
	    tep_read_number_field(type == entry->id ? entry_func : exit_func, record->data,
				  &func) ||
	    tep_read_number_field(type == entry->id ? entry_depth : exit_depth, record->data,
				  &depth))
		return -1;
	if (type == entry->id)
		return entered(t, func, depth);
	nr_exits++;
	if (tep_read_number_field(exit_call, record->data, &from) ||
	    tep_read_number_field(exit_return, record->data, &to))
		return -1;
	if (depth >= t->depth || t->open[depth].ip != func) {
		nr_wrong++;
	} else {
		t->depth = (uint32_t)depth;
		took(t, depth, to - from);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct tracecmd_input *handle;
	struct tep_handle *tep;
	uint32_t i;

	if (argc != 2) {
		fprintf(stderr, "usage: dat_graph FILE\n");
		return 2;
	}
	handle = tracecmd_open(argv[1], TRACECMD_FL_LOAD_NO_PLUGINS);
	if (!handle) {
		fprintf(stderr, "dat_graph: libtracecmd cannot open %s\n", argv[1]);
		return 1;
	}
	tep = tracecmd_get_tep(handle);
	entry = tep_find_event_by_name(tep, "ftrace", "funcgraph_entry");
	exited = tep_find_event_by_name(tep, "ftrace", "funcgraph_exit");
	nr_allocated = 1 << 12;
	contexts = calloc(nr_allocated, sizeof(*contexts));
	if (!entry || !exited || !contexts) {
		fprintf(stderr, "dat_graph: no formats of funcgraph_entry and _exit in %s\n",
			argv[1]);
		return 1;
	}
	entry_func = tep_find_field(entry, "func");
	entry_depth = tep_find_field(entry, "depth");
	exit_func = tep_find_field(exited, "func");
	exit_depth = tep_find_field(exited, "depth");
	exit_call = tep_find_field(exited, "calltime");
	exit_return = tep_find_field(exited, "rettime");
	if (!exit_call || !exit_return || !entry_func || !entry_depth || !exit_func ||
	    !exit_depth || tracecmd_iterate_events(handle, NULL, 0, count, NULL)) {
		fprintf(stderr, "dat_graph: cannot read the events of %s\n", argv[1]);
		return 1;
	}
	for (i = 1; i < nr_contexts; i++)
		printf("%" PRIu32 " %" PRIu32 " %#" PRIx64 " %" PRIu64 " %" PRIu64 "\n", i,
		       contexts[i].parent, contexts[i].ip, contexts[i].calls,
		       contexts[i].recursive);
	for (i = 0; i < MAX_FUNCTIONS; i++)
		if (functions[i].ip)
			printf("function %#" PRIx64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
			       functions[i].ip, functions[i].calls, functions[i].total,
			       functions[i].self);
	printf("entries %" PRIu64 "\nexits %" PRIu64 "\nwrong %" PRIu64 "\nmissed %" PRId64 "\n",
	       nr_entries, nr_exits, nr_wrong, (int64_t)nr_missed);
	for (i = 0; i < MAX_THREADS; i++)
		free(threads[i]);
	free(contexts);
	tracecmd_close(handle);
	return 0;
}
