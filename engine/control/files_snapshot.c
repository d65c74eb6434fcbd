/* SPDX-License-Identifier: MIT */
/*
 * snapshot: the buffer as it was at one moment, in a file beside the area that reads as one, while the
 * buffer itself goes on empty. Nothing is recorded while it is copied: 1 ms for some megabytes, and no
 * thread of the program waits. The outside prints it; while there is none the text is the kernel's
 * help (6.12). Any thread, under the tree's lock. fork: the child has none.
 * Tests: tests/tracefs/test_files.py.
 */
#include <errno.h>

#include "engine/arch/sys.h"
#include "engine/base/mem.h"
#include "engine/control/tree.h"
#include "engine/core/area.h"
#include "engine/core/snapshot.h"
#include "engine/core/trace_array.h"

static void put_path(const struct trace_array *tr, struct seq_buf *s)
{
	seq_puts(s, area_file());
	if (!trace_array_is_top(tr)) {
		seq_putc(s, AREA_INSTANCE_MARK);
		seq_puts(s, tr->name);
	}
	seq_puts(s, AREA_SNAPSHOT_SUFFIX);
	seq_putc(s, '\0');
}

int snapshot_show(const struct tree_at *at, struct seq_buf *s)
{
	seq_puts(s, "# tracer: ");
	seq_puts(s, trace_array_buffer(at->tr)->tracer);
	seq_puts(s, "\n#\n#\n# * Snapshot is ");
	seq_puts(s, trace_array_buffer(at->tr)->snapshot ? "allocated" : "freed");
	seq_puts(s, " *\n#\n# Snapshot commands:\n"
		    "# echo 0 > snapshot : Clears and frees snapshot buffer\n"
		    "# echo 1 > snapshot : Allocates snapshot buffer, if not already allocated.\n"
		    "#                      Takes a snapshot of the main buffer.\n"
		    "# echo 2 > snapshot : Clears snapshot buffer (but does not allocate or free)\n"
		    "#                      (Doesn't have to be '2' works with any number that\n"
		    "#                       is not a '0' or '1')\n");
	return 0;
}

static int take(const struct tree_at *at, const char *path)
{
	int on = ring_is_on(at->tr->ring), err;

	ring_set_on(at->tr->ring, 0);
	err = snapshot_to_file(trace_array_area(at->tr), path);
	if (!err)
		ring_clear(at->tr->ring, UINT32_MAX);
	ring_set_on(at->tr->ring, on);
	return err;
}

int snapshot_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	char path[700];
	struct seq_buf s;
	uint64_t v;
	int err = tree_number(text, n, &v);

	(void)truncate;
	if (err)
		return err;
	seq_init(&s, path, sizeof(path));
	put_path(at->tr, &s);
	if (s.lost)
		return -ENAMETOOLONG;
	sys_unlink(path);
	if (v == 1)
		err = take(at, path);
	if (!err && v <= 1)
		trace_array_buffer(at->tr)->snapshot = v;
	return err == -ENOSPC ? -ENOMEM : err;
}
