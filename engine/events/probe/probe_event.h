/* SPDX-License-Identifier: MIT */
/*
 * Dynamic probes: `p:[GRP/]EV PLACE [ARGS]` at a function's entry, `r` when it returns.
 * kprobe_events names a place by its symbol or address, uprobe_events by a file and an offset in
 * it; `f` of dynamic_events is of a function, at its return with `%return` or when it fetches
 * $retval; `e` is of another event (eprobe.h).
 *
 *	probe_event	an event, GRP:EV, and what it fetches
 *	probe		one place at which it is made: a line of kprobe_events
 */
#ifndef VESTIGE_EVENTS_PROBE_PROBE_EVENT_H
#define VESTIGE_EVENTS_PROBE_PROBE_EVENT_H

#include "engine/core/text_probe.h"
#include "engine/events/probe/dynevent.h"
#include "engine/events/event.h"
#include "engine/events/probe/fetch.h"

struct probe_event {
	char group[DYN_MAX_NAME], name[DYN_MAX_NAME];
	uint8_t is_return;
	uint8_t kind;	   /* DYN_PROBE_*; 0: none of these */
	uint8_t is_marker; /* a place that cannot be armed is one nevertheless: see probe_join() */
	uint32_t nr_args;
	uint32_t nr_probes;
	uint32_t nr_refused;  /* places without a probe, when it was switched on last */
	uint32_t nr_on;	      /* files in which it is on */
	uint32_t fixed_bytes; /* of its records, without strings */
	struct event *event;
	struct probe *probes;
	struct fetch_arg args[];
};

#define PROBE_NO_FUNCTION UINT32_MAX

/* Where a probe is: at the site of a function, or at any instruction. */
struct probe_target {
	uint32_t function; /* PROBE_NO_FUNCTION: at an instruction */
	uint64_t address;
	const char *why; /* it cannot be */
	uint8_t is_stub; /* the jump of a stub of the linker's, whose calls may be wrapped */
};

/* Whether calls of what is there can be followed to their return. */
static inline int probe_may_return(const struct probe_target *t)
{
	return t->function != PROBE_NO_FUNCTION || t->is_stub;
}

struct probe {
	struct dyn_event dyn; /* first */
	struct probe_event *event;
	const char *place; /* as it is listed */
	const char *path;  /* uprobes: the file; else NULL */
	uint64_t file_offset;
	uint64_t maxactive;	/* as it was written; 0: it was not */
	uint8_t may_come;	/* its object, when it is not loaded */
	uint8_t is_fixed;	/* `at` is final, and need not be looked up */
	struct probe_target at; /* when it was armed last */
	struct text_probe text; /* of one that is at no function's site */
	uint32_t return_id;	/* by which returns of its calls are reported */
	uint32_t armed;
	uint64_t nr_hits, nr_missed;
	uint32_t nr_begun;	 /* arguments of the call that are wanted when it returns */
	uint16_t *semaphore;	 /* of a marker: counts its listeners; NULL: it has none */
	struct event *attached;	 /* where it hangs, of an event's probe; else NULL */
	const char *filter;	 /* of that event's records; NULL: none */
	struct probe *next_at;	 /* armed, in the same chain */
	struct probe *sibling;	 /* of the same event */
	struct fetch_arg args[]; /* the event's arguments, as this definition writes them */
};

/* What an event of probes is made of. */
struct probe_event_spec {
	const char *group, *name;
	const struct event_class *class; /* its enable() is probe_event_enable(), or eprobe.c's */
	uint32_t kind;			 /* DYN_PROBE_*; 0: none of these */
	int is_return;
	const struct event *attached; /* of an event's probe; else NULL */
	const struct fetch_arg *args; /* nr_args of them */
	uint32_t nr_args;
	uint32_t bytes; /* of a record without its strings */
};

/* An event of probes, with none yet. Return: NULL and *@err: -EEXIST, -E2BIG, -ENOMEM. */
struct probe_event *probe_event_new(const struct probe_event_spec *spec, int *err);
int probe_event_enable(struct event *e, struct event_file *file, int on);

/* Bytes of its records before the arguments. */
uint32_t probe_head_bytes(uint32_t kind, int is_return);

/*
 * probe_join() - one more place of the event; it is armed when that is on. Return: 0; -errno of
 * probe_arm(): it is none of its places (a marker's is, nevertheless).
 */
int probe_join(struct probe_event *pe, struct probe *p);

/* It goes, and the event with the last of its places. */
void probe_free(struct probe *p);

/* As struct dyn_class has them. */
void probe_show(const struct dyn_event *e, struct seq_buf *s);
int probe_is_busy(const struct dyn_event *e);
int probe_matches(const struct dyn_event *e, const char *group, size_t group_bytes,
		  const char *name, size_t name_bytes, const struct dyn_command *c);
void probe_dyn_free(struct dyn_event *e);

/* The probe_event of an event that probes make; NULL: it is another event. */
const struct probe_event *probe_event_of(const struct event *e);

/*
 * probe_hit() - it is reached: a record in each file in which the event is on, or in @only.
 * Any context.
 */
void probe_hit(struct probe *p, struct fetch_regs *regs, uint64_t return_ip,
	       struct event_file *only);

extern const struct dyn_class kprobe_class, uprobe_class, fprobe_class;

/* kprobe_profile, uprobe_profile. @kind: DYN_PROBE_*. */
void probe_events_profile(uint32_t kind, struct seq_buf *s);

/*
 * probe_place_symbol() - where a probe is to be. @text: @n bytes: `[MOD:]SYMBOL`. @offset: from
 * there. probe_place_address(): a number. Return: 0 and *@t; -ENXIO: OBJECT is not loaded; -ENOENT:
 * there is no such symbol; -EADDRNOTAVAIL: there are several; -EILSEQ: beyond it, or amid an
 * instruction; -EINVAL: no probe can be there, t->why says why.
 */
int probe_place_symbol(const char *text, size_t n, uint64_t offset, struct probe_target *t);
int probe_place_address(uint64_t address, struct probe_target *t);

/* A place as it is listed, once more. Return: the same. */
int probe_place_again(const char *place, struct probe_target *t);

/* The address of any symbol of the program. Return: 0 or -ENOENT. */
int probe_symbol_address(const char *name, size_t n, uint64_t *address);

/*
 * probe_function_named() - the function of that name, or with that address in it: from *@lo up to
 * before *@hi. Of several the first. Return: 0 or -ENOENT.
 */
int probe_function_named(const char *name, size_t n, uint64_t *lo, uint64_t *hi);
int probe_function_around(uint64_t address, uint64_t *lo, uint64_t *hi);

/* Where offset @offset of the file is loaded. Return: 0; -ENOENT: it is not. */
int probe_file_address(const char *path, uint64_t offset, uint64_t *address);

/*
 * A probe goes, or came to an event that is on. vestige_status says why one is refused.
 * Return: 0 or -errno. Control context.
 */
int probe_arm(struct probe *p, int on);

#endif
