/* SPDX-License-Identifier: MIT */
/* libc.h for libvestige.so. No state. Tests: all that preload it. */
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

#include "engine/core/libc.h"

/* Of the linker: the library's first byte, and the last of its code. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

const int libc_is_static = 0;

void *libc_symbol(const char *name)
{
	return dlsym(RTLD_DEFAULT, name);
}

void *libc_next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

int libc_owns(const void *p)
{
	const void *libc = dlsym(RTLD_NEXT, "gnu_get_libc_version");
	Dl_info a, b;

	return p && libc && dladdr(p, &a) && dladdr(libc, &b) && a.dli_fbase == b.dli_fbase;
}

void libc_own_text(uint64_t *lo, uint64_t *hi)
{
	*lo = (uint64_t)__ehdr_start;
	*hi = (uint64_t)etext;
}

struct wanted {
	const char *name;
	void *found;
};

static int find_in(struct dl_phdr_info *info, size_t bytes, void *arg)
{
	struct wanted *w = arg;
	void *object;

	(void)bytes;
	if (!info->dlpi_name || !info->dlpi_name[0])
		return 0;
	object = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
	if (!object)
		return 0;
	w->found = dlsym(object, w->name);
	dlclose(object);
	if ((const char *)w->found >= __ehdr_start && (const char *)w->found < etext)
		w->found = NULL;
	return w->found != NULL;
}

void *libc_anywhere(const char *name)
{
	struct wanted w = {name, libc_next(name)};

	if (!w.found)
		dl_iterate_phdr(find_in, &w);
	return w.found;
}
