/* SPDX-License-Identifier: MIT */
/*
 * Users of calls, and the functions whose calls they want. Each user has one struct call_ops (the
 * kernel's ftrace_ops; vestige.h has that name for the program's half): a tracer, a callback of the
 * program, a func command, a probe, the profile. From all that are on core computes one byte a
 * function (enum ops_how), by which a hook patches its site, and two lists that are read during a
 * call. A call that only the top instance's tracer wants is written by hook/<cpu>/ and reads
 * neither.
 */
#ifndef VESTIGE_CORE_OPS_H
#define VESTIGE_CORE_OPS_H

#include <stddef.h>
#include <stdint.h>

#include "arch_barrier.h"
#include "arch_frame.h"
#include "engine/base/bitmap.h"
#include "engine/ring/ring.h"

struct function_set;
struct call_ops;
struct ops_frame;
struct trace_array;

/* Bits that say how a function's calls are handled. 0: its site is off. */
enum ops_how {
	OPS_RECORD = 1, /* RECORD_FUNCTION of the top instance */
	OPS_GRAPH = 2,	/* it is wrapped: its return is seen, too */
	OPS_C = 4,	/* it is led through ops_record_call() */
	OPS_SAVE_ALL =
		8, /* through ops_call(), with all state of the processor saved. With OPS_C */
};

enum ops_kind {
	OPS_TRACER,   /* the top instance's tracer */
	OPS_INSTANCE, /* another instance's tracer */
	OPS_CALLBACK, /* register_ftrace_function() of the program */
	OPS_ENTRY,    /* the engine's own at entries: func commands, probes, the stack tracer */
	OPS_RETURN,   /* return probes */
	OPS_PROFILE,  /* function_profile_enabled */
};

/* As in vestige.h: (ip, parent_ip, ops, fregs). @ops: the program's structure. */
typedef void ops_func(unsigned long ip, unsigned long parent_ip, void *ops, void *fregs);

/*
 * Of OPS_ENTRY. @frame: the registers; NULL: the call was made inside another callback: it is to be
 * counted, and no more. Any context.
 */
typedef void ops_entry_func(uint32_t id, void *arg, const struct ops_frame *frame);

/*
 * Of OPS_RETURN. A call is identified by its retp, and OPS_TAIL if the function took another one's
 * place there by a tail call. Any context, between ring_enter() and ring_leave().
 */
#define OPS_TAIL UINT64_C(1)
struct ops_return_funcs {
	/* It begins. NULL: not wanted. @stack: see ops_call_may_be_open(). @args: its registers. */
	void (*begun)(uint32_t id, uint64_t call, uint64_t stack, const struct arch_args *args);
	/* @retval: its result. @ip: where it returns to. */
	void (*returned)(uint32_t id, uint64_t call, uint64_t retval, uint64_t ip);
	/* The call began and is not followed: no other function will be called for it. */
	void (*missed)(uint32_t id);
	/* It was unwound, by a throw or longjmp(). With `begun`. */
	void (*unwound)(uint64_t call);
};

/* One user of calls. Its owner sets the first part, ftrace_register() the second. */
struct call_ops {
	uint8_t kind;	    /* enum ops_kind */
	uint8_t how;	    /* enum ops_how, of the functions that it wants */
	uint8_t named_only; /* an empty filter means no function; else it means all */
	const struct function_set *filter, *notrace; /* notrace: NULL: there is none */
	union {
		struct ring *ring;			/* OPS_TRACER, OPS_INSTANCE */
		ops_func *func;				/* OPS_CALLBACK */
		ops_entry_func *entry;			/* OPS_ENTRY */
		const struct ops_return_funcs *returns; /* OPS_RETURN: for ever; one user at most */
	};
	void *arg; /* OPS_CALLBACK: the program's structure; OPS_ENTRY: the function's */

	uint8_t is_on;
	uint8_t is_leaving; /* it is off, but a thread may still be in it */
	uint8_t wants_all;
	struct call_ops *next;
};

/*
 * ftrace_register() - the calls that @ops wants reach it; or, when it is on already, its sets have
 * changed. Return: 0; -EDEADLK: the caller is in a callback; -ENOMEM, -errno of the hook: it is as
 * it was. Under the tree lock, as all control functions here.
 */
int ftrace_register(struct call_ops *ops);

/*
 * ftrace_unregister() - it is off, and no thread is in it when this returns 0. Return: 0; -EBUSY:
 * it is off; -ETIMEDOUT: it is off, but a thread is still in it: what its function reads has to
 * stay, and the call may be made again; -EDEADLK, -ENOMEM: it stays on.
 */
int ftrace_unregister(struct call_ops *ops);

/* ftrace_follow() - its set has changed: it is on while that has functions. Return: as both. */
int ftrace_follow(struct call_ops *ops);

/*
 * ftrace_start() - an instance's tracer wants the calls that its filters leave. @kind:
 * RECORD_FUNCTION, or RECORD_ENTRY of a graph. Return: 0; -EBUSY: it does already; -errno of the
 * hook: nothing is patched. ftrace_stop() - it no longer wants them.
 */
int ftrace_start(struct trace_array *tr, enum record_kind kind);
void ftrace_stop(struct trace_array *tr);

/* Filters have changed: bring lists and text up to date. Return: 0 or -errno. */
int ftrace_update(void);

/* One of the graph's filters, or its args or retval, has changed. Return: 0 or -errno. */
int ftrace_graph_update(void);

/* Whether there is any user; whether the top instance's tracer is a graph. */
int ftrace_any(void);
int ftrace_top_graph(void);

