/* SPDX-License-Identifier: MIT */
/*
 * vestige: ftrace for your own programs.
 *
 * A program may include this header and call its functions whether libvestige is loaded or not:
 * nothing has to be linked. Without the library every call fails with ENOSYS. From the moment when
 * `vestige attach` has loaded it, they work.
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
 * The functions of libvestige, in a table that only ever grows: a program built with an older
 * header finds the functions that it knows, one built with a newer header sees by `bytes` which are
 * missing. Not to be used directly.
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
	/* @known: a word of this constant text alone, NULL at first. @args: NULL if @fmt is no
	 * format. Return: 0 or less; more: nothing is recorded, it has to be text. */
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

/* The table, or NULL if libvestige is not loaded. Read through the GOT, so that without -fPIE too
 * it is looked up when the program starts; an engine that comes later fills that word. */
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
 * @bytes: room at @buf.
 *
 * Return: the length of the text, or -1 with errno: ENOENT no such file; EACCES it is write-only;
 * EOPNOTSUPP it is rendered outside the process (trace, stats ...); EFBIG it does not fit;
 * ENODEV the engine is asleep; ENOSYS libvestige is not loaded.
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
 * @buf:   the text of one write; a newline at its end does not matter.
 * @bytes: its length.
 *
 * Return: @bytes, or -1 with errno: ENOENT no such file; EACCES it is read-only; EINVAL and others
 * as the kernel's file of that name has them; ENODEV the engine is asleep; ENOSYS libvestige is not
 * loaded. May be called from any thread, not from a signal handler.
 */
static inline ssize_t vestige_write(const char *file, const char *buf, size_t bytes)
{
	if (!vestige_call_(file_write)) {
		errno = ENOSYS;
		return -1;
	}
	return vestige_call_(file_write)(file, buf, bytes, 1);
}

/** vestige_append() - as vestige_write(), but as `echo TEXT >> FILE`: lists keep what they had. */
static inline ssize_t vestige_append(const char *file, const char *buf, size_t bytes)
{
	if (!vestige_call_(file_write)) {
		errno = ENOSYS;
		return -1;
	}
	return vestige_call_(file_write)(file, buf, bytes, 0);
}

/**
 * vestige_instance_create() - make an instance, as `mkdir instances/NAME` in tracefs: a trace of
 * its own with its own tracer, filters, options and buffer, beside all others. @name: at most 63
 * bytes, no `/`. Its files are then "instances/NAME/current_tracer" and so on.
 *
 * Return: 0, or -1 with errno: EEXIST; ENOSPC there are 16, or the file system is full; ENOENT,
 * EPERM, ENAMETOOLONG the name is not allowed; ENODEV the engine is asleep; ENOSYS libvestige is
 * not loaded. Any thread, not from a signal handler nor from a callback. A fork's child has no
 * instances.
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
 * vestige_instance_destroy() - remove an instance with what it recorded, as rmdir does. Waits for
 * the threads that are writing into it.
 *
 * Return: 0, or -1 with errno: ENOENT there is none of that name; otherwise as
 * vestige_instance_create().
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
 * tracing_on(), tracing_off(), tracing_is_on() - as the kernel's functions of these names: one
 * store, from any context, signal handlers included, for the moment in which a program detects its
 * own fault. Without libvestige nothing happens, and tracing_is_on() is 0.
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
 * tracing_snapshot() - move the records so far into the file `snapshot`, as the kernel's function
 * does; recording goes on. Does nothing unless tracing_alloc_snapshot() or a write to `snapshot`
 * has allocated memory before. Any context.
 */
static inline void tracing_snapshot(void)
{
	if (vestige_call_(trace_do))
		vestige_call_(trace_do)(VESTIGE_TRACING_SNAPSHOT_, 0);
}

/**
 * tracing_alloc_snapshot() - allocate the memory for snapshots, as much as the buffer has. Return:
 * 0, or a negative errno: -ENOMEM; -ENODEV the engine is asleep; -ENOSYS libvestige is not loaded.
 * Any thread, not from a signal handler.
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

/** tracing_snapshot_alloc() - tracing_alloc_snapshot(), then tracing_snapshot(). */
static inline void tracing_snapshot_alloc(void)
{
	vestige_write("snapshot", "1", 1);
}

