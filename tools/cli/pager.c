/* SPDX-License-Identifier: MIT */
/* See pager.h. Tests: tests/cli/test_views.py. */
#include "tools/cli/pager.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/child.h"

void pager_start(struct pager *p)
{
	const char *command = getenv("PAGER");
	int fds[2];

	p->pid = 0;
	if (!command)
		command = "less";
	if (!isatty(STDOUT_FILENO) || !*command || !strcmp(command, "cat") || pipe2(fds, O_CLOEXEC))
		return;
	fflush(stdout);
	signal(SIGPIPE, SIG_IGN);
	p->stdout_was = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	p->pid = p->stdout_was < 0 ? -1 : fork();
	if (!p->pid) {
		signal(SIGPIPE, SIG_DFL);
		dup2(fds[0], STDIN_FILENO);
		/* quit when it fits the screen, colours as they are, no clearing */
		setenv("LESS", "FRX", 0);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	close(fds[0]);
	if (p->pid > 0) {
		dup2(fds[1], STDOUT_FILENO);
	} else if (p->stdout_was >= 0) {
		close(p->stdout_was);
		p->pid = 0;
	} else {
		p->pid = 0;
	}
	close(fds[1]);
}

void pager_end(struct pager *p)
{
	if (!p->pid)
		return;
	fflush(stdout);
	dup2(p->stdout_was, STDOUT_FILENO);
	close(p->stdout_was);
	child_wait(p->pid);
	signal(SIGPIPE, SIG_DFL);
	p->pid = 0;
}
