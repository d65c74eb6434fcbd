/* SPDX-License-Identifier: MIT */
/* See list_target.h. Tests: tests/cli/test_list.py. */
#include "tools/cli/list_target.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>
#include <traceevent/trace-seq.h>
#include <unistd.h>
#include <zstd.h>

#include "tools/base/fail.h"
#include "tools/report/report.h"
#include "tools/target/event_names.h"
#include "tools/text/json.h"
#include "tools/text/out.h"

struct list {
	const struct list_target *l;
	struct target *t;
	struct out *o;
	regex_t regex;
};

bool list_target_any(const struct list_target *l)
{
	return l->systems || l->events || l->tracers || l->options || l->clocks || l->instances ||
	       l->compression || l->plugins || l->plugin_options || l->functions;
}

static bool matches(const struct list *s, const char *text)
{
	return !s->l->regex || !regexec(&s->regex, text, 0, NULL, 0);
}

static int put_system(void *arg, const char *name, bool is_dir)
{
	struct list *s = arg;

	if (is_dir)
		out_printf(s->o, "%s\n", name);
	return s->o->err;
}

static int put_file(struct list *s, const char *path)
{
	return s->t->ops->print(s->t, path, s->o);
}

/* A format up to its print fmt, or all of it. */
static int put_format(struct list *s, const char *system, const char *dir)
{
	struct target_text text;
	char path[600], *end;
	int err;

	snprintf(path, sizeof(path), "%s/format", dir);
	err = target_read(s->t, path, &text);
	if (err)
		return err;
	end = s->l->full ? NULL : strstr(text.at, "print fmt:");
	if (end)
		*end = '\0';
	out_printf(s->o, "system: %s\n", system);
	out_text(s->o, text.at);
	out_text(s->o, s->l->full ? "\n" : "");
	free(text.at);
	return s->o->err;
}

static int put_text(struct list *s, const char *dir, const char *file)
{
	char path[600];
	int err;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	err = put_file(s, path);
	out_text(s->o, "\n");
	return err;
}

static int put_event(void *arg, const char *system, const char *name)
{
	struct list *s = arg;
	char dir[512], full[512];
	int err = 0;

	snprintf(full, sizeof(full), "%s:%s", system, name);
	if (!(matches(s, full) || matches(s, system) || matches(s, name)))
		return s->o->err;
	snprintf(dir, sizeof(dir), "events/%s/%s", system, name);
	if (s->l->fields)
		err = put_format(s, system, dir);
	else
		out_printf(s->o, "%s\n", full);
	if (!err && s->l->filters)
		err = put_text(s, dir, "filter");
	if (!err && s->l->triggers)
		err = put_text(s, dir, "trigger");
	return err ? err : s->o->err;
}

