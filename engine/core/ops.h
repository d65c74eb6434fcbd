/* SPDX-License-Identifier: MIT */
/*
 * Callbacks of the program's own at the entry of functions: what register_ftrace_function() of
 * vestige.h is made of. Beside the current tracer, which need not know of them.
 */
#ifndef VESTIGE_CORE_OPS_H
#define VESTIGE_CORE_OPS_H

#include <stddef.h>
#include <stdint.h>

/* As in vestige.h: (ip, parent_ip, ops, fregs). @ops: the program's structure. */
typedef void ops_func(unsigned long ip, unsigned long parent_ip, void *ops, void *fregs);

struct ops_frame;

/*
 * Of the engine's own: what the call is of, what was given to ops_register_own(), and the registers.
 * @frame: NULL: the call was made inside another callback: it is to be counted, and no more.
 */
typedef void ops_own_func(uint32_t id, void *arg, const struct ops_frame *frame);

struct ops;
struct function_set;

/*
 * ops_get() - the engine's half of the program's structure; one is made if there is none.
 * Return: it, or NULL: there are OPS_MAX already. All of this under the tree's lock.
 */
struct ops *ops_get(void *program);
#define OPS_MAX 64

/* The engine's half, or NULL. */
struct ops *ops_find(void *program);

/* The program's structure may go; its filter is forgotten. It is not registered. */
void ops_put(struct ops *o);

/*
 * ops_set_filter() - add words of set_ftrace_filter's grammar to its filter (or to what it never
 * wants). @reset: empty it first. Return: 0, -EINVAL, -ENOMEM.
 */
int ops_set_filter(struct ops *o, const char *text, size_t n, int reset, int notrace);

/* Return: 0; -EBUSY it is registered, or it is not; -errno of the hook. */
int ops_register(struct ops *o, ops_func *func);
int ops_unregister(struct ops *o);

/*
 * ops_register_own() - call a function of the engine's at the entry of each of @set's, or follow the
 * set after it has changed. @o: of ops_get(@arg). @set: stays as it is until it is said again; one that
 * files show as a filter has all functions while it is empty.
 * Return: 0; -errno of the hook: it is as it was.
 */
int ops_register_own(struct ops *o, ops_own_func *func, const struct function_set *set);

/*
 * ops_synchronize() - wait until every thread that is inside a callback now has left it. Without
 * the tree's lock. Return: 0, or -EDEADLK: the caller is inside one.
 */
int ops_synchronize(void);

/*
 * ops_enter() - for calls that come by other ways: until ops_leave() ops_synchronize() waits. Any context.
 * Return: OPS_ON_TOP: a signal handler's on top of another, for callbacks of the engine's own; OPS_MISSED: made by
 * what the engine has called, or on too many others; there is nothing to leave.
 */
struct ops_inside {
	uint64_t *count;
};
enum ops_entered { OPS_MISSED, OPS_FIRST, OPS_ON_TOP };
enum ops_entered ops_enter(struct ops_inside *in);
void ops_leave(const struct ops_inside *in);

/* What comes until the end is made by code that is not the engine's: nobody is called back for it. Any context. */
void ops_outside_begin(void);
void ops_outside_end(void);

/* A fork's child: nobody is inside. */
void ops_fork(void);

/* How many want the calls of this function. */
uint32_t ops_wanting(uint32_t id);
/* Whether there are any at all. */
int ops_any(void);

/*
 * Where a call goes behind the callbacks and the instances' records; said by the hook before it arms
 * the function. OPS_GO_ON: on in the function; else an even address to jump to as if the function
 * had been called there. With OPS_RECORD in it: a RECORD_FUNCTION of the top instance before.
 */
#define OPS_GO_ON  UINT64_C(0)
#define OPS_RECORD UINT64_C(1)
int ops_set_next(uint32_t id, uint64_t next);
uint64_t ops_next(uint32_t id);

/* What hook/<cpu>/ops_entry.S has saved: the low words are the program's struct ftrace_regs. */
struct ops_frame {
	uint64_t r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	uint64_t ip; /* behind the site; set to where the call goes on */
	uint64_t parent_ip;
};

/* Called by the entry point, with all state of the processor saved. Any context. */
uint64_t ops_call(struct ops_frame *frame, uint64_t word);

#endif
