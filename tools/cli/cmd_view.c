/* SPDX-License-Identifier: MIT */
/* `vestige view`: a recording as a picture in the browser. Tests: tests/cli/test_view.py. */
#include "tools/cli/cmd.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/cli/view_flags.h"
#include "tools/mount/mount.h"
#include "tools/record/progress.h"
#include "tools/target/target.h"
#include "tools/view/html.h"
#include "tools/view/server.h"

#define MAX_FILES 16u

struct options {
	const char *html, *target, *session, *source, *offsets;
	bool align;
	uint16_t port;
};

/* A recording that is shown, or several on one timeline. */
struct shown {
	struct view views[MAX_FILES];
	unsigned int nr;
	struct columns *c;
};

static int take_port(const struct parsing *p, void *to, const char *value)
{
	unsigned long long n;
	int status = options_take_number(p, value, UINT16_MAX, "not a port", &n);

	if (!status)
		((struct options *)to)->port = (uint16_t)n;
	return status;
}

static const struct flag flags[] = {
	{0, "html", "OUT",
	 "write the viewer and the recording into the file OUT, at most 20 MB, which a browser "
	 "opens "
	 "without a server; the shortest calls are left out where that is too little, and it is "
	 "said",
	 NULL, offsetof(struct options, html)},
	{0, "port", "PORT", "listen there; default: any that is free", take_port, 0},
	{'P', NULL, "TARGET",
	 "a process that is traced, or a session, by its PID or name: what its ring holds now, "
	 "read "
	 "anew each second while it lives",
	 NULL, offsetof(struct options, target)},
	{0, "session", "FILE",
	 "what the user arranged (filters, markers, plots, notes) is read from FILE, and saved "
	 "there",
	 NULL, offsetof(struct options, session)},
	{0, "source", "DIR",
	 "show the source of functions from files below DIR (default: the working folder)", NULL,
	 offsetof(struct options, source)},
	{0, "ts-offset", "LIST",
	 "add to the times of each FILE, in their order: 0,1.5ms,-3us (ns without a unit)", NULL,
	 offsetof(struct options, offsets)},
	{0, "align", NULL, "each FILE begins where the first one does", NULL,
	 offsetof(struct options, align)},
	FLAGS_END};

/* Read the whole recording. Ctrl-C ends the reading. */
static int read_columns(struct view *v, struct columns **out)
{
	struct progress p;
	int err;

	progress_begin(&p, v->path, "Ctrl-C ends this", false);
	progress_view(&p, v);
	err = columns_read(v, out);
	v->progress = NULL;
	v->r->stop = NULL;
	if (progress_end(&p) && err)
		err = fail(EINTR, "interrupted");
	return err;
}

static int write_html(const char *path, const struct columns *c)
{
	struct answer_cut cut;
	int err = html_write(path, c, &cut);

	if (!err && cut.calls)
		note("%" PRIu64 " calls shorter than %" PRIu64 " ns are left out", cut.calls,
		     cut.shortest);
	if (!err && cut.events)
		note("the last %" PRIu64 " events are left out", cut.events);
	return err;
}

/* What a process or session has now. */
static int read_target(struct target *t, const struct options *opt, struct view *v,
		       struct columns **out)
{
	struct reader *r = NULL;
	int err = t->ops->records(t, &r);

	v->path = opt->target;
	if (!err)
		err = view_use(v, r);
	return err ? err : columns_read(v, out);
}

/* The same, once it has something. */
static int await_target(struct target *t, const struct options *opt, const struct view *plain,
			struct view *v, struct columns **out)
{
	static const struct timespec tick = {.tv_nsec = 100000000};
	bool told = false;
	int err;

	for (;;) {
		err = read_target(t, opt, v, out);
		if (err != -ENODATA)
			return err;
		if (!told)
			note("%s has no records yet: waiting for them; Ctrl-C ends this",
			     opt->target);
		told = true;
		view_close(v);
		*v = *plain;
		nanosleep(&tick, NULL);
	}
}

static bool has_changed(const struct columns *a, const struct columns *b)
{
	return a->first != b->first || a->last != b->last || a->nr_calls != b->nr_calls ||
	       a->events.nr != b->events.nr;
}

/*
 * Serve what a target has, and what it gets, until a signal of @set comes. What it had last stays
 * where it is gone, or cannot be read once.
 */
static void follow(struct view_server *s, struct target *t, const struct options *opt,
		   const struct view *plain, struct shown *shown, const sigset_t *set)
{
	static const struct timespec second = {.tv_sec = 1};
	unsigned int at = 0;

	shown->nr = 2;
	shown->views[1] = *plain;
	while (sigtimedwait(set, NULL, &second) < 0) {
		struct view *next = &shown->views[!at];
		struct columns *c = NULL;

		*next = *plain;
		if (read_target(t, opt, next, &c) || !has_changed(shown->c, c)) {
			columns_free(c);
			view_close(next);
			continue;
		}
		view_server_replace(s, c);
		columns_free(shown->c);
		view_close(&shown->views[at]);
		shown->c = c;
		at = !at;
	}
}

