/* SPDX-License-Identifier: MIT */
/* See options.h. Tests: tests/unit/test_options.c, tests/cli/test_main.py. */
#include "tools/cli/options.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/nearest.h"
#include "tools/base/note.h"
#include "tools/cli/cmd.h"
#include "tools/cli/pager.h"
#include "tools/cli/trace_cmd_flags.h"

#define COLUMNS	   80
#define MAX_COLUMN 20 /* of the flags in the help, with their values */

static const struct flag help_flag = {'h', "help", NULL, "print this", NULL, 0};

static int status_of(const struct command *c)
{
	return c->usage_status ? c->usage_status : CMD_USAGE;
}

int options_wrong(const struct command *c, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	note("%s: %s (see vestige %s --help)", c->name, text, c->name);
	return status_of(c);
}

int options_bad(const struct parsing *p, const char *what, const char *value)
{
	return options_wrong(p->command, "%s: %s: %s", p->typed, what, value);
}

static bool number_within(const char *text, unsigned long long least, unsigned long long most,
			  unsigned long long *n)
{
	char *end;

	errno = 0;
	*n = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno && *n >= least && *n <= most;
}

bool options_number(const char *text, unsigned long long max, unsigned long long *n)
{
	return number_within(text, 1, max, n);
}

int options_take_number(const struct parsing *p, const char *value, unsigned long long least,
			unsigned long long most, const char *what, unsigned long long *n)
{
	return number_within(value, least, most, n) ? 0 : options_bad(p, what, value);
}

int options_take_cpu(const struct parsing *p, const char *value, int *cpu)
{
	unsigned long long n;
	int status = options_take_number(p, value, 0, INT_MAX, "not a CPU", &n);

	if (!status)
		*cpu = (int)n;
	return status;
}

int options_take_offset(const struct parsing *p, const char *value, int64_t *offset)
{
	char *end;
	long long n;

	errno = 0;
	n = strtoll(value, &end, 0);
	if (end == value || *end)
		return options_bad(p, "not a number", value);
	if (errno)
		return options_bad(p, "it has more than 63 bits", value);
	*offset = n;
	return 0;
}

static bool is_end(const struct flag *f)
{
	return !f->letter && !f->name;
}

/*
 * The @i-th flag of all tables, the command's own --help last; @table: of which. NULL behind the
 * last one.
 */
static const struct flag *flag_at(const struct command *c, size_t i, size_t *table)
{
	size_t t = 0;

	for (; c->flags && c->flags[t]; t++) {
		for (const struct flag *f = c->flags[t]; !is_end(f); f++) {
			if (!i--) {
				*table = t;
				return f;
			}
		}
	}
	*table = t;
	return i ? NULL : &help_flag;
}

static const char *name_at(const void *arg, size_t i)
{
	const struct flag *f;
	size_t table;

	/* a flag without a long name is never a suggestion */
	f = flag_at(arg, i, &table);
	return !f ? NULL : f->name ? f->name : "";
}

struct parser {
	struct parsing p; /* first */
	void *const *to;
	char **argv;
	int argc, at;
};

static int no_value(const struct parser *r, const struct flag *f)
{
	return options_wrong(r->p.command, "%s wants a value: %s", r->p.typed, f->value);
}

static int take(struct parser *r, const struct flag *f, size_t table, const char *value)
{
	const bool own = f != &help_flag && r->p.command->flags[table] != pager_flags;
	char *to = own ? r->to[table] : NULL;

	r->p.flag = f;
	if (f->value && !*value)
		return no_value(r, f);
	if (f->take)
		return f->take(&r->p, to, value);
	if (f->value)
		*(const char **)(to + f->offset) = value;
	else
		*(bool *)(to + f->offset) = true;
	return 0;
}

/* The row of a flag that trace-cmd's command of that name has and ours has not; NULL: none. */
static const struct trace_cmd_flag *find_trace_cmds(const struct parser *r)
{
	const struct trace_cmd_flag *f = trace_cmd_flags;

	while (f->command &&
	       (strcmp(f->command, r->p.command->name) != 0 || strcmp(f->typed, r->p.typed) != 0))
		f++;
	return f->command ? f : NULL;
}

