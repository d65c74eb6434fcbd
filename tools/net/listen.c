/* SPDX-License-Identifier: MIT */
/*
 * See listen.h: accepts connections, starts a process for each, and prints their messages. Messages
 * come by a pipe, so lines do not mix. The file names in them are for the command that is printed
 * at the end, which merges all hosts.
 * Tests: tests/cli/test_listen.py.
 */
#include "tools/net/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/file_limit.h"
#include "tools/base/shell_word.h"
#include "tools/base/signals.h"
#include "tools/net/net_io.h"

#define QUIET_MS 500u

struct server {
	const struct listen_options *o;
	int fd, dir, signals, lines[2];
	FILE *to;
	pid_t *clients;
	size_t nr_clients;
	unsigned long long ended; /* recordings that became files */
	_Atomic uint64_t *total;
	char **files;
	size_t nr_files, files_room;
	bool stopping;
};

/*
 * In a sender's process: the file's name, a tab and the line. A write this short to a pipe is
 * atomic.
 */
static void send_line(void *arg, const char *file, const char *line)
{
	struct server *s = arg;
	char text[PIPE_BUF];
	int n = snprintf(text, sizeof(text), "%s\t%s\n", file ? file : "", line);

	if (write(s->lines[1], text, n < (int)sizeof(text) ? (size_t)n : sizeof(text) - 1) < 0)
		return;
}

static void take_line(struct server *s, char *line)
{
	char *tab = strchr(line, '\t');

	if (!tab)
		return;
	*tab = '\0';
	fprintf(s->to, "%s\n", tab + 1);
	fflush(s->to);
	s->ended += *line != '\0';
	if (*line && !ARRAY_ROOM(s->files, s->nr_files, s->files_room, 16))
		s->files[s->nr_files++] = strdup(line);
}

static void take_lines(struct server *s)
{
	static char text[2 * PIPE_BUF];
	static size_t n;
	ssize_t got;
	char *end;

	while ((got = read(s->lines[0], text + n, sizeof(text) - 1 - n)) > 0) {
		n += (size_t)got;
		text[n] = '\0';
		while ((end = strchr(text, '\n'))) {
			*end = '\0';
			take_line(s, text);
			n -= (size_t)(end + 1 - text);
			memmove(text, end + 1, n + 1);
		}
		if (n == sizeof(text) - 1)
			n = 0;
	}
}

static void reap(struct server *s)
{
	for (size_t i = 0; i < s->nr_clients;) {
		if (waitpid(s->clients[i], NULL, WNOHANG) != s->clients[i]) {
			i++;
			continue;
		}
		s->clients[i] = s->clients[--s->nr_clients];
	}
}

static void serve(struct server *s, int fd, const char *name)
{
	struct listen_client c = {
		.fd = fd,
		.dir = s->dir,
		.name = name,
		.prefix = s->o->prefix,
		.max_bytes = s->o->max_bytes,
		.max_total = s->o->max_total,
		.quiet_ms = QUIET_MS,
		.total = s->total,
		.report = send_line,
		.arg = s,
	};
	sigset_t none;

	close(s->fd);
	close(s->signals);
	close(s->lines[0]);
	/* on Ctrl-C the listener ends the senders' processes */
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	listen_client_serve(&c);
	_exit(0);
}

static void take_client(struct server *s)
{
	struct sockaddr_storage from = {0};
	socklen_t n = sizeof(from);
	char name[128];
	int fd = accept4(s->fd, (struct sockaddr *)&from, &n, SOCK_CLOEXEC);
	pid_t pid;

	if (fd < 0)
		return;
	net_name((struct sockaddr *)&from, n, name, sizeof(name));
	if (s->nr_clients >= s->o->clients) {
		fprintf(s->to, "%s: refused: --max-clients are connected\n", name);
		fflush(s->to);
		close(fd);
		return;
	}
	net_tune(fd);
	fflush(s->to);
	pid = fork();
	if (!pid)
		serve(s, fd, name);
	close(fd);
	if (pid > 0)
		s->clients[s->nr_clients++] = pid;
	else
		fprintf(s->to, "%s: refused: %s\n", name, strerror(errno));
}

