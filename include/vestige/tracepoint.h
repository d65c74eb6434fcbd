/* SPDX-License-Identifier: MIT */
/*
 * Static tracepoints, defined with the kernel's macros (see its
 * Documentation/trace/tracepoints.rst).
 *
 * A header declares events with TRACE_EVENT() and similar macros, and includes
 * <vestige/define_trace.h> in its last line. One source file of the program defines
 * CREATE_TRACE_POINTS before it includes that header. The program links nothing: without libvestige
 * an event is five bytes of code that do nothing. If the library is in the process, it finds the
 * events of the program and of objects that dlopen() loads, and shows them as events/SYSTEM/NAME.
 *
 * An event that is off is one instruction, `test $imm32, %eax`, whose result is not used. The
 * immediate is the distance to the code that calls the probe functions. So a change of the first
 * byte alone makes the instruction a jump to that code. The probe function does not depend on the
 * format of the ring: it reserves room through a table of functions, writes the fields there and
 * commits.
 *
 * trace_NAME() may be called in any context, signal handlers included.
 */
#ifndef VESTIGE_TRACEPOINT_H
#define VESTIGE_TRACEPOINT_H
#pragma GCC system_header

#include <asm/errno.h> /* not errno.h: events have fields of the name errno */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <vestige/kernel_types.h>
#include <vestige/static_branch.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A probe function of a tracepoint. */
struct tracepoint_func {
	void *func; /* void (*)(void *data, PROTO) */
	void *data;
};

struct tracepoint;

/* The functions of libvestige for tracepoints. New ones are added at the end alone. */
struct vestige_tracepoint_api {
	size_t bytes; /* of this struct */
	int (*probe_register)(struct tracepoint *tp, void *func, void *data, int prio);
	int (*probe_unregister)(struct tracepoint *tp, void *func, void *data);
	/* Wait until no thread is in a probe function that was unregistered before. */
	void (*synchronize)(void);
	/*
	 * Called before and after the probe functions of a tracepoint, if some are the program's.
	 */
	void *(*enter)(void);
	void (*leave)(void *entered);
};

/* One tracepoint. The program defines it, libvestige fills in the fields behind `unregfunc`. */
struct tracepoint {
	uint32_t bytes; /* of this struct */
	uint32_t reserved;
	const char *name;
	int (*regfunc)(void);	 /* called before the first probe is registered; may be NULL */
	void (*unregfunc)(void); /* called after the last one is unregistered; may be NULL */
	const struct tracepoint_func *funcs; /* the last one has func NULL; NULL: none */
	const struct vestige_tracepoint_api *api;
	uint32_t guarded; /* not 0: some probe functions are the program's */
	uint32_t reserved2;
	void *engine;
};

/*
 * The beginning of each record. In the ring libvestige uses these eight bytes for its head word; a
 * reader sees the kernel's common fields.
 */
struct trace_entry {
	unsigned short type;
	unsigned char flags;
	unsigned char preempt_count;
	int pid;
};

/*
 * What libvestige keeps of a record while it is written. It is on the stack of the probe function.
 */
struct vestige_event_slot {
	void *scratch; /* room for a record that may be discarded after it is written */
	uint64_t v[5]; /* private to libvestige */
};

struct vestige_event_ops {
	size_t bytes; /* of this struct */
	/* Reserve room for a record of @bytes, not always zeroed. NULL: do not write a record. */
	void *(*reserve)(void *file, struct vestige_event_slot *slot, uint32_t bytes);
	/* Commit the record after its fields are written. */
	void (*commit)(void *file, struct vestige_event_slot *slot);
};

/* The data of a probe function: the first members of libvestige's own struct. */
struct vestige_event_file {
	const struct vestige_event_ops *ops;
};

enum vestige_filter_type {
	FILTER_OTHER = 0,
	FILTER_STATIC_STRING,
	FILTER_DYN_STRING,
	FILTER_RDYN_STRING,
	FILTER_PTR_STRING,
	FILTER_TRACE_FN,
	FILTER_CPUMASK,
	FILTER_COMM,
	FILTER_CPU,
	FILTER_STACKTRACE,
};

struct vestige_event_field {
	const char *type; /* NULL ends the list */
	const char *name;
	uint32_t size;
	uint32_t offset; /* from the record's beginning */
	uint16_t is_signed;
	uint16_t filter_type;
	uint32_t reserved;
};

/* One event. The program defines it; libvestige sets `engine`. */
struct vestige_event {
	uint32_t bytes; /* of this struct */
	uint32_t flags;
	const char *system;
	const char *name;
	struct tracepoint *tp;
	void *probe; /* void (*)(void *file, PROTO) */
	const struct vestige_event_field *(*fields)(void);
	const char *print_fmt; /* NULL: `NAME=VALUE` of each field */
	void *engine;
};

