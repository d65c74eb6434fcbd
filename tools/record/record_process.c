/* SPDX-License-Identifier: MIT */
/*
 * `record -P PID`: record live processes. Their own buffer is used, since records of an instance
 * cost more; so the process must not be traced otherwise. Its settings are changed by its control
 * files and restored at the end, also in children that it has forked. See record_impl.h.
 * Tests: tests/cli/test_record_process.py.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "tools/area/meta.h"
#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/base/settable.h"
#include "tools/base/time_ns.h"
#include "tools/record/record_impl.h"
#include "tools/record/record_text.h"
#include "tools/target/event_names.h"
#include "tools/target/image.h"
#include "tools/target/suggest.h"
#include "tools/target/target.h"

#define LOOK_NS UINT64_C(100000000)

/* A file that was written, and its old contents. */
struct change {
	char file[64], before[128];
};

struct changes {
	struct change *rows;
	unsigned int nr;
	bool has_rules; /* the rules of -f and -R are written */
};

static struct recorder_process processes[RECORD_MAX_PIDS];
static struct changes changes[RECORD_MAX_PIDS];
static struct libcalls libcalls[RECORD_MAX_PIDS];

const struct record_param record_lists[RECORD_NR_LISTS] = {{'l', "set_ftrace_filter"},
							   {'n', "set_ftrace_notrace"},
							   {'g', "set_graph_function"},
							   {'G', "set_graph_notrace"}};

static int open_pid(int pid, struct target **t)
{
	char name[16];
	int err = 0;

	snprintf(name, sizeof(name), "%d", pid);
	*t = target_get(name, NULL, &err);
	return *t ? 0 : err;
}

static bool has_kind(const struct record_options *opt, char kind)
{
	for (unsigned int i = 0; i < opt->nr_patterns; i++)
		if (opt->patterns[i].kind == kind)
			return true;
	return false;
}

/* Is this process traced already? The settings to be changed must have their initial values. */
static int check_free(struct target *t, const struct record_options *opt)
{
	char line[128];
	int err = target_first_line(t, "current_tracer", line, sizeof(line));

	if (!err && strcmp(line, "nop") != 0)
		return fail(EBUSY,
			    "process %s is traced already, by the tracer %s: `vestige extract -P "
			    "%s` writes its records, `vestige reset -P %s` ends that",
			    t->name, line, t->name, t->name);
	if (!err)
		err = target_first_line(t, "set_event", line, sizeof(line));
	if (!err && line[0])
		return fail(EBUSY,
			    "process %s records events already: `vestige extract -P %s` writes "
			    "them, `vestige set -P %s set_event ''` ends that",
			    t->name, t->name, t->name);
	for (size_t i = 0; i < RECORD_NR_LISTS && !err; i++) {
		if (!has_kind(opt, record_lists[i].kind))
			continue;
		err = target_first_line(t, record_lists[i].name, line, sizeof(line));
		if (!err && line[0] && strncmp(line, "####", 4) != 0)
			return fail(EBUSY,
				    "process %s has a filter in %s already: `vestige set -P %s %s "
				    "''` clears it",
				    t->name, record_lists[i].name, t->name, record_lists[i].name);
	}
	return err ? err : event_rules_check(t, opt->rules, opt->nr_rules);
}

/* Fail if another recorder reads its records. */
static int check_recorder(const struct image *i)
{
	struct meta *m;
	int other, err = image_tables(i, &m);

	if (err)
		return err;
	other = (int)m->head.recorder;
	meta_free(m);
	if (other > 0 && other != getpid() && (!kill(other, 0) || errno == EPERM))
		return fail(EBUSY, "process %d is recorded already, by process %d", i->pid, other);
	return 0;
}

/* Save a file's contents, in the form in which it is written. @arg: struct changes. */
static int keep(void *arg, const char *file, const char *text)
{
	struct changes *c = arg;
	struct change *rows = reallocarray(c->rows, c->nr + 1, sizeof(*rows)), *row;

	if (!rows)
		return fail(ENOMEM, "out of memory");
	c->rows = rows;
	row = &rows[c->nr++];
	snprintf(row->file, sizeof(row->file), "%s", file);
	snprintf(row->before, sizeof(row->before), "%.*s", (int)strcspn(text, "\n"), text);
	settable(row->before);
	return 0;
}

static int change(struct changes *c, struct target *t, const char *file, const char *text)
{
	int err = target_kept(t, file, keep, c);

	return err ? err : target_set(t, file, text);
}

static int change_number(struct changes *c, struct target *t, const char *file, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, n);
	return change(c, t, file, text);
}

