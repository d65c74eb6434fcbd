/* SPDX-License-Identifier: MIT */
/*
 * The tree of control files: lookup, read, write and list. The files_*.c that answer the files
 * register their rows; names, modes and texts are the kernel's (tracefs). Runs in the constructor
 * and in any thread that calls vestige_read() and the like. fork: a child has its parent's tree.
 * Tests: tests/engine/fire/control, inside.
 */
#include "engine/control/detach.h"
#include "engine/control/tree.h"

#include <errno.h>

#include "arch_barrier.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/process/area.h"
#include "engine/core/func_command.h"
#include "engine/core/function.h"
#include "engine/core/options.h"
#include "engine/core/stack.h"
#include "engine/core/tracer.h"
#include "engine/sources/sched_perf.h"

/* The files of an event are no rows of the table. Clients look for some of these words. */
static const char readme_events[] =
	"\n  events/SYSTEM/NAME/ of each event: enable, filter, format, id, trigger, hist\n"
	"  trigger\t- what happens when the event does, a command a write; `!` takes it back\n"
	"\t  traceon, traceoff, snapshot, stacktrace, each with [:count] [if filter]\n"
	"\t  enable_event:SYSTEM:NAME, disable_event:..., enable_hist:..., disable_hist:...\n"
	"\t  hist:keys=<field1[,field2,...]>[:values=<field1[,field2,...]>]\n"
	"\t    [:<var1>=<field|var_ref|numeric_literal>[,<var2>=...]][:sort=<field1[,field2]>]\n"
	"\t    [:size=#entries][:pause][:continue][:clear][:name=NAME][:nohitcount]\n"
	"\t    [:<handler>.<action>] [if filter]\n"
	"\t  a field of keys, values and variables can be any field, or the special string "
	"'common_stacktrace';\n"
	"\t    behind it: .hex .sym .sym-offset .execname .syscall .log2 .buckets=size .usecs "
	".percent .graph\n"
	"\t  handler: onmatch(matching.event) when a variable of that event was found,\n"
	"\t    onmax(var) when it is larger than before, onchange(var) when it is another\n"
	"\t  action: trace(<synthetic_event>,param list), save(field,...), snapshot()\n"
	"  hist\t- the histograms of the event\n";

#define PER_CPU	  "per_cpu/cpu"
#define OPTIONS	  "options/"
#define INSTANCES "instances/"

const struct tree_row *tree_row_next(const struct tree_row *row)
{
	const struct tree_files *const *f;
	int found = !row;

	REGISTRY_EACH (vestige_files, f) {
		const struct tree_row *end = (*f)->rows + (*f)->nr;

		if (found)
			return (*f)->rows;
		if (row < (*f)->rows || row >= end)
			continue;
		if (row + 1 < end)
			return row + 1;
		found = 1;
	}
	return NULL;
}

/* Split `per_cpu/cpuN/REST`. Return: REST; NULL: the process has no such CPU. */
static const char *split_cpu(const char *path, uint32_t *cpu)
{
	size_t digits;
	uint64_t n;

	path += strlen(PER_CPU);
	digits = text_decimal(path, 5, &n);
	path += digits;
	if (!digits || (*path && *path != '/') || !area || n >= area->nr_cpus)
		return NULL;
	*cpu = (uint32_t)n;
	return path;
}

int tree_has_branch(const struct trace_array *tr, const struct tree_branch *b)
{
	return b->scope == TREE_INSTANCE || trace_array_is_top(tr);
}

/* The branch to which a path belongs; *@rest: what follows the branch's name. NULL: none. */
static const struct tree_branch *find_branch(const struct trace_array *tr, const char *path,
					     const char **rest)
{
	const struct tree_branch *const *at;

	REGISTRY_EACH (vestige_branches, at) {
		const struct tree_branch *b = *at;
		size_t n = strlen(b->name);

		if (!str_starts(path, b->name) || (path[n] && path[n] != '/') ||
		    !tree_has_branch(tr, b))
			continue;
		*rest = path + n + (path[n] == '/');
		return b;
	}
	return NULL;
}

/*
 * Split `instances/NAME/REST` and find the instance. Return: REST; NULL: there is none of that
 * name.
 */
static const char *split_instance(const char *path, struct trace_array **tr)
{
	const char *end;

	path += strlen(INSTANCES);
	for (end = path; *end && *end != '/'; end++)
		;
	*tr = trace_array_find(path, (size_t)(end - path));
	return *tr ? end : NULL;
}