/* TRACE_DEFINE_ENUM(), TRACE_DEFINE_SIZEOF(): a name that print formats use, and its value. */
struct vestige_eval {
	const char *system;
	const char *name;
	uint64_t value;
};

enum vestige_item_kind {
	VESTIGE_ITEM_TRACEPOINT = 1,
	VESTIGE_ITEM_EVENT = 2,
	VESTIGE_ITEM_EVAL = 3,
};

/* An object's definitions: an array in section vestige_items, found by its note. */
struct vestige_item {
	uint32_t kind;
	uint32_t bytes; /* of this struct */
	const void *at;
};

/* A site of a tracepoint, in section vestige_sites. */
struct vestige_site {
	unsigned char *code; /* `test $imm32, %eax`, or `jmp` with the same 4 bytes behind it */
	struct tracepoint *tp;
};

#ifdef __cplusplus
}
#endif

/* clang-format off */

/* A site of @tracepoint. */
#define VESTIGE_SITE_(tracepoint) VESTIGE_PLACE_("vestige_sites", "2", tracepoint)

#ifdef __has_attribute
#if __has_attribute(retain)
#define VESTIGE_KEPT_ __attribute__((used, retain))
#endif
#endif
/* without it gcc reverses the order of the items */
#ifdef __has_attribute
#if __has_attribute(no_reorder)
#define VESTIGE_ORDER_ __attribute__((no_reorder))
#endif
#endif
#ifndef VESTIGE_ORDER_
#define VESTIGE_ORDER_
#endif
#ifndef VESTIGE_KEPT_
#define VESTIGE_KEPT_ __attribute__((used))
#endif

#ifdef __cplusplus
#define VESTIGE_C_ extern "C"
#else
#define VESTIGE_C_ extern
#endif

#define VESTIGE_CAT__(a, b) a##b
#define VESTIGE_CAT_(a, b)  VESTIGE_CAT__(a, b)
#define VESTIGE_STR__(...)  #__VA_ARGS__
#define VESTIGE_STR_(...)   VESTIGE_STR__(__VA_ARGS__)

#define VESTIGE_ITEM_(what, item_kind, pointer)                                                    \
	static const struct vestige_item VESTIGE_CAT_(vestige_item_, what)                         \
		VESTIGE_KEPT_ VESTIGE_ORDER_ __attribute__((section("vestige_items"), aligned(8))) = {            \
			item_kind, sizeof(struct vestige_item), pointer}

#ifndef PARAMS
#define PARAMS(args...) args
#endif
#define TP_PROTO(args...) args
#define TP_ARGS(args...)  args
#define TP_CONDITION(args...) args

/* Wait until no thread is in a probe function that was unregistered before. Not from a signal
 * handler, nor from a probe function. */
#define tracepoint_synchronize_unregister() vestige_tracepoint_synchronize_()

/* `api` of the last tracepoint to which a probe was registered; all tracepoints have the same. */
__attribute__((weak, visibility("hidden")))
const struct vestige_tracepoint_api *vestige_tracepoint_api_;

static inline VESTIGE_NOTRACE_ void vestige_tracepoint_synchronize_(void)
{
	if (vestige_tracepoint_api_)
		vestige_tracepoint_api_->synchronize();
}

static inline VESTIGE_NOTRACE_ int vestige_probe_register_(struct tracepoint *tp, void *func,
							    void *data, int prio)
{
	if (!tp->api)
		return -ENOSYS;
	vestige_tracepoint_api_ = tp->api;
	return tp->api->probe_register(tp, func, data, prio);
}

static inline VESTIGE_NOTRACE_ int vestige_probe_unregister_(struct tracepoint *tp, void *func,
							      void *data)
{
	if (!tp->api)
		return -ENOSYS;
	return tp->api->probe_unregister(tp, func, data);
}

/*
 * trace_NAME(ARGS)		call the probe functions, if there are any. Any context.
 * trace_NAME_enabled()		whether there are any, for arguments that are expensive to compute.
 *				Any context.
 * register_trace_NAME(probe, data), register_trace_prio_NAME(probe, data, prio),
 * unregister_trace_NAME(probe, data)
 *				add or remove a probe function of the program. A greater @prio is
 *				called earlier; the first form has prio 10. Return: 0, or -errno:
 *				-EEXIST, -ENOENT, -ENOMEM, -ENOSYS (libvestige is not loaded). Any
 *				thread, not from a signal handler. Before you free anything that a
 *				probe function uses, call tracepoint_synchronize_unregister().
 */