static int put_functions(struct list *s)
{
	struct target_text text;
	int err = s->l->regex ? target_read(s->t, "available_filter_functions", &text) : 0;
	char *rest;

	if (err || !s->l->regex)
		return err ? err : put_file(s, "available_filter_functions");
	for (char *line = strtok_r(text.at, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (matches(s, line))
			out_printf(s->o, "%s\n", line);
	free(text.at);
	return 0;
}

/*
 * Print an option. The folder options/ has the options of all tracers, too; trace_options does not.
 */
static int put_option(void *arg, const char *name, bool is_dir)
{
	struct list *s = arg;
	struct target_text on;
	char path[300];

	if (is_dir)
		return 0;
	snprintf(path, sizeof(path), "options/%s", name);
	if (target_read(s->t, path, &on))
		return 0;
	out_printf(s->o, "%s%s\n", *on.at == '1' ? "" : "no", name);
	free(on.at);
	return s->o->err;
}

struct instances {
	struct list *s;
	unsigned int nr;
};

static int put_instance(void *arg, const char *name, bool is_dir)
{
	struct instances *i = arg;

	if (is_dir)
		out_printf(i->s->o, "%s\n", name);
	i->nr += is_dir;
	return 0;
}

static int put_instances(struct list *s)
{
	struct instances i = {s, 0};
	int err = s->t->ops->files(s->t, "instances", put_instance, &i);

	if (!err && !i.nr && !s->l->json)
		out_text(s->o, "No buffer instances defined\n");
	return err;
}

/*
 * Why tracers are absent: lines `no tracer NAME: REASON` of vestige_absent, or of vestige_status.
 */
static int put_absent(struct list *s)
{
	static const char prefix[] = "no tracer ";
	struct target_text text;
	int err = target_read(s->t, "vestige_absent", &text);
	char *rest, *colon;

	if (err)
		err = target_read(s->t, "vestige_status", &text);
	/* instances have neither */
	if (err)
		return err == -ENOENT ? 0 : err;
	for (char *line = strtok_r(text.at, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		if (strncmp(line, prefix, sizeof(prefix) - 1) != 0)
			continue;
		line += sizeof(prefix) - 1;
		colon = strchr(line, ':');
		if (colon)
			out_printf(s->o, "%.*s is absent%s\n", (int)(colon - line), line, colon);
	}
	free(text.at);
	return 0;
}

static int put_tracers(struct list *s)
{
	return put_file(s, "available_tracers");
}

/* The files of libtraceevent's plug-ins. */
static void put_plugins(struct list *s)
{
	struct tep_handle *tep = tep_alloc();
	struct tep_plugin_list *plugins = tep ? tep_load_plugins(tep) : NULL;
	struct trace_seq text;

	trace_seq_init(&text);
	if (plugins) {
		tep_print_plugins(&text, "  ", "\n", plugins);
		out_write(s->o, text.buffer, text.len);
		tep_unload_plugins(plugins, tep);
	}
	trace_seq_destroy(&text);
	if (tep)
		tep_free(tep);
}

static int put_systems(struct list *s)
{
	return s->t->ops->files(s->t, "events", put_system, s);
}

static int put_events(struct list *s)
{
	return event_names_all(s->t, put_event, s);
}

static int put_options(struct list *s)
{
	return s->t->ops->files(s->t, "options", put_option, s);
}

static int put_clocks(struct list *s)
{
	return put_file(s, "trace_clock");
}

/* Print the output of @put as an array: of its lines, or of its words. */
static int put_array(struct list *s, struct json *j, const char *name, int (*put)(struct list *s),
		     const char *between)
{
	struct target_text text = {0};
	struct out o, *to = s->o;
	char *rest;
	int err;

	if (out_init_sink(&o, target_text_add, &text))
		return fail(ENOMEM, "out of memory");
	s->o = &o;
	err = put(s);
	s->o = to;
	if (out_end(&o) && !err)
		err = fail(ENOMEM, "out of memory");
	json_open(j, name, '[');
	for (char *at = err || !text.at ? NULL : strtok_r(text.at, between, &rest); at;
	     at = strtok_r(NULL, between, &rest))
		json_text(j, NULL, at);
	json_close(j, ']');
	free(text.at);
	return err;
}

static int put_of_target(struct list *s, bool kernel)
{
	const struct list_target *l = s->l;
	const struct {
		bool wanted;
		const char *name, *between;
		int (*put)(struct list *s);
	} parts[] = {
		{l->systems, "systems", "\n", put_systems},
		{l->events, "events", "\n", put_events},
		{l->tracers, "tracers", " \n", put_tracers},
		{l->tracers && !kernel, "absent", "\n", put_absent},
		{l->options, "options", "\n", put_options},
		{l->functions, "functions", "\n", put_functions},
		{l->instances, "instances", "\n", put_instances},
		{l->clocks, "clocks", " \n", put_clocks},
	};
	struct json j = {.o = s->o};
	int err = 0;

	if (l->json)
		json_open(&j, NULL, '{');
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts) && !err; i++) {
		if (!parts[i].wanted)
			continue;
		err = l->json ? put_array(s, &j, parts[i].name, parts[i].put, parts[i].between)
			      : parts[i].put(s);
	}
	if (l->json) {
		json_close(&j, '}');
		out_text(s->o, "\n");
	}
	return err;
}

static bool wants_target(const struct list_target *l)
{
	return l->systems || l->events || l->tracers || l->options || l->clocks || l->instances ||
	       l->functions;
}

int list_target(const struct control_which *which, const struct list_target *l)
{
	struct out o;
	struct list s = {.l = l, .o = &o};
	char why[128];
	int err = 0;

	if (l->regex) {
		err = regcomp(&s.regex, l->regex, REG_EXTENDED | REG_NOSUB);
		if (err) {
			regerror(err, &s.regex, why, sizeof(why));
			return fail(EINVAL, "'%s' is no regular expression: %s", l->regex, why);
		}
	}
	if (wants_target(l))
		err = control_open(&s.t, which, false);
	if (!err && out_init(&o, STDOUT_FILENO))
		err = fail(ENOMEM, "out of memory");
	if (!err) {
		if (s.t)
			err = put_of_target(&s, which->kernel);
		if (l->plugins)
			put_plugins(&s);
		if (l->plugin_options)
			report_plugin_options(&o);
		if (l->compression)
			out_printf(&o, "Supported compression algorithms:\n\tzstd, %s\n",
				   ZSTD_versionString());
		err = out_end_stdout(&o, err, "the list");
	}
	target_put(s.t);
	if (l->regex)
		regfree(&s.regex);
	return err;
}
