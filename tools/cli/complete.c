/* SPDX-License-Identifier: MIT */
/* See complete.h. Tests: tests/cli/test_completion.py. */
#include "tools/cli/complete.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/control_byte.h"
#include "tools/base/proc_pid.h"
#include "tools/cli/cmd.h"
#include "tools/export/exporter.h"
#include "tools/report/report.h"
#include "tools/target/target.h"
#include "tools/text/graph_text.h"

/* The kind of word to complete, and the target that has the candidates. */
struct completion {
	const struct command *command;
	const char *word; /* what was typed of it */
	const char *pid;  /* of -P before it; NULL */
	bool kernel;	  /* -k */
};

static void put(const struct completion *c, const char *text, const char *about)
{
	if (!strncmp(text, c->word, strlen(c->word)))
		printf("%s\t%s\n", text, about);
}

/* A description is the help's first line, as far as a menu has room. */
static void put_flag(const struct completion *c, const char *text, const char *help)
{
	char about[64];
	size_t n = strcspn(help, "\n;:.");

	snprintf(about, sizeof(about), "%.*s", (int)(n < 60 ? n : 60), help);
	put(c, text, about);
}

static const struct flag *next_flag(const struct command *c, const struct flag *f, size_t *table)
{
	if (!f)
		*table = 0;
	for (f = f			   ? f + 1
		 : c->flags && c->flags[0] ? c->flags[0]
					   : NULL;
	     f; f = c->flags[*table]) {
		if (f->letter || f->name)
			return f;
		++*table;
	}
	return NULL;
}

static void put_flags(const struct completion *c)
{
	const struct flag *f = NULL;
	char text[64];
	size_t table;

	while ((f = next_flag(c->command, f, &table))) {
		if (options_refused(c->command, f))
			continue;
		/* if the flag has a name, its letter is not offered */
		if (f->name)
			snprintf(text, sizeof(text), "--%s", f->name);
		else
			snprintf(text, sizeof(text), "-%c", f->letter);
		put_flag(c, text, f->help);
		if (f->name && f->letter && strlen(c->word) == 2 && c->word[1] == f->letter) {
			snprintf(text, sizeof(text), "-%c", f->letter);
			put_flag(c, text, f->help);
		}
	}
	put(c, "--help", "print the help");
}

static struct target *target_of(const struct completion *c)
{
	int err;

	return c->kernel ? target_kernel(NULL, &err) : target_get(c->pid, NULL, &err);
}

/* The words of a control file: lines, or what blanks separate. A name ends at a blank or tab. */
static void put_file(const struct completion *c, const char *file, const char *about)
{
	struct target *t = target_of(c);
	struct target_text text;
	char *word, *rest;
	bool lines = strstr(file, "functions") || strstr(file, "events");

	if (!t)
		return;
	if (!target_read(t, file, &text)) {
		rest = text.at;
		while ((word = strsep(&rest, lines ? "\n" : " \n[]"))) {
			word[strcspn(word, " \t")] = '\0';
			if (*word && *word != '#')
				put(c, word, about);
		}
		free(text.at);
	}
	target_put(t);
}

static int put_pid(void *arg, const char *name)
{
	char comm[64];

	if (isdigit((unsigned char)*name) && proc_comm(atoi(name), comm, sizeof(comm))) {
		control_clean(comm, strlen(comm), '?');
		put(arg, name, comm);
	}
	return 0;
}

static int put_session(void *arg, const char *name)
{
	if (!isdigit((unsigned char)*name))
		put(arg, name, "session");
	return 0;
}

static int put_folder(void *arg, const char *name, bool is_dir)
{
	if (is_dir)
		put(arg, name, "instance");
	return 0;
}

static void put_instances(const struct completion *c)
{
	struct target *t = target_of(c);

	if (t)
		t->ops->files(t, "instances", put_folder, (void *)c);
	target_put(t);
}

static int keep(void *arg, const char *text, size_t bytes)
{
	return fwrite(text, 1, bytes, arg) == bytes ? 0 : -1;
}

static void put_control_files(const struct completion *c)
{
	struct target *t = target_of(c);
	char *text = NULL, *line, *rest;
	size_t bytes = 0;
	FILE *f = t ? open_memstream(&text, &bytes) : NULL;
	struct out o;

	if (f && !out_init_sink(&o, keep, f)) {
		t->ops->names(t, &o);
		out_end(&o);
	}
	if (f && !fclose(f)) {
		rest = text;
		while ((line = strsep(&rest, "\n")))
			if (*line)
				put(c, line, "control file");
	}
	free(text);
	target_put(t);
}

/* The options that `vestige options` prints. */
static void put_text_options(const struct completion *c)
{
	static const char prefix[] = "  option:\t";
	struct target_text text = {0};
	const char *name;
	struct out o;
	char *rest;

	for (unsigned int i = 0; (name = graph_option_name(i)); i++)
		put(c, name, "of --format=trace");
	if (out_init_sink(&o, target_text_add, &text))
		return;
	report_plugin_options(&o);
	if (!out_end(&o) && text.at)
		for (char *line = strtok_r(text.at, "\n", &rest); line;
		     line = strtok_r(NULL, "\n", &rest))
			if (!strncmp(line, prefix, sizeof(prefix) - 1))
				put(c, line + sizeof(prefix) - 1, "of a plug-in");
	free(text.at);
}

