/* SPDX-License-Identifier: MIT */
/*
 * The tree of control files as text in the area (struct area_files), for reading and listing when
 * the process is stopped, hangs or is dead. Owns the table AREA_FILES. It is written again after
 * each write to a control file, under the tree lock. That costs some 20 us, and costs the hooks
 * nothing. A reader finds by `gen` that the text changed while it read. Files of a CPU have one row
 * for all CPUs, without text: their contents, and the options', are in other tables of the area.
 * fork: the child's area begins empty and gets a text of its own. Tests: tests/engine/fire/control.
 */
#include "arch_barrier.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/base/seq_buf.h"
#include "engine/base/seqcount.h"
#include "engine/control/tree.h"
#include "engine/process/area.h"
#include "engine/core/options.h"
#include "engine/core/trace_array.h"

#define FIRST_BYTES 16384u

#define SIZE_DIGITS 5u
#define MAX_TEXT    99999u
#define SHORT_TEXT  4096u

static void put_octal(struct seq_buf *s, uint32_t mode)
{
	seq_putc(s, (char)('0' + (mode >> 6 & 7)));
	seq_putc(s, (char)('0' + (mode >> 3 & 7)));
	seq_putc(s, (char)('0' + (mode & 7)));
}

/* Whether the file's text follows its line. */
static int has_text(const struct tree_row *row)
{
	return row->kind == TREE_ENGINE && tree_row_reads(row) && !row->unmirrored &&
	       (row->scope == TREE_INSTANCE || row->scope == TREE_GLOBAL);
}

static size_t put_line(struct seq_buf *s, const struct tree_row *row, const char *name)
{
	static const char scopes[] = {
		[TREE_INSTANCE] = 'i', [TREE_GLOBAL] = 'g', [TREE_CPU] = 'c', [TREE_OPTION] = 'o'};
	size_t size_at;

	put_octal(s, row->mode);
	seq_puts(s, row->kind == TREE_ENGINE ? " e " : " r ");
	seq_putc(s, scopes[row->scope]);
	seq_putc(s, ' ');
	size_at = s->len;
	seq_puts(s, "00000 ");
	seq_puts(s, name);
	seq_putc(s, '\n');
	return size_at;
}

/* Fill in the size of the text from @text_at on; drop a text of more than @most bytes. */
static void put_size(struct seq_buf *s, size_t size_at, size_t text_at, size_t most)
{
	size_t n = s->len - text_at, i;

	if (n > most) {
		s->len = text_at;
		s->lost = 0;
		n = 0;
	}
	if (s->lost)
		return;
	for (i = SIZE_DIGITS; i; i--, n /= 10)
		s->text[size_at + i - 1] = (char)('0' + n % 10);
}

static void put_row(struct seq_buf *s, struct trace_array *tr, const struct tree_row *row,
		    size_t most)
{
	const struct tree_at at = {.tr = tr, .cpu = UINT32_MAX, .mirrored = 1};
	size_t size_at = put_line(s, row, row->path), text_at = s->len;

	if (has_text(row) && tree_row_show(row, &at, s))
		s->len = text_at;
	put_size(s, size_at, text_at, most);
}

static void put_branch(struct seq_buf *s, const struct trace_array *tr, const struct tree_branch *b,
		       size_t most)
{
	size_t size_at, text_at;

	seq_puts(s, "755 d i ");
	size_at = s->len;
	seq_puts(s, "00000 ");
	seq_puts(s, b->name);
	seq_putc(s, '\n');
	text_at = s->len;
	if (b->left)
		b->left(tr, s);
	put_size(s, size_at, text_at, most);
}

static void put_options(struct seq_buf *s, const struct trace_array *tr, const struct tree_row *row)
{
	const char *name;
	uint32_t i;
	int bit;

	for (i = 0; (name = option_at(i, &bit)); i++)
		if (option_exists(bit) && (trace_array_is_top(tr) || !tree_option_is_global(bit)))
			put_line(s, row, name);
}

/* Write all files whose text has at most @most bytes. Return: whether all fitted. */
static int mirror_into(struct trace_array *tr, struct area_files *files, uint32_t room, size_t most)
{
	const struct tree_branch *const *b;
	const struct tree_row *row;
	struct seq_buf s;

	seq_init(&s, (char *)(files + 1), room - sizeof(*files));
	TREE_EACH_ROW (row)
		if (row->scope == TREE_OPTION)
			put_options(&s, tr, row);
		else if (row->scope != TREE_GLOBAL || trace_array_is_top(tr))
			put_row(&s, tr, row, most);
	REGISTRY_EACH (vestige_branches, b)
		if (tree_has_branch(tr, *b))
			put_branch(&s, tr, *b, most);
	if (trace_array_is_top(tr))
		seq_puts(&s, "755 d g 00000 instances\n");
	files->bytes = s.lost ? 0 : (uint32_t)s.len;
	return !s.lost;
}

void tree_mirror(struct trace_array *tr)
{
	struct area_header *head = trace_array_area(tr);
	struct area_table *t = &head->tables[AREA_FILES];
	struct area_files *files = area_entry_in(head, AREA_FILES, 0);
	uint32_t room = t->count ? t->count : FIRST_BYTES, most = MAX_TEXT;

	if (area_reserve_in(head, AREA_FILES, room))
		return;
	t->count = room;
	write_seqcount_begin(&files->gen);
	while (!mirror_into(tr, files, room, most)) {
		if (!area_reserve_in(head, AREA_FILES, room * 2)) {
			room *= 2;
			t->count = room;
			continue;
		}
		/* list the files without any text, rather than nothing */
		if (!most)
			break;
		most = most > SHORT_TEXT ? SHORT_TEXT : 0;
	}
	write_seqcount_end(&files->gen);
}