#define VESTIGE_DECLARE_WITH_(name, proto, args, condition, data_proto, data_args)                 \
	VESTIGE_C_ struct tracepoint __tracepoint_##name;                                          \
	static inline __attribute__((always_inline)) VESTIGE_NOTRACE_ bool                         \
	trace_##name##_enabled(void)                                                               \
	{                                                                                          \
		__asm__ goto(VESTIGE_SITE_("__tracepoint_" #name) : : : "cc" : yes);               \
		return false;                                                                      \
	yes:                                                                                       \
		return true;                                                                       \
	}                                                                                          \
	static __attribute__((noinline, cold)) VESTIGE_NOTRACE_ void __do_traces_##name(proto)     \
	{                                                                                          \
		const struct tracepoint_func *vestige_f_;                                          \
		void *vestige_in_ = NULL;                                                          \
                                                                                                   \
		vestige_f_ = __atomic_load_n(&__tracepoint_##name.funcs, __ATOMIC_ACQUIRE);        \
		/* read after funcs: `guarded` is set before a probe of the program is in funcs */ \
		if (__atomic_load_n(&__tracepoint_##name.guarded, __ATOMIC_RELAXED)) {             \
			vestige_in_ = __tracepoint_##name.api->enter();                            \
			vestige_f_ =                                                               \
				__atomic_load_n(&__tracepoint_##name.funcs, __ATOMIC_ACQUIRE);     \
		}                                                                                  \
		for (; vestige_f_ && vestige_f_->func; vestige_f_++)                               \
			((void (*)(data_proto))vestige_f_->func)(data_args);                       \
		if (vestige_in_)                                                                   \
			__tracepoint_##name.api->leave(vestige_in_);                               \
	}                                                                                          \
	/* the usual case: one probe function, and it is libvestige's */                           \
	static __attribute__((noinline)) VESTIGE_NOTRACE_ void __do_trace_##name(proto)            \
	{                                                                                          \
		const struct tracepoint_func *vestige_f_;                                          \
                                                                                                   \
		if (!(condition))                                                                  \
			return;                                                                    \
		vestige_f_ = __atomic_load_n(&__tracepoint_##name.funcs, __ATOMIC_ACQUIRE);        \
		if (__builtin_expect(vestige_f_ && !vestige_f_[1].func &&                          \
					     !__atomic_load_n(&__tracepoint_##name.guarded,        \
							      __ATOMIC_RELAXED),                   \
				     1))                                                           \
			((void (*)(data_proto))vestige_f_->func)(data_args);                       \
		else                                                                               \
			__do_traces_##name(args);                                                  \
	}                                                                                          \
	static inline VESTIGE_NOTRACE_ void trace_##name(proto)                                    \
	{                                                                                          \
		if (trace_##name##_enabled())                                                      \
			__do_trace_##name(args);                                                   \
	}                                                                                          \
	static inline VESTIGE_NOTRACE_ int register_trace_prio_##name(                             \
		void (*probe)(data_proto), void *data, int prio)                                   \
	{                                                                                          \
		return vestige_probe_register_(&__tracepoint_##name, (void *)probe, data, prio);   \
	}                                                                                          \
	static inline VESTIGE_NOTRACE_ int register_trace_##name(                                  \
		void (*probe)(data_proto), void *data)                                             \
	{                                                                                          \
		return vestige_probe_register_(&__tracepoint_##name, (void *)probe, data, 10);     \
	}                                                                                          \
	static inline VESTIGE_NOTRACE_ int unregister_trace_##name(                                \
		void (*probe)(data_proto), void *data)                                             \
	{                                                                                          \
		return vestige_probe_unregister_(&__tracepoint_##name, (void *)probe, data);       \
	}                                                                                          \
	static inline VESTIGE_NOTRACE_ void check_trace_callback_type_##name(                      \
		void (*probe)(data_proto))                                                         \
	{                                                                                          \
		(void)probe;                                                                       \
	}                                                                                          \
	VESTIGE_C_ struct tracepoint __tracepoint_##name


#define VESTIGE_DECLARE_TRACE_(name, proto, args, condition)                                       \
	VESTIGE_DECLARE_WITH_(name, PARAMS(proto), PARAMS(args), condition,                        \
			      PARAMS(void *data, proto), PARAMS(vestige_f_->data, args))

#ifdef __cplusplus
#define VESTIGE_DEFINE_TRACE_(name, reg, unreg)                                                    \
	VESTIGE_C_ {                                                                               \
		struct tracepoint __tracepoint_##name VESTIGE_KEPT_ = {                            \
			sizeof(struct tracepoint), 0, #name, reg, unreg, NULL, NULL, 0, 0, NULL};  \
	}                                                                                          \
	VESTIGE_ITEM_(tp_##name, VESTIGE_ITEM_TRACEPOINT, &__tracepoint_##name)
#else
#define VESTIGE_DEFINE_TRACE_(name, reg, unreg)                                                    \
	struct tracepoint __tracepoint_##name VESTIGE_KEPT_ = {                                    \
		sizeof(struct tracepoint), 0, #name, reg, unreg, NULL, NULL, 0, 0, NULL};          \
	VESTIGE_ITEM_(tp_##name, VESTIGE_ITEM_TRACEPOINT, &__tracepoint_##name)
#endif

#define VESTIGE_ITEMS_NOTE_ __asm__(VESTIGE_NOTE_("vestige_items", "3"))

/* Define a tracepoint that is not an event, in one source file. */
#define DEFINE_TRACE(name, proto_and_args...)                                                      \
	VESTIGE_DEFINE_TRACE_(name, NULL, NULL);                                                   \
	VESTIGE_ITEMS_NOTE_
#define DEFINE_TRACE_FN(name, reg, unreg, proto_and_args...)                                       \
	VESTIGE_DEFINE_TRACE_(name, reg, unreg);                                                   \
	VESTIGE_ITEMS_NOTE_
/* Nothing to do: a tracepoint has the visibility of the object's other symbols. */
#define EXPORT_TRACEPOINT_SYMBOL(name)
#define EXPORT_TRACEPOINT_SYMBOL_GPL(name)

/* clang-format on */
#include <vestige/event.h>
#endif

/*
 * Each event is declared as a tracepoint. This part has no include guard: define_trace.h defines
 * these names in another way and undefines them at its end, so the next inclusion has to define
 * them again.
 */
/* clang-format off */
#ifndef TRACE_EVENT
/* Declare a tracepoint that is defined elsewhere, by DEFINE_TRACE() or as an event. */
#define DECLARE_TRACE(name, proto, args)                                                           \
	VESTIGE_DECLARE_TRACE_(name, PARAMS(proto), PARAMS(args), 1)
#define DECLARE_TRACE_CONDITION(name, proto, args, cond)                                           \
	VESTIGE_DECLARE_TRACE_(name, PARAMS(proto), PARAMS(args), PARAMS(cond))

#define TRACE_EVENT(name, proto, args, tstruct, assign, print)                                     \
	DECLARE_TRACE(name, PARAMS(proto), PARAMS(args))
#define TRACE_EVENT_CONDITION(name, proto, args, cond, tstruct, assign, print)                     \
	DECLARE_TRACE_CONDITION(name, PARAMS(proto), PARAMS(args), PARAMS(cond))
#define TRACE_EVENT_FN(name, proto, args, tstruct, assign, print, reg, unreg)                      \
	DECLARE_TRACE(name, PARAMS(proto), PARAMS(args))
#define TRACE_EVENT_FN_COND(name, proto, args, cond, tstruct, assign, print, reg, unreg)           \
	DECLARE_TRACE_CONDITION(name, PARAMS(proto), PARAMS(args), PARAMS(cond))
#define TRACE_EVENT_NOP(name, proto, args, tstruct, assign, print)                                 \
	static inline VESTIGE_NOTRACE_ void trace_##name(proto) { }                                \
	static inline VESTIGE_NOTRACE_ bool trace_##name##_enabled(void) { return false; }
#define DECLARE_EVENT_CLASS(name, proto, args, tstruct, assign, print)
#define DECLARE_EVENT_CLASS_NOP(name, proto, args, tstruct, assign, print)
#define DECLARE_EVENT_NOP(name, proto, args, tstruct, assign, print)                               \
	TRACE_EVENT_NOP(name, PARAMS(proto), PARAMS(args), , , )
#define DEFINE_EVENT(template, name, proto, args) DECLARE_TRACE(name, PARAMS(proto), PARAMS(args))
#define DEFINE_EVENT_PRINT(template, name, proto, args, print)                                     \
	DECLARE_TRACE(name, PARAMS(proto), PARAMS(args))
#define DEFINE_EVENT_FN(template, name, proto, args, reg, unreg)                                   \
	DECLARE_TRACE(name, PARAMS(proto), PARAMS(args))
#define DEFINE_EVENT_CONDITION(template, name, proto, args, cond)                                  \
	DECLARE_TRACE_CONDITION(name, PARAMS(proto), PARAMS(args), PARAMS(cond))
#define DEFINE_EVENT_NOP(template, name, proto, args)                                              \
	TRACE_EVENT_NOP(name, PARAMS(proto), PARAMS(args), , , )
#define TRACE_EVENT_FLAGS(event, flag)
#define TRACE_EVENT_PERF_PERM(event, expr...)
#define TRACE_DEFINE_ENUM(a)
#define TRACE_DEFINE_SIZEOF(a)
#endif
/* clang-format on */
