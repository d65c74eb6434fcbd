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
#include "tools/cli/shown.h"
#include "tools/cli/view_flags.h"
#include "tools/mount/mount.h"
#include "tools/view/html.h"
#include "tools/view/server.h"

struct options {
	const char *html, *session, *source;
	uint16_t port;
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
	{0, "session", "FILE",
	 "what the user arranged (filters, markers, plots, notes) is read from FILE, and saved "
	 "there",
	 NULL, offsetof(struct options, session)},
	{0, "source", "DIR",
	 "show the source of functions from files below DIR (default: the working folder)", NULL,
	 offsetof(struct options, source)},
	FLAGS_END};

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

/* Until Ctrl-C, or until the terminal closes. */
static int serve(struct shown *shown, const struct options *opt)
{
	struct view_server *s = NULL;
	struct view_server_options how = {.port = opt->port,
					  .session = opt->session,
					  .source = opt->source,
					  .live = shown->target};
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
		else if (shown->target)
			follow(s, shown, &set);
		else
			sigwait(&set, &sig);
	}
	view_server_stop(s);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return err;
}

static int run(const struct command *c, int argc, char **argv)
{
	struct options opt = {0};
	struct shown shown = {0};
	int status = shown_parse(&shown, &opt, c, argc, argv), ret = 0;

	if (status < 0 && shown.wish.target && opt.html)
		status = options_wrong(c, "--html is of files: record the process first");
	if (status < 0) {
		ret = shown_read(&shown);
		if (!ret)
			ret = opt.html ? write_html(opt.html, shown.c) : serve(&shown, &opt);
		if (ret)
			note("%s", fail_text());
	}
	shown_close(&shown);
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
	.flags = (const struct flag *const[]){view_flags, shown_flags, flags, NULL},
	.run = run,
};
