/* SPDX-License-Identifier: MIT */
/*
 * function_profile_enabled, and trace_stat/. functionN has the counts of CPU N, the longest total
 * time first, in the kernel's columns (6.12). The other files are core/trace_stat.h's tables. Names
 * are the objects' symbols, looked up when the file is read. If the functions do not fit into the
 * answer, the last ones are left out. Normal context; nothing for fork. Tests:
 * tests/engine/fire/function_profile.
 */
#include <errno.h>

#include "engine/arch/sys.h"
#include "engine/base/bitmap.h"
#include "engine/base/mem.h"
#include "engine/base/sort.h"
#include "engine/base/text.h"
#include "engine/control/tree.h"
#include "engine/process/area.h"
#include "engine/process/elf_file.h"
#include "engine/core/function.h"
#include "engine/core/function_profile.h"
#include "engine/core/trace_stat.h"

#define NAME_BYTES 31u
#define LINE_BYTES 128u

struct row {
	struct function_profile p;
	char name[NAME_BYTES];
};

struct rows {
	const struct object *o;
	uint32_t cpu;
	uint32_t nr, room;
	struct row *at; /* NULL: the rows are only counted */
	uint64_t *seen; /* a bit for each function: an alias is not listed twice */
};

static uint64_t function_profile_enabled_get(const struct tree_at *at)
{
	(void)at;
	return (uint64_t)function_profile_is_on();
}

static int function_profile_enabled_set(const struct tree_at *at, uint64_t on)
{
	(void)at;
	return function_profile_set((int)on);
}

static int add_symbol(void *arg, uint64_t value, const char *name)
{
	struct rows *rows = arg;
	uint32_t id = function_at(rows->o, value);
	struct function_profile p;
	struct row *row;

	if (id == UINT32_MAX || bitmap_has(rows->seen, id))
		return 0;
	bitmap_set(rows->seen, id);
	p = function_profile_get(rows->cpu, id);
	/* calls that began on another CPU, where they are counted, have times alone */
	if ((!p.hits && !p.time_ns) || rows->nr == rows->room)
		return 0;
	row = &rows->at[rows->nr++];
	row->p = p;
	str_copy(row->name, sizeof(row->name), name);
	return 0;
}

static void gather(struct rows *rows)
{
	struct elf_file f;
	uint32_t i;

	for (i = 0; i < object_count(); i++) {
		rows->o = object_at(i);
		if (!object_row(rows->o)->nr_functions || !rows->o->loaded ||
		    elf_file_open(&f, rows->o))
			continue;
		elf_file_symbols(&f, add_symbol, rows);
		elf_file_close(&f);
	}
}

static int before(const void *x, const void *y)
{
	const struct row *a = x, *b = y;

	return a->p.time_ns != b->p.time_ns ? a->p.time_ns > b->p.time_ns : a->p.hits > b->p.hits;
}

/* Put function_graph's duration: us, with as many decimals as fit. */
static void put_duration(struct seq_buf *s, uint64_t ns)
{
	uint32_t i, part = (uint32_t)(ns % 1000), unit;
	size_t from = s->len, n;

	seq_putu(s, ns / 1000);
	n = s->len - from;
	if (n < 7) {
		seq_putc(s, '.');
		n++;
		for (i = 0, unit = 100; i < 3 && n < 8; i++, n++, unit /= 10)
			seq_putc(s, (char)('0' + part / unit % 10));
	}
	seq_puts(s, " us ");
	for (; n < 8; n++)
		seq_putc(s, ' ');
}

/* The kernel's estimate: (n * sum of squares - square of sum) / (n * (n - 1)), in us. */
static uint64_t variance(const struct function_profile *p)
{
	unsigned __int128 a = (unsigned __int128)p->hits * p->squares;
	unsigned __int128 b = (unsigned __int128)p->time_ns * p->time_ns;

	if (p->hits <= 1 || a <= b)
		return 0;
	return (uint64_t)((a - b) / ((unsigned __int128)p->hits * (p->hits - 1) * 1000));
}

