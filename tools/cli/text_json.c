/* SPDX-License-Identifier: MIT */
/*
 * See text_json.h. The texts are our own, of the engine or of the tools. Tests:
 * tests/cli/test_json.py.
 */
#include "tools/cli/text_json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/fail.h"

void text_json_stack(struct json *j, char *text)
{
	char *line;

	json_open(j, NULL, '[');
	while ((line = strsep(&text, "\n"))) {
		uint64_t depth, size;
		int at = 0;

		if (sscanf(line, " %*u) %" SCNu64 " %" SCNu64 " %n", &depth, &size, &at) != 2 ||
		    !at)
			continue;
		json_open(j, NULL, '{');
		json_text(j, "name", line + at);
		json_number(j, "depth", depth);
		json_number(j, "size", size);
		json_close(j, '}');
	}
	json_close(j, ']');
}

void text_json_leaks(struct json *j, char *text)
{
	bool open = false;
	char *line;

	json_open(j, NULL, '[');
	while ((line = strsep(&text, "\n"))) {
		const char *begin = strstr(line, " bytes in ");
		uint64_t bytes, blocks;
		double oldest;

		if (!strncmp(line, " => ", 4) && open) {
			json_text(j, NULL, line + 4);
			continue;
		}
		/* in front of it may be the head of a record's line */
		while (begin && begin > line && begin[-1] >= '0' && begin[-1] <= '9')
			begin--;
		if (!begin || *line == '#' ||
		    sscanf(begin, "%" SCNu64 " bytes in %" SCNu64 " blocks, the oldest %lf", &bytes,
			   &blocks, &oldest) != 3)
			continue;
		if (open) {
			json_close(j, ']');
			json_close(j, '}');
		}
		json_open(j, NULL, '{');
		json_number(j, "bytes", bytes);
		json_number(j, "blocks", blocks);
		json_real(j, "oldest", oldest, 3);
		json_open(j, "stack", '[');
		open = true;
	}
	if (open) {
		json_close(j, ']');
		json_close(j, '}');
	}
	json_close(j, ']');
}

int text_json_print(struct target *t, const char *file, void (*put)(struct json *j, char *text))
{
	struct target_text text;
	struct json j = {0};
	struct out o;
	int err = target_read(t, file, &text);

	if (err)
		return err;
	if (out_init(&o, STDOUT_FILENO)) {
		free(text.at);
		return fail(ENOMEM, "out of memory");
	}
	j.o = &o;
	put(&j, text.at);
	out_text(&o, "\n");
	free(text.at);
	return out_end_stdout(&o, 0, "to stdout");
}
