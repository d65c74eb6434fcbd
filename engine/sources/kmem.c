/* SPDX-License-Identifier: MIT */
/*
 * See kmem.h. Each call passes through a wrapper while there is a listener (core/interpose.h).
 *
 * A release is reported before it is made and an allocation after it, so a release of an address is
 * reported before another thread can get that address. realloc() is a release and an allocation,
 * whether the block moves or not. If it fails, a reported allocation of the old block cancels the
 * release. An allocation by a deputy of libc or C++ (strdup(), operator new) is reported with the
 * deputy's caller. If an allocator's own operator new and delete do not call malloc() and free(),
 * they are reported as allocations and releases themselves.
 *
 * Any context. fork: the child goes on. Costs: bench "kmalloc". Tests: tests/engine/events/kmem.
 */
#include "engine/sources/kmem.h"

#include "engine/base/compiler.h"
#include "engine/core/interpose.h"

size_t (*kmem_usable_size)(void *);

static inline void allocated(uint64_t site, void *p, size_t bytes, int zeroed)
{
	SOURCE_NOTIFY(struct kmem_alloc_listener, source_heard(&kmem_allocs), site, p, bytes,
		      zeroed);
}

static inline void released(uint64_t site, const void *p)
{
	SOURCE_NOTIFY(struct kmem_free_listener, source_heard(&kmem_frees), site, p);
}

/* Functions before FREE allocate, functions from REALLOC on release. */
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

#define REAL(type, call) INTERPOSE_REAL(calls[call], type)

typedef void *alloc_fn(size_t);
typedef void *alloc_two_fn(size_t, size_t);
typedef int posix_memalign_fn(void **, size_t, size_t);
typedef void *realloc_fn(void *, size_t);
typedef void free_fn(void *);

/*
 * The caller and frame of a function that this thread is in and that calls malloc() for its caller.
 * The first allocation that it makes is reported with that caller; an allocation from a frame
 * farther away is not.
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

/* Whether the function has made an allocation. */
static int end_outer(void)
{
	int called = !outer.site;

	outer.site = 0;
	return called;
}

#define BEGIN_OUTER(caller)                                                                        \
	(outer.site = (caller), outer.frame = (uint64_t)__builtin_frame_address(0))

/* Functions that get two or three words, pass them on and return an address. */
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

/* A bit for each operator: it is in the allocator's object, so it is reported itself. */
static uint32_t own_new, own_delete;

/*
 * The block that the allocator's operator delete releases now; if that calls free(), it is not
 * reported again.
 */
static __thread const void *being_deleted __attribute__((tls_model("initial-exec")));

static void delete_of(uint32_t call, uint64_t caller, void *p, uint64_t b, uint64_t c)
{
	const void *outer_one = being_deleted;

	if (p != outer_one)
		released(caller, p);
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
			allocated(site, p, bytes, 0);                                              \
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

	allocated(site, p, bytes, 0);
	return p;
}

static void *wrap_calloc(size_t n, size_t each)
{
	uint64_t site = SITE();
	void *p = REAL(alloc_two_fn, CALLOC)(n, each);

	allocated(site, p, n * each, 1);
	return p;
}

static void *wrap_memalign(size_t align, size_t bytes)
{
	uint64_t site = SITE();
	void *p = REAL(alloc_two_fn, MEMALIGN)(align, bytes);

	allocated(site, p, bytes, 0);
	return p;
}

static void *wrap_aligned_alloc(size_t align, size_t bytes)
{
	uint64_t site = SITE();
	void *p = REAL(alloc_two_fn, ALIGNED_ALLOC)(align, bytes);

	allocated(site, p, bytes, 0);
	return p;
}

static int wrap_posix_memalign(void **to, size_t align, size_t bytes)
{
	uint64_t site = SITE();
	int err = REAL(posix_memalign_fn, POSIX_MEMALIGN)(to, align, bytes);

	allocated(site, err ? NULL : *to, bytes, 0);
	return err;
}

