/* SPDX-License-Identifier: MIT */
/* See kft_log.h. */
#include "tools/import/kft_log.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"

#define MAX_US	   ((uint64_t)INT64_MAX / 2000) /* as ns, with room to add two of them */
#define RUN	   "Kernel Instrumentation Run ID"
#define MIN_DIGITS 6u /* an address without 0x has as many */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_columns(const char *line)
{
	return strstr(line, "Entry") && strstr(line, "Delta") && strstr(line, "PID") &&
	       strstr(line, "Function");
}

static bool is_head(char *line)
{
	return !strncmp(import_skip_blanks(line), RUN, sizeof(RUN) - 1) || is_columns(line);
}

bool kft_log_is(const char *head, size_t bytes)
{
	return import_text_any(head, bytes, is_head);
}

/* A number and the blanks behind it. Return: 1; 0 it is none; -1 it is too large. */
static int take_number(char **p, int64_t *v)
{
	bool minus = **p == '-';
	uint64_t n = 0;
	char *s = *p + minus;

	if (!isdigit((unsigned char)*s))
		return 0;
	for (; isdigit((unsigned char)*s); s++) {
		n = 10 * n + (uint64_t)(*s - '0');
		if (n > MAX_US)
			return -1;
	}
	if (!is_blank(*s))
		return 0;
	*v = minus ? -(int64_t)n : (int64_t)n;
	*p = import_skip_blanks(s);
	return 1;
}

/*
 * Take the two names. They are separated by two blanks or a tab; otherwise by the last blank, since
 * the name of a C++ function may have blanks.
 */
static void take_names(struct kft_entry *e, char *p)
{
	char *end = p + strlen(p), *at;

	while (end > p && is_blank(end[-1]))
		*--end = '\0';
	e->function = p;
	e->caller = end;
	for (at = p; *at && *at != '\t' && !(at[0] == ' ' && is_blank(at[1]));)
		at++;
	if (!*at)
		at = strrchr(p, ' ');
	if (!at)
		return;
	e->caller = import_skip_blanks(at);
	*at = '\0';
}

/* Return: 1; 0 the line is no call; -1 a number is too large. */
static int take_call(struct kft_entry *e, char *line)
{
	char *p = import_skip_blanks(line);
	int64_t at;
	int got = take_number(&p, &at);

	if (got > 0)
		got = take_number(&p, &e->delta_us);
	if (got > 0)
		got = take_number(&p, &e->pid);
	if (got <= 0)
		return got;
	if (!*p || at < 0 || e->delta_us < KFT_WATCH || e->pid < KFT_INTERRUPT)
		return 0;
	e->at_us = (uint64_t)at;
	take_names(e, p);
	return 1;
}

static bool take_stamp(const char *line, const char *what, uint64_t *us)
{
	const char *p = strstr(line, what);

	if (p)
		*us = strtoull(p + strlen(what), NULL, 10);
	if (*us > MAX_US)
		*us = 0;
	return p;
}

static void take_head(struct kft_log *log, char *line)
{
	char *p = import_skip_blanks(line);

	if (!strncmp(p, RUN, sizeof(RUN) - 1)) {
		log->nr_runs++;
		log->began = false;
	}
	take_stamp(p, "Logging started at ", &log->start_us);
	take_stamp(p, "Logging stopped at ", &log->stop_us);
	log->has_counters |= take_stamp(p, "Total entries filtered = ", &log->left_out);
	if (!strncmp(p, "Filters:", 8))
		log->in_filters = true;
	else if (!strncmp(p, "Filter Counters:", 16) || is_columns(p))
		log->in_filters = false;
	else if (log->in_filters && *p && strcmp(p, "none") != 0)
		log->nr_filters++;
}

int kft_log_next(struct import_text *in, struct kft_log *log, struct kft_entry *e)
{
	char *line;

	while ((line = import_line(in))) {
		int got = take_call(e, line);

		if (got < 0)
			return fail(EINVAL, "line %llu: a number is too large",
				    (unsigned long long)in->line);
		if (got) {
			log->began = true;
			return 1;
		}
		if (log->began && strncmp(import_skip_blanks(line), RUN, sizeof(RUN) - 1) != 0)
			log->skipped += *import_skip_blanks(line) != '\0';
		else
			take_head(log, line);
	}
	return 0;
}

bool kft_log_filtered(const struct kft_log *log)
{
	return log->left_out || (log->nr_filters && !log->has_counters);
}

bool kft_log_address(const char *name, uint64_t *addr)
{
	bool has_mark = name[0] == '0' && (name[1] | 32) == 'x';
	size_t nr;

	name += has_mark ? 2 : 0;
	nr = strspn(name, "0123456789abcdefABCDEF");
	if (!nr || nr > 16 || name[nr] || (!has_mark && nr < MIN_DIGITS))
		return false;
	*addr = strtoull(name, NULL, 16);
	return true;
}