int tree_option_is_global(int option)
{
	return option == AREA_OPTION_TRACE_PRINTK || option == AREA_OPTION_RECORD_CMD ||
	       option == AREA_OPTION_PRINTK_MSG_ONLY;
}

/*
 * Find the row of a path, and fill in @at. NULL: there is none. Under the tree lock, as the files
 * of a branch may change.
 */
static const struct tree_row *find_row(const char *path, struct tree_at *at)
{
	const struct tree_branch *branch;
	const struct tree_row *row;
	const char *rest;

	*at = (struct tree_at){.tr = &global_trace, .cpu = UINT32_MAX};
	if (str_starts(path, INSTANCES)) {
		path = split_instance(path, &at->tr);
		if (!path || !*path++)
			return NULL;
	}
	branch = find_branch(at->tr, path, &rest);
	if (branch)
		return branch->find(rest, at);
	if (str_starts(path, PER_CPU)) {
		path = split_cpu(path, &at->cpu);
		if (!path || !*path++)
			return NULL;
	} else if (str_starts(path, OPTIONS)) {
		int option = option_find(path + strlen(OPTIONS), strlen(path + strlen(OPTIONS)));

		if (option < 0 || (!trace_array_is_top(at->tr) && tree_option_is_global(option)))
			return NULL;
		at->option = (uint32_t)option;
		path = "option";
	} else if (str_equal(path, "option")) {
		return NULL;
	}
	TREE_EACH_ROW (row)
		if (str_equal(row->path, path) &&
		    (row->scope == TREE_CPU) == (at->cpu != UINT32_MAX) &&
		    (row->scope != TREE_GLOBAL || trace_array_is_top(at->tr)))
			return row;
	return NULL;
}

static void list_root(const struct trace_array *tr, tree_emit *emit, void *arg)
{
	const struct tree_branch *const *b;
	const struct tree_row *row;
	int top = trace_array_is_top(tr);

	TREE_EACH_ROW (row)
		if (row->scope == TREE_INSTANCE || (top && row->scope == TREE_GLOBAL))
			emit(arg, row->path, row);
	emit(arg, "options", NULL);
	emit(arg, "per_cpu", NULL);
	REGISTRY_EACH (vestige_branches, b)
		if (tree_has_branch(tr, *b))
			emit(arg, (*b)->name, NULL);
	if (top)
		emit(arg, "instances", NULL);
}

static void list_instances(tree_emit *emit, void *arg)
{
	uint32_t i;

	for (i = 1; i < RING_MAX; i++)
		if (trace_array_at(i))
			emit(arg, trace_array_at(i)->name, NULL);
}

static void list_options(const struct trace_array *tr, tree_emit *emit, void *arg)
{
	const struct tree_row *row = tree_row_next(NULL);
	const char *name;
	uint32_t i;
	int bit;

	while (row->scope != TREE_OPTION)
		row = tree_row_next(row);
	for (i = 0; (name = option_at(i, &bit)); i++)
		if (trace_array_is_top(tr) || !tree_option_is_global(bit))
			emit(arg, name, row);
}

static void list_cpus(tree_emit *emit, void *arg)
{
	char name[16];
	struct seq_buf s;
	uint32_t cpu;

	for (cpu = 0; cpu < area->nr_cpus; cpu++) {
		seq_init(&s, name, sizeof(name) - 1);
		seq_puts(&s, "cpu");
		seq_putu(&s, cpu);
		name[s.len] = 0;
		emit(arg, name, NULL);
	}
}

static void list_cpu(tree_emit *emit, void *arg)
{
	const struct tree_row *row;

	TREE_EACH_ROW (row)
		if (row->scope == TREE_CPU)
			emit(arg, row->path, row);
}

static int list(const char *path, tree_emit *emit, void *arg)
{
	const struct tree_branch *branch;
	const char *rest;
	struct trace_array *tr = &global_trace;
	uint32_t cpu;

	if (str_starts(path, INSTANCES)) {
		path = split_instance(path, &tr);
		if (!path)
			return -ENOENT;
		path += *path == '/';
	}
	branch = find_branch(tr, path, &rest);
	if (branch)
		return branch->list(rest, emit, arg);
	if (!*path)
		list_root(tr, emit, arg);
	else if (str_equal(path, "instances") && trace_array_is_top(tr))
		list_instances(emit, arg);
	else if (str_equal(path, "options"))
		list_options(tr, emit, arg);
	else if (str_equal(path, "per_cpu"))
		list_cpus(emit, arg);
	else if (str_starts(path, PER_CPU) && (rest = split_cpu(path, &cpu)) && !*rest)
		list_cpu(emit, arg);
	else
		return -ENOENT;
	return 0;
}

