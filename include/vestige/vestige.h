/* SPDX-License-Identifier: MIT */
/*
 * vestige: ftrace for your own programs.
 *
 * A program may include this header and call its functions whether libvestige is loaded or not. The
 * program links nothing. Without the library every call fails with ENOSYS. The calls work as soon
 * as the library is loaded, also by `vestige attach`.
 *
 * Errors that all functions have: ENOSYS libvestige is not loaded, or is older than the function;
 * ENODEV the engine is asleep; EPERM the calling thread may make no system calls (seccomp). The
 * functions that use control files also fail with EDEADLK when a callback calls them.
 */
#ifndef VESTIGE_VESTIGE_H
#define VESTIGE_VESTIGE_H

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VESTIGE_VERSION "0.1.0"

struct ftrace_ops;

/*
 * The table of libvestige's functions. New functions are added at its end alone. So a program that
 * was built with an older header finds the functions that it knows. A program that was built with a
 * newer header sees by `bytes` which functions are missing. Not to be used directly.
 */
struct vestige_api {
	size_t bytes;
	ssize_t (*file_read)(const char *file, char *buf, size_t bytes);
	ssize_t (*file_write)(const char *file, const char *buf, size_t bytes, int truncate);
	int (*area_snapshot)(const char *path);
	int (*print)(const void *ip, const char *text, size_t bytes);
	int (*ops_register)(struct ftrace_ops *ops);
	int (*ops_unregister)(struct ftrace_ops *ops);
	int (*ops_set_filter)(struct ftrace_ops *ops, const char *buf, size_t bytes, int reset,
			      int notrace);
	void *(*return_address)(void *slot);
	int (*instance_make)(const char *name, int make);
	int (*trace_do)(int what, unsigned long arg);
	int (*atrace)(int kind, const char *name, int64_t value);
	/* @known: the word in which the engine caches its data of this constant text, NULL at
	 * first. @args: NULL: @text is not a format. Return: 0 recorded; below 0 not recorded;
	 * above 0 not recorded, and the caller has to format it and call print(). */
	int (*print_known)(void **known, const void *ip, const char *text, va_list *args);
	int (*warn)(const char *condition, const char *file, int line, const void *ip);
	int (*on_oops)(void (*call)(const char *text, size_t bytes, const char *area, void *arg),
		       void *arg);
	int (*work)(int what, const char *pool, const void *item); /* of workqueue.h */
	int (*watch)(const void *at, size_t bytes, const char *name);
};

/* For trace_do(). Not to be used directly. */
enum vestige_trace_do_ {
	VESTIGE_TRACING_ON_ = 1,
	VESTIGE_TRACING_OFF_ = 2,
	VESTIGE_TRACING_IS_ON_ = 3,
	VESTIGE_TRACING_SNAPSHOT_ = 4,
	VESTIGE_TRACE_DUMP_STACK_ = 5,
};

extern const struct vestige_api vestige_api_1 __attribute__((weak));

/* The table, or NULL if libvestige is not loaded. The address is read from the GOT, also in code
 * that was built without -fPIE. So it is looked up when the program starts, and an engine that is
 * loaded later can store it there. */
static inline const struct vestige_api *vestige_api_(void)
{
#if defined(__x86_64__) && defined(__ELF__)
	const struct vestige_api *api;

	__asm__(".weak vestige_api_1\n\tmovq vestige_api_1@GOTPCREL(%%rip), %0" : "=r"(api));
	return api;
#else
	return &vestige_api_1;
#endif
}

/* One of its functions, or NULL. */
#define vestige_call_(name)                                                                        \
	(vestige_api_() && vestige_api_()->bytes > offsetof(struct vestige_api, name)              \
		 ? vestige_api_()->name                                                            \
		 : NULL)

