/* SPDX-License-Identifier: MIT */
/*
 * kmem:kmalloc and kmem:kfree: fields and print format as the kernel's (6.12), from the program's
 * allocations (sources/kmem.h). As in the kernel, free(NULL) is a kfree and a failed allocation is
 * a kmalloc of ptr 0. Any context. fork: the child goes on. Tests: tests/engine/events/kmem.
 */
#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/events/builtin_event.h"
#include "engine/sources/kmem.h"

struct kmalloc {
	struct builtin_record head;
	unsigned long call_site;
	const void *ptr;
	size_t bytes_req;
	size_t bytes_alloc;
	unsigned long gfp_flags;
	int node;
	int unused;
};

struct kfree {
	struct builtin_record head;
	unsigned long call_site;
	const void *ptr;
};

/* Flag of an allocation that is zeroed. */
#define GFP_ZERO 0x100u

static const struct vestige_event_field kmalloc_fields[] = {
	BUILTIN_FIELD(struct kmalloc, call_site, "unsigned long", 0),
	BUILTIN_FIELD(struct kmalloc, ptr, "const void *", 0),
	BUILTIN_FIELD(struct kmalloc, bytes_req, "size_t", 0),
	BUILTIN_FIELD(struct kmalloc, bytes_alloc, "size_t", 0),
	BUILTIN_FIELD(struct kmalloc, gfp_flags, "unsigned long", 0),
	BUILTIN_FIELD(struct kmalloc, node, "int", 1),
	BUILTIN_FIELDS_END,
};

static const struct vestige_event_field kfree_fields[] = {
	BUILTIN_FIELD(struct kfree, call_site, "unsigned long", 0),
	BUILTIN_FIELD(struct kfree, ptr, "const void *", 0),
	BUILTIN_FIELDS_END,
};

static int enable(struct builtin_event *e, int on);

enum { KMALLOC, KFREE };

static struct builtin_event kmem_events[] = {
	[KMALLOC] = {.system = "kmem",
		     .name = "kmalloc",
		     .fields = kmalloc_fields,
		     .print_fmt = "\"call_site=%pS ptr=%p bytes_req=%zu bytes_alloc=%zu "
				  "gfp_flags=%s node=%d accounted=%s\", (void *)REC->call_site, "
				  "REC->ptr, REC->bytes_req, REC->bytes_alloc, (REC->gfp_flags) ? "
				  "__print_flags(REC->gfp_flags, \"|\", {0xcc0, \"GFP_KERNEL\"}, "
				  "{0x100, \"__GFP_ZERO\"}) : \"none\", REC->node, "
				  "(REC->gfp_flags & 0x400000) ? \"true\" : \"false\"",
		     .enable = enable},
	[KFREE] = {.system = "kmem",
		   .name = "kfree",
		   .fields = kfree_fields,
		   .print_fmt = "\"call_site=%pS ptr=%p\", (void *)REC->call_site, REC->ptr",
		   .enable = enable},
};

static void note_kmalloc(uint64_t site, void *p, size_t bytes, int zeroed)
{
	/* every member is set: the compiler would clear the rest with a slow instruction */
	struct kmalloc r = {.head = {0},
			    .call_site = site,
			    .ptr = p,
			    .bytes_req = bytes,
			    .bytes_alloc = p ? kmem_usable(p, bytes) : 0,
			    .gfp_flags = zeroed ? GFP_ZERO : 0,
			    .node = -1,
			    .unused = 0};

	builtin_event_write(&kmem_events[KMALLOC], &r, sizeof(r));
}

static void note_kfree(uint64_t site, const void *p)
{
	struct kfree r = {.call_site = site, .ptr = p};

	builtin_event_write(&kmem_events[KFREE], &r, sizeof(r));
}

static struct kmem_alloc_listener on_alloc = {.call = note_kmalloc};
static struct kmem_free_listener on_free = {.call = note_kfree};

static int enable(struct builtin_event *e, int on)
{
	return e == &kmem_events[KMALLOC] ? source_switch(&kmem_allocs, &on_alloc.link, on)
					  : source_switch(&kmem_frees, &on_free.link, on);
}

static void start(const struct lifecycle_start *how)
{
	(void)how;
	if (interpose_possible())
		builtin_events_add(kmem_events, ARRAY_SIZE(kmem_events));
}

LIFECYCLE(LIFECYCLE_SYSTEM, start, NULL, NULL);