/* README: one line for each row of the table, as in the kernel's mini-HOWTO. */
static int readme_show(const struct tree_at *at, struct seq_buf *s)
{
	const struct tree_row *row;

	(void)at;
	seq_puts(s, "tracing mini-HOWTO:\n\n"
		    "The kernel's tracefs files, of this process:\n\n"
		    "# echo 0 > tracing_on : quick way to disable tracing\n"
		    "# echo 1 > tracing_on : quick way to re-enable tracing\n\n");
	TREE_EACH_ROW (row) {
		seq_puts(s, row->scope == TREE_CPU ? "  per_cpu/cpuN/" : "  ");
		seq_puts(s, row->scope == TREE_OPTION ? "options/NAME" : row->path);
		seq_puts(s, "\t- ");
		seq_puts(s, row->help);
		seq_putc(s, '\n');
	}
	seq_puts(s, readme_events);
	seq_puts(s, "\nCommands of set_ftrace_filter: ");
	seq_puts(s, func_command_names());
	seq_putc(s, '\n');
	return 0;
}

/* clang-format off */
static const struct tree_row rows[] = {
	{"README", 0444, .scope = TREE_GLOBAL, .show = readme_show,
	 .help = "this text"},
};
/* clang-format on */
TREE_FILES(rows);

int tree_row_show(const struct tree_row *row, const struct tree_at *at, struct seq_buf *s)
{
	if (!row->get)
		return row->show(at, s);
	seq_putu(s, row->get(at));
	seq_putc(s, '\n');
	return 0;
}

/* Each piece between NULs is a write. */
static int store_pieces(const struct tree_row *row, const struct tree_at *at, const char *text,
			size_t n, int truncate)
{
	struct word rest = {text, n}, piece = rest;
	int err;

	do {
		word_next(&rest, 0, &piece);
		err = row->store(at, piece.at, piece.n, truncate);
		truncate = 0;
	} while (!err && rest.n);
	return err;
}

static int store(const struct tree_row *row, const struct tree_at *at, const char *text, size_t n,
		 int truncate)
{
	uint64_t v;
	int err;

	if (row->nul == TREE_NUL_DIVIDES)
		return store_pieces(row, at, text, n, truncate);
	if (row->nul == TREE_NUL_ENDS)
		n = text_find(text, n, 0);
	if (row->store)
		return row->store(at, text, n, truncate);
	if (row->word) {
		/* blanks and newlines around the text do not count */
		struct word w = word_strip((struct word){text, n});

		return row->word(at, w.at, w.n);
	}
	err = tree_number(text, n, &v);
	if (err)
		return err;
	if (row->type == TREE_BOOL && v > 1)
		return -EINVAL;
	return row->set(at, row->type == TREE_SWITCH ? v != 0 : v);
}

int tree_word_is(const char *text, size_t n, const char *word)
{
	return strlen(word) == n && !memcmp(text, word, n);
}

int tree_number(const char *text, size_t n, uint64_t *v)
{
	size_t i;

	/* decimal alone: 0x is refused, and leading zeros do not mean octal */
	for (i = 0; i + 1 < n && text[i] == '0' && text[i + 1] != '\n'; i++)
		;
	if (i && !is_digit(text[i]))
		return -EINVAL;
	return str_to_u64(text + i, n - i, v);
}

/*
 * Find the row for reading or writing. Under the tree lock: otherwise the row's instance could be
 * removed.
 */
static int row_for(const char *path, const struct tree_row **row, struct tree_at *at)
{
	*row = find_row(path, at);
	return *row ? 0 : -ENOENT;
}

long tree_read(const char *path, struct seq_buf *s)
{
	const struct tree_row *row;
	struct tree_at at;
	int err, waited;

	err = tree_enter();
	if (err)
		return err;
	sched_perf_drain();
	err = row_for(path, &row, &at);
	if (!err && row->kind == TREE_RENDERED)
		err = -EOPNOTSUPP;
	if (!err && !tree_row_reads(row))
		err = -EACCES;
	waited = functions_wait();
	if (!err)
		err = tree_row_show(row, &at, s);
	if (waited && !functions_wait())
		tree_mirror(&global_trace);
	tree_lock_release();
	if (!err && s->lost)
		err = -EFBIG;
	return err ? err : (long)s->len;
}

