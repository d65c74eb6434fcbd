/* SPDX-License-Identifier: MIT */
/* vestige stat: the settings of a target that are switched on. Tests: tests/cli/test_stat.py. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"
#include "tools/cli/pager.h"
#include "tools/text/json.h"

struct flags {
	bool top, options, json;
};

struct stat_of {
	struct control_buffers buffers;
	struct flags flags;
	unsigned int nr; /* number of settings printed */
	struct json j;	 /* of --json */
};

static const struct flag flags[] = {
	{'t', NULL, NULL, "with -B: the process itself, too", NULL, offsetof(struct flags, top)},
	{'o', NULL, NULL, "its options, too", NULL, offsetof(struct flags, options)},
	{0, "json", NULL, "all of these settings as JSON", NULL, offsetof(struct flags, json)},
	FLAGS_END};

/* Return: the file's text, to be freed; NULL: it is not there, not readable, or empty. */
static char *text_of(struct target *t, const char *path)
{
	struct target_text text;

	if (target_read(t, path, &text))
		return NULL;
	if (!text.n) {
		free(text.at);
		return NULL;
	}
	while (text.n && text.at[text.n - 1] == '\n')
		text.n--;
	text.at[text.n] = '\0';
	return text.at;
}

struct wanted {
	struct target_text names;
	bool folders;
};

static int keep_name(void *arg, const char *name, bool is_dir)
{
	struct wanted *w = arg;

	return is_dir == w->folders && (target_text_add(&w->names, name, strlen(name)) ||
					target_text_add(&w->names, "\n", 1));
}

/* Return: the files in a folder, or the folders, one a line, to be freed; NULL: none. */
static char *names_in(struct target *t, const char *dir, bool of_folders)
{
	struct wanted w = {.folders = of_folders};

	t->ops->files(t, dir, keep_name, &w);
	return w.names.at;
}

static char *line(char **rest)
{
	char *l;

	while ((l = strsep(rest, "\n")))
		if (*l && *l != '#')
			return l;
	return NULL;
}

/* Call @put for each event of @system, or of each system where it is NULL. */
static void each_event(struct target *t, const char *system, const char *file,
		       void (*put)(const char *system, const char *event, char *text, void *arg),
		       void *arg)
{
	char dir[256], path[600];
	char *names, *rest, *name, *text;

	snprintf(dir, sizeof(dir), "events%s%s", system ? "/" : "", system ? system : "");
	names = rest = names_in(t, dir, true);
	while ((name = line(&rest))) {
		if (!system) {
			each_event(t, name, file, put, arg);
			continue;
		}
		snprintf(path, sizeof(path), "%s/%s/%s", dir, name, file);
		text = text_of(t, path);
		if (text)
			put(system, name, text, arg);
		free(text);
	}
	free(names);
}

/* The value in a filter or trigger file; NULL: none. A filter with an error has several lines. */
static char *value_of(char *text)
{
	while (*text == '#')
		text = strchr(text, '\n') ? strchr(text, '\n') + 1 : text + strlen(text);
	return *text && strcmp(text, "none") ? text : NULL;
}

static void put_value(const char *title, const char *system, const char *event, char *text,
		      void *arg)
{
	bool *first = arg;

	text = value_of(text);
	if (!text)
		return;
	if (*first)
		printf("\n%s:\n", title);
	*first = false;
	printf("  %s:%s \"%s\"\n", system, event, text);
}

static void put_filter(const char *system, const char *event, char *text, void *arg)
{
	put_value("Filters", system, event, text, arg);
}

static void put_trigger(const char *system, const char *event, char *text, void *arg)
{
	put_value("Triggers", system, event, text, arg);
}

/* The state for printing the events that are on. */
struct enabled {
	const char *title;
	bool any, any_of_system;
};

static void put_title(struct enabled *e)
{
	if (!e->any)
		printf(" %s:\n", e->title);
	e->any = true;
}

static void put_enabled(const char *system, const char *event, char *text, void *arg)
{
	struct enabled *e = arg;

	if (*text != '1')
		return;
	put_title(e);
	if (!e->any_of_system)
		printf("    %s\n", system);
	e->any_of_system = true;
	printf("        %s\n", event);
}

/*
 * Print the systems whose file enable begins with @state: by name; for X, their events that are on.
 * A trigger alone makes a system X, too. Return: whether there is any.
 */
static bool put_systems(struct target *t, char state, const char *title)
{
	char *names = names_in(t, "events", true), *rest = names, *name, *text;
	struct enabled e = {.title = title};
	char path[300];

	while ((name = line(&rest))) {
		snprintf(path, sizeof(path), "events/%s/enable", name);
		text = text_of(t, path);
		e.any_of_system = false;
		if (text && *text == state && state == '1') {
			put_title(&e);
			printf("   %s\n", name);
		} else if (text && *text == state) {
			each_event(t, name, "enable", put_enabled, &e);
		}
		free(text);
	}
	free(names);
	return e.any;
}

