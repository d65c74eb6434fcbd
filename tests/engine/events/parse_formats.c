/* SPDX-License-Identifier: MIT */
/*
 * Formats of events as libtraceevent understands them: each argument is a file, SYSTEM is all
 * before the `-` of its name. Prints how many it took; ends with 1 at the first that it did not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

int main(int argc, char **argv)
{
	struct tep_handle *tep = tep_alloc();
	int i;

	for (i = 1; i < argc; i++) {
		char text[65536], system[64];
		const char *name = strrchr(argv[i], '/');
		FILE *f = fopen(argv[i], "r");
		size_t n = f ? fread(text, 1, sizeof(text), f) : 0;
		int err;

		if (f)
			fclose(f);
		snprintf(system, sizeof(system), "%.*s", (int)strcspn(name + 1, "-"), name + 1);
		err = n ? tep_parse_event(tep, text, n, system) : -1;
		if (err) {
			fprintf(stderr, "%s: error %d\n", argv[i], err);
			return 1;
		}
	}
	printf("%d\n", i - 1);
	tep_free(tep);
	return 0;
}
