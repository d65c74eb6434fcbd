/* SPDX-License-Identifier: MIT */
/*
 * Bytes that are added at the end and read by their offset. They are in memory up to the limit of
 * spill_init(), and beyond it in a file without a name. Not for several threads. fork(): the child
 * must not add. Tests: tests/unit/test_sorter.c.
 */
#ifndef VESTIGE_TOOLS_SPILL_H
#define VESTIGE_TOOLS_SPILL_H

#include <stddef.h>
#include <stdint.h>

struct spill {
	const char *beside; /* the file whose folder gets ours; "-": see spill_init() */
	size_t max;	    /* bytes in memory */
	char *buf;	    /* bytes that are not in the file */
	size_t nr, room;
	int fd;		  /* -1: no file was needed */
	uint64_t written; /* bytes in the file */
};

/*
 * spill_file() - make a file without a name. @beside: as of spill_init(). Return: its descriptor,
 * the caller's, or -errno with fail() set.
 */
int spill_file(const char *beside);

/*
 * spill_init() - an empty spill; freed with spill_clear().
 * @memory: bytes that may be in memory; 0: all go to the file at once.
 * @beside: a file in whose folder the temporary one is made; "-": in $TMPDIR or /var/tmp. Borrowed.
 */
void spill_init(struct spill *s, size_t memory, const char *beside);
void spill_clear(struct spill *s);

/* The offset that spill_add() gives next: how many bytes were added. */
static inline uint64_t spill_end(const struct spill *s)
{
	return s->written + s->nr;
}

/* spill_add() - copy @bytes to the end. Return: 0 or -errno with fail() set. */
int spill_add(struct spill *s, const void *data, size_t bytes);

/*
 * spill_get() - copy @bytes from offset @at into @to. They were added by one call of spill_add(),
 * or by calls that followed one another. Return: 0 or -errno with fail() set; EIO: the file is too
 * short.
 */
int spill_get(const struct spill *s, uint64_t at, void *to, size_t bytes);

#endif
