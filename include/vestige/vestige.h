/* SPDX-License-Identifier: MIT */
/*
 * vestige: ftrace for your own programs.
 *
 * A program may include this header and call what is in it whether libvestige is loaded or not:
 * nothing has to be linked. Without the library every call fails with ENOSYS.
 */
#ifndef VESTIGE_VESTIGE_H
#define VESTIGE_VESTIGE_H

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VESTIGE_VERSION "0.1.0"

/* In libvestige; absent from a program that runs without it. Not to be called directly. */
extern ssize_t vestige_file_read(const char *file, char *buf, size_t bytes) __attribute__((weak));

extern int vestige_area_snapshot(const char *path) __attribute__((weak));
extern int vestige_print(const void *ip, const char *text, size_t bytes) __attribute__((weak));
extern ssize_t vestige_file_write(const char *file, const char *buf, size_t bytes, int truncate)
	__attribute__((weak));

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
	if (!vestige_file_read) {
		errno = ENOSYS;
		return -1;
	}
	return vestige_file_read(file, buf, bytes);
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
	if (!vestige_file_write) {
		errno = ENOSYS;
		return -1;
	}
	return vestige_file_write(file, buf, bytes, 1);
}

/** vestige_append() - as vestige_write(), but as `echo TEXT >> FILE`: lists keep what they had. */
static inline ssize_t vestige_append(const char *file, const char *buf, size_t bytes)
{
	if (!vestige_file_write) {
		errno = ENOSYS;
		return -1;
	}
	return vestige_file_write(file, buf, bytes, 0);
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
 * vestige_snapshot() - copy what is recorded, as it stands, to a file; recording goes on.
 * @path: is created; it must not exist. `vestige report PATH` and the others read it.
 *
 * Return: 0, or -1 with errno: EEXIST; ENOSPC (nothing is left then); EACCES and what else open()
 * says; ENODEV the engine is asleep; ENOSYS libvestige is not loaded. Any thread, not from a signal
 * handler.
 */
static inline int vestige_snapshot(const char *path)
{
	if (!vestige_area_snapshot) {
		errno = ENOSYS;
		return -1;
	}
	return vestige_area_snapshot(path);
}

/**
 * trace_printk() - write a line into the trace, as the kernel's function of that name does.
 * @fmt: printf format; at most 1024 bytes of the result are kept.
 *
 * The record carries the calling function's address and appears in the trace as `FUNCTION: TEXT`.
 * Without libvestige, or while recording is off, it costs a test and nothing is formatted.
 * May be called from any context in which vsnprintf() may.
 */
__attribute__((noinline, unused, no_instrument_function, patchable_function_entry(0),
	       format(printf, 1, 2))) static void
vestige_printk_(const char *fmt, ...)
{
	char text[1025];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n > 0)
		vestige_print(__builtin_return_address(0), text,
			      (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

#define trace_printk(...)                                                                          \
	do {                                                                                       \
		if (vestige_print) {                                                               \
			vestige_printk_(__VA_ARGS__);                                              \
			__asm__ volatile(""); /* no tail call: the caller is told */               \
		}                                                                                  \
	} while (0)

/**
 * vestige_mark() - write a mark into the trace, as a write to the kernel's trace_marker does.
 * @text: NUL-terminated; at most 1024 bytes are kept. Appears as `tracing_mark_write: TEXT`.
 * Any context.
 */
static inline void vestige_mark(const char *text)
{
	if (vestige_print)
		vestige_print(NULL, text, strlen(text));
}

#ifdef __cplusplus
}
#endif

#endif
