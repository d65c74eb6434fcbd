/* SPDX-License-Identifier: MIT */
/* See follow_pipe.h. Tests: tests/cli/test_control.py, tests/cli/test_stream.py. */
#include "tools/cli/follow_pipe.h"

#include <errno.h>
#include <signal.h>

#include "tools/base/fail.h"
#include "tools/base/signals.h"
#include "tools/text/out.h"

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

void follow_pipe_catch(void)
{
	signals_on_ending(end);
}

int follow_pipe(struct target *t, unsigned int cpu, bool (*over)(void))
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
	bool rest = false;
	char text[16384];
	void *pipe;
	ssize_t n = 0;
	struct out o;
	int err;

	if (out_init(&o, STDOUT_FILENO))
		return fail(ENOMEM, "out of memory");
	err = t->ops->pipe_open(t, cpu, &pipe);
	if (err) {
		out_end(&o);
		return err;
	}
	is_over = over;
	follow_pipe_catch();
	/* if the reader of stdout goes away, return as usual: the caller must restore settings */
	sigaction(SIGPIPE, &ignore, &before);
	while (!o.err) {
		n = t->ops->pipe_read(pipe, text, sizeof(text), rest, has_ended);
		if (n > 0)
			out_write(&o, text, (size_t)n);
		else if (n == -EINTR && !ended && !rest)
			rest = true;
		else
			break;
		out_flush(&o);
		if (ended)
			break;
	}
	t->ops->pipe_close(t, cpu, pipe);
	err = out_end_stdout(&o, 0, "to stdout");
	sigaction(SIGPIPE, &before, NULL);
	if (err || o.err == -EPIPE)
		return err;
	return n < 0 && n != -EINTR && n != -EAGAIN ? fail_errno((int)-n, "trace_pipe") : 0;
}
