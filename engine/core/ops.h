/* SPDX-License-Identifier: MIT */
/*
 * Users of calls, and the functions whose calls they want. Each user has one struct call_ops (the
 * kernel's ftrace_ops; vestige.h uses that name for the program's struct): a tracer, a callback of
 * the program, a func command, a probe, the profile. From the users that are on, core computes one
 * byte for each function (enum ops_how), by which a hook patches its site, and two lists that are
 * read during a call. If only the top instance's tracer wants a call, hook/<cpu>/ writes its record
 * and reads neither list.
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

/* How a function's calls are handled. 0: its site is off. */
enum ops_how {
	OPS_RECORD = 1,	  /* make a RECORD_FUNCTION in the top instance */
	OPS_GRAPH = 2,	  /* wrap it, so that its return is seen, too */
	OPS_C = 4,	  /* call ops_record_call() */
	OPS_SAVE_ALL = 8, /* call ops_call(), with all state of the processor saved. With OPS_C */
};

enum ops_kind {
	OPS_TRACER,   /* the top instance's tracer */
	OPS_INSTANCE, /* another instance's tracer */
	OPS_CALLBACK, /* register_ftrace_function() of the program */
	/* functions of the engine, called at entries: func commands, probes, the stack tracer */
	OPS_ENTRY,
	OPS_RETURN,  /* return probes */
	OPS_PROFILE, /* function_profile_enabled */
};

/* As in vestige.h: (ip, parent_ip, ops, fregs). @ops: the program's structure. */
typedef void ops_func(unsigned long ip, unsigned long parent_ip, void *ops, void *fregs);

/*
 * Function of an OPS_ENTRY user. @frame: the registers; NULL: the call was made inside another
 * callback, and must only be counted. Any context.
 */
typedef void ops_entry_func(uint32_t id, void *arg, const struct ops_frame *frame);

/*
 * Functions of an OPS_RETURN user. A call is identified by its retp, and OPS_TAIL if a tail call
 * made it in place of another one. Any context, between ring_enter() and ring_leave().
 */
#define OPS_TAIL UINT64_C(1)
struct ops_return_funcs {
	/*
	 * The call begins. NULL: not needed. @stack: see ops_call_may_be_open(). @args: its
	 * registers.
	 */
	void (*begun)(uint32_t id, uint64_t call, uint64_t stack, const struct arch_args *args);
	/* The call returns. @retval: its result. @ip: the return address. */
	void (*returned)(uint32_t id, uint64_t call, uint64_t retval, uint64_t ip);
	/* The call begins but is not followed: no other function is called for it. */
	void (*missed)(uint32_t id);
	/* The call was unwound, by a throw or longjmp(). Needed with `begun`. */
	void (*unwound)(uint64_t call);
};

/* One user of calls. Its owner sets the first part, ftrace_register() the rest. */
struct call_ops {
	uint8_t kind;	    /* enum ops_kind */
	uint8_t how;	    /* enum ops_how, for the functions that it wants */
	uint8_t named_only; /* an empty filter means no function; 0: all functions */
	const struct function_set *filter, *notrace; /* notrace NULL: none */
	union {
		struct ring *ring;     /* OPS_TRACER, OPS_INSTANCE */
		ops_func *func;	       /* OPS_CALLBACK */
		ops_entry_func *entry; /* OPS_ENTRY */
		/* OPS_RETURN: must stay for ever; one user at most */
		const struct ops_return_funcs *returns;
	};
	void *arg; /* OPS_CALLBACK: the program's struct; OPS_ENTRY: argument of the function */

	uint8_t is_on;
	uint8_t is_leaving; /* it is off, but a thread may still be in it */
	uint8_t wants_all;
	struct call_ops *next;
};

/*
 * ftrace_register() - send the calls that @ops wants to it; if it is on already, its sets have
 * changed. Return: 0; -EDEADLK: the caller is in a callback; -ENOMEM, -errno of the hook: nothing
 * has changed. Under the tree lock, as all control functions here.
 */
int ftrace_register(struct call_ops *ops);

/*
 * ftrace_unregister() - switch @ops off. Return: 0: no thread is in it any more; -EBUSY: it was
 * off; -ETIMEDOUT: it is off, but a thread is still in it: what its function reads must stay, and
 * ftrace_unregister() may be called again; -EDEADLK, -ENOMEM: it stays on.
 */
int ftrace_unregister(struct call_ops *ops);

/*
 * ftrace_follow() - its set has changed: switch it on if the set has functions, else off. Return:
 * as the functions above.
 */
int ftrace_follow(struct call_ops *ops);

/*
 * ftrace_start() - an instance's tracer wants the calls that its filters allow. @kind:
 * RECORD_FUNCTION, or RECORD_ENTRY for a graph. Return: 0; -EBUSY: it has started already; -errno
 * of the hook: nothing is patched. ftrace_stop() - it does not want them any more.
 */
int ftrace_start(struct trace_array *tr, enum record_kind kind);
void ftrace_stop(struct trace_array *tr);

/* Filters have changed: update lists and text. Return: 0 or -errno. */
int ftrace_update(void);

/* A filter of the graph, or its args or retval, has changed. Return: 0 or -errno. */
int ftrace_graph_update(void);

