/* SPDX-License-Identifier: MIT */
/* `vestige view`: a recording as a picture in the browser. Tests: tests/cli/test_view.py. */
#include "tools/cli/cmd.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/cli/view_flags.h"
#include "tools/mount/mount.h"
#include "tools/record/progress.h"
#include "tools/view/html.h"
#include "tools/view/server.h"

struct options {
	const char *html;
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

/* Until Ctrl-C, or until the terminal closes. */
static int serve(const struct columns *c, const struct options *opt)
{
	struct view_server *s = NULL;
	sigset_t set, old;
	char dir[4096];
	int sig, err = mount_default_dir(dir, sizeof(dir));

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, &old);
	if (!err)
		err = view_server_start(c, opt->port, dir, &s);
	if (!err) {
		/* the token is for a person at the terminal, and not for a log */
		if (isatty(STDOUT_FILENO))
			printf("Open %s\nor   file://%s in a browser. Ctrl-C ends it.\n",
			       view_server_address(s), view_server_file(s));
		else
			printf("Open file://%s in a browser.\n", view_server_file(s));
		if (fflush(stdout))
			err = fail_errno(errno, "cannot write to stdout");
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
	struct columns *columns = NULL;
	struct view v;
	int status = view_parse(&v, c, &opt, argc, argv), ret;

	if (status >= 0)
		return status;
	ret = view_open(&v);
	if (!ret)
		ret = read_columns(&v, &columns);
	if (!ret)
		ret = opt.html ? write_html(opt.html, columns) : serve(columns, &opt);
	if (ret)
		note("%s", fail_text());
	columns_free(columns);
	view_close(&v);
	return ret ? CMD_FAILURE : 0;
}

const struct command command_view = {
	.name = "view",
	.words = "[FILE]",
	.what = "show a recording as a picture, in a browser",
	.help = "Show FILE (default: trace.dat) as a picture: what CPUs ran, what threads did and "
		"called, "
		"and\nthe events, in a browser on this machine. Nothing leaves it: the server "
		"listens "
		"on\n127.0.0.1 and answers only the page that it printed the address of.\n",
	.flags = (const struct flag *const[]){view_flags, flags, NULL},
	.run = run,
};