/* Has the list of options that word? */
static bool has_line(const char *text, const char *word, size_t n)
{
	for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n')
		if (strcspn(at, "\n") == n && !memcmp(at, word, n))
			return true;
	return false;
}

/* One of trace_options, by its name or with `no` in front. A tracer's are there while it is. */
static int change_option(struct changes *c, struct target *t, const char *option)
{
	struct target_text all;
	char near[128], before[128];
	bool was;
	int err = target_read(t, "trace_options", &all);

	if (err)
		return err;
	was = has_line(all.at, option, strlen(option));
	free(all.at);
	err = target_set(t, "trace_options", option);
	if (err == -EINVAL && suggest(t, "trace_options", option, near, sizeof(near)))
		return fail(EINVAL, "there is no option %s with this tracer, did you mean %s?",
			    option, near);
	if (err == -EINVAL)
		return fail(EINVAL,
			    "there is no option %s with this tracer: `vestige get trace_options -P "
			    "%s` shows the process's",
			    option, t->name);
	if (err || was)
		return err;
	if (strncmp(option, "no", 2) != 0)
		snprintf(before, sizeof(before), "no%s", option);
	else
		snprintf(before, sizeof(before), "%s", option + 2);
	return keep(c, "trace_options", before);
}

/* Each pattern of a kind; the first one replaces the list. */
static int write_list(struct target *t, const struct record_options *opt, char kind,
		      const char *file)
{
	bool first = true;
	char near[128];
	int err = 0;

	for (unsigned int i = 0; i < opt->nr_patterns && !err; i++) {
		const char *text = opt->patterns[i].text;

		if (opt->patterns[i].kind != kind)
			continue;
		err = target_write(t, file, text, strlen(text), first);
		if (err == -EINVAL &&
		    suggest(t, "available_filter_functions", text, near, sizeof(near)))
			return fail(EINVAL,
				    "no function that can be traced matches %s, did you mean %s?",
				    text, near);
		if (err == -EINVAL)
			return fail(EINVAL,
				    "no function that can be traced matches %s: `vestige get -P %s "
				    "available_filter_functions` shows them",
				    text, t->name);
		first = false;
	}
	return err;
}

/* The buffer as a recording needs it, and empty. */
static int prepare(struct changes *c, struct target *t, const struct record_options *opt)
{
	int err = change(c, t, "tracing_on", "0");

	if (!err)
		err = target_set(t, "trace", "");
	if (!err)
		err = change_number(c, t, "buffer_size_kb", opt->buffer_kb);
	if (!err)
		err = change(c, t, "options/overwrite", "0");
	return err;
}

/* Probes of the calls into other objects, of the process's own file. Nothing is on yet. */
static int add_libcalls(struct libcalls *l, struct target *t)
{
	char link[80], path[PATH_MAX];
	ssize_t n;
	int err;

	snprintf(link, sizeof(link), "/proc/%s/exe", t->name);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return fail_errno(errno, "cannot read %s", link);
	path[n] = '\0';
	err = libcall_add(l, path);
	if (!err && !l->nr)
		return fail(ENOEXEC,
			    "--libcall: %s calls no other object through a procedure linkage table "
			    "(static, or built with -fno-plt)",
			    path);
	for (size_t i = 0; i < l->nr && !err; i++)
		err = target_write(t, "dynamic_events", l->commands[i], strlen(l->commands[i]),
				   false);
	return err;
}

/* fail() since @name is not in the file @list. Return: -EINVAL. */
static int not_there(struct target *t, const char *what, const char *name, const char *list)
{
	char near[128];

	if (suggest(t, list, name, near, sizeof(near)))
		return fail(EINVAL, "process %s has no %s %s, did you mean %s?", t->name, what,
			    name, near);
	return fail(EINVAL,
		    "process %s has no %s %s: `vestige get -P %s %s` shows those that it has",
		    t->name, what, name, t->name, list);
}

/* Switch on the events of -e, and all of --libcall if -e names none of these. */
static int choose_events(struct target *t, const struct record_options *opt)
{
	bool all = opt->libcall;
	int err = 0;

	for (unsigned int i = 0; i < opt->nr_patterns && !err; i++) {
		const char *event = opt->patterns[i].text;

		if (opt->patterns[i].kind != 'e')
			continue;
		event = event_names_word(event);
		err = target_write(t, "set_event", event, strlen(event), false);
		if (err == -EINVAL)
			return libcall_is_named(event) && !opt->libcall
				       ? libcall_is_missing(event)
				       : not_there(t, "event", event, "available_events");
		all &= !libcall_is_named(event);
	}
	return err || !all ? err
			   : target_write(t, "set_event", LIBCALL_SYSTEM, strlen(LIBCALL_SYSTEM),
					  false);
}