/* Until Ctrl-C, or until the terminal closes. */
static int serve(struct shown *shown, struct target *t, const struct options *opt,
		 const struct view *plain)
{
	struct view_server *s = NULL;
	struct view_server_options how = {
		.port = opt->port, .session = opt->session, .source = opt->source, .live = t};
	sigset_t set, old;
	char dir[4096];
	int sig, err = mount_default_dir(dir, sizeof(dir));

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, &old);
	how.dir = dir;
	if (!err)
		err = view_server_start(shown->c, &how, &s);
	if (!err) {
		/* the token is for a person at the terminal, and not for a log */
		if (isatty(STDOUT_FILENO))
			printf("Open %s\nor   file://%s in a browser. Ctrl-C ends it.\n",
			       view_server_address(s), view_server_file(s));
		else
			printf("Open file://%s in a browser.\n", view_server_file(s));
		if (fflush(stdout))
			err = fail_errno(errno, "cannot write to stdout");
		else if (t)
			follow(s, t, opt, plain, shown, &set);
		else
			sigwait(&set, &sig);
	}
	view_server_stop(s);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return err;
}

/* 1.5ms, -3us, 20: ns. */
static bool take_offset(const char **p, int64_t *ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"", 1}};
	char *end;
	double n = strtod(*p, &end);
	size_t i = 0;

	if (end == *p)
		return false;
	while (strncmp(end, units[i].name, strlen(units[i].name)))
		i++;
	*p = end + strlen(units[i].name);
	n *= units[i].ns;
	/* also false of what is no number */
	if (!(n > -9e18 && n < 9e18))
		return false;
	*ns = (int64_t)n;
	return true;
}

static int offsets_of(const struct options *opt, struct columns *const *c, unsigned int nr,
		      int64_t *out)
{
	const char *p = opt->offsets;

	for (unsigned int i = 0; i < nr; i++)
		out[i] = opt->align ? (int64_t)(c[0]->first - c[i]->first) : 0;
	for (unsigned int i = 0; p && *p; i++) {
		int64_t ns;

		if (i == nr)
			return fail(EINVAL, "--ts-offset %s: there are only %u files", opt->offsets,
				    nr);
		if (!take_offset(&p, &ns) || (*p && *p++ != ','))
			return fail(EINVAL,
				    "--ts-offset %s: not times with commas between them, as "
				    "0,1.5ms,-3us",
				    opt->offsets);
		out[i] += ns;
	}
	return 0;
}

static int read_files(struct shown *shown, const struct options *opt)
{
	struct columns *all[MAX_FILES] = {0};
	int64_t offsets[MAX_FILES];
	unsigned int nr = 0;
	int err = 0;

	for (; nr < shown->nr && !err; nr++) {
		err = view_open(&shown->views[nr]);
		if (!err)
			err = read_columns(&shown->views[nr], &all[nr]);
	}
	if (!err)
		err = offsets_of(opt, all, nr, offsets);
	if (!err && (nr > 1 || offsets[0]))
		return columns_join(all, nr, offsets, &shown->c);
	for (unsigned int i = err ? 0 : 1; i < nr; i++)
		columns_free(all[i]);
	shown->c = err ? NULL : all[0];
	return err;
}

/*
 * The flags are taken once for each file, as each has a view of its own; FILE -i FILE FILE.
 * Return: as options_parse().
 */
static int parse(struct shown *shown, struct options *opt, const struct command *c, int argc,
		 char **argv)
{
	unsigned int nr = 1;
	int status = -1;

	for (unsigned int i = 0; status < 0 && i < nr; i++) {
		struct view *v = &shown->views[i];
		char **words = calloc((size_t)argc + 1, sizeof(*words)), **left = words;
		int n = argc;

		if (!words) {
			note("out of memory");
			return CMD_FAILURE;
		}
		memcpy(words, argv, (size_t)argc * sizeof(*words));
		view_init(v);
		shown->nr = i + 1;
		status = options_parse(c, (void *[]){v, opt}, &n, &left);
		nr = (unsigned int)n + (v->path ? 1 : 0);
		if (status < 0 && nr > MAX_FILES)
			status = options_wrong(c, "at most %u files", MAX_FILES);
		if (status < 0 && (!v->path || i))
			v->path = n ? left[v->path ? i - 1 : i] : NULL;
		free(words);
	}
	if (status < 0 && opt->target && shown->views[0].path)
		return options_wrong(c, "-P or a file, not both");
	if (status < 0 && opt->target && opt->html)
		return options_wrong(c, "--html is of files: record the process first");
	return status;
}

static int run(const struct command *c, int argc, char **argv)
{
	struct options opt = {0};
	struct shown shown = {0};
	struct target *t = NULL;
	struct view plain;
	int status = parse(&shown, &opt, c, argc, argv), ret = 0;

	plain = shown.views[0];
	if (status < 0 && opt.target) {
		t = target_get(opt.target, NULL, &ret);
		if (t)
			ret = await_target(t, &opt, &plain, &shown.views[0], &shown.c);
	} else if (status < 0) {
		ret = read_files(&shown, &opt);
	}
	if (status < 0 && !ret)
		ret = opt.html ? write_html(opt.html, shown.c) : serve(&shown, t, &opt, &plain);
	if (ret)
		note("%s", fail_text());
	columns_free(shown.c);
	for (unsigned int i = 0; i < shown.nr; i++)
		view_close(&shown.views[i]);
	target_put(t);
	return status >= 0 ? status : ret ? CMD_FAILURE : 0;
}

const struct command command_view = {
	.name = "view",
	.words = "[FILE ...]",
	.what = "show a recording as a picture, in a browser",
	.help = "Show FILE (default: trace.dat), or several on one timeline, as a picture: what "
		"CPUs ran, what\nthreads did and called, and the events, in a browser on this "
		"machine. Nothing leaves it: the\nserver listens on 127.0.0.1 and answers only the "
		"page that it printed the address of.\n",
	.flags = (const struct flag *const[]){view_flags, flags, NULL},
	.run = run,
};
