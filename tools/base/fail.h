/* SPDX-License-Identifier: MIT */
/*
 * How a function of tools/ reports an error: it returns -errno and leaves one line of text, which
 * the command prints as `vestige: TEXT`. The line names the thing (file, flag, function) and, where
 * there is one, the remedy.
 */
#ifndef VESTIGE_TOOLS_FAIL_H
#define VESTIGE_TOOLS_FAIL_H

/*
 * fail() - record why the current operation fails.
 * @err: a positive errno value.
 * @fmt: printf format of the line, without a newline at the end.
 *
 * Return: -err, so that a caller can write `return fail(ENOENT, "...")`.
 * The text is kept per thread until the next fail().
 */
int fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* As fail(), with ": " and the text of @err's strerror() after the line. */
int fail_errno(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The text of the last fail() of this thread, "" if there was none. */
const char *fail_text(void);

#endif
