/* SPDX-License-Identifier: MIT */
/* See function_word.h. Tests: tests/fuzz/control.c, tests/engine/fire/agent. */
#include "engine/core/function_word.h"

#include <errno.h>

#include "engine/base/mem.h"
#include "engine/base/text.h"

/* Split off what is behind the first colon: `mod:GLOB` or a command. */
static void split_rest(struct function_word *w)
{
	static const char mod[] = "mod:";
	const char *rest;
	size_t i, n;

	for (i = 0; i < w->n && w->glob[i] != ':'; i++)
		;
	if (i == w->n)
		return;
	rest = w->glob + i + 1;
	n = w->n - i - 1;
	w->n = i;
	if (n >= 4 && !memcmp(rest, mod, 4)) {
		w->module = rest + 4;
		w->module_bytes = n - 4;
	} else {
		w->command = rest;
		w->command_bytes = n;
	}
}

int function_word_parse(const char *word, size_t n, struct function_word *w)
{
	*w = (struct function_word){.glob = word, .n = n, .add = 1};
	if (w->n && *w->glob == '!') {
		w->glob++;
		w->n--;
		w->add = 0;
	}
	if (!w->n)
		return -EINVAL;
	w->is_number = !str_to_u64(w->glob, w->n, &w->number);
	if (w->is_number)
		return 0;
	split_rest(w);
	/* `!:traceoff` means all functions, `:traceoff` none */
	if (!w->n && w->command && w->add)
		return -EINVAL;
	if (!w->n) {
		w->glob = "*";
		w->n = 1;
	}
	return 0;
}
