/* SPDX-License-Identifier: MIT */
/*
 * Calls of the engine at any instruction of the program, with the registers at that point. Dynamic
 * probes inside functions, and markers, use them. A user has a struct text_probe in a struct of its
 * own. All functions except hits: under the tree lock.
 */
#ifndef VESTIGE_CORE_TEXT_PROBE_H
#define VESTIGE_CORE_TEXT_PROBE_H

#include <stddef.h>
#include <stdint.h>

#include "arch_frame.h"
#include "engine/process/object.h"

/* The registers that hook/<cpu>/text_entry.S has saved. */
struct text_frame {
	uint64_t flags;
	struct arch_regs regs;
	uint64_t back; /* return address, in the island */
};

/*
 * Bytes between the frame and the program's stack pointer, below which the program may use memory.
 */
#define TEXT_RED_ZONE 128u

static inline uint64_t text_frame_sp(const struct text_frame *f)
{
	return (uint64_t)(f + 1) + TEXT_RED_ZONE;
}

struct text_place;

struct text_probe {
	uint64_t address;
	/*
	 * Any context. @frame: NULL: the probe point was passed inside another callback, and must
	 * only be counted.
	 */
	void (*hit)(struct text_probe *p, const struct text_frame *frame);
	/*
	 * it needs the returns of calls through the linker's stub at which it is: see
	 * text_probe_on()
	 */
	uint8_t wraps;
	struct text_place *place; /* NULL: it is off, or its object is unloaded */
	struct text_probe *next;  /* next probe at the same probe point */
};

/* One jump that can be made at a probe point, with its island. */
struct text_way;

/*
 * A probe point: an instruction that leads to the engine while it has probes. It stays for ever,
 * with its islands.
 */
struct text_place {
	struct text_place *next;
	struct text_probe *probes;
	uint64_t address;
	struct text_way *ways, *way; /* the jumps that were made; the current one while `armed` */
	struct text_place *above;    /* for use by the hook */
	/*
	 * copy: the same instruction on a redirect's island, where it runs while the redirect is
	 * there. of: for such a copy, the probe point in the program. Both have the probes of the
	 * latter.
	 */
	struct text_place *copy, *of;
	uint32_t wrap_id; /* id of its calls, once a probe has wanted their returns; 0: none has */
	uint8_t on;	  /* whether the instruction leads to its probes, here or at its copy */
	uint8_t armed;	  /* whether there is a jump in the text here */
	uint8_t gone;
	uint8_t bytes;	   /* length of the instruction */
	uint8_t saved[16]; /* the instruction */
};

/*
 * text_probe_check() - whether a probe can be at @address. @o: the object. @start: where the
 * function begins, from which instructions are decoded. Return: 0; -EILSEQ: @address is inside an
 * instruction; -EINVAL: no probe can be there, and *@why says why.
 */
int text_probe_check(const struct object *o, uint64_t start, uint64_t address, const char **why);

/*
 * text_may_wrap() - whether calls of a function of another object may be wrapped at the linker's
 * stub: not for functions that return twice or look up their caller. @name: the relocation's.
 */
struct dynamic_name;
int text_may_wrap(const struct dynamic_name *name);

/* Read @n bytes of the text up to @hi, then zeros, without what the engine has written. */
void text_read(uint64_t address, uint64_t hi, uint8_t *out, size_t n);

/*
 * text_probe_on() - call @p->hit from now on. With @p->wraps, calls through the stub return by
 * ops_call_returned(), with the place's wrap_id; call ops_wrap_stubs() before. Return: 0; -errno
 * and *@why: then a thread may be in @p until the next grace period of SRCU_OPS.
 */
int text_probe_on(struct text_probe *p, const char **why);

/*
 * text_probe_off() - do not call the probe any more; when it returns 0 no thread is in it. Return:
 * 0; -EDEADLK: the caller may be in it; -EBUSY: the instruction is not as the engine left it, and
 * is not changed.
 */
int text_probe_off(struct text_probe *p);

/* Whether other code of the engine changes bytes of text in @lo .. @hi. */
typedef int text_claim(uint64_t lo, uint64_t hi);
void text_probe_claim(text_claim *claim);
int text_is_claimed(uint64_t lo, uint64_t hi);

/* The functions of the hook for probe points. */
struct text_probe_hook {
	int (*check)(const struct object *o, uint64_t start, uint64_t address, const char **why);
	int (*get)(uint64_t address, struct text_place **place, const char **why);
	int (*arm)(struct text_place *place, const char **why);
	int (*disarm)(struct text_place *place);
	void (*read)(uint64_t address, uint64_t hi, uint8_t *out, size_t n);
};
void text_probe_register(const struct text_probe_hook *hook);

/* The functions of the graph for calls through stubs: graph/graph_wrap.h. */
struct text_wrap_hook {
	int (*may_wrap)(const struct dynamic_name *name);
	uint32_t (*take)(void); /* take an id; 0: there is none left */
	void (*give)(uint32_t id);
	void (*wrap)(const struct text_frame *frame, uint32_t id);
};
void text_wrap_register(const struct text_wrap_hook *hook);

/* Called by the entry point. Any context. */
void text_probe_hit(const struct text_frame *frame, struct text_place *place);

/* The probe point's object is unloaded: switch its probes off. */
void text_place_gone(struct text_place *place);

/*
 * text_function_start() - find the start of the function that has @address, by the unwind rules;
 * *@end: the start of the next one. Return: 0; -ENOENT: no row has it.
 */
int text_function_start(const struct object *o, uint64_t address, uint64_t *start, uint64_t *end);

#endif