static void take_signals(struct server *s)
{
	struct signalfd_siginfo si;

	while (read(s->signals, &si, sizeof(si)) == sizeof(si))
		s->stopping |= si.ssi_signo != SIGCHLD;
	reap(s);
}

static void run(struct server *s)
{
	bool stopped = false;

	for (;;) {
		struct pollfd p[] = {{s->signals, POLLIN, 0},
				     {s->lines[0], POLLIN, 0},
				     {s->stopping ? -1 : s->fd, POLLIN, 0}};

		poll(p, 3, -1);
		take_lines(s);
		take_signals(s);
		take_lines(s);
		s->stopping |= s->o->recordings && s->ended >= s->o->recordings;
		for (size_t i = 0; i < s->nr_clients && s->stopping && !stopped; i++)
			kill(s->clients[i], SIGTERM);
		stopped = s->stopping;
		if (s->stopping && !s->nr_clients)
			return;
		if (p[2].revents && !s->stopping)
			take_client(s);
	}
}

/* Print the command that shows all recordings merged by time. */
static void print_merge(const struct server *s)
{
	char word[SHELL_WORD_BYTES];

	if (s->nr_files < 2)
		return;
	fputs("all hosts in one order of time: vestige report", s->to);
	for (size_t i = 0; i < s->nr_files; i++)
		fprintf(s->to, " -i %s", s->files[i] ? shell_word(s->files[i], word) : "?");
	fputc('\n', s->to);
}

static int make(struct server *s)
{
	const struct listen_options *o = s->o;
	struct sockaddr_storage at;
	socklen_t n = sizeof(at);
	char name[128];
	sigset_t block;

	s->dir = open(o->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->dir < 0)
		return fail_errno(errno, "-d %s", o->dir);
	if (faccessat(s->dir, ".", W_OK, 0))
		return fail_errno(errno, "-d %s", o->dir);
	s->clients = calloc(o->clients, sizeof(*s->clients));
	s->total = mmap(NULL, sizeof(*s->total), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (!s->clients || s->total == MAP_FAILED)
		return fail(ENOMEM, "out of memory");
	s->fd = net_bind(o->address, o->port, SOCK_STREAM);
	if (s->fd < 0)
		return s->fd;
	s->to = o->log ? fopen(o->log, "ae") : stdout;
	if (!s->to)
		return fail_errno(errno, "-l %s", o->log);
	if (pipe2(s->lines, O_CLOEXEC | O_NONBLOCK))
		return fail_errno(errno, "cannot make a pipe");
	/* before the line below: a signal that comes just behind it ends this as any other */
	signals_ending(&block);
	sigaddset(&block, SIGCHLD);
	sigprocmask(SIG_BLOCK, &block, NULL);
	s->signals = signalfd(-1, &block, SFD_NONBLOCK | SFD_CLOEXEC);
	if (s->signals < 0)
		return fail_errno(errno, "cannot read signals");
	getsockname(s->fd, (struct sockaddr *)&at, &n);
	fprintf(s->to, "listening at %s\n",
		net_name((struct sockaddr *)&at, n, name, sizeof(name)));
	fflush(s->to);
	if (o->daemon && daemon(1, 0))
		return fail_errno(errno, "cannot go into the background");
	return 0;
}

int listen_run(const struct listen_options *o)
{
	static struct server s;
	int err;

	/* a host with many CPUs has two files and a socket for each */
	file_limit_raise();
	s = (struct server){.o = o, .fd = -1, .dir = -1, .signals = -1, .lines = {-1, -1}};
	err = make(&s);
	if (!err) {
		run(&s);
		print_merge(&s);
		if (fflush(s.to))
			err = fail_errno(errno, "cannot write");
	}
	for (size_t i = 0; i < s.nr_files; i++)
		free(s.files[i]);
	free(s.files);
	free(s.clients);
	for (int i = 0; i < 2; i++)
		if (s.lines[i] >= 0)
			close(s.lines[i]);
	if (s.to && s.to != stdout)
		fclose(s.to);
	if (s.fd >= 0)
		close(s.fd);
	if (s.dir >= 0)
		close(s.dir);
	if (s.signals >= 0)
		close(s.signals);
	return err;
}
