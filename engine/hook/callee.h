/* SPDX-License-Identifier: MIT */
/*
 * The functions that compiler flags make a program call (__fentry__, mcount, ...), their callers,
 * and the calls that must be passed on.
 */
#ifndef VESTIGE_HOOK_CALLEE_H
#define VESTIGE_HOOK_CALLEE_H

#include "engine/process/object.h"

enum callee_id {
	CALLEE_FENTRY,	   /* __fentry__: -pg -mfentry, before the prologue */
	CALLEE_MCOUNT,	   /* mcount, _mcount: -pg, behind the prologue */
	CALLEE_CYG_ENTER,  /* __cyg_profile_func_enter: -finstrument-functions */
	CALLEE_MONSTARTUP, /* monstartup: starts gmon */
	CALLEE_NR
};

/* How the code of one object reaches these functions. */
struct callees {
	uint64_t lo, hi; /* the object's addresses */
	uint32_t nr_found;
	struct {
		uint64_t direct;   /* address of the function if it is linked in; 0: it is not */
		uint64_t slots[4]; /* the words of the GOT through which it is called */
		uint32_t nr_slots;
		uint64_t stub; /* last stub of the PLT that was seen */
	} of[CALLEE_NR];
};

/*
 * Whether the object may call one of these functions. Cheaper than callees_find(). Constructor or
 * agent context.
 */
int callees_maybe(const struct object *o);

/*
 * callees_find() - find which of these functions an object calls, by its dynamic relocations. The
 * object is mapped, relocated or not. Return: how many; 0: it calls none.
 */
uint32_t callees_find(struct callees *c, const struct object *o);

/*
 * callees_at() - read the call of one of these functions at @p, of which @n bytes may be read.
 * Return: the call's length, 5 or 6, and *@id; 0: another instruction is there.
 */
uint32_t callees_at(struct callees *c, const uint8_t *p, uint64_t n, enum callee_id *id);

/* Look at the loaded objects and at libc. Before the first scan; constructor context. */
void callees_start(void);

/*
 * callee_passes_on() - whether calls of CALLEE_FENTRY or CALLEE_MCOUNT must still be made: gmon
 * profiles the program, or the program has such a function of its own.
 */
int callee_passes_on(enum callee_id id);

/*
 * The functions to which calls are passed on; entry points jump there (hook/<cpu>/mcount_entry.S).
 */
extern void (*hook_real_fentry)(void);
extern void (*hook_real_mcount)(void);

#endif
