/* SPDX-License-Identifier: MIT */
/* Whether a path is in a folder of the system's libraries, by its name. */
#ifndef VESTIGE_TOOLS_SYSTEM_PATH_H
#define VESTIGE_TOOLS_SYSTEM_PATH_H

#include <stdbool.h>
#include <string.h>

static inline bool path_is_of_system(const char *path)
{
	static const char *const folders[] = {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/",
					      "/usr/libexec/"};

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		if (!strncmp(path, folders[i], strlen(folders[i])))
			return true;
	return false;
}

#endif