/**
 * vestige_read() - read a control file of this process, as `cat` would in its tracefs.
 * @file:  name in the tracefs tree, for example "current_tracer" or "vestige_status".
 * @buf:   receives the text; it is not NUL-terminated.
 * @bytes: size of @buf in bytes.
 *
 * Return: the length of the text in bytes, or -1 with errno: ENOENT no such file; EACCES the file
 * is write-only; EOPNOTSUPP the tools render the file outside the process (trace, stats ...); EFBIG
 * the text does not fit into @buf; ENODEV the engine is asleep; ENOSYS libvestige is not loaded.
 * May be called from any thread, not from a signal handler.
 */
static inline ssize_t vestige_read(const char *file, char *buf, size_t bytes)
{
	if (!vestige_call_(file_read)) {
		errno = ENOSYS;
		return -1;
	}
	return vestige_call_(file_read)(file, buf, bytes);
}

/**
 * vestige_write() - write a control file of this process, as `echo TEXT > FILE` would.
 * @file:  name in the tracefs tree, for example "current_tracer".
 * @buf:   the text of one write; a newline at its end is optional.
 * @bytes: length of the text in bytes.
 *
 * Return: @bytes, or -1 with errno: ENOENT no such file; EACCES the file is read-only; EINVAL and
 * others as in the kernel's file of that name; ENODEV the engine is asleep; ENOSYS libvestige is
 * not loaded. May be called from any thread, not from a signal handler.
 */
static inline ssize_t vestige_write(const char *file, const char *buf, size_t bytes)
{
	if (!vestige_call_(file_write)) {
		errno = ENOSYS;
		return -1;
	}
	return vestige_call_(file_write)(file, buf, bytes, 1);
}

/** vestige_append() - as `echo TEXT >> FILE`: a list keeps its entries. Else as vestige_write(). */
static inline ssize_t vestige_append(const char *file, const char *buf, size_t bytes)
{
	if (!vestige_call_(file_write)) {
		errno = ENOSYS;
		return -1;
	}
	return vestige_call_(file_write)(file, buf, bytes, 0);
}

/**
 * vestige_instance_create() - make an instance, as `mkdir instances/NAME` in tracefs: a separate
 * trace with its own tracer, filters, options and buffer. Its control files are
 * "instances/NAME/current_tracer" and so on.
 * @name: 1 to 63 bytes, no `/`.
 *
 * Return: 0, or -1 with errno: EEXIST; ENOSPC there are 16 already, or the file system is full;
 * ENOENT, EPERM, ENAMETOOLONG the name is not allowed; ENODEV the engine is asleep; ENOSYS
 * libvestige is not loaded. Any thread, not from a signal handler or a callback. After fork() the
 * child has no instances.
 */
static inline int vestige_instance_create(const char *name)
{
	if (!vestige_call_(instance_make)) {
		errno = ENOSYS;
		return -1;
	}
	return vestige_call_(instance_make)(name, 1);
}

/**
 * vestige_instance_destroy() - remove an instance and its records, as `rmdir instances/NAME` does.
 * Waits for the threads that are writing a record into it.
 *
 * Return: 0, or -1 with errno: ENOENT no instance has that name; otherwise as
 * vestige_instance_create(), and in the same contexts.
 */
static inline int vestige_instance_destroy(const char *name)
{
	if (!vestige_call_(instance_make)) {
		errno = ENOSYS;
		return -1;
	}
	return vestige_call_(instance_make)(name, 0);
}

/**
 * vestige_start(), vestige_stop() - switch recording on or off, as `echo 1 > tracing_on`.
 * Return: 0, or -1 with errno: ENOSYS libvestige is not loaded; ENODEV the engine is asleep.
 * Any thread, not from a signal handler.
 */
static inline int vestige_start(void)
{
	return vestige_write("tracing_on", "1", 1) < 0 ? -1 : 0;
}

static inline int vestige_stop(void)
{
	return vestige_write("tracing_on", "0", 1) < 0 ? -1 : 0;
}

/**
 * tracing_on(), tracing_off(), tracing_is_on() - as the kernel's functions of these names. A
 * program that detects an error of its own calls tracing_off() at once, so that the records before
 * the error stay. The cost is one store. Any context, signal handlers included. Without libvestige
 * nothing happens, and tracing_is_on() returns 0.
 */
