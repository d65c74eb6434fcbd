/* SPDX-License-Identifier: MIT */
/*
 * Calls of the engine at any instruction of the program, with the registers as they are there.
 * Dynamic probes inside functions, and markers, are made of these. The user of one has a struct
 * text_probe in a structure of its own. All but hits under the tree's lock.
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
	uint64_t back; /* into the island */
};

/*
 * Bytes between the frame and the stack as the program has it: below its stack pointer is its own.
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
	 * Any context. @frame: NULL: the place was passed inside another callback: it is to be
	 * counted, and no more.
	 */
	void (*hit)(struct text_probe *p, const struct text_frame *frame);
	/* It wants the returns of calls through the linker's stub that it is at: see text_probe_on(). */
	uint8_t wraps;
	struct text_place *place; /* NULL: it is off, or its object is gone */
	struct text_probe *next;  /* at the same place */
};

/* One jump that can be made there, with its island. */
struct text_way;

/* An instruction that leads to us while it has probes. It stays for good, with its islands. */
struct text_place {
	struct text_place *next;
	struct text_probe *probes;
	uint64_t address;
	struct text_way *ways, *way; /* those that were made; the one that is there while `armed` */
	struct text_place *above;    /* scratch of the hook */
	/*
	 * The same instruction on a redirect's island, where it runs while the redirect is there; and
	 * of such a one, the place in the program. Both have the probes of the latter.
	 */
	struct text_place *copy, *of;
	uint32_t wrap_id; /* of its calls, once a probe wanted their returns; 0: none did */
	uint8_t on;	  /* whether the instruction leads to its probes, here or at its copy */
	uint8_t armed;	  /* whether a jump is in the text here */
	uint8_t gone;
	uint8_t bytes;	   /* of the instruction */
	uint8_t saved[16]; /* the instruction */
};

/*
 * text_probe_check() - whether a probe can be there.
 * @o: the object. @start: where the function begins, from which instructions are counted.
 * Return: 0; -EILSEQ: it is inside an instruction; -EINVAL: it cannot be, *@why says why.
 */
int text_probe_check(const struct object *o, uint64_t start, uint64_t address, const char **why);

/*
 * text_may_wrap() - whether calls of a function of another object may be wrapped at the linker's
 * stub. Functions that return twice or look up their caller may not. @name: the relocation's.
 */
struct dynamic_name;
int text_may_wrap(const struct dynamic_name *name);

/* @n bytes of the text up to @hi, then zeros: as they are without what the engine has written. */
void text_read(uint64_t address, uint64_t hi, uint8_t *out, size_t n);

/*
 * text_probe_on() - @p->hit is called from now on. With @p->wraps the calls through the stub return
 * by ops_call_returned(), with the place's wrap_id; ops_wrap_stubs() comes before. Return: 0;
 * -errno, and *@why.
 */
int text_probe_on(struct text_probe *p, const char **why);

/*
 * The probe is not called any more, and no thread is in it. Return: 0; -EDEADLK: the caller may be
 * in it; -EBUSY: the place is not as we left it, and stays.
 */
int text_probe_off(struct text_probe *p);

/* Whether other code of the engine changes bytes of text in @lo .. @hi. */
typedef int text_claim(uint64_t lo, uint64_t hi);
void text_probe_claim(text_claim *claim);
int text_is_claimed(uint64_t lo, uint64_t hi);

/* The hook's functions. */
struct text_probe_hook {
	int (*check)(const struct object *o, uint64_t start, uint64_t address, const char **why);
	int (*get)(uint64_t address, struct text_place **place, const char **why);
	int (*arm)(struct text_place *place, const char **why);
	int (*disarm)(struct text_place *place);
	void (*read)(uint64_t address, uint64_t hi, uint8_t *out, size_t n);
};
void text_probe_register(const struct text_probe_hook *hook);

/* The graph's functions for calls through stubs: graph/graph_wrap.h. */
struct text_wrap_hook {
	int (*may_wrap)(const struct dynamic_name *name);
	uint32_t (*take)(void); /* an id; 0: there is none left */
	void (*give)(uint32_t id);
	void (*wrap)(const struct text_frame *frame, uint32_t id);
};
void text_wrap_register(const struct text_wrap_hook *hook);

/* Called by the entry point. Any context. */
void text_probe_hit(const struct text_frame *frame, struct text_place *place);

/* The place's object is gone: its probes are off. */
void text_place_gone(struct text_place *place);

/*
 * text_function_start() - the start of the function that has @address, by the unwind rules; *@end:
 * the start of the next one. Return: 0, or -ENOENT: no row is known.
 */
int text_function_start(const struct object *o, uint64_t address, uint64_t *start, uint64_t *end);

#endif
