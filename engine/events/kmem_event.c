/* SPDX-License-Identifier: MIT */
/*
 * kmem:kmalloc and kmem:kfree are what the program asks of malloc() and its kind, whichever library
 * has them: fields and print format as the kernel's (6.12). Each call passes by a function of ours while
 * one of the two is on (core/interpose.h).
 *
 * An address is in the trace before it can be given to another: kfree is recorded before the release,
 * kmalloc behind the allocation. realloc() is a kfree and a kmalloc, moved or not, as if it had been
 * done by hand; one that fails takes its kfree back by a kmalloc of the block that is still there.
 * As in the kernel, free(NULL) is a kfree, and what failed is a kmalloc of ptr 0.
 *
 * Any context. fork: the child goes on. Costs: bench "kmalloc". Tests: tests/engine/events/kmem.
 */
#include "engine/events/kmem_event.h"

#include <errno.h>

#include "engine/base/compiler.h"
#include "engine/core/interpose.h"
#include "engine/events/own_event.h"

struct kmalloc {
	struct own_record head;
	unsigned long call_site;
	const void *ptr;
	size_t bytes_req;
	size_t bytes_alloc;
	unsigned long gfp_flags;
	int node;
	int unused;
};

struct kfree {
	struct own_record head;
	unsigned long call_site;
	const void *ptr;
};

/* Memory that is zero. */
#define GFP_ZERO 0x100u

static const struct vestige_event_field kmalloc_fields[] = {
	OWN_FIELD(struct kmalloc, call_site, "unsigned long", 0),
	OWN_FIELD(struct kmalloc, ptr, "const void *", 0),
	OWN_FIELD(struct kmalloc, bytes_req, "size_t", 0),
	OWN_FIELD(struct kmalloc, bytes_alloc, "size_t", 0),
	OWN_FIELD(struct kmalloc, gfp_flags, "unsigned long", 0),
	OWN_FIELD(struct kmalloc, node, "int", 1),
	OWN_FIELDS_END,
};

static const struct vestige_event_field kfree_fields[] = {
	OWN_FIELD(struct kfree, call_site, "unsigned long", 0),
	OWN_FIELD(struct kfree, ptr, "const void *", 0),
	OWN_FIELDS_END,
};

static int kmalloc_enable(struct own_event *e, int on);
static int kfree_enable(struct own_event *e, int on);

enum { KMALLOC, KFREE };

static struct own_event kmem_events[] = {
	[KMALLOC] = {.system = "kmem",
		     .name = "kmalloc",
		     .fields = kmalloc_fields,
		     .print_fmt = "\"call_site=%pS ptr=%p bytes_req=%zu bytes_alloc=%zu "
				  "gfp_flags=%s node=%d accounted=%s\", (void *)REC->call_site, "
				  "REC->ptr, REC->bytes_req, REC->bytes_alloc, (REC->gfp_flags) ? "
				  "__print_flags(REC->gfp_flags, \"|\", {0xcc0, \"GFP_KERNEL\"}, "
				  "{0x100, \"__GFP_ZERO\"}) : \"none\", REC->node, "
				  "(REC->gfp_flags & 0x400000) ? \"true\" : \"false\"",
		     .enable = kmalloc_enable},
	[KFREE] = {.system = "kmem",
		   .name = "kfree",
		   .fields = kfree_fields,
		   .print_fmt = "\"call_site=%pS ptr=%p\", (void *)REC->call_site, REC->ptr",
		   .enable = kfree_enable},
};

/* Of the allocator that the program has; NULL: it does not tell. */
static size_t (*usable_size)(void *);

static void note_kmalloc(uint64_t site, void *p, size_t bytes, unsigned long flags)
{
	size_t (*usable)(void *) = usable_size;
	struct kmalloc r = {
		.call_site = site, .ptr = p, .bytes_req = bytes, .gfp_flags = flags, .node = -1};

	if (!own_event_is_on(&kmem_events[KMALLOC]) || interpose_muted())
		return;
	if (p)
		r.bytes_alloc = usable ? usable(p) : bytes;
	own_event_write(&kmem_events[KMALLOC], &r, sizeof(r));
}

static void note_kfree(uint64_t site, const void *p)
{
	struct kfree r = {.call_site = site, .ptr = p};

	if (own_event_is_on(&kmem_events[KFREE]) && !interpose_muted())
		own_event_write(&kmem_events[KFREE], &r, sizeof(r));
}

/* kmalloc's are those before FREE, kfree's those from REALLOC on. */
enum { MALLOC, CALLOC, MEMALIGN, ALIGNED_ALLOC, POSIX_MEMALIGN, VALLOC, PVALLOC, REALLOC, FREE };
static struct interposed calls[];

