/* SPDX-License-Identifier: MIT */
/* Replaces ctf_library.c if babeltrace2's headers are missing at build time. */
#include <unistd.h>

#include "tools/import/ctf_library.h"

void ctf_library_run(const char *const *folders, size_t nr, int fd)
{
	static const char text[] = "this vestige was built without libbabeltrace2-dev";
	struct ctf_item item = {.kind = CTF_ERROR, .text_bytes = sizeof(text) - 1};

	(void)folders;
	(void)nr;
	if (write(fd, &item, sizeof(item)) == (ssize_t)sizeof(item))
		(void)!write(fd, text, sizeof(text) - 1);
}