static int unknown(const struct parser *r, const char *name)
{
	const struct command *c = r->p.command;
	const struct trace_cmd_flag *theirs = find_trace_cmds(r);
	const char *nearest = name ? nearest_name(name, name_at, c) : NULL;

	if (theirs)
		return options_wrong(c, "trace-cmd's %s %s%s%s", r->p.typed, theirs->said,
				     *theirs->text ? ": " : "", theirs->text);
	if (!strcmp(r->p.typed, "--version") || !strcmp(r->p.typed, "-V"))
		return options_wrong(c, "there is no flag %s: `vestige --version` prints it",
				     r->p.typed);
	if (nearest)
		return options_wrong(c, "there is no flag %s: did you mean --%s?", r->p.typed,
				     nearest);
	return options_wrong(c, "there is no flag %s", r->p.typed);
}

/* The next word as a value. Return: NULL: there is none, and the error is printed. */
static const char *next_value(struct parser *r, const struct flag *f)
{
	if (r->at < r->argc)
		return r->argv[r->at++];
	no_value(r, f);
	return NULL;
}

/* `-abVALUE`. Return: -1 to go on, or the exit status. */
static int parse_letters(struct parser *r, const char *letters)
{
	char typed[3] = {'-', 0, 0};

	for (; *letters; letters++) {
		const struct flag *f;
		const char *value = NULL;
		size_t table;
		int err;

		typed[1] = *letters;
		r->p.typed = typed;
		for (size_t i = 0; (f = flag_at(r->p.command, i, &table)); i++)
			if (f->letter == *letters)
				break;
		if (!f)
			return unknown(r, NULL);
		if (f == &help_flag) {
			options_help(r->p.command);
			return 0;
		}
		if (f->value) {
			value = letters[1] ? letters + 1 : next_value(r, f);
			if (!value)
				return status_of(r->p.command);
		}
		err = take(r, f, table, value);
		if (err || value)
			return err ? err : -1;
	}
	return -1;
}

/*
 * The flag of that name, or the only one that begins with it. If there are several: NULL, and the
 * error is printed.
 */
static const struct flag *find_long(struct parser *r, const char *name, size_t n, size_t *table,
				    bool *reported)
{
	const struct flag *f, *found = NULL;
	size_t of;

	*reported = false;
	for (size_t i = 0; (f = flag_at(r->p.command, i, &of)); i++) {
		if (!f->name || strncmp(f->name, name, n))
			continue;
		if (found && f->name[n]) {
			options_wrong(r->p.command, "%s may be --%s or --%s", r->p.typed,
				      found->name, f->name);
			*reported = true;
			return NULL;
		}
		found = f;
		*table = of;
		if (!f->name[n])
			break;
	}
	return found;
}

/* `--name`, `--name=VALUE`. Return: as parse_letters(). */
static int parse_long(struct parser *r, const char *name)
{
	size_t n = strcspn(name, "="), table = 0;
	const char *value = name[n] ? name + n + 1 : NULL;
	char typed[64], bare[62];
	const struct flag *f;
	bool reported;
	int err;

	snprintf(bare, sizeof(bare), "%.*s", (int)n, name);
	snprintf(typed, sizeof(typed), "--%s", bare);
	r->p.typed = typed;
	f = find_long(r, name, n, &table, &reported);
	if (!f)
		return reported ? status_of(r->p.command) : unknown(r, bare);
	if (!f->value && value)
		return options_wrong(r->p.command, "%s takes no value", typed);
	if (f == &help_flag) {
		options_help(r->p.command);
		return 0;
	}
	if (f->value && !value) {
		value = next_value(r, f);
		if (!value)
			return status_of(r->p.command);
	}
	err = take(r, f, table, value);
	return err ? err : -1;
}

/* Does the command print text for a person, so that it has the flags of pager.h? */
static bool prints(const struct command *c)
{
	for (size_t t = 0; c->flags && c->flags[t]; t++)
		if (c->flags[t] == pager_flags)
			return true;
	return false;
}

int options_parse(const struct command *c, void *const *to, int *argc, char ***argv)
{
	struct parser r = {.p = {.command = c}, .to = to, .argv = *argv, .argc = *argc, .at = 1};
	int nr = 0, status = -1;
	char **words = *argv + 1;

	while (r.at < r.argc && status < 0) {
		char *word = r.argv[r.at];

		if (word[0] == '-' && word[1] && strcmp(word, "--")) {
			r.at++;
			status = word[1] == '-' ? parse_long(&r, word + 2)
						: parse_letters(&r, word + 1);
			continue;
		}
		if (!strcmp(word, "--")) {
			r.at += !(c->keeps_dashes && !nr);
			break;
		}
		if (c->runs_program)
			break;
		words[nr++] = word;
		r.at++;
	}
	/* the rest are words; move them behind the words before */
	while (r.at < r.argc)
		words[nr++] = r.argv[r.at++];
	words[nr] = NULL;
	*argv = words;
	*argc = nr;
	if (status < 0 && nr && !*c->words)
		status = options_wrong(
			c, "%s: %s", c->no_words ? c->no_words : "it takes no arguments", words[0]);
	if (status < 0 && prints(c) && !c->runs_program)
		pager_begin();
	return status;
}