static void put_row(struct seq_buf *s, const struct row *row)
{
	seq_puts(s, "  ");
	seq_puts_left(s, row->name, NAME_BYTES - 1);
	seq_puts(s, "  ");
	seq_putu_right(s, row->p.hits, 10);
	seq_puts(s, "    ");
	put_duration(s, row->p.time_ns);
	seq_puts(s, "    ");
	put_duration(s, row->p.hits ? row->p.time_ns / row->p.hits : 0);
	seq_puts(s, "    ");
	put_duration(s, variance(&row->p));
	seq_putc(s, '\n');
}

static int function_show(const struct tree_at *at, struct seq_buf *s)
{
	struct rows rows = {.cpu = at->cpu, .room = function_count()};
	size_t seen_bytes = (size_t)rows.room / 8 + 16;
	size_t bytes = seen_bytes + (size_t)rows.room * sizeof(struct row);
	uint32_t i;

	rows.at = sys_map_table(bytes);
	if (!rows.at)
		return -ENOMEM;
	rows.seen = (uint64_t *)(rows.at + rows.room);
	gather(&rows);
	sort(rows.at, rows.nr, sizeof(*rows.at), before);
	seq_puts(s, "  Function                               Hit    Time            Avg           "
		    "  s^2\n"
		    "  --------                               ---    ----            ---           "
		    "  ---\n");
	for (i = 0; i < rows.nr && s->bytes - s->len > LINE_BYTES; i++)
		put_row(s, &rows.at[i]);
	sys_munmap(rows.at, bytes);
	return 0;
}

static const struct tree_row function_row = {
	"function",
	0444,
	.scope = TREE_BRANCH,
	.show = function_show,
};

static int stat_show(const struct tree_at *at, struct seq_buf *s)
{
	return ((const struct trace_stat *)at->object)->show(s);
}

static const struct tree_row stat_row = {
	"stat",
	0444,
	.scope = TREE_BRANCH,
	.show = stat_show,
};

static const struct tree_row *find(const char *rest, struct tree_at *at)
{
	const struct trace_stat *const *stat;
	uint64_t cpu;

	REGISTRY_EACH (vestige_trace_stats, stat)
		if (str_equal((*stat)->name, rest)) {
			at->object = (void *)(uintptr_t)*stat;
			return &stat_row;
		}
	if (!str_starts(rest, "function"))
		return NULL;
	rest += strlen("function");
	if (!is_digit(*rest) || tree_number(rest, strlen(rest), &cpu) || cpu >= area->nr_cpus)
		return NULL;
	at->cpu = (uint32_t)cpu;
	return &function_row;
}

static int list(const char *rest, tree_emit *emit, void *arg)
{
	const struct trace_stat *const *stat;
	char name[24];
	struct seq_buf s;
	uint32_t cpu;

	if (*rest)
		return -ENOENT;
	for (cpu = 0; cpu < area->nr_cpus; cpu++) {
		seq_init(&s, name, sizeof(name) - 1);
		seq_puts(&s, "function");
		seq_putu(&s, cpu);
		name[s.len] = 0;
		emit(arg, name, &function_row);
	}
	REGISTRY_EACH (vestige_trace_stats, stat)
		emit(arg, (*stat)->name, &stat_row);
	return 0;
}

static const struct tree_branch trace_stat = {"trace_stat", find, list, TREE_GLOBAL};
TREE_BRANCH_REGISTER(trace_stat);

/* clang-format off */
static const struct tree_row rows[] = {
	{"function_profile_enabled", 0644, .scope = TREE_GLOBAL, .type = TREE_SWITCH,
	 .get = function_profile_enabled_get, .set = function_profile_enabled_set,
	 .help = "1: calls are counted and timed, see trace_stat/functionN for CPU N"},
};
/* clang-format on */
TREE_FILES(rows);
