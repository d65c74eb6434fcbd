/* SPDX-License-Identifier: MIT */
/* See suggest.h. Tests: tests/cli/test_control.py. */
#include "tools/target/suggest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/array.h"
#include "tools/base/nearest.h"
#include "tools/text/syscall_names.h"

struct words {
	char **at;
	size_t nr, room;
};

static int add(struct words *w, char *word)
{
	if (ARRAY_ROOM(w->at, w->nr, w->room, 256))
		return -ENOMEM;
	w->at[w->nr++] = word;
	return 0;
}

/* @parts: the text behind a colon is a word, too: an event without its system. */
static int split(char *text, bool parts, struct words *w)
{
	char *word, *colon;
	int err = 0;

	while (!err && (word = strsep(&text, " \t\n[]"))) {
		if (!*word)
			continue;
		err = add(w, word);
		colon = parts ? strchr(word, ':') : NULL;
		if (!err && colon)
			err = add(w, colon + 1);
	}
	return err;
}

static const char *word_at(const void *arg, size_t i)
{
	const struct words *w = arg;

	return i < w->nr ? w->at[i] : NULL;
}

bool suggest_of(char *list, const char *word, char *near, size_t bytes)
{
	const char *nearest = NULL;
	struct words words = {0};

	if (!split(list, !strchr(word, ':'), &words))
		nearest = nearest_name(word, word_at, &words);
	if (nearest)
		snprintf(near, bytes, "%s", nearest);
	free(words.at);
	return nearest;
}

static const char *syscall_at(const void *arg, size_t i)
{
	const char *name;

	(void)arg;
	if (i >= syscall_nr_names)
		return NULL;
	/* a number without a name is no word's neighbour */
	name = syscall_names_find(i);
	return name ? name : "";
}

bool suggest_syscall(const char *word, char *near, size_t bytes)
{
	static const char *const begins[] = {"sys_enter_", "sys_exit_"};
	const char *colon = strchr(word, ':'), *name = colon ? colon + 1 : word, *nearest;

	if (colon && strncmp(word, "syscalls:", 9) != 0)
		return false;
	for (unsigned int i = 0; i < 2; i++) {
		size_t n = strlen(begins[i]);

		if (strncmp(name, begins[i], n) != 0)
			continue;
		nearest = nearest_name(name + n, syscall_at, NULL);
		if (!nearest)
			return false;
		snprintf(near, bytes, "syscalls:%s%s", begins[i], nearest);
		return true;
	}
	return false;
}

/* Options that are off, without their `no`. */
static void clear_no(char *text)
{
	for (char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, "no", 2))
			line[0] = line[1] = ' ';
	}
}

bool suggest(struct target *t, const char *list, const char *word, char *near, size_t bytes)
{
	struct target_text text;
	bool found;

	if (!*word || word[strcspn(word, " \t\n")] || target_read(t, list, &text))
		return false;
	if (!strcmp(list, "trace_options") && strncmp(word, "no", 2) != 0)
		clear_no(text.at);
	found = suggest_of(text.at, word, near, bytes);
	free(text.at);
	if (!found && !strcmp(list, "available_events"))
		found = suggest_syscall(word, near, bytes);
	return found;
}
