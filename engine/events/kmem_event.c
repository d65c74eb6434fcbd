/* SPDX-License-Identifier: MIT */
/*
 * kmem:kmalloc and kmem:kfree are what the program asks of malloc() and its kind, whichever library
 * has them: fields and print format as the kernel's (6.12). Each call passes by a function of ours while
 * one of the two is on (core/interpose.h).
 *
 * An address is in the trace before it can be given to another: kfree is recorded before the release,
 * kmalloc behind the allocation. realloc() is a kfree and a kmalloc, moved or not, as if it had been
 * done by hand; one that fails takes its kfree back by a kmalloc of the block that is still there.
 * As in the kernel, free(NULL) is a kfree, what failed is a kmalloc of ptr 0, and what allocates for others
 * (strdup(), operator new) passes on who called it. An allocator that brings operator new and delete calls
 * no malloc() there: then these are allocations by themselves.
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
enum {
	STRDUP,
	STRNDUP,
	REALLOCARRAY,
	NEW,
	NEW_LAST = NEW + 7,
	MALLOC,
	CALLOC,
	MEMALIGN,
	ALIGNED_ALLOC,
	POSIX_MEMALIGN,
	VALLOC,
	PVALLOC,
	REALLOC,
	FREE,
	DELETE,
	DELETE_LAST = DELETE + 9,
	NR_CALLS
};
static struct interposed calls[];

#define REAL(type, call) ((type *)calls[call].real)

typedef void *alloc_fn(size_t);
typedef void *alloc_two_fn(size_t, size_t);
typedef int posix_memalign_fn(void **, size_t, size_t);
typedef void *realloc_fn(void *, size_t);
typedef void free_fn(void *);

/*
 * A function that calls malloc() for another is under way in this thread: who called it, and where its frame is. The
 * first allocation out of it takes that; one that is further from there is not its.
 */
#define OUTER_BYTES 1024u

static __thread struct {
	uint64_t site, frame;
} outer __attribute__((tls_model("initial-exec")));

static uint64_t site_of(uint64_t caller, uint64_t frame)
{
	uint64_t site = outer.site;

	if (likely(!site))
		return caller;
	outer.site = 0;
	return outer.frame - frame < OUTER_BYTES ? site : caller;
}

#define SITE() site_of(INTERPOSE_CALLER(), (uint64_t)__builtin_frame_address(0))

/* Whether it has called an allocation. */
static int end_outer(void)
{
	int called = !outer.site;

	outer.site = 0;
	return called;
}

#define BEGIN_OUTER(caller)                                                                        \
	(outer.site = (caller), outer.frame = (uint64_t)__builtin_frame_address(0))

/* What passes on two or three words, and returns an address. */
typedef void *outer_fn(uint64_t a, uint64_t b, uint64_t c);

#define OUTER(call)                                                                                \
	static void *wrap_##call(uint64_t a, uint64_t b, uint64_t c)                               \
	{                                                                                          \
		void *p;                                                                           \
                                                                                                   \
		BEGIN_OUTER(SITE());                                                               \
		p = REAL(outer_fn, call)(a, b, c);                                                 \
		end_outer();                                                                       \
		return p;                                                                          \
	}

OUTER(STRDUP)
OUTER(STRNDUP)
OUTER(REALLOCARRAY)

/* One bit each: it is the allocator's own. */
static uint32_t own_new, own_delete;

/* They may call malloc() and free() yet. What they release is told by them. */
static __thread const void *being_deleted __attribute__((tls_model("initial-exec")));

static void delete_of(uint32_t call, uint64_t caller, void *p, uint64_t b, uint64_t c)
{
	const void *outer_one = being_deleted;

	if (p != outer_one)
		note_kfree(caller, p);
	being_deleted = p;
	((void (*)(void *, uint64_t, uint64_t))calls[call].real)(p, b, c);
	being_deleted = outer_one;
}

#define NEWS(n)                                                                                    \
	static void *wrap_new_##n(uint64_t bytes, uint64_t b, uint64_t c)                          \
	{                                                                                          \
		uint64_t site = SITE();                                                            \
		void *p;                                                                           \
                                                                                                   \
		BEGIN_OUTER(site);                                                                 \
		p = REAL(outer_fn, NEW + (n))(bytes, b, c);                                        \
		if (!end_outer() && load_relaxed(&own_new) >> (n)&1)                               \
			note_kmalloc(site, p, bytes, 0);                                           \
		return p;                                                                          \
	}

#define DELETES(n)                                                                                 \
	static void wrap_delete_##n(void *p, uint64_t b, uint64_t c)                               \
	{                                                                                          \
		if (load_relaxed(&own_delete) >> (n)&1)                                            \
			delete_of(DELETE + (n), INTERPOSE_CALLER(), p, b, c);                      \
		else                                                                               \
			((void (*)(void *, uint64_t, uint64_t))calls[DELETE + (n)].real)(p, b, c); \
	}

NEWS(0)
NEWS(1)
NEWS(2)
NEWS(3)
NEWS(4)
NEWS(5)
NEWS(6)
NEWS(7)
DELETES(0)
DELETES(1)
DELETES(2)
DELETES(3)
DELETES(4)
DELETES(5)
DELETES(6)
DELETES(7)
DELETES(8)
DELETES(9)

static void *wrap_malloc(size_t bytes)
{
	uint64_t site = SITE();
	void *p = REAL(alloc_fn, MALLOC)(bytes);

	note_kmalloc(site, p, bytes, 0);
	return p;
}

static void *wrap_calloc(size_t n, size_t each)
{
	uint64_t site = SITE();
	void *p = REAL(alloc_two_fn, CALLOC)(n, each);

	note_kmalloc(site, p, n * each, GFP_ZERO);
	return p;
}