static inline void tracing_on(void)
{
	if (vestige_call_(trace_do))
		vestige_call_(trace_do)(VESTIGE_TRACING_ON_, 0);
}

static inline void tracing_off(void)
{
	if (vestige_call_(trace_do))
		vestige_call_(trace_do)(VESTIGE_TRACING_OFF_, 0);
}

static inline int tracing_is_on(void)
{
	return vestige_call_(trace_do) && vestige_call_(trace_do)(VESTIGE_TRACING_IS_ON_, 0) > 0;
}

/**
 * tracing_snapshot() - move the present records from the file `trace` into the file `snapshot`, as
 * the kernel's function does; recording continues. Does nothing unless tracing_alloc_snapshot() or
 * a write to `snapshot` has allocated the memory before. Any context.
 */
static inline void tracing_snapshot(void)
{
	if (vestige_call_(trace_do))
		vestige_call_(trace_do)(VESTIGE_TRACING_SNAPSHOT_, 0);
}

/**
 * tracing_alloc_snapshot() - allocate the memory for snapshots, as much as the buffer has.
 *
 * Return: 0, or a negative errno: -ENOMEM; -ENODEV the engine is asleep; -ENOSYS libvestige is not
 * loaded. Any thread, not from a signal handler.
 */
static inline int tracing_alloc_snapshot(void)
{
	if (!vestige_call_(file_write))
		return -ENOSYS;
	/* a `1` takes a snapshot and so allocates the memory; any other number empties it again */
	if (vestige_write("snapshot", "1", 1) < 0 || vestige_write("snapshot", "2", 1) < 0)
		return -errno;
	return 0;
}

/** tracing_snapshot_alloc() - tracing_alloc_snapshot(), then tracing_snapshot(). Any thread. */
static inline void tracing_snapshot_alloc(void)
{
	vestige_write("snapshot", "1", 1);
}

/**
 * vestige_snapshot() - copy the present records to a file; recording continues. `vestige report
 * PATH` and the other tools read it.
 * @path: the new file; it must not exist.
 *
 * Return: 0, or -1 with errno: EEXIST; ENOSPC (the file is removed then); EACCES and other errors
 * of open(); ENODEV the engine is asleep; ENOSYS libvestige is not loaded. Any thread, not from a
 * signal handler.
 */
static inline int vestige_snapshot(const char *path)
{
	if (!vestige_call_(area_snapshot)) {
		errno = ENOSYS;
		return -1;
	}
	return vestige_call_(area_snapshot)(path);
}

/*
 * Sets @known to a word in which the engine caches its data of the constant text @fmt. The macro
 * also lists the text in printk_formats: section vestige_printk gets its distance, and a note names
 * that section. If @fmt is not constant, @known keeps its value. With clang and no optimization no
 * text is constant here; then formats are not listed, and their records are text.
 */
#if defined(__x86_64__) && defined(__ELF__) && (defined(__OPTIMIZE__) || !defined(__clang__))
#define VESTIGE_KNOWN_TEXT_(known, fmt)                                                            \
	do {                                                                                       \
		if (__builtin_constant_p(fmt))                                                     \
			__asm__ volatile(".ifndef .Lvestige_printk_note\n"                         \
					 ".set .Lvestige_printk_note, 1\n"                         \
					 ".pushsection .note.vestige, \"a\", @note\n"              \
					 "	.balign 4\n"                                            \
					 "	.long	8, 16, 4\n"                                       \
					 "	.asciz	\"vestige\"\n"                                   \
					 "	.quad	__start_vestige_printk - .\n"                     \
					 "	.quad	__stop_vestige_printk - .\n"                      \
					 ".popsection\n"                                           \
					 ".hidden __start_vestige_printk\n"                        \
					 ".hidden __stop_vestige_printk\n"                         \
					 ".endif\n"                                                \
					 ".pushsection vestige_printk, \"a\", @progbits\n"         \
					 "	.balign 8\n"                                            \
					 "	.quad	%c1 - .\n"                                        \
					 ".popsection\n"                                           \
					 ".pushsection .bss.vestige_printk, \"aw\", @nobits\n"     \
					 "	.balign 8\n"                                            \
					 ".Lvestige_printk_known%=:\n"                             \
					 "	.zero	8\n"                                              \
					 ".popsection\n"                                           \
					 "	leaq	.Lvestige_printk_known%=(%%rip), %0"               \
					 : "=r"(known)                                             \
					 : "i"(fmt));                                              \
	} while (0)
