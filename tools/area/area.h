/* SPDX-License-Identifier: MIT */
/*
 * Opens an area (abi/area.h) and reads its pages, for the reader and for the recorder.
 *
 * The owner of the folder and the file may be hostile: the file is opened without following links
 * and without waiting. It must be a regular file of this user (or we are root). It is read by
 * pread(), so a file that shrinks gives an error and no SIGBUS.
 */
#ifndef VESTIGE_TOOLS_AREA_H
#define VESTIGE_TOOLS_AREA_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/page.h"
#include "tools/area/meta.h"

/*
 * area_open() - open and check the file. @dirfd: folder that @path starts from, or AT_FDCWD.
 * @flags: O_RDONLY or O_RDWR. @bytes: gets the size of the file. Return: a descriptor or -errno
 * with fail() set: ELOOP a symbolic link, EINVAL not a regular file, EPERM another user's.
 */
int area_open(int dirfd, const char *path, int flags, uint64_t *bytes);

/*
 * Offset of descriptor @index, and of page @index, in the area; both in bounds after area_check().
 */
uint64_t area_desc_offset(const struct area_header *head, uint32_t index);
uint64_t area_page_offset(const struct area_header *head, uint32_t index);

/*
 * area_read_page() - read a page, and check that it was not reused during the read. @page:
 * PAGE_BYTES. @d: its descriptor as it was before. @what: names the area in errors.
 * Return: 1; 0: it has no records or was reused; -errno with fail() set.
 */
int area_read_page(int fd, const struct area_header *head, uint32_t index, void *page,
		   struct page_desc *d, const char *what);

/*
 * area_hide() - hide the records from before the buffer was last cleared, and those that a
 * consuming reader has read: their words are set to 0, as if never written.
 * @c: row of the page's CPU; NULL unknown.
 */
void area_hide(const struct area_cpu *c, const struct page_desc *d, uint64_t *page);

/* Pages that follow one another. */
struct area_share {
	uint32_t first, nr;
};

/*
 * area_share() - the backed pages of row @row of AREA_CPUS. @which: 0: of the ring; 1: the
 * additional pages for snapshots. In bounds after area_check(); nr may be 0.
 */
struct area_share area_share(const struct meta *m, uint32_t row, unsigned int which);

/*
 * The pages that a repeating reader has finished: for each page its last order of publication, 0:
 * none. All zero at first; the user frees `seq`.
 */
struct area_done {
	uint64_t *seq; /* by page */
	uint32_t nr;
};

/*
 * area_done_fit() - make room for the pages of @m, which may be more than the last time.
 * Return: 0 or -ENOMEM with fail() set.
 */
int area_done_fit(struct area_done *d, const struct meta *m);

/* Is page @index finished up to @seq? Never true of pages beyond the room. */
static inline bool area_done_has(const struct area_done *d, uint32_t index, uint64_t seq)
{
	return index < d->nr && d->seq[index] == seq;
}

static inline void area_done_put(struct area_done *d, uint32_t index, uint64_t seq)
{
	if (index < d->nr)
		d->seq[index] = seq;
}

/* Make the losses in the CPUs' rows count from the last clearing of the buffer. */
void area_count_from_clear(struct meta *m);

/*
 * area_check() - check that all pages of the tables lie inside a file of @bytes. nr_pages and the
 * CPUs' nr_backed are reduced to the pages in the file.
 * Return: 0 or -EINVAL with fail() set.
 */
int area_check(struct meta *m, uint64_t bytes, const char *what);

#endif