/* Set what is traced: filters first, then the tracer, recording last. */
static int choose(struct changes *c, struct target *t, const struct record_options *opt)
{
	int err = change_number(c, t, "guard_budget", opt->budget ? opt->budget : 5);

	if (!err)
		err = change(c, t, "options/guard", "1");
	for (size_t i = 0; i < RECORD_NR_LISTS && !err; i++)
		err = write_list(t, opt, record_lists[i].kind, record_lists[i].name);
	if (!err && opt->graph_depth)
		err = change_number(c, t, "max_graph_depth", opt->graph_depth);
	if (!err && opt->thresh_us)
		err = change_number(c, t, "tracing_thresh", opt->thresh_us);
	if (err)
		return err;
	err = target_set(t, "current_tracer", opt->tracer);
	if (err == -EINVAL)
		return not_there(t, "tracer", opt->tracer, "available_tracers");
	for (unsigned int i = 0; i < opt->nr_options && !err; i++)
		err = change_option(c, t, opt->options[i]);
	/* first, since a rule may be for one of these events */
	if (!err && opt->libcall)
		err = add_libcalls(&libcalls[c - changes], t);
	if (!err)
		err = event_rules_write(t, t, opt->rules, opt->nr_rules);
	c->has_rules = !err;
	return err ? err : choose_events(t, opt);
}

/* End recording. Errors are ignored: they end with the process. */
static void stop(struct target *t)
{
	target_set(t, "tracing_on", "0");
	target_set(t, "current_tracer", "nop");
	target_set(t, "set_event", "");
}

static void restore(const struct changes *c, struct target *t, const struct record_options *opt)
{
	const struct libcalls *l = &libcalls[c - changes];

	target_set(t, "trace", "");
	for (size_t i = 0; i < l->nr; i++)
		target_write(t, "dynamic_events", l->undo[i], strlen(l->undo[i]), false);
	if (c->has_rules)
		event_rules_undo(t, opt->rules, opt->nr_rules);
	for (size_t i = 0; i < RECORD_NR_LISTS; i++)
		if (has_kind(opt, record_lists[i].kind))
			target_set(t, record_lists[i].name, "");
	for (unsigned int i = c->nr; i > 0; i--)
		target_set(t, c->rows[i - 1].file, c->rows[i - 1].before);
}

/*
 * The settings of a named process; a child is restored to the settings of the first one, from which
 * it was forked.
 */
static const struct changes *changes_of(const struct record_run *run, int pid)
{
	for (unsigned int i = 0; i < run->opt.nr_pids; i++)
		if (processes[i].pid == pid)
			return &changes[i];
	return &changes[0];
}

/* In each live process stop recording, or with @back restore its settings. */
static void each(const struct record_run *run, const int *pids, int nr, bool back)
{
	for (int i = 0; i < nr; i++) {
		struct target *t;

		if (open_pid(pids[i], &t))
			continue;
		if (back)
			restore(changes_of(run, pids[i]), t, &run->opt);
		else
			stop(t);
		target_put(t);
	}
}

/* Find the processes, and the folder that has the areas of all of them. */
static int find(struct record_run *run)
{
	for (unsigned int i = 0; i < run->opt.nr_pids; i++) {
		struct image image;
		int err = image_open(&image, run->opt.pids[i]);

		if (err)
			return err;
		err = check_recorder(&image);
		processes[i] = (struct recorder_process){image.pid, image.start};
		if (!err && i && strcmp(image.dir.path, run->dir.path) != 0)
			err = fail(EXDEV,
				   "processes %d and %d have their areas in different folders, %s "
				   "and %s: record them one by one",
				   processes[0].pid, image.pid, run->dir.path, image.dir.path);
		if (!err && !i) {
			run->dir = image.dir;
			run->dir.fd = fcntl(image.dir.fd, F_DUPFD_CLOEXEC, 0);
			if (run->dir.fd < 0)
				err = fail_errno(errno, "cannot open %s", image.dir.path);
		}
		image_close(&image);
		if (err)
			return err;
	}
	return 0;
}

/* Call @step with each named process and its changes. */
static int with_each(const struct record_run *run, int (*step)(struct changes *c, struct target *t,
							       const struct record_options *opt))
{
	int err = 0;

	for (unsigned int i = 0; i < run->opt.nr_pids && !err; i++) {
		struct target *t;

		err = open_pid(processes[i].pid, &t);
		if (err)
			return err;
		err = step(&changes[i], t, &run->opt);
		target_put(t);
	}
	return err;
}

static int check(struct changes *c, struct target *t, const struct record_options *opt)
{
	(void)c;
	return check_free(t, opt);
}