static void *wrap_valloc(size_t bytes)
{
	uint64_t site = SITE();
	void *p = REAL(alloc_fn, VALLOC)(bytes);

	allocated(site, p, bytes, 0);
	return p;
}

static void *wrap_pvalloc(size_t bytes)
{
	uint64_t site = SITE();
	void *p = REAL(alloc_fn, PVALLOC)(bytes);

	allocated(site, p, bytes, 0);
	return p;
}

static void *wrap_realloc(void *old, size_t bytes)
{
	uint64_t site = SITE();
	void *p;

	if (old)
		released(site, old);
	p = REAL(realloc_fn, REALLOC)(old, bytes);
	if (p || !old)
		allocated(site, p, bytes, 0);
	else if (bytes)
		allocated(site, old, kmem_usable(old, 0), 0);
	return p;
}

static void wrap_free(void *p)
{
	if (!p || p != being_deleted)
		released(INTERPOSE_CALLER(), p);
	REAL(free_fn, FREE)(p);
}

#define NEW_IS(n, mangled)    INTERPOSED(NEW + (n), mangled, wrap_new_##n)
#define DELETE_IS(n, mangled) INTERPOSED(DELETE + (n), mangled, wrap_delete_##n)

static struct interposed calls[NR_CALLS] = {
	INTERPOSED(STRDUP, "strdup", wrap_STRDUP),
	INTERPOSED(STRNDUP, "strndup", wrap_STRNDUP),
	INTERPOSED(REALLOCARRAY, "reallocarray", wrap_REALLOCARRAY),
	/* for an object and for an array; nothrow; aligned; both */
	NEW_IS(0, "_Znwm"),
	NEW_IS(1, "_Znam"),
	NEW_IS(2, "_ZnwmRKSt9nothrow_t"),
	NEW_IS(3, "_ZnamRKSt9nothrow_t"),
	NEW_IS(4, "_ZnwmSt11align_val_t"),
	NEW_IS(5, "_ZnamSt11align_val_t"),
	NEW_IS(6, "_ZnwmSt11align_val_tRKSt9nothrow_t"),
	NEW_IS(7, "_ZnamSt11align_val_tRKSt9nothrow_t"),
	INTERPOSED(MALLOC, "malloc", wrap_malloc),
	INTERPOSED(CALLOC, "calloc", wrap_calloc),
	INTERPOSED(MEMALIGN, "memalign", wrap_memalign),
	INTERPOSED(ALIGNED_ALLOC, "aligned_alloc", wrap_aligned_alloc),
	INTERPOSED(POSIX_MEMALIGN, "posix_memalign", wrap_posix_memalign),
	INTERPOSED(VALLOC, "valloc", wrap_valloc),
	INTERPOSED(PVALLOC, "pvalloc", wrap_pvalloc),
	INTERPOSED(REALLOC, "realloc", wrap_realloc),
	INTERPOSED(FREE, "free", wrap_free),
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

/* Return: a bit for each of @n functions from @call on that is in the same object as @other. */
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

static void find_usable_size(const struct interposed *call)
{
	const struct interposed_function *f = call->function;

	if (f->real)
		kmem_usable_size =
			(size_t(*)(void *))interpose_beside(f->real, "malloc_usable_size");
}

static int want_allocs(struct source *s, int on)
{
	int err = interpose_switch(calls, FREE, on);

	(void)s;
	if (err || !on)
		return err;
	find_usable_size(&calls[MALLOC]);
	store_release(&own_new, beside(NEW, NEW_LAST - NEW + 1, MALLOC));
	return 0;
}

static int want_frees(struct source *s, int on)
{
	int err = interpose_switch(calls + REALLOC, NR_CALLS - REALLOC, on);

	(void)s;
	if (err || !on)
		return err;
	find_usable_size(&calls[FREE]);
	store_release(&own_delete, beside(DELETE, DELETE_LAST - DELETE + 1, FREE));
	return 0;
}

struct source kmem_allocs = {.want = want_allocs};
struct source kmem_frees = {.want = want_frees};
