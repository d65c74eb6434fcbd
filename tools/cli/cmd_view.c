/* SPDX-License-Identifier: MIT */
/* `vestige view`: a recording as a picture in the browser. Tests: tests/cli/test_view.py. */
#include "tools/cli/cmd.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tools/base/cache_folder.h"
#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/base/signals.h"
#include "tools/cli/shown.h"
#include "tools/cli/view_flags.h"
#include "tools/cli/view_reading.h"
#include "tools/cli/view_record.h"
#include "tools/mount/mount.h"
#include "tools/view/html.h"
#include "tools/view/server.h"

struct options {
	const char *html, *session, *source;
	uint16_t port;
	bool no_index, record;
};

static int take_port(const struct parsing *p, void *to, const char *value)
{
	unsigned long long n;
	int status = options_take_number(p, value, 1, UINT16_MAX, "not a port", &n);

	if (!status)
		((struct options *)to)->port = (uint16_t)n;
	return status;
}

static const struct flag flags[] = {
	{0, "html", "OUT",
	 "write the viewer and the recording into the file OUT, at most 20 MB, which a browser "
	 "opens "
	 "without a server; if that is too little, the shortest calls are left out, with a note",
	 NULL, offsetof(struct options, html)},
	{0, "no-index", NULL,
	 "neither read nor write FILE.index, from which a large recording has its first picture",
	 NULL, offsetof(struct options, no_index)},
	{0, "port", "PORT", "listen there; default: any that is free", take_port, 0},
	{0, "record", NULL,
	 "run the program behind -- first and record its calls (function_graph) into FILE", NULL,
	 offsetof(struct options, record)},
	{0, "session", "FILE",
	 "read filters, markers, plots and notes from FILE, and save them there", NULL,
	 offsetof(struct options, session)},
	{0, "source", "DIR",
	 "show the source of functions from files below DIR (default: the working folder)", NULL,
	 offsetof(struct options, source)},
	FLAGS_END};

static int write_html(const char *path, const struct columns *c)
{
	struct answer_cut cut;
	int err = html_write(path, c, &cut);

	if (!err && cut.calls == c->nr_calls && cut.calls)
		note("all %" PRIu64 " calls are left out: the page has no room for them",
		     cut.calls);
	else if (!err && cut.calls)
		note("%" PRIu64 " calls shorter than %" PRIu64 " ns are left out", cut.calls,
		     cut.shortest);
	if (!err && cut.events)
		note("the last %" PRIu64 " events are left out", cut.events);
	return err;
}

/* Serve what a target has, and what it gets, until a signal of @set comes. */
static void follow(struct view_server *s, struct shown *shown, const sigset_t *set)
{
	static const struct timespec second = {.tv_sec = 1};
	struct columns *before;

	while (sigtimedwait(set, NULL, &second) < 0) {
		if (!shown_refresh(shown, &before))
			continue;
		view_server_replace(s, shown->c);
		shown_forget(shown, before);
	}
}

static int say_address(const struct view_server *s)
{
	/* the token must be printed on a terminal only, not into a log */
	if (isatty(STDOUT_FILENO))
		printf("Open %s\nor   file://%s in a browser. Ctrl-C ends it.\n",
		       view_server_address(s), view_server_file(s));
	else
		printf("Open file://%s in a browser.\n", view_server_file(s));
	return fflush(stdout) ? fail_errno(errno, "cannot write to stdout") : 0;
}

/* Read a file, and serve it as soon as there is a picture, until a signal of @set comes. */
static int serve_file(struct view *v, const struct view_server_options *how, bool use_index,
		      const sigset_t *set)
{
	static const struct timespec tick = {.tv_nsec = 5000000};
	struct view_reading r;
	int sig, end, err = view_reading_begin(&r, v, use_index);
	bool asked = false;

	while (!err && !asked) {
		err = view_reading_serve(&r, how);
		if (err != -EAGAIN)
			break;
		err = 0;
		asked = sigtimedwait(set, NULL, &tick) > 0;
	}
	if (!err && !asked)
		err = say_address(r.server);
	if (!err && !asked)
		sigwait(set, &sig);
	end = view_reading_end(&r);
	return err ? err : end;
}