#else
#define VESTIGE_KNOWN_TEXT_(known, fmt)                                                            \
	do {                                                                                       \
	} while (0)
#endif
#define VESTIGE_FIRST_(first, ...) first

/**
 * trace_printk() - write a line into the trace, as the kernel's function of that name does.
 * @fmt: printf format; at most 1024 bytes of the result are kept.
 *
 * The record has the calling function's address and appears in the trace as `FUNCTION: TEXT`. With
 * a constant format the record has the arguments (strings are copied), and a reader formats them
 * later. That works for the conversions of ftrace's bprint: %d %i %u %x %X %o, with l, ll or z, %s
 * and %p, width, precision and the flag 0. With any other conversion, or a format that is not
 * constant, the record has the formatted text. Without libvestige the cost is one test. Any context
 * in which vsnprintf() may be called.
 */
__attribute__((noinline, unused, no_instrument_function, patchable_function_entry(0),
	       format(printf, 2, 0))) static void
vestige_printk_text_(const void *ip, const char *fmt, va_list ap)
{
	char text[1025];
	int n = vsnprintf(text, sizeof(text), fmt, ap);

	if (n > 0)
		vestige_call_(print)(ip, text,
				     (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

__attribute__((noinline, unused, no_instrument_function, patchable_function_entry(0),
	       format(printf, 2, 3))) static void
vestige_printk_(void **known, const char *fmt, ...)
{
	va_list ap;
	int done = 1;

	if (known && vestige_call_(print_known)) {
		va_start(ap, fmt);
		done = vestige_call_(print_known)(known, __builtin_return_address(0), fmt, &ap);
		va_end(ap);
	}
	if (done <= 0)
		return;
	va_start(ap, fmt);
	vestige_printk_text_(__builtin_return_address(0), fmt, ap);
	va_end(ap);
}

#define trace_printk(...)                                                                          \
	do {                                                                                       \
		if (vestige_call_(print)) {                                                        \
			void **vestige_known_ = NULL;                                              \
			VESTIGE_KNOWN_TEXT_(vestige_known_, VESTIGE_FIRST_(__VA_ARGS__, 0));       \
			vestige_printk_(vestige_known_, __VA_ARGS__);                              \
			__asm__ volatile(""); /* no tail call: the caller is recorded */           \
		}                                                                                  \
	} while (0)

__attribute__((noinline, unused, no_instrument_function, patchable_function_entry(0))) static void
vestige_puts_(void **known, const char *text)
{
	if (!known || !vestige_call_(print_known) ||
	    vestige_call_(print_known)(known, __builtin_return_address(0), text, NULL) > 0)
		vestige_call_(print)(__builtin_return_address(0), text, strlen(text));
}

/**
 * trace_puts() - write a text into the trace, without a format, as the kernel's function does.
 * @text: NUL-terminated; at most 1024 bytes are kept.
 *
 * Any context.
 */
#define trace_puts(text)                                                                           \
	do {                                                                                       \
		if (vestige_call_(print)) {                                                        \
			void **vestige_known_ = NULL;                                              \
			VESTIGE_KNOWN_TEXT_(vestige_known_, text);                                 \
			vestige_puts_(vestige_known_, text);                                       \
			__asm__ volatile("");                                                      \
		}                                                                                  \
	} while (0)

__attribute__((noinline, unused, no_instrument_function, patchable_function_entry(0))) static void
vestige_dump_stack_(int skip)
{
	vestige_call_(trace_do)(VESTIGE_TRACE_DUMP_STACK_, skip > 0 ? (unsigned long)skip + 1 : 1);
	__asm__ volatile(""); /* no tail call: it counts in @skip */
}

/**
 * trace_dump_stack() - record the current stack in the trace, as the kernel's function does.
 * @skip: number of innermost functions to leave out; 0: the stack begins with the caller.
 *
 * Any context, except that a program's first call must not be in a signal handler. Records nothing
 * in a program without an unwinder (libgcc_s, or libunwind).
 */
#define trace_dump_stack(skip)                                                                     \
	do {                                                                                       \
		if (vestige_call_(trace_do)) {                                                     \
			vestige_dump_stack_(skip);                                                 \
			__asm__ volatile("");                                                      \
		}                                                                                  \
	} while (0)

/**
 * vestige_warn_on() - if @condition is true, report it with the stack and continue, as the kernel's
 * WARN_ON(). The report goes to stderr, or to the file that the control file `oops_file` names.
 * `vestige crash` shows the last report of a process.
 *
 * Value: 1 if @condition was true, else 0. Any context, except that a program's first warning must
 * not be in a signal handler. Without libvestige only @condition is evaluated.
 */
#define vestige_warn_on(condition)                                                                 \
	__extension__({                                                                            \
		const int vestige_true_ = !!(condition);                                           \
		if (__builtin_expect(vestige_true_, 0))                                            \
			VESTIGE_WARN_(#condition);                                                 \
		vestige_true_;                                                                     \
	})
#define VESTIGE_WARN_(text)                                                                        \
	do {                                                                                       \
		if (vestige_call_(warn)) {                                                         \
			void *vestige_ip_;                                                         \
			VESTIGE_HERE_(vestige_ip_);                                                \
			vestige_api_()->warn(text, __FILE__, __LINE__, vestige_ip_);               \
		}                                                                                  \
	} while (0)
#if defined(__x86_64__)
#define VESTIGE_HERE_(ip) __asm__ volatile("leaq 0(%%rip), %0" : "=r"(ip))
#else
#define VESTIGE_HERE_(ip) ((ip) = __builtin_return_address(0))
#endif

/** vestige_warn_on_once() - the same; each place in the source reports at most once. */
#define vestige_warn_on_once(condition)                                                            \
	__extension__({                                                                            \
		static char vestige_warned_;                                                       \
		const int vestige_once_ = !!(condition);                                           \
		if (__builtin_expect(vestige_once_, 0) &&                                          \
		    !__atomic_exchange_n(&vestige_warned_, 1, __ATOMIC_RELAXED))                   \
			VESTIGE_WARN_(#condition);                                                 \
		vestige_once_;                                                                     \
	})

/**
 * vestige_oops_fn - a callback at each vestige_warn_on(), and when the process dies by a fatal
 * signal while the control file `ftrace_dump_on_oops` is not 0.
 * @text:  the report, not NUL-terminated; valid during the call.
 * @bytes: its length.
 * @area:  path of the area; valid during the call.
 * @arg:   as it was given to vestige_on_oops().
 *
 * At a fatal signal it runs in the signal's handler, on a stack of 300 KiB, after the report has
 * been written. It may only call async-signal-safe functions. A fault in the callback ends the
 * callback. After it the process dies of the first signal, as without libvestige.
 */
typedef void (*vestige_oops_fn)(const char *text, size_t bytes, const char *area, void *arg);

/**
 * vestige_on_oops() - set the callback of the process; it replaces the one before.
 * @call: NULL: remove the callback.
 * @arg:  is passed to it.
 *
 * Return: 0, or -1 with errno: ENOSYS libvestige is not loaded. Any thread.
 */
static inline int vestige_on_oops(vestige_oops_fn call, void *arg)
{
	if (!vestige_call_(on_oops)) {
		errno = ENOSYS;
		return -1;
	}
	return vestige_call_(on_oops)(call, arg);
}

/**
 * vestige_watch() - watch memory: the tracer `mmiotrace` records each access to it while it is the
 * current tracer. A line of the control file `mmiotrace_filter` does the same.
 * @at:    first byte; the memory must be in one shared mapping (memfd, shm_open(), MAP_SHARED).
 * @bytes: its length, not 0.
 * @name:  name in mmiotrace_filter; NULL: none. At most 63 bytes of it are kept.
 *
 * Return: 0, or -1 with errno: EINVAL @bytes is 0, the mapping does not exist, is private or cannot
 * be read, or some of its pages are watched already; ENOSPC 16 regions are watched; ENODEV the
 * engine is asleep; ENOSYS libvestige is not loaded, or is older. Any thread, not from a signal
 * handler.
 */
static inline int vestige_watch(const void *at, size_t bytes, const char *name)
{
	if (!bytes) {
		errno = EINVAL;
		return -1;
	}
	if (!vestige_call_(watch)) {
		errno = ENOSYS;
		return -1;
	}
	return vestige_call_(watch)(at, bytes, name);
}

/**
 * vestige_unwatch() - stop watching the memory that begins at @at.
 *
 * Return: 0, or -1 with errno: EINVAL no watched memory begins there; otherwise as vestige_watch().
 */
static inline int vestige_unwatch(const void *at)
{
	if (!vestige_call_(watch)) {
		errno = ENOSYS;
		return -1;
	}
	return vestige_call_(watch)(at, 0, NULL);
}

/**
 * vestige_mark() - write a mark into the trace, as a write to the kernel's trace_marker does. It
 * appears as `tracing_mark_write: TEXT`.
 * @text: NUL-terminated; at most 1024 bytes are kept.
 *
 * Any context.
 */
static inline void vestige_mark(const char *text)
{
	if (vestige_call_(print))
		vestige_call_(print)(NULL, text, strlen(text));
}

/*
 * ftrace_ops: the program's own callbacks at the entry of functions, as a kernel module has them.
 */

/* The registers as the function found them. Read them with the functions below. */
struct ftrace_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long ip;     /* in the function, behind its site */
	unsigned long ret_ip; /* its return address; the next word is its first stack argument */
};

/**
 * ftrace_func_t - a callback at the entry of a function.
 * @ip:        address of the function's first byte.
 * @parent_ip: the return address: an address in the caller.
 * @op:        the ops with which the callback was registered.
 * @fregs:     the registers; valid during the call.
 *
 * The callback runs in the thread that called the function, also in signal handlers. It may use
 * floating point and vectors. It may call traced functions: these calls are recorded, but cause no
 * callback (FTRACE_OPS_FL_RECURSION is always on). The same holds for calls in a signal handler
 * that interrupts the callback. It cannot use control files: vestige_read(), vestige_write() and
 * the like fail with EDEADLK. It must not throw. It may leave by longjmp(), and its thread may end
 * in it.
 */
typedef void (*ftrace_func_t)(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *op,
			      struct ftrace_regs *fregs);

#define FTRACE_OPS_FL_SAVE_REGS (1ul << 2)
#define FTRACE_OPS_FL_RECURSION (1ul << 4)

/* Set all other members to zero. The program owns the struct; it must not move or be freed between
 * its first use and the return of unregister_ftrace_function(). */
struct ftrace_ops {
	ftrace_func_t func;
	unsigned long flags; /* without effect: both FTRACE_OPS_FL_* below are always on */
	void *private_data;  /* for the program's use */
	void *reserved[4];
};

#define VESTIGE_OPS_(call)                                                                         \
	do {                                                                                       \
		if (!vestige_call_(ops_register))                                                  \
			return -ENOSYS;                                                            \
		return vestige_api_()->call;                                                       \
	} while (0)

/**
 * register_ftrace_function() - from now on call @ops->func when one of the functions of @ops is
 * called. ftrace_set_filter() selects these functions; without a filter they are all functions that
 * can be traced. Functions of an object that is loaded later are added when the filter is set
 * again.
 *
 * Return: 0, or a negative errno as in the kernel: -EINVAL no func; -EBUSY @ops is registered
 * already; -ENOSPC 64 ops are registered; -ENOMEM; -EDEADLK called from a callback; -ENODEV the
 * engine is asleep; -ENOSYS libvestige is not loaded. Any thread, not from a signal handler.
 */
static inline int register_ftrace_function(struct ftrace_ops *ops)
{
	VESTIGE_OPS_(ops_register(ops));
}

/**
 * unregister_ftrace_function() - end the callbacks of @ops and empty its filter. It waits until no
 * thread is in the callback; after that @ops and the callback's data may be freed. The caller must
 * not hold a lock for which the callback waits.
 *
 * Return: 0; -EBUSY @ops is not registered; -ETIMEDOUT the callback is off, but a thread was in it
 * for ten seconds: free nothing, and call again to wait again; otherwise as
 * register_ftrace_function(). Any thread, not from a signal handler or a callback.
 */
static inline int unregister_ftrace_function(struct ftrace_ops *ops)
{
	VESTIGE_OPS_(ops_unregister(ops));
}

/**
 * ftrace_set_filter() - add functions to the filter of @ops. May be called before and after
 * registering.
 * @buf:   words in the grammar of set_ftrace_filter, separated by blanks; NULL: none.
 * @len:   length of @buf in bytes.
 * @reset: not 0: empty the filter first.
 *
 * Return: 0, or -EINVAL a word names no function (the words before it are added); otherwise as
 * register_ftrace_function(). Any thread, not from a signal handler or a callback.
 */
static inline int ftrace_set_filter(struct ftrace_ops *ops, const char *buf, int len, int reset)
{
	VESTIGE_OPS_(ops_set_filter(ops, buf, len > 0 ? (size_t)len : 0, reset, 0));
}

/**
 * ftrace_set_notrace() - the same for functions that are left out, even if the filter of @ops has
 * them.
 */
static inline int ftrace_set_notrace(struct ftrace_ops *ops, const char *buf, int len, int reset)
{
	VESTIGE_OPS_(ops_set_filter(ops, buf, len > 0 ? (size_t)len : 0, reset, 1));
}

/**
 * ftrace_regs_get_argument() - an integer or pointer argument of the function. As in the kernel,
 * the function's type is not known.
 * @n: number of the argument, from 0. From 6 on it is read from the stack; the caller makes sure
 * that
 *     the function has that argument.
 */
static inline unsigned long ftrace_regs_get_argument(struct ftrace_regs *fregs, unsigned int n)
{
	switch (n) {
	case 0:
		return fregs->di;
	case 1:
		return fregs->si;
	case 2:
		return fregs->dx;
	case 3:
		return fregs->cx;
	case 4:
		return fregs->r8;
	case 5:
		return fregs->r9;
	default:
		return (&fregs->ret_ip)[n - 5];
	}
}

static inline unsigned long ftrace_regs_get_instruction_pointer(struct ftrace_regs *fregs)
{
	return fregs->ip;
}

/** ftrace_regs_get_stack_pointer() - the stack pointer at the function's first instruction. */
static inline unsigned long ftrace_regs_get_stack_pointer(struct ftrace_regs *fregs)
{
	return (unsigned long)&fregs->ret_ip;
}

/**
 * vestige_return_address() - the address to which the calling function returns. It is right also
 * while function_graph wraps the call; __builtin_return_address(0) is then an address in
 * libvestige. The compiler gives the calling function a frame pointer. Any context.
 */
#define vestige_return_address()                                                                   \
	__extension__({                                                                            \
		void **vestige_slot_ = (void **)__builtin_frame_address(0) + 1;                    \
		vestige_call_(return_address) ? vestige_api_()->return_address(vestige_slot_)      \
					      : *vestige_slot_;                                    \
	})

#ifdef __cplusplus
}
#endif

#endif