/* Complete a flag's value by its list of words, or by its name in the help. */
static void put_value(const struct completion *c, const struct flag *f)
{
	const char *kind = f->value;

	for (const char *const *w = f->values; w && *w; w++)
		put(c, *w, "");
	if (!strcmp(kind, "PID")) {
		target_list(put_pid, (void *)c);
	} else if (!strcmp(kind, "EVENT")) {
		put_file(c, "available_events", "event");
	} else if (!strcmp(kind, "FUNC")) {
		put_file(c, "available_filter_functions", "function");
	} else if (!strcmp(kind, "TRACER")) {
		put_file(c, "available_tracers", "tracer");
		if (!c->kernel && !c->pid) {
			put(c, "function", "tracer");
			put(c, "function_graph", "tracer");
		}
	} else if (!strcmp(kind, "FORMAT")) {
		for (const struct exporter *e = exporters; e->name; e++)
			put(c, e->name, e->help);
	} else if (!strcmp(kind, "CLOCK")) {
		put_file(c, "trace_clock", "clock");
	} else if (!strcmp(kind, "OPTION") && !strcmp(c->command->name, "report")) {
		put_text_options(c);
	} else if (!strcmp(kind, "OPTION")) {
		put_file(c, "trace_options", "option");
	} else if (!strcmp(kind, "NAME") && !strcmp(c->command->name, "top")) {
		target_list(put_session, (void *)c);
	} else if (!strcmp(kind, "NAME")) {
		put_instances(c);
	} else if (!strcmp(kind, "DIR") || !strcmp(kind, "FOLDER")) {
		puts(":folder");
	} else if (!strcmp(kind, "FILE") || !strcmp(kind, "OUT") || !strcmp(kind, "OUTPUT")) {
		puts(":file");
	}
}

static void put_word(const struct completion *c)
{
	const char *words = c->command->words;

	if (!strcmp(c->command->name, "get") || !strcmp(c->command->name, "set")) {
		put_control_files(c);
	} else if (strstr(words, "PROG") || strstr(words, "COMMAND")) {
		puts(":command");
	} else if (strstr(words, "DIR")) {
		puts(":folder");
	} else if (*words) {
		if (strstr(words, "PID"))
			target_list(put_pid, (void *)c);
		if (strstr(words, "FILE") || strstr(words, "SPOOL") || strstr(words, "IN") ||
		    strstr(words, "CORE"))
			puts(":file");
	}
}

/* The flag that @word is, if its value is the next word; else NULL. */
static const struct flag *flag_of(const struct command *c, const char *word)
{
	const struct flag *f = NULL;
	size_t table;

	while ((f = next_flag(c, f, &table))) {
		if (word[0] == '-' && word[1] == f->letter && f->letter && !word[2])
			return f;
		if (f->name && !strncmp(word, "--", 2) && !strcmp(word + 2, f->name))
			return f;
	}
	return NULL;
}

/* `--name=VALUE`: the value alone is completed, behind the flag. */
static bool put_joined(struct completion *c)
{
	const char *equals = strchr(c->word, '=');
	char flag[64];
	const struct flag *f;

	if (strncmp(c->word, "--", 2) != 0 || !equals ||
	    equals - c->word >= (ptrdiff_t)sizeof(flag))
		return false;
	snprintf(flag, sizeof(flag), "%.*s", (int)(equals - c->word), c->word);
	f = flag_of(c->command, flag);
	c->word = equals + 1;
	if (f && f->value)
		put_value(c, f);
	return true;
}

int complete(const struct command *const *commands, int nr_words, char **words)
{
	struct completion c = {.word = words[nr_words - 1]};
	const struct flag *value = NULL;
	bool program = false;

	if (nr_words == 1) {
		for (; *commands; commands++)
			put(&c, (*commands)->name, (*commands)->what);
		put(&c, "help", "print a command's flags");
		if (strchr(c.word, '/'))
			puts(":command");
		return 0;
	}
	for (; *commands && strcmp((*commands)->name, words[0]) != 0; commands++)
		if (!strcmp(words[0], "help"))
			put(&c, (*commands)->name, (*commands)->what);
	c.command = *commands;
	if (c.command && c.command->subs) {
		size_t own = strlen(c.command->name) + 1;

		for (const struct command *const *s = c.command->subs; *s; s++) {
			if (nr_words == 2)
				put(&c, (*s)->name + own, (*s)->what);
			else if (!strcmp((*s)->name + own, words[1]))
				c.command = *s;
		}
		if (nr_words == 2 && c.word[0] == '-')
			put(&c, "--help", "print the help");
		if (nr_words == 2 || c.command == *commands)
			return 0;
		words++;
		nr_words--;
	}
	if (!c.command) {
		if (strchr(words[0], '/'))
			puts(":command");
		return 0;
	}
	for (int i = 1; i < nr_words - 1; i++) {
		const struct flag *f = value ? NULL : flag_of(c.command, words[i]);

		if (value && !strcmp(value->value, "PID"))
			c.pid = words[i];
		if (f && f->letter == 'k' && !f->value)
			c.kernel = true;
		program |= !value && (!strcmp(words[i], "--") ||
				      (c.command->runs_program && words[i][0] != '-'));
		value = f && f->value ? f : NULL;
	}
	if (program)
		puts(":command");
	else if (value)
		put_value(&c, value);
	else if (put_joined(&c))
		return 0;
	else if (c.word[0] == '-')
		put_flags(&c);
	else
		put_word(&c);
	return 0;
}
