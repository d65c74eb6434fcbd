/* SPDX-License-Identifier: MIT */
/* See function_word.h. Tests: tests/fuzz/control.c, tests/engine/fire/agent. */
#include "engine/core/function_word.h"

#include <errno.h>

#include "engine/base/mem.h"

static int is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

const char *function_word_next(const char *text, size_t n, size_t *at, size_t *word_bytes)
{
	size_t start;

	while (*at < n && is_blank(text[*at]))
		++*at;
	if (*at == n)
		return NULL;
	for (start = *at; *at < n && !is_blank(text[*at]); ++*at)
		;
	*word_bytes = *at - start;
	return text + start;
}

/* `:mod:GLOB` behind the functions' glob: cut it off there. */
static void split_module(struct function_word *w)
{
	static const char mod[] = ":mod:";
	size_t i;

	for (i = 0; i + 5 <= w->n; i++) {
		if (memcmp(w->glob + i, mod, 5))
			continue;
		w->module = w->glob + i + 5;
		w->module_bytes = w->n - i - 5;
		w->n = i;
		return;
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
	split_module(w);
	if (!w->n) {
		w->glob = "*";
		w->n = 1;
	}
	return 0;
}