#define REAL(type, call) ((type *)calls[call].real)

typedef void *alloc_fn(size_t);
typedef void *alloc_two_fn(size_t, size_t);
typedef int posix_memalign_fn(void **, size_t, size_t);
typedef void *realloc_fn(void *, size_t);
typedef void free_fn(void *);

static void *wrap_malloc(size_t bytes)
{
	uint64_t site = INTERPOSE_CALLER();
	void *p = REAL(alloc_fn, MALLOC)(bytes);

	note_kmalloc(site, p, bytes, 0);
	return p;
}

static void *wrap_calloc(size_t n, size_t each)
{
	uint64_t site = INTERPOSE_CALLER();
	void *p = REAL(alloc_two_fn, CALLOC)(n, each);

	note_kmalloc(site, p, n * each, GFP_ZERO);
	return p;
}

static void *wrap_memalign(size_t align, size_t bytes)
{
	uint64_t site = INTERPOSE_CALLER();
	void *p = REAL(alloc_two_fn, MEMALIGN)(align, bytes);

	note_kmalloc(site, p, bytes, 0);
	return p;
}

static void *wrap_aligned_alloc(size_t align, size_t bytes)
{
	uint64_t site = INTERPOSE_CALLER();
	void *p = REAL(alloc_two_fn, ALIGNED_ALLOC)(align, bytes);

	note_kmalloc(site, p, bytes, 0);
	return p;
}

static int wrap_posix_memalign(void **to, size_t align, size_t bytes)
{
	uint64_t site = INTERPOSE_CALLER();
	int err = REAL(posix_memalign_fn, POSIX_MEMALIGN)(to, align, bytes);

	note_kmalloc(site, err ? NULL : *to, bytes, 0);
	return err;
}

static void *wrap_valloc(size_t bytes)
{
	uint64_t site = INTERPOSE_CALLER();
	void *p = REAL(alloc_fn, VALLOC)(bytes);

	note_kmalloc(site, p, bytes, 0);
	return p;
}

static void *wrap_pvalloc(size_t bytes)
{
	uint64_t site = INTERPOSE_CALLER();
	void *p = REAL(alloc_fn, PVALLOC)(bytes);

	note_kmalloc(site, p, bytes, 0);
	return p;
}

static void *wrap_realloc(void *old, size_t bytes)
{
	uint64_t site = INTERPOSE_CALLER();
	void *p;

	if (old)
		note_kfree(site, old);
	p = REAL(realloc_fn, REALLOC)(old, bytes);
	if (p || !old)
		note_kmalloc(site, p, bytes, 0);
	else if (bytes)
		note_kmalloc(site, old, usable_size ? usable_size(old) : 0, 0);
	return p;
}

static void wrap_free(void *p)
{
	note_kfree(INTERPOSE_CALLER(), p);
	REAL(free_fn, FREE)(p);
}

static struct interposed calls[] = {
	[MALLOC] = {.name = "malloc", .wrapper = wrap_malloc},
	[CALLOC] = {.name = "calloc", .wrapper = wrap_calloc},
	[MEMALIGN] = {.name = "memalign", .wrapper = wrap_memalign},
	[ALIGNED_ALLOC] = {.name = "aligned_alloc", .wrapper = wrap_aligned_alloc},
	[POSIX_MEMALIGN] = {.name = "posix_memalign", .wrapper = wrap_posix_memalign},
	[VALLOC] = {.name = "valloc", .wrapper = wrap_valloc},
	[PVALLOC] = {.name = "pvalloc", .wrapper = wrap_pvalloc},
	[REALLOC] = {.name = "realloc", .wrapper = wrap_realloc},
	[FREE] = {.name = "free", .wrapper = wrap_free},
};

static int enable(struct interposed *rows, uint32_t n, int on)
{
	int err = 0;

	if (on)
		err = interpose_want(rows, n);
	else
		interpose_drop(rows, n);
	if (!err && on)
		usable_size =
			(size_t(*)(void *))interpose_beside(rows[0].real, "malloc_usable_size");
	return err;
}

static int kmalloc_enable(struct own_event *e, int on)
{
	(void)e;
	return enable(calls, FREE, on);
}

static int kfree_enable(struct own_event *e, int on)
{
	(void)e;
	return enable(calls + REALLOC, ARRAY_SIZE(calls) - REALLOC, on);
}

int kmem_events_start(void)
{
	return own_events_add(kmem_events, ARRAY_SIZE(kmem_events));
}
