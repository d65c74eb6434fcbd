/* SPDX-License-Identifier: MIT */
/*
 * Dynamic probes: `p:[GRP/]EV PLACE [ARGS]` at a function's entry, `r` at its return. In
 * kprobe_events a place is a symbol or address, in uprobe_events a file and an offset in it. `f` of
 * dynamic_events is at a function's entry, or at its return with `%return` or if it fetches
 * $retval; `e` is at another event (eprobe.h).
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
	uint8_t kind; /* DYN_PROBE_*; 0: another kind */
	/* of a marker: a place stays even if it cannot be armed, see probe_join() */
	uint8_t is_marker;
	uint32_t nr_args;
	uint32_t nr_probes;
	uint32_t nr_refused;  /* places without a probe, when the event was last switched on */
	uint32_t nr_on;	      /* event files in which it is on */
	uint32_t fixed_bytes; /* size of its records without strings */
	struct event *event;
	struct probe *probes;
	struct fetch_arg args[];
};

#define PROBE_NO_FUNCTION UINT32_MAX

/* Where a probe is: at a function's site, or at any instruction. */
struct probe_target {
	uint32_t function; /* PROBE_NO_FUNCTION: at an instruction */
	uint64_t address;
	const char *why; /* why no probe can be there */
	uint8_t is_stub; /* the jump of a linker's stub, whose calls may be wrapped */
	/*
	 * Set by the caller: the returns of calls are wanted. A function that was built without any
	 * flag is then at its site, even if arming has to make that.
	 */
	uint8_t is_return;
	/*
	 * At the first byte of a function that may be redirected: bytes of its endbr64. The jump of
	 * a probe goes behind that, where a redirect can move it.
	 */
	uint8_t skip;
};

struct probe {
	struct dyn_event dyn; /* first member */
	struct probe_event *event;
	const char *place; /* as it is listed */
	const char *path;  /* uprobes: the file; else NULL */
	uint64_t file_offset;
	uint64_t maxactive;	/* as it was written; 0: not given */
	uint8_t may_come;	/* it may be defined before its object is loaded */
	uint8_t is_fixed;	/* `at` is final, and need not be looked up again */
	struct probe_target at; /* target when it was last armed */
	struct text_probe text; /* for a probe that is not at a function's site */
	uint32_t return_id;	/* id with which returns of its calls are reported */
	uint32_t armed;
	uint64_t nr_hits, nr_missed;
	uint32_t nr_begun;	 /* arguments of the call that it needs at the return */
	uint16_t *semaphore;	 /* of a marker: counts its listeners; NULL: it has none */
	struct event *attached;	 /* event probe: the event to which it is attached; else NULL */
	const char *filter;	 /* filter for that event's records; NULL: none */
	struct probe *next_at;	 /* next armed probe in the same chain */
	struct probe *sibling;	 /* next probe of the same event */
	struct fetch_arg args[]; /* the event's arguments, as this definition has them */
};

/* What an event of probes consists of. */
struct probe_event_spec {
	const char *group, *name;
	const struct event_class *class; /* its enable() is probe_event_enable(), or eprobe.c's */
	uint32_t kind;			 /* DYN_PROBE_*; 0: another kind */
	int is_return;
	const struct event *attached; /* event probe: the other event; else NULL */
	const struct fetch_arg *args; /* nr_args arguments */
	uint32_t nr_args;
	uint32_t bytes; /* size of a record without its strings */
};

/* Make an event without probes. Return: NULL and *@err: -EEXIST, -E2BIG, -ENOMEM. */
struct probe_event *probe_event_new(const struct probe_event_spec *spec, int *err);
int probe_event_enable(struct event *e, struct event_file *file, int on);

/* The size of its records before the arguments. */
uint32_t probe_head_bytes(uint32_t kind, int is_return);

/*
 * probe_join() - add a place to the event; it is armed if the event is on. Return: 0; -errno of
 * probe_arm(): it was not added (a marker's is added nevertheless).
 */
int probe_join(struct probe_event *pe, struct probe *p);

/* Remove and free a probe; with its last probe the event is removed, too. */
void probe_free(struct probe *p);

/* Functions of struct dyn_class. */
void probe_show(const struct dyn_event *e, struct seq_buf *s);
int probe_is_busy(const struct dyn_event *e);
int probe_matches(const struct dyn_event *e, const char *group, size_t group_bytes,
		  const char *name, size_t name_bytes, const struct dyn_command *c);
void probe_dyn_free(struct dyn_event *e);

/* The probe_event behind an event; NULL: it is not an event of probes. */
const struct probe_event *probe_event_of(const struct event *e);

/*
 * probe_hit() - a probe is reached: make a record in each file in which the event is on, or in
 * @only alone. Any context.
 */
void probe_hit(struct probe *p, struct fetch_regs *regs, uint64_t return_ip,
	       struct event_file *only);

extern const struct dyn_class kprobe_class, uprobe_class, fprobe_class;

/* Put kprobe_profile or uprobe_profile. @kind: DYN_PROBE_*. */
void probe_events_profile(uint32_t kind, struct seq_buf *s);

/*
 * probe_place_symbol() - find where a probe is to be. @text: @n bytes: `[MOD:]SYMBOL`. @offset:
 * from there, in bytes. probe_place_address() - the same for an address. Return: 0 and *@t; -ENXIO:
 * MOD is not loaded; -ENOENT: there is no such symbol; -EADDRNOTAVAIL: there are several; -EILSEQ:
 * the offset is beyond the function, or within an instruction; -EINVAL: no probe can be there, and
 * t->why, a constant string, says why.
 */
int probe_place_symbol(const char *text, size_t n, uint64_t offset, struct probe_target *t);
int probe_place_address(uint64_t address, struct probe_target *t);

/*
 * Why calls of the function at @address cannot be followed to their return, as far as it is known.
 * A constant string.
 */
const char *probe_place_no_return(uint64_t address);

/* Look up a place again, as it is listed. Return: as probe_place_symbol(). */
int probe_place_again(const char *place, struct probe_target *t);

/* The address of any symbol of the program. Return: 0 or -ENOENT. */
int probe_symbol_address(const char *name, size_t n, uint64_t *address);

/*
 * probe_function_named() - find the function of that name, or the function that has that address:
 * from *@lo up to before *@hi. Of several the first. Return: 0 or -ENOENT.
 */
int probe_function_named(const char *name, size_t n, uint64_t *lo, uint64_t *hi);
int probe_function_around(uint64_t address, uint64_t *lo, uint64_t *hi);

/*
 * The address at which offset @offset of the file is loaded. Return: 0; -ENOENT: it is not loaded.
 */
int probe_file_address(const char *path, uint64_t offset, uint64_t *address);

/*
 * Arm (@on) or disarm a probe. If it is refused, vestige_status says why. Return: 0 or -errno.
 * Control context.
 */
int probe_arm(struct probe *p, int on);

#endif
