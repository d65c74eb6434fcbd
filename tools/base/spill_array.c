/* SPDX-License-Identifier: MIT */
/*
 * See spill_array.h. Each array in the file has a range of it. A larger array gets a new range at
 * the file's end, and the old range is given back to the disk. Ranges are allocated before they are
 * mapped: without room on the disk the first write to a page would be a SIGBUS.
 *
 * Large arrays in memory have mappings of their own, too. In the heap a freed one would often stay
 * in memory, behind others.
 */
#include "tools/base/spill_array.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/spill.h"

#define PAGE  65536u /* a multiple of every machine's page */
#define PIECE SPILL_ARRAYS_TRIM

/* An array's range of the file. */
struct range {
	struct range *next, **at; /* the list of all */
	void *map;
	size_t bytes;
	off_t offset;
};

/* In front of an array. */
struct head {
	size_t bytes;	     /* with this head */
	struct range *range; /* NULL: the array is in memory */
};

static struct {
	pthread_mutex_t lock;
	size_t in_memory; /* bytes */
	struct range *ranges;
	int fd;	      /* of the file; -1: it is not made yet */
	off_t end;    /* of its last range */
	bool no_file; /* it failed once */
} all = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

static struct head *head_of(void *array)
{
	return array ? (struct head *)array - 1 : NULL;
}

static size_t whole_pages(size_t bytes)
{
	return (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
}

/* May the file have @bytes? A larger one would be a SIGXFSZ. */
static bool within_limit(off_t bytes)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY ||
	       (uint64_t)bytes <= limit.rlim_cur;
}

/* Let the file have @bytes at its end. Return: 0 or -1. */
static int allocate(size_t bytes)
{
	int err;

	if (all.fd < 0)
		all.fd = spill_file("-");
	if (all.fd < 0 || !within_limit(all.end + (off_t)bytes))
		return -1;
	do
		err = posix_fallocate(all.fd, all.end, (off_t)bytes);
	while (err == EINTR);
	/* give back what it got before the disk was full */
	if (err && ftruncate(all.fd, all.end))
		return -1;
	return err ? -1 : 0;
}

/* Map a new range. Return: NULL: it cannot be made. */
static struct range *range_new(size_t bytes)
{
	struct range *r = malloc(sizeof(*r));

	bytes = whole_pages(bytes);
	if (!r || allocate(bytes)) {
		free(r);
		return NULL;
	}
	*r = (struct range){
		.next = all.ranges, .at = &all.ranges, .bytes = bytes, .offset = all.end};
	r->map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, all.fd, r->offset);
	if (r->map == MAP_FAILED) {
		if (ftruncate(all.fd, all.end))
			all.no_file = true;
		free(r);
		return NULL;
	}
	if (r->next)
		r->next->at = &r->next;
	all.ranges = r;
	all.end += (off_t)bytes;
	return r;
}

static void range_free(struct range *r)
{
	munmap(r->map, r->bytes);
	/* a file system without holes keeps it until the process ends */
	fallocate(all.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, r->offset, (off_t)r->bytes);
	*r->at = r->next;
	if (r->next)
		r->next->at = r->at;
	free(r);
}

static void drop(struct head *h)
{
	if (h->range) {
		range_free(h->range);
		return;
	}
	all.in_memory -= h->bytes;
	if (h->bytes < SPILL_ARRAY_MIN)
		free(h);
	else
		munmap(h, whole_pages(h->bytes));
}

/* Copy an array in pieces that do not stay in memory. */
static void copy(struct range *to, const struct head *from)
{
	const struct range *r = from->range;

	for (size_t at = 0, n; at < from->bytes; at += n) {
		n = from->bytes - at < PIECE ? from->bytes - at : PIECE;
		memcpy((char *)to->map + at, (const char *)from + at, n);
		madvise((char *)to->map + at, n, MADV_DONTNEED);
		if (r)
			madvise((char *)r->map + at, n, MADV_DONTNEED);
	}
}

/* A larger array in the file, with the old contents. Return: NULL: it cannot be made. */
static struct head *grow_in_file(struct head *old, size_t bytes)
{
	struct range *r = all.no_file ? NULL : range_new(bytes);
	struct head *h;

	if (!r) {
		all.no_file = true;
		return NULL;
	}
	if (old) {
		copy(r, old);
		drop(old);
	}
	h = r->map;
	*h = (struct head){.bytes = bytes, .range = r};
	return h;
}

/* Memory of that size, or @old grown, if it is large. Return: NULL: there is none. */
static struct head *map_memory(struct head *old, size_t bytes)
{
	void *map = old ? mremap(old, whole_pages(old->bytes), whole_pages(bytes), MREMAP_MAYMOVE)
			: mmap(NULL, whole_pages(bytes), PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return map == MAP_FAILED ? NULL : map;
}

/* The same in memory. */
static struct head *grow_in_memory(struct head *old, size_t bytes)
{
	bool large = bytes >= SPILL_ARRAY_MIN;
	/* does it stay what it is? */
	bool same = old && !old->range && large == (old->bytes >= SPILL_ARRAY_MIN);
	size_t before = same ? old->bytes : 0;
	struct head *h =
		large ? map_memory(same ? old : NULL, bytes) : realloc(same ? old : NULL, bytes);

	if (!h)
		return NULL;
	if (old && !same) {
		memcpy(h + 1, old + 1, old->bytes - sizeof(*old));
		drop(old);
	}
	*h = (struct head){.bytes = bytes};
	all.in_memory += bytes - before;
	return h;
}

void *spill_array_grow(void *array, size_t bytes)
{
	struct head *old = head_of(array), *h = NULL;
	size_t in_memory;

	if (bytes > SIZE_MAX / 2) {
		fail(ENOMEM, "out of memory");
		return NULL;
	}
	bytes += sizeof(*h);
	pthread_mutex_lock(&all.lock);
	in_memory = all.in_memory - (old && !old->range ? old->bytes : 0);
	if (bytes >= SPILL_ARRAY_MIN && in_memory + bytes > SPILL_ARRAYS_MEMORY)
		h = grow_in_file(old, bytes);
	if (!h)
		h = grow_in_memory(old, bytes);
	pthread_mutex_unlock(&all.lock);
	if (!h) {
		fail(ENOMEM, "out of memory");
		return NULL;
	}
	return h + 1;
}

void spill_array_free(void *array)
{
	if (!array)
		return;
	pthread_mutex_lock(&all.lock);
	drop(head_of(array));
	pthread_mutex_unlock(&all.lock);
}

void spill_arrays_trim(void)
{
	pthread_mutex_lock(&all.lock);
	for (struct range *r = all.ranges; r; r = r->next)
		madvise(r->map, r->bytes, MADV_DONTNEED);
	pthread_mutex_unlock(&all.lock);
}