/*
 * Print @text, broken into lines that begin at @column; the first line is there already. A newline
 * counts as a blank, but before a newline or a blank it ends a paragraph.
 */
static void put_wrapped(const char *text, size_t column)
{
	size_t at = column;

	while (*text) {
		size_t n = strcspn(text, " \n"), gap = strspn(text + n, " ");

		if (at + n > COLUMNS && at > column) {
			printf("\n%*s", (int)column, "");
			at = column;
		}
		printf("%.*s", (int)n, text);
		at += n;
		text += n;
		if (*text == '\n' && (text[1] == '\n' || text[1] == ' ' || !text[1])) {
			text++;
			n = strspn(text, "\n ");
			if (!*text)
				break;
			printf("\n%.*s", (int)n, text);
			text += n;
			at = column + n;
			continue;
		}
		if (*text == '\n')
			gap = 1;
		if (gap && at + gap + strcspn(text + gap, " \n") <= COLUMNS) {
			printf("%*s", (int)gap, "");
			at += gap;
		} else if (gap) {
			at = COLUMNS;
		}
		text += gap;
	}
	putchar('\n');
}

/* `-i, --input FILE`. */
static int flag_text(const struct flag *f, char *out, size_t room)
{
	char letter[8] = "    ";

	if (f->letter)
		snprintf(letter, sizeof(letter), "-%c%s", f->letter, f->name ? ", " : "");
	return snprintf(out, room, "%s%s%s%s%s", letter, f->name ? "--" : "",
			f->name ? f->name : "", f->value ? " " : "", f->value ? f->value : "");
}

bool options_refused(const struct command *c, const struct flag *f)
{
	for (size_t i = 0; c->refused && c->refused[i]; i++)
		if (f->name && !strcmp(f->name, c->refused[i]))
			return true;
	return false;
}

/* Print the usage line. It has each flag if all of them fit. */
static void put_usage(const struct command *c)
{
	char text[COLUMNS * 4] = "";
	const struct flag *f;
	size_t n = 0, table;
	const char *blank = c->words && *c->words ? " " : "";

	for (size_t i = 0; (f = flag_at(c, i, &table)) && n < COLUMNS; i++) {
		if (f == &help_flag || options_refused(c, f))
			continue;
		if (f->letter)
			n += (size_t)snprintf(text + n, sizeof(text) - n, " [-%c", f->letter);
		else
			n += (size_t)snprintf(text + n, sizeof(text) - n, " [--%s", f->name);
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s]", f->value ? " " : "",
				      f->value ? f->value : "");
	}
	n += strlen("usage: vestige ") + strlen(c->name) + strlen(blank) + strlen(c->words);
	printf("usage: vestige %s%s%s%s\n", c->name, n > COLUMNS ? " [FLAGS]" : text, blank,
	       c->words);
}

void options_help(const struct command *c)
{
	size_t column = 0, table;
	const struct flag *f;
	char text[128];

	put_usage(c);
	put_wrapped(c->help, 0);
	putchar('\n');
	for (size_t i = 0; (f = flag_at(c, i, &table)); i++) {
		size_t n = (size_t)flag_text(f, text, sizeof(text));

		if (n <= MAX_COLUMN && n > column && !options_refused(c, f))
			column = n;
	}
	column += 4;
	for (size_t i = 0; (f = flag_at(c, i, &table)); i++) {
		size_t at = 2 + (size_t)flag_text(f, text, sizeof(text));

		if (options_refused(c, f))
			continue;
		printf("  %s", text);
		if (at + 2 > column) {
			putchar('\n');
			at = 0;
		}
		printf("%*s", (int)(column - at), "");
		put_wrapped(f->help, column);
	}
	if (c->more) {
		putchar('\n');
		put_wrapped(c->more, 0);
	}
}
