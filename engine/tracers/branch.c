/* SPDX-License-Identifier: MIT */
/*
 * The branch tracer: a record ftrace:branch for each likely() and unlikely() of vestige/branch.h
 * that runs, in the top instance. The option `branch` makes the same records beside any tracer.
 * While the tracer or the option is on, the results are counted, whether tracing_on is set or not:
 * trace_stat/branch_annotated, and trace_stat/branch_all with VESTIGE_BRANCH_ALL. Formats are the
 * kernel's (6.12).
 *
 * Records in any context. fork: the child goes on. Costs: bench "branch". Tests:
 * tests/engine/tracers/branch.
 */
#include <errno.h>

#include "engine/arch/sys.h"
#include "engine/base/mem.h"
#include "engine/base/sort.h"
#include "engine/core/ftrace_formats.h"
#include "engine/core/options.h"
#include "engine/core/trace_stat.h"
#include "engine/core/tracer.h"
#include "engine/ring/ring_write.h"
#include "engine/sources/branch.h"

struct branch_record {
	uint64_t head;
	uint32_t line;
	char func[31];
	char file[21];
	char correct;
	char constant;
	char padding[6];
};
_Static_assert(sizeof(struct branch_record) == 72, "the kernel's, up to a whole word");

static const char *base_name(const char *path)
{
	const char *p;

	for (p = path; *p; p++)
		if (*p == '/')
			path = p + 1;
	return path;
}

static void note(const struct vestige_branch *b, int right, int constant)
{
	struct ring_slot slot;
	struct branch_record *r;

	if (!ring_reserve(global_trace.ring, &slot, sizeof(*r)))
		return;
	r = (struct branch_record *)slot.words;
	r->line = b->line;
	str_copy(r->func, sizeof(r->func), b->func);
	str_copy(r->file, sizeof(r->file), base_name(b->file));
	r->correct = (char)right;
	r->constant = (char)constant;
	ring_commit(&slot, RECORD_EVENT, RECORD_EVENT_ID(FTRACE_BRANCH, sizeof(*r)));
}

static struct branch_listener listener = {.call = note};
static uint32_t users; /* the tracer, the option */

static int switch_user(int on)
{
	int err = on ? ftrace_format_text(FTRACE_BRANCH) : 0;

	if (!err && !(on ? users : users - 1))
		err = source_switch(&branch_hits, &listener.link, on);
	if (!err)
		users += on ? 1 : -1u;
	return err;
}

static int branch_init(struct trace_array *tr)
{
	(void)tr;
	return switch_user(1);
}

static void branch_reset(struct trace_array *tr)
{
	(void)tr;
	switch_user(0);
}

static int set_option(struct trace_array *tr, int on)
{
	return trace_array_is_top(tr) ? switch_user(on) : -EINVAL;
}

static const struct tracer branch_tracer = {
	.name = "branch",
	.init = branch_init,
	.reset = branch_reset,
};
TRACER_REGISTER(branch_tracer);

static const struct option_owner branch_option = {AREA_OPTION_BRANCH, set_option};
OPTION_OWNER_REGISTER(branch_option);

/* Share of wrong guesses; -1: the branch never ran. */
static int percent_of(const struct vestige_branch *b)
{
	uint64_t all = b->correct + b->incorrect;

	return all ? (int)(b->incorrect * 100 / all) : -1;
}

/*
 * The kernel's order: the greatest share of wrong guesses first, then the most wrong guesses; the
 * most right guesses last.
 */
static int worse(const void *x, const void *y)
{
	const struct vestige_branch *a = *(struct vestige_branch *const *)x,
				    *b = *(struct vestige_branch *const *)y;
	int pa = percent_of(a), pb = percent_of(b);

	if (pa != pb)
		return pa > pb;
	if (a->incorrect != b->incorrect)
		return a->incorrect > b->incorrect;
	if (a->correct != b->correct)
		return a->correct < b->correct;
	return a < b;
}

static void put_counts(struct seq_buf *s, const struct vestige_branch *b)
{
	size_t from;

	seq_putu_right(s, b->correct, 8);
	if (b->constant) {
		from = s->len;
		seq_putc(s, '/');
		seq_putu(s, b->constant);
		seq_putc(s, ' ');
		from = s->len - from - 1;
		seq_putu_right(s, b->incorrect, from > 8 ? 0 : 8 - (uint32_t)from);
	} else {
		seq_putc(s, ' ');
		seq_putu_right(s, b->incorrect, 8);
	}
	seq_putc(s, ' ');
}

static void put_row(struct seq_buf *s, const struct vestige_branch *b)
{
	int percent = percent_of(b);

	put_counts(s, b);
	if (percent < 0)
		seq_puts(s, "  X");
	else
		seq_putu_right(s, (uint64_t)percent, 3);
	seq_putc(s, ' ');
	seq_puts_left(s, b->func, 30);
	seq_putc(s, ' ');
	seq_puts_left(s, base_name(b->file), 20);
	seq_putc(s, ' ');
	seq_putu(s, b->line);
	seq_putc(s, '\n');
}

static int put_table(struct seq_buf *s, enum vestige_branch_kind kind, const char *title)
{
	uint32_t nr = branch_list(kind, NULL, 0), i;
	size_t bytes = ((size_t)nr + 1) * sizeof(struct vestige_branch *);
	struct vestige_branch **rows = sys_map_table(bytes);

	if (!rows)
		return -ENOMEM;
	nr = branch_list(kind, rows, nr);
	if (kind == VESTIGE_BRANCH_ANNOTATED)
		sort(rows, nr, sizeof(struct vestige_branch *), worse);
	seq_puts(s, title);
	seq_puts(s,
		 "       Function                  File              Line\n"
		 " ------- ---------  -        --------                  ----              ----\n");
	for (i = 0; i < nr; i++)
		put_row(s, rows[i]);
	sys_munmap(rows, bytes);
	return 0;
}

static int annotated_show(struct seq_buf *s)
{
	return put_table(s, VESTIGE_BRANCH_ANNOTATED, " correct incorrect  % ");
}

static int all_show(struct seq_buf *s)
{
	return put_table(s, VESTIGE_BRANCH_IF, "   miss      hit    % ");
}

static const struct trace_stat annotated = {"branch_annotated", annotated_show};
static const struct trace_stat all = {"branch_all", all_show};
TRACE_STAT_REGISTER(annotated);
TRACE_STAT_REGISTER(all);
