/* SPDX-License-Identifier: MIT */
/* See process_env.h. The program may have overwritten this memory, so any byte may be there. */
#include "tools/target/process_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *process_env(int pid, const char *name)
{
	size_t n = strlen(name), room = 0;
	char path[64], *text = NULL, *value = NULL;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	f = fopen(path, "re");
	while (f && !value && getdelim(&text, &room, '\0', f) > 0)
		if (!strncmp(text, name, n) && text[n] == '=')
			value = strdup(text + n + 1);
	free(text);
	if (f)
		fclose(f);
	return value;
}