static void put_events(struct target *t)
{
	char *on = text_of(t, "events/enable");

	printf("\nEvents:\n");
	if (!on || *on == '0') {
		printf(" All disabled\n");
	} else if (*on == '1') {
		printf(" All enabled\n");
	} else {
		bool any = put_systems(t, '1', "Individual systems");

		if (!(put_systems(t, 'X', "Individual events") || any))
			printf("  (none enabled)\n");
	}
	free(on);
}

/* A file's lines that are no comments. */
static void put_file(struct target *t, const char *path, const char *title, const char *indent)
{
	char *text = text_of(t, path), *rest = text, *l;
	bool first = true;

	while ((l = line(&rest))) {
		if (first)
			printf("\n%s:\n", title);
		first = false;
		printf("%s%s\n", indent, l);
	}
	free(text);
}

static void put_cpu_buffers(struct target *t)
{
	char path[64], *text;
	long nr = sysconf(_SC_NPROCESSORS_CONF);

	printf("\n");
	for (long i = 0; i < nr; i++) {
		snprintf(path, sizeof(path), "per_cpu/cpu%ld/buffer_size_kb", i);
		text = text_of(t, path);
		if (text)
			printf("CPU %ld buffer size (kb): %s\n", i, text);
		free(text);
	}
}

/* Print the sizes of the buffers, except of a buffer that is small because it was never used. */
static void put_buffers(struct target *t)
{
	char *size = text_of(t, "buffer_size_kb");

	if (size && !strstr(size, "expanded")) {
		if (*size == 'X')
			put_cpu_buffers(t);
		else
			put_file(t, "buffer_size_kb", "Buffer size in kilobytes (per cpu)", "   ");
		put_file(t, "buffer_total_size_kb", "Buffer total size in kilobytes", "   ");
	}
	free(size);
}

static void put_clock(struct target *t)
{
	char *text = text_of(t, "trace_clock"), *from = text ? strchr(text, '[') : NULL;

	if (from) {
		from[strcspn(from, "]")] = '\0';
		if (strcmp(from + 1, "local"))
			printf("\nClock: %s\n", from + 1);
	}
	free(text);
}

static void put_cpus(struct target *t)
{
	char *text = text_of(t, "tracing_cpumask");
	long nr = 0;

	for (const char *c = text; c && *c; c++) {
		const char digit[] = {*c, '\0'};

		nr += __builtin_popcountl(strtoul(digit, NULL, 16));
	}
	if (text && nr < sysconf(_SC_NPROCESSORS_CONF))
		printf("\nCPU mask: %s\n", text);
	free(text);
}

static void put_latency(struct target *t)
{
	char *text = text_of(t, "tracing_max_latency");

	if (text && strcmp(text, "0"))
		printf("\nMax Latency: %s\n", text);
	free(text);
}

static void put_options(struct target *t)
{
	char path[300], *names = names_in(t, "options", false), *rest = names, *name, *on;

	printf("\nOptions:\n");
	while ((name = line(&rest))) {
		snprintf(path, sizeof(path), "options/%s", name);
		on = text_of(t, path);
		if (on)
			printf("   %s%s\n", *on == '1' ? "" : "no", name);
		free(on);
	}
	free(names);
}

static void put_instances(struct target *t)
{
	char *names = names_in(t, "instances", true), *rest = names, *name;

	if (names)
		printf("\nInstances:\n");
	while ((name = line(&rest)))
		printf(" %s\n", name);
	free(names);
}

/* A file's lines that are no comments, as an array; none where it is not there. */
static void json_lines(struct json *j, struct target *t, const char *path, const char *name)
{
	char *text = text_of(t, path), *rest = text, *l;

	json_open(j, name, '[');
	while ((l = line(&rest)))
		json_text(j, NULL, l);
	json_close(j, ']');
	free(text);
}

static void json_file(struct json *j, struct target *t, const char *path, const char *name)
{
	char *text = text_of(t, path), *from;

	/* of a list, the word that is chosen */
	from = text ? strchr(text, '[') : NULL;
	if (from) {
		from[strcspn(from, "]")] = '\0';
		from++;
	}
	json_text(j, name, from ? from : text);
	free(text);
}

static void json_event_text(struct json *j, const char *system, const char *event, const char *text)
{
	char name[300];

	snprintf(name, sizeof(name), "%s:%s", system, event);
	json_open(j, NULL, '{');
	json_text(j, "event", name);
	json_text(j, "text", text);
	json_close(j, '}');
}

static void json_filter(const char *system, const char *event, char *text, void *arg)
{
	text = value_of(text);
	if (text)
		json_event_text(arg, system, event, text);
}

static void json_trigger(const char *system, const char *event, char *text, void *arg)
{
	char *l;

	while ((l = line(&text)))
		json_event_text(arg, system, event, l);
}

static void json_options(struct json *j, struct target *t)
{
	char path[300], *names = names_in(t, "options", false), *rest = names, *name, *on;

	json_open(j, "options", '{');
	while ((name = line(&rest))) {
		snprintf(path, sizeof(path), "options/%s", name);
		on = text_of(t, path);
		if (on)
			json_bool(j, name, *on == '1');
		free(on);
	}
	json_close(j, '}');
	free(names);
}

