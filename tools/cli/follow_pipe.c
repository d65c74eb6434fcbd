/* SPDX-License-Identifier: MIT */
/* See follow_pipe.h. Tests: tests/cli/test_control.py, tests/cli/test_stream.py. */
#include "tools/cli/follow_pipe.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "tools/base/fail.h"

static volatile sig_atomic_t ended;
static bool (*is_over)(void);

static void end(int sig)
{
	ended = sig;
}

static int has_ended(void)
{
	return ended || (is_over && is_over());
}

int follow_pipe_signal(void)
{
	return ended;
}

/* Return: 0, -EPIPE the reader has gone. */
static int put(const char *text, size_t n)
{
	ssize_t some;

	for (size_t done = 0; done < n; done += (size_t)some) {
		some = write(STDOUT_FILENO, text + done, n - done);
		if (some >= 0)
			continue;
		if (errno == EPIPE)
			return -EPIPE;
		if (errno != EINTR)
			return fail_errno(errno, "cannot write to stdout");
		some = 0;
	}
	return 0;
}

int follow_pipe(struct target *t, unsigned int cpu, bool (*over)(void))
{
	struct sigaction sa = {.sa_handler = end}, ignore = {.sa_handler = SIG_IGN}, before;
	bool rest = false;
	char text[16384];
	void *pipe;
	ssize_t n = 0;
	int err = t->ops->pipe_open(t, cpu, &pipe);

	if (err)
		return err;
	is_over = over;
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	/* a reader that goes is an end as any other: the caller has settings to put back */
	sigaction(SIGPIPE, &ignore, &before);
	while (!err) {
		n = t->ops->pipe_read(pipe, text, sizeof(text), rest, has_ended);
		if (n > 0)
			err = put(text, (size_t)n);
		else if (n == -EINTR && !ended && !rest)
			rest = true;
		else
			break;
		if (ended)
			break;
	}
	t->ops->pipe_close(t, cpu, pipe);
	sigaction(SIGPIPE, &before, NULL);
	if (err)
		return err == -EPIPE ? 0 : err;
	return n < 0 && n != -EINTR && n != -EAGAIN ? fail_errno((int)-n, "trace_pipe") : 0;
}
