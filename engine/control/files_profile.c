/* SPDX-License-Identifier: MIT */
/*
 * function_profile_enabled, and trace_stat/functionN: what CPU N counted, longest total time first, in
 * the kernel's columns (6.12). Names are the objects' symbols, read when it is asked for. Where the answer
 * has no room for all, the last ones are left out.
 * Normal context; nothing for fork. Tests: tests/engine/fire/function_profile.
 */
#include <errno.h>

#include "engine/arch/sys.h"
#include "engine/base/mem.h"
#include "engine/control/files_profile.h"
#include "engine/core/area.h"
#include "engine/core/elf_file.h"
#include "engine/core/function.h"
#include "engine/core/function_profile.h"

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
	struct row *at; /* NULL: they are counted */
	uint64_t *seen; /* a bit a function: an alias is no second one */
};

int function_profile_enabled_show(const struct tree_at *at, struct seq_buf *s)
{
	(void)at;
	seq_puts(s, function_profile_is_on() ? "1\n" : "0\n");
	return 0;
}

int function_profile_enabled_store(const struct tree_at *at, const char *text, size_t n,
				   int truncate)
{
	uint64_t v;
	int err = tree_number(text, n, &v);

	(void)at;
	(void)truncate;
	return err ? err : function_profile_set(v != 0);
}

static int add_symbol(void *arg, uint64_t value, const char *name)
{
	struct rows *rows = arg;
	uint32_t id = function_at(rows->o, value);
	struct function_profile p;
	struct row *row;

	if (id == UINT32_MAX || rows->seen[id / 64] >> (id % 64) & 1)
		return 0;
	rows->seen[id / 64] |= UINT64_C(1) << (id % 64);
	p = function_profile_get(rows->cpu, id);
	if (!p.hits || rows->nr == rows->room)
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
		    elf_file_open(&f, rows->o->path, rows->o->phdr, rows->o->nr_phdr))
			continue;
		elf_file_symbols(&f, add_symbol, rows);
		elf_file_close(&f);
	}
}

static int before(const struct row *a, const struct row *b)
{
	return a->p.time_ns != b->p.time_ns ? a->p.time_ns > b->p.time_ns : a->p.hits > b->p.hits;
}

static void sift(struct row *at, uint32_t i, uint32_t nr)
{
	uint32_t child;

	for (; (child = 2 * i + 1) < nr; i = child) {
		struct row t;

		if (child + 1 < nr && before(&at[child], &at[child + 1]))
			child++;
		if (!before(&at[i], &at[child]))
			return;
		t = at[i];
		at[i] = at[child];
		at[child] = t;
	}
}

/* A heap whose top is the last one. */
static void sort(struct row *at, uint32_t nr)
{
	uint32_t i;

	for (i = nr / 2; i-- > 0;)
		sift(at, i, nr);
	for (i = nr; i-- > 1;) {
		struct row t = at[0];

		at[0] = at[i];
		at[i] = t;
		sift(at, 0, i);
	}
}

static uint32_t put_digits(struct seq_buf *s, uint64_t v, uint32_t width)
{
	char text[20];
	uint32_t n = 0, i;

	do
		text[n++] = (char)('0' + v % 10);
	while (v /= 10);
	for (i = n; i < width; i++)
		seq_putc(s, ' ');
	for (i = n; i-- > 0;)
		seq_putc(s, text[i]);
	return n;
}

/* function_graph's cell: us, as many digits behind the point as there is room for. */
static void put_duration(struct seq_buf *s, uint64_t ns)
{
	uint32_t n = put_digits(s, ns / 1000, 0), i, part = (uint32_t)(ns % 1000), unit;

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
	size_t n = strlen(row->name);

	seq_puts(s, "  ");
	seq_puts(s, row->name);
	for (; n < NAME_BYTES - 1; n++)
		seq_putc(s, ' ');
	seq_puts(s, "  ");
	put_digits(s, row->p.hits, 10);
	seq_puts(s, "    ");
	put_duration(s, row->p.time_ns);
	seq_puts(s, "    ");
	put_duration(s, row->p.time_ns / row->p.hits);
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
	long p = sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (sys_failed(p))
		return -ENOMEM;
	rows.at = (struct row *)p;
	rows.seen = (uint64_t *)(rows.at + rows.room);
	gather(&rows);
	sort(rows.at, rows.nr);
	seq_puts(s, "  Function                               Hit    Time            Avg           "
		    "  s^2\n"
		    "  --------                               ---    ----            ---           "
		    "  ---\n");
	for (i = 0; i < rows.nr && s->bytes - s->len > LINE_BYTES; i++)
		put_row(s, &rows.at[i]);
	sys_munmap((void *)p, bytes);
	return 0;
}

static const struct tree_row function_row = {
	"function", 0444, TREE_ENGINE, TREE_BRANCH, function_show, NULL, NULL,
};

static const struct tree_row *find(const char *rest, struct tree_at *at)
{
	uint64_t cpu;

	if (!str_starts(rest, "function"))
		return NULL;
	rest += strlen("function");
	if (*rest < '0' || *rest > '9' || tree_number(rest, strlen(rest), &cpu) ||
	    cpu >= area->nr_cpus)
		return NULL;
	at->cpu = (uint32_t)cpu;
	return &function_row;
}

static int list(const char *rest, tree_emit *emit, void *arg)
{
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
	return 0;
}

const struct tree_branch trace_stat_branch = {"trace_stat", find, list, TREE_GLOBAL};