static int serve_target(struct shown *shown, const struct view_server_options *how,
			const sigset_t *set)
{
	struct view_server *s = NULL;
	int sig, err = view_server_start(shown->c, how, &s);

	if (!err)
		err = say_address(s);
	if (!err && shown->target)
		follow(s, shown, set);
	else if (!err)
		sigwait(set, &sig);
	view_server_stop(s);
	return err;
}

/*
 * The folder of the redirect file: the mount's, else the cache's, where nothing is mounted and this
 * user may write. Return: 0 or -errno with fail() set.
 */
static int redirect_dir(char *dir, size_t bytes)
{
	int err = mount_default_dir(dir, bytes);

	if (err || mount_is_ours(dir) || (mkdir(dir, 0755) && errno != EEXIST) || access(dir, W_OK))
		err = cache_folder(dir, bytes);
	return err;
}

/* Until Ctrl-C, or until the terminal closes. */
static int serve(struct shown *shown, const struct options *opt)
{
	struct view_server_options how = {
		.port = opt->port, .session = opt->session, .source = opt->source};
	bool whole;
	int err;
	struct view *alone = shown_alone(shown, &whole, &err);
	sigset_t set, old;
	char dir[4096];

	if (!alone && !err)
		err = shown_read(shown);
	if (!err)
		err = redirect_dir(dir, sizeof(dir));
	how.dir = dir;
	how.live = shown->target;
	signals_ending(&set);
	sigprocmask(SIG_BLOCK, &set, &old);
	if (!err)
		err = alone ? serve_file(alone, &how, whole && !opt->no_index, &set)
			    : serve_target(shown, &how, &set);
	/* such as the SIGTERM of the reading thread after an error, or a second Ctrl-C */
	signals_drop(&set);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return err;
}

/* With --record: the words behind `--`, which are removed from @argv. Else NULL. */
static char **take_program(int *argc, char **argv)
{
	bool record = false;

	for (int i = 1; i < *argc; i++) {
		size_t n = strlen(argv[i]);

		/* it may be abbreviated, as each long name */
		record |= n > 2 && !strncmp(argv[i], "--record", n);
		if (strcmp(argv[i], "--"))
			continue;
		if (!record)
			return NULL;
		*argc = i;
		return argv + i + 1;
	}
	return NULL;
}

/* Return: -1 to go on, else the exit status. */
static int record_first(struct shown *shown, const struct command *c, char **program)
{
	int status;

	if (!program || !*program)
		return options_wrong(c, "no program is named: vestige view --record -- PROG ARGS");
	if (shown->wish.target || shown->nr > 1)
		return options_wrong(c, "--record makes one file: leave out %s",
				     shown->wish.target ? "-P" : "the others");
	if (!shown->views[0].path)
		shown->views[0].path = "trace.dat";
	status = view_record(shown->views[0].path, program);
	return status ? status : -1;
}

static int run(const struct command *c, int argc, char **argv)
{
	struct options opt = {0};
	static struct shown shown; /* large, and the stack may be small */
	char **program = take_program(&argc, argv);
	int status = shown_parse(&shown, &opt, c, argc, argv), ret = 0;

	if (status < 0 && shown.wish.target && opt.html)
		status = options_wrong(c, "--html is of files: record the process first");
	if (status < 0 && opt.record)
		status = record_first(&shown, c, program);
	if (status < 0) {
		ret = opt.html ? shown_read(&shown) : serve(&shown, &opt);
		if (!ret && opt.html)
			ret = write_html(opt.html, shown.c);
		if (ret)
			note("%s", fail_text());
	}
	shown_close(&shown);
	return status >= 0 ? status : ret ? CMD_FAILURE : 0;
}

const struct command command_view = {
	.name = "view",
	.words = "[FILE ...] [--record [FILE] -- PROG ARGS]",
	.what = "show a recording as a picture, in a browser",
	.help = "Show FILE (default: trace.dat), or several on one timeline, as a picture: what "
		"CPUs ran, what\nthreads did and called, and the events, in a browser on this "
		"machine. Nothing leaves it: the\nserver listens on 127.0.0.1 and answers only the "
		"page that it printed the address of.\n",
	.flags = (const struct flag *const[]){view_flags, shown_flags, flags, NULL},
	.run = run,
};
