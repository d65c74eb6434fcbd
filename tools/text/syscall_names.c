/* SPDX-License-Identifier: MIT */
/*
 * The names are from the C library's headers (make-syscall-names reads them when vestige is built),
 * except where the kernel's function has another one. Tests: tests/engine/events/hist.
 */
#include "tools/text/syscall_names.h"

#include <stddef.h>
#include <string.h>

/* Programs' name, kernel's name. */
static const char *const others[][2] = {
	{"stat", "newstat"},   {"fstat", "newfstat"},	   {"lstat", "newlstat"},
	{"uname", "newuname"}, {"sendfile", "sendfile64"}, {"umount2", "umount"},
};

const char *syscall_names_find(uint64_t nr)
{
	const char *name = nr < syscall_nr_names ? syscall_names[nr] : NULL;

	for (size_t i = 0; name && i < sizeof(others) / sizeof(*others); i++)
		if (!strcmp(name, others[i][0]))
			return others[i][1];
	return name;
}

const char *syscall_names_program(const char *kernel)
{
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strcmp(kernel, others[i][1]))
			return others[i][0];
	return kernel;
}
