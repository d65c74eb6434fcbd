/* SPDX-License-Identifier: MIT */
/*
 * error_log: the last eight errors that parsers of commands found, oldest first, as the kernel
 * shows them (6.12): the time, the parser, the error, the command, and a caret under the position.
 * Only parsers of events' commands add errors; all other failures are an errno alone. State: the
 * ring
 * of entries below, written under the tree lock. fork: the child has its parent's. Tests:
 * tests/unit/test_error_log.c.
 */
#include "engine/control/error_log.h"

#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/control/tree.h"
#include "engine/ring/ring.h"

#define NR_ENTRIES 8u

static struct entry {
	uint64_t ns;
	char location[ERROR_LOG_LOCATION];
	const char *error;
	uint32_t bytes, position;
	char command[ERROR_LOG_COMMAND];
} entries[NR_ENTRIES] BIG_ZEROS;
static uint32_t nr_added; /* errors since it was emptied */

void error_log_add(const char *location, const char *error, const char *command, size_t n,
		   uint32_t position)
{
	struct entry *e = &entries[nr_added++ % NR_ENTRIES];

	e->ns = ring_clock_mono();
	str_copy(e->location, sizeof(e->location), location);
	e->error = error;
	e->bytes = (uint32_t)(n < ERROR_LOG_COMMAND ? n : ERROR_LOG_COMMAND);
	e->position = position;
	memcpy(e->command, command, e->bytes);
}

uint32_t error_log_nr(void)
{
	return nr_added;
}

const char *error_log_last(uint32_t *position)
{
	const struct entry *e = &entries[(nr_added - 1) % NR_ENTRIES];

	*position = e->position;
	return e->error;
}

/* Put a number right-aligned in @width columns, filled with @fill. */
static void put_number(struct seq_buf *s, uint64_t v, uint32_t width, char fill)
{
	uint64_t limit;
	uint32_t digits = 1;

	for (limit = 10; v >= limit && digits < width; limit *= 10)
		digits++;
	for (; digits < width; digits++)
		seq_putc(s, fill);
	seq_putu(s, v);
}

int error_log_show(const struct tree_at *at, struct seq_buf *s)
{
	uint32_t i = nr_added > NR_ENTRIES ? nr_added - NR_ENTRIES : 0, k;

	(void)at;
	for (; i < nr_added; i++) {
		const struct entry *e = &entries[i % NR_ENTRIES];
		uint64_t us = (e->ns + 500) / 1000;

		seq_putc(s, '[');
		put_number(s, us / 1000000, 5, ' ');
		seq_putc(s, '.');
		put_number(s, us % 1000000, 6, '0');
		seq_puts(s, "] ");
		seq_puts(s, e->location);
		seq_puts(s, ": error: ");
		seq_puts(s, e->error);
		seq_puts(s, "\n  Command: ");
		for (k = 0; k < e->bytes; k++)
			seq_putc(s, e->command[k]);
		seq_putc(s, '\n');
		for (k = 0; k < 11 + e->position; k++)
			seq_putc(s, ' ');
		seq_puts(s, "^\n");
	}
	return 0;
}

int error_log_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	(void)at;
	(void)text;
	(void)n;
	if (truncate)
		nr_added = 0;
	return 0;
}

/* clang-format off */
static const struct tree_row rows[] = {
	{"error_log", 0644, .show = error_log_show, .store = error_log_store,
	 .help = "what was wrong with the last commands; a write with O_TRUNC empties it"},
};
/* clang-format on */
TREE_FILES(rows);