static void put_json(struct target *t, const char *name, struct stat_of *s, const char *on)
{
	static const struct {
		const char *path, *name;
		bool lines;
	} files[] = {{"current_tracer", "tracer", false},
		     {"set_event", "events", true},
		     {"set_ftrace_filter", "function_filter", true},
		     {"set_ftrace_notrace", "function_notrace", true},
		     {"set_graph_function", "graph_function", true},
		     {"set_graph_notrace", "graph_notrace", true},
		     {"buffer_size_kb", "buffer_size_kb", false},
		     {"buffer_total_size_kb", "buffer_total_size_kb", false},
		     {"trace_clock", "clock", false},
		     {"tracing_cpumask", "cpumask", false},
		     {"tracing_max_latency", "max_latency", false},
		     {"kprobe_events", "kprobe_events", true},
		     {"uprobe_events", "uprobe_events", true},
		     {"error_log", "error_log", true}};
	char *names, *rest, *one;

	json_open(&s->j, NULL, '{');
	json_text(&s->j, "instance", name);
	json_bool(&s->j, "tracing", *on == '1');
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		(files[i].lines ? json_lines : json_file)(&s->j, t, files[i].path, files[i].name);
	json_open(&s->j, "filters", '[');
	each_event(t, NULL, "filter", json_filter, &s->j);
	json_close(&s->j, ']');
	json_open(&s->j, "triggers", '[');
	each_event(t, NULL, "trigger", json_trigger, &s->j);
	json_close(&s->j, ']');
	if (s->flags.options)
		json_options(&s->j, t);
	if (!name) {
		names = rest = names_in(t, "instances", true);
		json_open(&s->j, "instances", '[');
		while ((one = line(&rest)))
			json_text(&s->j, NULL, one);
		json_close(&s->j, ']');
		free(names);
	}
	json_close(&s->j, '}');
}

static int put(struct target *t, const char *name, void *arg)
{
	struct stat_of *s = arg;
	char *on = text_of(t, "tracing_on"), *tracer = text_of(t, "current_tracer");
	bool first = true;

	if (!on) {
		free(tracer);
		return fail(ENODATA, "tracing_on: it cannot be read");
	}
	if (s->flags.json) {
		put_json(t, name, s, on);
		free(on);
		free(tracer);
		return 0;
	}
	if (s->nr++)
		printf("---------------\n");
	if (name)
		printf("Instance: %s\n", name);
	if (tracer && strcmp(tracer, "nop"))
		printf("\nTracer: %s\n", tracer);
	free(tracer);
	put_events(t);
	each_event(t, NULL, "filter", put_filter, &first);
	first = true;
	each_event(t, NULL, "trigger", put_trigger, &first);
	put_file(t, "set_ftrace_filter", "Function Filter", " ");
	put_file(t, "set_ftrace_notrace", "No Function Filter", " ");
	put_file(t, "set_graph_function", "Function Graph Filter", " ");
	put_file(t, "set_graph_notrace", "No Function Graph Filter", " ");
	put_buffers(t);
	put_clock(t);
	put_cpus(t);
	put_latency(t);
	put_file(t, "kprobe_events", "Kprobe events", " ");
	put_file(t, "uprobe_events", "Uprobe events", " ");
	if (s->flags.options)
		put_options(t);
	printf("\nTracing is %s\n\n", *on == '1' ? "enabled" : "disabled");
	put_file(t, "error_log", "Error log", "");
	if (!name)
		put_instances(t);
	free(on);
	return 0;
}

static int run(const struct command *c, int argc, char **argv)
{
	struct stat_of s = {0};
	struct out o;
	int status = options_parse(c, (void *[]){&s.buffers, &s.flags}, &argc, &argv);

	if (status >= 0)
		return status;
	s.buffers.top = s.flags.top;
	if (s.flags.json && out_init(&o, STDOUT_FILENO))
		return cmd_end(fail(ENOMEM, "out of memory"));
	s.j.o = &o;
	if (s.flags.json)
		json_open(&s.j, NULL, '[');
	status = control_buffers_run(&s.buffers, put, &s);
	if (s.flags.json) {
		int err;

		json_close(&s.j, ']');
		out_text(&o, "\n");
		err = out_end_stdout(&o, 0, "the settings");
		return err ? cmd_end(err) : status;
	}
	if (fflush(stdout) && errno != EPIPE)
		return cmd_end(fail_errno(errno, "cannot write to stdout"));
	return status;
}

const struct command command_stat = {
	.name = "stat",
	.words = "",
	.what = "print what is switched on in a process",
	.help = "Print what is switched on in a process: tracer, events, filters, triggers, "
		"buffers, "
		"clock and CPUs, where they are not as at its start.\n",
	.flags = (const struct flag *const[]){control_buffers_flags, flags, pager_flags, NULL},
	.run = run,
};