/* Whether the text asks for stack traces. */
static int names_stacks(const char *text, size_t n)
{
	size_t i;

	for (i = 0; i + 10 <= n; i++)
		if (!memcmp(text + i, "stacktrace", 10) || !memcmp(text + i, "stack_trac", 10) ||
		    !memcmp(text + i, "kmemtrace_", 10) || !memcmp(text + i, "dump_on_oo", 10))
			return 1;
	/*
	 * tracers that record stacks: irqsoff and its kind, wakeup and its kind; also the order of
	 * locks
	 */
	for (i = 0; i + 6 <= n; i++)
		if (!memcmp(text + i, "rqsoff", 6) || !memcmp(text + i, "mptoff", 6) ||
		    !memcmp(text + i, "wakeup", 6) || !memcmp(text + i, "lockdep", 6) ||
		    !memcmp(text + i, "lock_o", 6) || !memcmp(text + i, "prove_", 6))
			return 1;
	return 0;
}

int tree_write_locked(const char *path, const char *text, size_t n, int truncate)
{
	const struct tree_row *row;
	struct tree_at at;
	int err = row_for(path, &row, &at);

	return err ? err : store(row, &at, text, n, truncate);
}

int tree_write(const char *path, const char *text, size_t n, int truncate)
{
	return tree_write_as(path, text, n, truncate, NULL);
}

int tree_write_as(const char *path, const char *text, size_t n, int truncate,
		  const struct agent_writer *writer)
{
	const struct tree_row *row;
	struct tree_at at;
	int err;

	if (!area)
		return -ENODEV;
	if (sys_is_forbidden())
		return -EPERM;
	/* it may load an object, and its notification takes the lock */
	if (names_stacks(path, strlen(path)) || names_stacks(text, n))
		stack_prepare();
	err = tree_enter();
	if (err)
		return err;
	/* records that were made until now are older than the effect of the write */
	sched_perf_drain();
	err = row_for(path, &row, &at);
	if (!err && !row->store && !row->word && !row->set)
		err = -EACCES;
	if (!err) {
		at.writer = writer;
		detach_wake(row);
		err = store(row, &at, text, n, truncate);
		if (load_acquire(&area->state) == AREA_LIVE)
			tree_mirror(at.tr);
	}
	tree_lock_release();
	return err;
}

/* Put a line of AGENT_LIST's reply. */
static void list_line(void *arg, const char *name, const struct tree_row *row)
{
	struct seq_buf *s = arg;
	char mode[] = "100000";

	if (row) {
		mode[3] = (char)('0' + (row->mode >> 6 & 7));
		mode[4] = (char)('0' + (row->mode >> 3 & 7));
		mode[5] = (char)('0' + (row->mode & 7));
	}
	seq_puts(s, row ? mode : "040755");
	seq_putc(s, ' ');
	seq_puts(s, name);
	seq_putc(s, '\n');
}

long tree_list(const char *dir, struct seq_buf *s)
{
	int err;

	err = tree_enter();
	if (err)
		return err;
	err = list(dir, list_line, s);
	tree_lock_release();
	if (!err && s->lost)
		err = -EFBIG;
	return err ? err : (long)s->len;
}

int tree_mkdir(const char *path)
{
	const char *name = path + strlen(INSTANCES);
	int err;

	if (!str_starts(path, INSTANCES))
		return -EPERM;
	err = tree_enter();
	if (err)
		return err;
	detach_wake(NULL);
	err = trace_array_create(name, strlen(name));
	if (!err)
		tree_mirror(trace_array_find(name, strlen(name)));
	tree_lock_release();
	return err;
}

int tree_rmdir(const char *path)
{
	const char *name = path + strlen(INSTANCES);
	struct trace_array *tr;
	int err;

	if (!str_starts(path, INSTANCES))
		return -EPERM;
	err = tree_enter();
	if (err)
		return err;
	tr = trace_array_find(name, strlen(name));
	if (tr)
		trace_array_destroy(tr);
	tree_lock_release();
	return tr ? 0 : -ENOENT;
}
