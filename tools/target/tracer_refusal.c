/* SPDX-License-Identifier: MIT */
/*
 * See tracer_refusal.h. Tests: tests/cli/test_control.py, test_unmodified.py, test_denied_exec.py.
 */
#include "tools/target/tracer_refusal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"

/* The text behind @word, if @at begins with @word; else NULL. */
static const char *behind(const char *at, const char *word)
{
	size_t n = strlen(word);

	return strncmp(at, word, n) ? NULL : at + n;
}

/* The reason in a line `no tracer NAME: ...` or `no NAME: ...`; NULL: it is another line. */
static const char *reason_in(const char *line, const char *tracer)
{
	const char *at = behind(line, "no ");

	if (at && behind(at, "tracer "))
		at = behind(at, "tracer ");
	at = at ? behind(at, tracer) : NULL;
	return at ? behind(at, ": ") : NULL;
}

bool tracer_refusal_of(const char *text, const char *tracer, char *why, size_t bytes)
{
	bool found = false;

	for (const char *line = text; *line; line += *line == '\n') {
		int n = (int)strcspn(line, "\n");
		const char *reason = reason_in(line, tracer);

		if (reason)
			snprintf(why, bytes, "%.*s", n - (int)(reason - line), reason);
		found |= reason != NULL;
		line += n;
	}
	return found;
}

int tracer_refusal_fail(const char *tracer, const char *why)
{
	return fail(ENODEV, "there is no tracer %s here: %s%s", tracer, why,
		    strcmp(tracer, "function_graph") ? "" : "; -p function is there");
}

static bool is_in_file(struct target *t, const char *file, const char *tracer, char *why,
		       size_t bytes)
{
	struct target_text text;
	bool found;

	if (target_read(t, file, &text))
		return false;
	found = tracer_refusal_of(text.at, tracer, why, bytes);
	free(text.at);
	return found;
}

bool text_refusal_of(const char *status, char *why, size_t bytes)
{
	for (const char *line = status; *line; line += *line == '\n') {
		int n = (int)strcspn(line, "\n");

		/* engine/hook/sites.c writes it */
		if (behind(line, "its text cannot be made writable (")) {
			const char *end = strstr(line, " (errno ");

			if (end && end < line + n)
				n = (int)(end - line);
			snprintf(why, bytes, "%.*s", n, line);
			return true;
		}
		line += n;
	}
	return false;
}

const char *graph_refusal_of(const char *status, int *bytes)
{
	static const char none[] = "no call is wrapped: "; /* engine/hook/redirect.c writes it */
	const char *why = strstr(status, none);

	if (!why)
		return NULL;
	why += strlen(none);
	*bytes = (int)strcspn(why, "\n");
	return why;
}

int text_refused(struct target *t, int err)
{
	char said[256], why[512];
	struct target_text text;
	struct target *top;
	bool found;
	int none;

	if ((err != -EPERM && err != -EACCES) || !t->ops->records)
		return err;
	snprintf(said, sizeof(said), "%s", fail_text());
	/* an instance has no such file */
	top = target_get(t->name, NULL, &none);
	found = top && !target_read(top, "vestige_status", &text);
	if (found) {
		found = text_refusal_of(text.at, why, sizeof(why));
		free(text.at);
	}
	target_put(top);
	if (found)
		fail(-err, "%s: %s", said, why);
	else
		fail(-err, "%s", said);
	return err;
}

int tracer_refused(struct target *t, const char *tracer, int err)
{
	char said[256], why[512], name[64];
	struct target *top;
	bool found;
	int none;

	/* the kernel has no such files; other errors need no reason */
	if ((err != -EINVAL && err != -ENODEV) || !t->ops->records)
		return err;
	snprintf(said, sizeof(said), "%s", fail_text());
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(tracer, " \t\n"), tracer);
	/* an instance does not have the two files */
	top = target_get(t->name, NULL, &none);
	found = top && (is_in_file(top, "vestige_absent", name, why, sizeof(why)) ||
			is_in_file(top, "vestige_status", name, why, sizeof(why)));
	target_put(top);
	if (found)
		return tracer_refusal_fail(name, why);
	fail(-err, "%s", said);
	return err;
}