/**
 * vestige_snapshot() - copy the records so far to a file; recording goes on. @path: is created; it
 * must not exist. `vestige report PATH` and the others read it.
 *
 * Return: 0, or -1 with errno: EEXIST; ENOSPC (nothing is left then); EACCES and other errors of
 * open(); ENODEV the engine is asleep; ENOSYS libvestige is not loaded. Any thread, not from a
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
 * The address of a word in which the engine caches its data of a constant text. It also puts the
 * text into printk_formats, by a distance in section vestige_printk that a note names. NULL for
 * other texts. For clang without optimization no text is constant here; such formats are not
 * listed, and their records are text.
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
 * The record carries the calling function's address and appears in the trace as `FUNCTION: TEXT`.
 * With a constant format it has the arguments as they are (strings are copied), and they are
 * formatted when the trace is read. That works for the conversions of ftrace's bprint: %d %i %u %x
 * %X %o, with l, ll or z, %s and %p, width, precision and the flag 0. With any other conversion or
 * format the record has the text. Without libvestige it costs a test. May be called from any
 * context in which vsnprintf() may.
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
 * trace_puts() - write a text into the trace as it is, as the kernel's function does. @text:
 * NUL-terminated; at most 1024 bytes are kept. Any context.
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
 * trace_dump_stack() - record the current stack in the trace, as the kernel's function does. @skip:
 * how many of the innermost functions to leave out; with 0 the stack begins with the caller. Any
 * context, except that a program's first call must not be in a signal handler. Records nothing in a
 * program without an unwinder (libgcc_s, or libunwind).
 */
#define trace_dump_stack(skip)                                                                     \
	do {                                                                                       \
		if (vestige_call_(trace_do)) {                                                     \
			vestige_dump_stack_(skip);                                                 \
			__asm__ volatile("");                                                      \
		}                                                                                  \
	} while (0)

/**
 * vestige_warn_on() - where @condition is true, report it with the stack, as the kernel's
 * WARN_ON(), and go on: to stderr, or where the control file `oops_file` says. `vestige crash`
 * shows the last one of a process. Value: whether @condition was true. Any context, except that a
 * program's first warning must not be in a signal handler. Without libvestige only @condition is
 * evaluated.
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

/* The same, at most once for each place in the source. */
#define vestige_warn_on_once(condition)                                                            \
	__extension__({                                                                            \
		static char vestige_warned_;                                                       \
		const int vestige_once_ = !!(condition);                                           \
		if (__builtin_expect(vestige_once_, 0) &&                                          \
		    !__atomic_exchange_n(&vestige_warned_, 1, __ATOMIC_RELAXED))                   \
			VESTIGE_WARN_(#condition);                                                 \
		vestige_once_;                                                                     \
	})

/*
 * * vestige_oops_fn - a callback at the end of the process by a fatal signal (while the control
 * file `ftrace_dump_on_oops` is not 0) and at each vestige_warn_on(). @text: the report, @bytes of
 * it, no NUL behind them; borrowed. @area: path of the area. * At a fatal signal it runs in the
 * signal's handler, on a stack of 300 KiB, when the report has been written. It may only call
 * async-signal-safe functions; a fault in it ends it. When it returns the process dies as it would
 * have died.
 */
typedef void (*vestige_oops_fn)(const char *text, size_t bytes, const char *area, void *arg);

/*
 * * vestige_on_oops() - set the callback; NULL: remove it. There is one in the process. Return: 0,
 * or -1 with errno: ENOSYS libvestige is not loaded. Any thread.
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
 * vestige_watch() - name memory whose accesses the tracer `mmiotrace` is to record, as a line of
 * the control file `mmiotrace_filter` does. They are recorded while that tracer is current.
 * @at, @bytes: where; it lies in one shared mapping (memfd, shm_open(), MAP_SHARED). @name: for
 * mmiotrace_filter; NULL: none. At most 63 bytes of it are kept.
 *
 * Return: 0, or -1 with errno: EINVAL no bytes, no such mapping, a private one, one that cannot be
 * read, or some of its pages are watched; ENOSPC there are 16; ENODEV the engine is asleep; ENOSYS
 * libvestige is not loaded, or is an older one. Any thread, not from a signal handler.
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

/*
 * * vestige_unwatch() - stop watching the memory that begins at @at. Errors: EINVAL there is none;
 * as above.
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
 * vestige_mark() - write a mark into the trace, as a write to the kernel's trace_marker does.
 * @text: NUL-terminated; at most 1024 bytes are kept. Appears as `tracing_mark_write: TEXT`.
 * Any context.
 */
static inline void vestige_mark(const char *text)
{
	if (vestige_call_(print))
		vestige_call_(print)(NULL, text, strlen(text));
}

/*
 * ftrace_ops: callbacks of the program's own at the entry of functions, as a kernel module has
 * them.
 */

/* The registers as the function found them. Read them with the functions below. */
struct ftrace_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long ip;     /* in the function, behind its site */
	unsigned long ret_ip; /* where it returns to; the next word is its first stack argument */
};