/* Fail if the tracer is set but no function can be traced. */
static int check_functions(struct changes *c, struct target *t, const struct record_options *opt)
{
	char line[128];
	int err;

	(void)c;
	if (!record_needs_functions(opt))
		return 0;
	err = target_first_line(t, "enabled_functions", line, sizeof(line));
	if (err || line[0])
		return err;
	return fail(ENODEV,
		    "process %s has no function that can be traced%s: `vestige get -P %s "
		    "available_filter_functions` shows those that it has, `vestige get -P %s "
		    "vestige_status` why others are left out; a program that was built without a "
		    "flag: start it with `vestige run --unmodified`",
		    t->name, opt->nr_patterns ? " and is left by -l and -n" : "", t->name, t->name);
}

static int switch_on(struct changes *c, struct target *t, const struct record_options *opt)
{
	(void)c;
	(void)opt;
	return target_set(t, "tracing_on", "1");
}

static void signalled(struct record_run *run, int fd)
{
	struct signalfd_siginfo si;

	while (read(fd, &si, sizeof(si)) == sizeof(si))
		run->ended |= si.ssi_signo != SIGCHLD;
}

static void look(struct record_run *run)
{
	static uint64_t looked_ns;
	uint64_t now = time_ns(CLOCK_MONOTONIC);

	if (run->ended || now - looked_ns < LOOK_NS)
		return;
	looked_ns = now;
	if (recorder_living(run->recorder, NULL))
		return;
	run->ended = true;
	if (!run->opt.quiet)
		note(run->opt.nr_pids > 1 ? "the processes have ended, or execute other programs"
					  : "the process has ended, or executes another program");
}

static int drain(struct record_run *run, int signals)
{
	int err;

	err = with_each(run, prepare);
	if (!err)
		err = recorder_new(&(struct recorder_of){run->dir.fd, run->launch.session,
							 processes, run->opt.nr_pids},
				   run->spool, &run->recorder);
	if (err)
		return err;
	recorder_tick(run->recorder);
	err = with_each(run, choose);
	if (!err)
		err = with_each(run, check_functions);
	if (!err)
		err = record_kernel_start(&run->opt, run->kernel, run->opt.pids, run->opt.nr_pids);
	if (!err)
		err = with_each(run, switch_on);
	if (!err && !run->opt.quiet)
		fprintf(stderr, "Hit Ctrl-C to end the recording\n");
	if (err)
		return err;
	record_live(run);
	return record_drain(run, signals, signalled, look);
}

/* The user's processes. */
static int named(const struct record_run *run, int **pids)
{
	*pids = calloc(run->opt.nr_pids, sizeof(**pids));
	for (unsigned int i = 0; *pids && i < run->opt.nr_pids; i++)
		(*pids)[i] = processes[i].pid;
	return *pids ? (int)run->opt.nr_pids : 0;
}

static int run_it(struct record_run *run, int signals)
{
	int *pids = NULL, nr = 0, had = -1, err = drain(run, signals);
	char why[1024];

	snprintf(why, sizeof(why), "%s", fail_text());
	/* a process may have forked another child meanwhile */
	while (run->recorder && nr > had) {
		had = nr;
		free(pids);
		nr = recorder_living(run->recorder, &pids);
		each(run, pids, nr, false);
	}
	if (nr <= 0 && err) {
		free(pids);
		nr = named(run, &pids);
		each(run, pids, nr, false);
	}
	if (run->recorder && err)
		recorder_finish(run->recorder, &run->sum);
	else if (run->recorder)
		record_end(run);
	each(run, pids, nr, true);
	free(pids);
	return err ? fail(-err, "%s", why) : 0;
}

/* The command in trace.dat: the first process's. */
static void read_cmdline(char *line, size_t room)
{
	char path[64];
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", processes[0].pid);
	f = fopen(path, "re");
	if (f) {
		n = fread(line, 1, room - 1, f);
		fclose(f);
	}
	for (size_t i = 0; i < n; i++)
		if (!line[i])
			line[i] = i + 1 < n ? ' ' : '\0';
	line[n] = '\0';
}

int record_processes(struct record_run *run)
{
	char cmdline[256];
	int err;

	launch_session(run->launch.session);
	err = find(run);
	if (!err)
		err = record_buffer_kb(&run->opt);
	if (!err)
		err = with_each(run, check);
	if (err)
		return fail(EIO, "%s", fail_text());
	read_cmdline(cmdline, sizeof(cmdline));
	err = record_whole(run, cmdline, run_it);
	if (err)
		return fail(EIO, "%s", fail_text());
	record_report_losses(&run->opt, run->dir.path, &run->sum);
	return 0;
}