/*
 * ftrace_any() - whether there is any user. The second: whether the top instance's tracer is a
 * graph.
 */
int ftrace_any(void);
int ftrace_top_graph(void);

/* The function's enum ops_how. *@nr: number of users that want its calls. */
uint8_t ops_how(uint32_t id, uint32_t *nr);

/*
 * In a fork's child. @instances: it has its parent's instances. The profile ends; the other users
 * stay.
 */
void ops_fork(int instances);

/*
 * The address at which a call continues after ops_call() or ops_record_call(). The hook sets it
 * before it arms the function. OPS_GO_ON: in the function; else an even address to jump to, as if
 * the function had been called there. With OPS_RECORD in it: first make a RECORD_FUNCTION in the
 * top instance.
 */
#define OPS_GO_ON UINT64_C(0)
int ops_set_next(uint32_t id, uint64_t next);
uint64_t ops_next(uint32_t id);

/*
 * The lists, which are read during calls and replaced as a whole. They have the bits of the
 * functions that each user wants.
 */
struct ops_user {
	struct ring *ring;    /* NULL: the user has no ring */
	const uint64_t *bits; /* one for each function */
	uint32_t nr_bits;
};

/* Read between ring_enter() and ring_leave(). */
struct ops_list {
	uint32_t nr_function, nr_graph;
	struct ops_user function[RING_MAX]; /* instances with the function tracer */
	/* instances with a graph; the top one only if there are others */
	struct ops_user graph[RING_MAX];
	struct ops_user returns, profile;
	uint64_t bytes; /* size of the mapping, bits included */
};

/* Read in a section of SRCU_OPS, since code of the program is called. */
struct ops_callbacks {
	uint64_t bytes;
	uint32_t nr;
	struct ops_callback {
		ops_func *func; /* NULL: `entry` is called */
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
 * ops_wrap_stubs() - @more probes (negative: fewer) need the returns of calls through linker's
 * stubs; calls are wrapped while there are any. Return: 0; -errno: it is not possible.
 */
int ops_wrap_stubs(int more);
extern uint32_t ops_nr_wrapping;

/* Whether any user other than the top instance's tracer wants calls wrapped. */
static inline int ops_any_graph(void)
{
	return ops_nr_wrapping || ops_current->nr_graph || ops_current->returns.nr_bits ||
	       ops_current->profile.nr_bits;
}

/*
 * The return probes' functions, for the code that wraps calls. ops_call_begun() and
 * ops_call_missed(): between ring_enter() and ring_leave().
 */
void ops_set_returns(const struct ops_return_funcs *funcs);
void ops_call_begun(uint32_t id, uint64_t call, uint64_t stack, const struct arch_args *args);
void ops_call_returned(uint32_t id, uint64_t call, uint64_t retval, uint64_t ip);
void ops_call_unwound(uint64_t call);
void ops_call_missed(uint32_t id);

/*
 * ops_call_may_be_open() - whether a call may not have ended yet, as far as another thread can
 * know. @call: as in struct ops_return_funcs. @stack: unique number of the stack on which it began;
 * 0: not known. @now: a call that the calling thread makes. Return: 0: its stack or its frame is
 * gone; 1: it may be open. Any context; one system call (process_vm_readv()) if the thread may make
 * some. ops_set_open(): set the function that answers; constructor context.
 */
typedef int ops_open_func(uint64_t slot, uint64_t stack, uint64_t now);
void ops_set_open(ops_open_func *func);
int ops_call_may_be_open(uint64_t call, uint64_t stack, uint64_t now);

/*
 * ops_enter() - begin a section of SRCU_OPS, until ops_leave(), for calls that are seen in other
 * ways than by ops_call(). Any context. Return: OPS_ON_TOP: a signal handler's call inside another
 * one, which only the engine's own functions get; OPS_MISSED: code that the engine has called makes
 * the call, or it is nested too deep: it must only be counted.
 */
enum ops_entered { OPS_MISSED, OPS_FIRST, OPS_ON_TOP };
enum ops_entered ops_enter(struct srcu_thread **inside);
static inline void ops_leave(struct srcu_thread *inside)
{
	srcu_read_unlock(SRCU_OPS, inside);
}

/*
 * Whether the calling thread is in a callback, where writes to control files are refused. Any
 * context.
 */
int ops_is_inside(void);

/*
 * Calls from here to ops_outside_end() are made by code that is not the engine's: callbacks do not
 * get them. Return: for ops_outside_end(). Any context.
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
 * The registers that hook/<cpu>/ops_entry.S has saved; the low words are the program's struct
 * ftrace_regs.
 */
struct ops_frame {
	struct arch_regs regs;
	uint64_t ip; /* behind the site; set to the address at which the call continues */
	uint64_t parent_ip;
};

/*
 * Called by the entry points. @word: the record's head word. Return: the address at which the call
 * continues. Any context.
 *
 * ops_call() - all state of the processor has been saved. ops_record_call() - the general registers
 * have been saved; @site_end: the address behind the site; @args: NULL: not known.
 */
uint64_t ops_call(struct ops_frame *frame, uint64_t word);
uint64_t ops_record_call(uint64_t word, uint64_t parent_ip, uint64_t site_end,
			 const struct arch_args *args);

#endif
