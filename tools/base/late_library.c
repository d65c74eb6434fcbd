/* SPDX-License-Identifier: MIT */
/* See late_library.h. Tests: tests/unit/test_late_library.c. */
#include "tools/base/late_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "tools/base/fail.h"

int late_library(const char *soname, const struct late_function *functions, size_t nr,
		 const char *use)
{
	void *lib = dlopen(soname, RTLD_NOW | RTLD_LOCAL), *at;

	if (!lib)
		return fail(ENOENT, "%s%sthe library %s cannot be loaded: %s", use ? use : "",
			    use ? ": " : "", soname, dlerror());
	for (size_t i = 0; i < nr; i++) {
		if (dlsym(lib, functions[i].name))
			continue;
		fail(ENOENT, "%s%sthe library %s has no %s()", use ? use : "", use ? ": " : "",
		     soname, functions[i].name);
		dlclose(lib);
		return -ENOENT;
	}
	for (size_t i = 0; i < nr; i++) {
		at = dlsym(lib, functions[i].name);
		memcpy(functions[i].to, &at, sizeof(at));
	}
	return 0;
}