/**
 * ftrace_func_t - a callback at the entry of a function.
 * @ip: the function's first byte. @parent_ip: the address in its caller that it returns to.
 * @op: the ops that it was registered with. @fregs: the registers; valid during the call.
 *
 * It is called in the thread that made the call, in whatever context that is, signal handlers
 * included. It may use floating point and vectors, and may call functions that are traced: those
 * calls are traced, but are not called back (FTRACE_OPS_FL_RECURSION is always on), nor are calls
 * of a signal handler that interrupts it. The control files are not for it: vestige_read() and its
 * like fail with EDEADLK. It must not throw. It may leave by longjmp() or by the end of its thread.
 */
typedef void (*ftrace_func_t)(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *op,
			      struct ftrace_regs *fregs);

#define FTRACE_OPS_FL_SAVE_REGS (1ul << 2)
#define FTRACE_OPS_FL_RECURSION (1ul << 4)

/* Zero what is not named here. Must stay where it is from the first use to unregistering. */
struct ftrace_ops {
	ftrace_func_t func;
	unsigned long flags; /* registers are always saved, recursion is always stopped */
	void *private_data;  /* the program's */
	void *reserved[4];
};

#define VESTIGE_OPS_(call)                                                                         \
	do {                                                                                       \
		if (!vestige_call_(ops_register))                                                  \
			return -ENOSYS;                                                            \
		return vestige_api_()->call;                                                       \
	} while (0)

/*
 * * register_ftrace_function() - call @ops->func from now on when one of its functions is called.
 * ftrace_set_filter() selects them; without a filter these are all functions that can be traced.
 * Functions of objects that are loaded later join when the filter is set again. * Return: 0, or a
 * negative errno as in the kernel: -EINVAL no func; -EBUSY it is registered; -ENOSPC there are 64
 * already; -EDEADLK called from a callback; -ENODEV the engine is asleep; -ENOSYS libvestige is not
 * loaded. Any thread, not from a signal handler.
 */
static inline int register_ftrace_function(struct ftrace_ops *ops)
{
	VESTIGE_OPS_(ops_register(ops));
}

/*
 * * unregister_ftrace_function() - no more callbacks. When it returns no thread is inside one, and
 * @ops and the callback's data may be freed. It waits for threads that are inside, so the caller
 * must not hold anything that a callback waits for. Its filter is forgotten. * Return: 0; -EBUSY it
 * is not registered; -ETIMEDOUT it is off, but a thread has been inside for ten seconds: free
 * nothing and call again, which waits again; otherwise as register_ftrace_function().
 */
static inline int unregister_ftrace_function(struct ftrace_ops *ops)
{
	VESTIGE_OPS_(ops_unregister(ops));
}

/**
 * ftrace_set_filter() - add functions to the filter of @ops. @buf: words of set_ftrace_filter's
 * grammar between blanks; NULL: none. @len: their length in bytes. @reset: empty the filter first.
 *
 * May be called before and after registering. Return: 0, or -EINVAL a word names no function (those
 * before it count); otherwise as register_ftrace_function().
 */
static inline int ftrace_set_filter(struct ftrace_ops *ops, const char *buf, int len, int reset)
{
	VESTIGE_OPS_(ops_set_filter(ops, buf, len > 0 ? (size_t)len : 0, reset, 0));
}

/** ftrace_set_notrace() - the same for functions to leave out, whatever the filter of @ops says. */
static inline int ftrace_set_notrace(struct ftrace_ops *ops, const char *buf, int len, int reset)
{
	VESTIGE_OPS_(ops_set_filter(ops, buf, len > 0 ? (size_t)len : 0, reset, 1));
}

/**
 * ftrace_regs_get_argument() - the @n-th integer or pointer argument of the function, from 0; from
 * the seventh on they are read from the stack. As in the kernel it does not know the function's
 * type.
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

/** ftrace_regs_get_stack_pointer() - as it was at the function's first instruction. */
static inline unsigned long ftrace_regs_get_stack_pointer(struct ftrace_regs *fregs)
{
	return (unsigned long)&fregs->ret_ip;
}

/**
 * vestige_return_address() - the address to which the calling function returns, also while
 * function_graph wraps its calls; __builtin_return_address(0) is then an address in libvestige.
 * Gives the caller a frame. Any context.
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
