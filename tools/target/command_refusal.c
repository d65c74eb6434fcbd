/* SPDX-License-Identifier: MIT */
/* See command_refusal.h. Tests: tests/cli/test_record_filter.py, tests/cli/test_settings.py. */
#include "tools/target/command_refusal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"

#define CARET_MAX    300u /* a longer command is not repeated in the message */
#define COMMAND_LINE "\n  Command: "

int command_refusal(int err, const char *where, const char *text, unsigned long position,
		    const char *words)
{
	size_t n = strcspn(text, "\n");
	const char *error = strerror(-err);

	if (n > CARET_MAX || position > n)
		return fail(-err, "%.300s: %s: %s", where, error, words);
	return fail(-err, "%.300s: %s: %s\n  %.*s\n  %*s^", where, error, words, (int)n, text,
		    (int)position, "");
}

/* The last entry: `[ TIME] PARSER: error: WORDS`, `  Command: TEXT`, a line with the caret. */
static char *last_entry(char *log)
{
	char *found = NULL;

	for (char *at = log; (at = strstr(at, COMMAND_LINE)); at++)
		found = at;
	return found;
}

/* Where the command of the last entry begins; *@words: its reason. NULL: there is no entry. */
static char *split_last(char *log, char **words)
{
	static const char error[] = ": error: ";
	char *command = last_entry(log), *at;

	if (!command)
		return NULL;
	*command = '\0';
	at = strrchr(log, '\n');
	*words = at ? at + 1 : log;
	for (at = *words; (at = strstr(at, error));)
		*words = at += strlen(error);
	return command + strlen(COMMAND_LINE);
}

static bool tell(char *log, const char *where, const char *text, int err)
{
	char *words, *command = split_last(log, &words), *caret, *at;
	size_t n, before;

	if (!command)
		return false;
	n = strcspn(command, "\n");
	/* the parser of a trigger logs it without its `!`, and without its filter */
	at = memmem(text, strlen(text), command, n);
	if (!n || !at || !command[n])
		return false;
	caret = command + n + 1;
	before = strspn(caret, " ");
	if (caret[before] != '^' || before < strlen("  Command: "))
		return false;
	command_refusal(err, where, text,
			(unsigned long)(at - text) + before - strlen("  Command: "), words);
	return true;
}

bool command_refusal_words(struct target *t, const char *text, char *words, size_t bytes)
{
	struct target_text log;
	char *why, *command;
	bool found;

	if (target_read(t, "error_log", &log))
		return false;
	command = split_last(log.at, &why);
	found = command && strcspn(command, "\n") == strlen(text) &&
		!strncmp(command, text, strlen(text));
	if (found)
		snprintf(words, bytes, "%s", why);
	free(log.at);
	return found;
}

int command_refused(struct target *t, const char *where, const char *text, int err)
{
	struct target_text log;
	char said[1024];

	snprintf(said, sizeof(said), "%s", fail_text());
	if (!target_read(t, "error_log", &log)) {
		bool explained = tell(log.at, where, text, err);

		free(log.at);
		if (explained)
			return err;
	}
	fail(-err, "%s", said);
	return err;
}