static void *wrap_memalign(size_t align, size_t bytes)
{
	uint64_t site = SITE();
	void *p = REAL(alloc_two_fn, MEMALIGN)(align, bytes);

	note_kmalloc(site, p, bytes, 0);
	return p;
}

static void *wrap_aligned_alloc(size_t align, size_t bytes)
{
	uint64_t site = SITE();
	void *p = REAL(alloc_two_fn, ALIGNED_ALLOC)(align, bytes);

	note_kmalloc(site, p, bytes, 0);
	return p;
}

static int wrap_posix_memalign(void **to, size_t align, size_t bytes)
{
	uint64_t site = SITE();
	int err = REAL(posix_memalign_fn, POSIX_MEMALIGN)(to, align, bytes);

	note_kmalloc(site, err ? NULL : *to, bytes, 0);
	return err;
}

static void *wrap_valloc(size_t bytes)
{
	uint64_t site = SITE();
	void *p = REAL(alloc_fn, VALLOC)(bytes);

	note_kmalloc(site, p, bytes, 0);
	return p;
}

static void *wrap_pvalloc(size_t bytes)
{
	uint64_t site = SITE();
	void *p = REAL(alloc_fn, PVALLOC)(bytes);

	note_kmalloc(site, p, bytes, 0);
	return p;
}

static void *wrap_realloc(void *old, size_t bytes)
{
	uint64_t site = SITE();
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
	if (!p || p != being_deleted)
		note_kfree(INTERPOSE_CALLER(), p);
	REAL(free_fn, FREE)(p);
}

#define NEW_IS(n, mangled)    [NEW + (n)] = {.name = (mangled), .wrapper = wrap_new_##n}
#define DELETE_IS(n, mangled) [DELETE + (n)] = {.name = (mangled), .wrapper = wrap_delete_##n}

static struct interposed calls[NR_CALLS] = {
	[STRDUP] = {.name = "strdup", .wrapper = wrap_STRDUP},
	[STRNDUP] = {.name = "strndup", .wrapper = wrap_STRNDUP},
	[REALLOCARRAY] = {.name = "reallocarray", .wrapper = wrap_REALLOCARRAY},
	/* of one and of arrays; without exceptions; aligned; both */
	NEW_IS(0, "_Znwm"),
	NEW_IS(1, "_Znam"),
	NEW_IS(2, "_ZnwmRKSt9nothrow_t"),
	NEW_IS(3, "_ZnamRKSt9nothrow_t"),
	NEW_IS(4, "_ZnwmSt11align_val_t"),
	NEW_IS(5, "_ZnamSt11align_val_t"),
	NEW_IS(6, "_ZnwmSt11align_val_tRKSt9nothrow_t"),
	NEW_IS(7, "_ZnamSt11align_val_tRKSt9nothrow_t"),
	[MALLOC] = {.name = "malloc", .wrapper = wrap_malloc},
	[CALLOC] = {.name = "calloc", .wrapper = wrap_calloc},
	[MEMALIGN] = {.name = "memalign", .wrapper = wrap_memalign},
	[ALIGNED_ALLOC] = {.name = "aligned_alloc", .wrapper = wrap_aligned_alloc},
	[POSIX_MEMALIGN] = {.name = "posix_memalign", .wrapper = wrap_posix_memalign},
	[VALLOC] = {.name = "valloc", .wrapper = wrap_valloc},
	[PVALLOC] = {.name = "pvalloc", .wrapper = wrap_pvalloc},
	[REALLOC] = {.name = "realloc", .wrapper = wrap_realloc},
	[FREE] = {.name = "free", .wrapper = wrap_free},
	DELETE_IS(0, "_ZdlPv"),
	DELETE_IS(1, "_ZdaPv"),
	DELETE_IS(2, "_ZdlPvm"),
	DELETE_IS(3, "_ZdaPvm"),
	DELETE_IS(4, "_ZdlPvRKSt9nothrow_t"),
	DELETE_IS(5, "_ZdaPvRKSt9nothrow_t"),
	DELETE_IS(6, "_ZdlPvSt11align_val_t"),
	DELETE_IS(7, "_ZdaPvSt11align_val_t"),
	DELETE_IS(8, "_ZdlPvmSt11align_val_t"),
	DELETE_IS(9, "_ZdaPvmSt11align_val_t"),
};

/* One bit for each of @n functions that lies in the same object as @other does. */
static uint32_t beside(uint32_t call, uint32_t n, uint32_t other)
{
	const struct interposed_function *o = calls[other].function, *f;
	uint32_t i, bits = 0;

	for (i = 0; i < n && o->real; i++) {
		f = calls[call + i].function;
		if (f->real && interpose_beside(o->real, f->name) == f->real)
			bits |= 1u << i;
	}
	return bits;
}

static int kmalloc_enable(struct own_event *e, int on)
{
	int err = interpose_switch(calls, FREE, on);
	const struct interposed_function *f;

	(void)e;
	if (err || !on)
		return err;
	f = calls[MALLOC].function;
	if (f->real)
		usable_size = (size_t(*)(void *))interpose_beside(f->real, "malloc_usable_size");
	store_release(&own_new, beside(NEW, NEW_LAST - NEW + 1, MALLOC));
	return 0;
}

static int kfree_enable(struct own_event *e, int on)
{
	int err = interpose_switch(calls + REALLOC, NR_CALLS - REALLOC, on);

	(void)e;
	if (on && !err)
		store_release(&own_delete, beside(DELETE, DELETE_LAST - DELETE + 1, FREE));
	return err;
}

int kmem_events_start(void)
{
	return interpose_possible() ? own_events_add(kmem_events, ARRAY_SIZE(kmem_events)) : 0;
}