/* The function's byte. @nr: how many want its calls. */
uint8_t ops_how(uint32_t id, uint32_t *nr);

/*
 * In a fork's child; @instances: it has its parent's. The profile ends, and the other users stay.
 */
void ops_fork(int instances);

/*
 * Where a call goes after ops_call() or ops_record_call(). The hook says this before it arms the
 * function. OPS_GO_ON: on in the function; else an even address to jump to as if the function had
 * been called there. With OPS_RECORD in it: a RECORD_FUNCTION of the top instance before.
 */
#define OPS_GO_ON UINT64_C(0)
int ops_set_next(uint32_t id, uint64_t next);
uint64_t ops_next(uint32_t id);

/*
 * The lists, read during calls and replaced as a whole, with the bits of the functions that each
 * user wants.
 */
struct ops_user {
	struct ring *ring;    /* NULL: it has none */
	const uint64_t *bits; /* one a function */
	uint32_t nr_bits;
};

/* Read between ring_enter() and ring_leave(). */
struct ops_list {
	uint32_t nr_function, nr_graph;
	struct ops_user function[RING_MAX]; /* instances whose tracer is function */
	struct ops_user graph[RING_MAX];    /* a graph; the top one's too, if there are others */
	struct ops_user returns, profile;
	uint64_t bytes; /* of its mapping, with the bits */
};

/* Read in a section of SRCU_OPS, since it is the program's code that is called. */
struct ops_callbacks {
	uint64_t bytes;
	uint32_t nr;
	struct ops_callback {
		ops_func *func; /* or NULL, and: */
		ops_entry_func *entry;
		void *arg;
		struct ops_user user;
	} at[];
};

extern struct ops_list *ops_current; /* never NULL */
extern struct ops_callbacks *ops_callbacks;

static inline const struct ops_list *ops_list(void)
{
	return load_acquire(&ops_current);
}

static inline int ops_user_wants(const struct ops_user *u, uint32_t id)
{
	return id < u->nr_bits && bitmap_has(u->bits, id);
}

/*
 * ops_wrap_stubs() - @more probes (or fewer) want the returns of calls through stubs of the
 * linker's: calls are wrapped while there are some. Return: 0; -errno: they cannot be.
 */
int ops_wrap_stubs(int more);
extern uint32_t ops_nr_wrapping;

/* Whether any user other than the top instance's tracer wants a graph. */
static inline int ops_any_graph(void)
{
	return ops_nr_wrapping || ops_current->nr_graph || ops_current->returns.nr_bits ||
	       ops_current->profile.nr_bits;
}

/*
 * The return probes' functions, for the code that wraps calls. ops_call_begun() and _missed():
 * inside ring_enter().
 */
void ops_set_returns(const struct ops_return_funcs *funcs);
void ops_call_begun(uint32_t id, uint64_t call, uint64_t stack, const struct arch_args *args);
void ops_call_returned(uint32_t id, uint64_t call, uint64_t retval, uint64_t ip);
void ops_call_unwound(uint64_t call);
void ops_call_missed(uint32_t id);

/*
 * ops_call_may_be_open() - whether a call has not ended yet, as far as that is known without asking
 * its thread. @call: as in struct ops_return_funcs. @stack: on which it began: a number that no
 * other stack has; 0: not known. @now: a call that the calling thread makes. Return: 0: its stack
 * is gone, or its frame is; 1: it may be open. Any context; one system call (process_vm_readv())
 * where the thread may make some. ops_set_open(): the function that answers; constructor context.
 */
typedef int ops_open_func(uint64_t slot, uint64_t stack, uint64_t now);
void ops_set_open(ops_open_func *func);
int ops_call_may_be_open(uint64_t call, uint64_t stack, uint64_t now);

/*
 * ops_enter() - begin a section of SRCU_OPS, until ops_leave(), for calls that come by other ways
 * than ops_call(). Any context.
 * Return: OPS_ON_TOP: the call is a signal handler's on top of another, for the engine's own
 * functions; OPS_MISSED: code that the engine has called makes it, or it is on top of too many: it
 * is only to be counted.
 */
enum ops_entered { OPS_MISSED, OPS_FIRST, OPS_ON_TOP };
enum ops_entered ops_enter(struct srcu_thread **inside);
static inline void ops_leave(struct srcu_thread *inside)
{
	srcu_read_unlock(SRCU_OPS, inside);
}

/* Whether the calling thread is in a callback, where control files are refused. Any context. */
int ops_is_inside(void);

/*
 * Calls from here to the end come from code that is not the engine's: they are not called back.
 * Return: for ops_outside_end(). Any context.
 */
static inline struct srcu_thread *ops_outside_begin(void)
{
	return srcu_read_lock(SRCU_OUTSIDE);
}
static inline void ops_outside_end(struct srcu_thread *outside)
{
	srcu_read_unlock(SRCU_OUTSIDE, outside);
}

/*
 * The registers that hook/<cpu>/ops_entry.S has saved: the low words are the program's struct
 * ftrace_regs.
 */
struct ops_frame {
	struct arch_regs regs;
	uint64_t ip; /* behind the site; set to where the call goes on */
	uint64_t parent_ip;
};

/*
 * Called by the entry points. @word: the record's head word. Return: where the call goes on. Any
 * context.
 * ops_call() - with all state of the processor saved; ops_record_call() - with the general
 * registers;
 * @site_end: where it goes on. @args: NULL: not known.
 */
uint64_t ops_call(struct ops_frame *frame, uint64_t word);
uint64_t ops_record_call(uint64_t word, uint64_t parent_ip, uint64_t site_end,
			 const struct arch_args *args);

#endif
