/* SPDX-License-Identifier: MIT */
/* See flight_refusal.h. No state. Tests: tests/cli/test_flight.py. */
#include "tools/record/flight_refusal.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/target/command_refusal.h"
#include "tools/target/suggest.h"

/* Find the last line of vestige_status about a return probe of @function. Return: whether found. */
static bool status_words(struct target *t, const char *function, char *words, size_t bytes)
{
	struct target_text status;
	char *line, *rest;
	size_t n, k = strlen(function);
	bool found = false;

	if (target_read(t, "vestige_status", &status))
		return false;
	for (line = strtok_r(status.at, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *why = strstr(line, "no return probe: ");

		n = strlen(line);
		if (!why || n < k + 2 || strcmp(line + n - k, function) != 0 ||
		    strncmp(line + n - k - 2, ": ", 2) != 0)
			continue;
		line[n - k - 2] = '\0';
		snprintf(words, bytes, "%s", why);
		found = true;
	}
	free(status.at);
	return found;
}

/* Why the probe @command of @function was refused, in words. */
static void find_reason(struct target *t, const char *function, const char *command, int err,
			char *words, size_t bytes)
{
	if (command_refusal_words(t, command, words, bytes) ||
	    status_words(t, function, words, bytes))
		return;
	snprintf(words, bytes, "%s; `vestige get -P %s error_log` may say more", strerror(-err),
		 t->name);
}

int flight_refuse_call(struct target *t, const char *function, const char *command, int err)
{
	char near[128], words[256];

	if (err == -ETIMEDOUT || err == -ESRCH || err == -ENOMEM || err == -EACCES)
		return err;
	find_reason(t, function, command, err, words, sizeof(words));
	if (suggest(t, "available_filter_functions", function, near, sizeof(near))) {
		if (strcmp(near, function) != 0)
			return fail(-err,
				    "there is no function %s in process %s to be timed, did you "
				    "mean %s? `vestige list -f -P %s` lists all",
				    function, t->name, near, t->name);
		return fail(-err, "the calls of %s in process %s cannot be timed: %s", function,
			    t->name, words);
	}
	return fail(-err,
		    "there is no function %s in process %s to be timed: %s; `vestige list -f -P "
		    "%s` lists those that can be",
		    function, t->name, words, t->name);
}
