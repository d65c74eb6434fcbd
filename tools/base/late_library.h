/* SPDX-License-Identifier: MIT */
/*
 * Libraries that few commands need. The dynamic loader would open and relocate them each time a
 * command starts, which takes longer than the rest of its start, so that they are loaded by the
 * function that uses them first. A header of the library gives the functions' types:
 *
 *	static struct {
 *		__typeof__(MHD_start_daemon) *start_daemon;
 *	} mhd;
 *	static const struct late_function functions[] = {
 *		{"MHD_start_daemon", &mhd.start_daemon},
 *	};
 */
#ifndef VESTIGE_TOOLS_LATE_LIBRARY_H
#define VESTIGE_TOOLS_LATE_LIBRARY_H

#include <stddef.h>

struct late_function {
	const char *name;
	void *to; /* a pointer to a function pointer */
};

/*
 * late_library() - load a library and find functions in it.
 * @soname: such as "libstdc++.so.6". It stays loaded until the process ends.
 * @functions: @nr of them. Each pointer is set, or none is.
 * @use: what needs the library, for the error's text: "the web view"; or NULL.
 *
 * Return: 0; -ENOENT with fail() set if the library or one of the functions is not there. Any
 * thread; two threads that load the same functions at once set the same pointers.
 */
int late_library(const char *soname, const struct late_function *functions, size_t nr,
		 const char *use);

#endif
