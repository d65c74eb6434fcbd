/* SPDX-License-Identifier: MIT */
/*
 * vestige stream: start and show -p in one command; all settings are restored at the end. The
 * kernel's records come from an instance of ours. Tests: tests/cli/test_stream.py.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/cli/cmd.h"
#include "tools/cli/follow_pipe.h"
#include "tools/cli/settings.h"
#include "tools/record/launch_process.h"
#include "tools/target/borrowed.h"

static struct stream {
	struct settings s;
	struct launch_process program;
	struct borrowed *borrowed; /* of a process */
	char instance[32];	   /* of the kernel */
	sigset_t mask;
} st;

/*
 * Write an option by its file in options/, which can be restored. A tracer's options are there only
 * with it.
 */
static int write_option(struct target *t, const char *option)
{
	bool off = !strncmp(option, "no", 2);
	char path[128];

	snprintf(path, sizeof(path), "options/%s", off ? option + 2 : option);
	if (borrowed_note(st.borrowed, t, path))
		return control_write(t, "trace_options", option, true);
	return target_set(t, path, off ? "0" : "1");
}

static int write_one(void *arg, struct target *t, const char *path, const char *text, bool truncate)
{
	const char *file = strrchr(path, '/');
	char undo[1024];
	int err;

	(void)arg;
	if (st.s.which.kernel)
		return control_write(t, path, text, truncate);
	if (!strcmp(path, "trace_options"))
		return write_option(t, text);
	if (file && !strcmp(file, "/filter"))
		return borrowed_add(st.borrowed, t, path, text, "0");
	if (file && !strcmp(file, "/trigger")) {
		snprintf(undo, sizeof(undo), "!%s", text);
		return borrowed_add(st.borrowed, t, path, text, undo);
	}
	err = borrowed_note(st.borrowed, t, path);
	return err ? err : control_write(t, path, text, truncate);
}

static int switch_on(void *arg, struct target *t)
{
	(void)arg;
	return st.s.which.kernel ? target_set(t, "tracing_on", "1")
				 : borrowed_set(st.borrowed, t, "tracing_on", "1");
}

static bool program_ended(void)
{
	return !launch_process_runs(&st.program);
}

/* Add defaults: without -e and -p the tracer function, in a process; for the kernel an instance. */
static int complete(struct settings *s)
{
	bool any = s->which.kernel;

	for (unsigned int i = 0; i < s->nr; i++)
		any |= s->at[i].kind == SET_EVENT || s->at[i].kind == SET_TRACER;
	if (s->nr == SETTINGS_MAX)
		return fail(E2BIG, "too many flags");
	if (!any)
		s->at[s->nr++] = (struct setting){SET_TRACER, "function", false};
	if (!s->which.kernel)
		return 0;
	/* `vestige clean` knows the name */
	snprintf(st.instance, sizeof(st.instance), "vestige.%d", (int)getpid());
	memmove(s->at + 1, s->at, s->nr++ * sizeof(*s->at));
	s->at[0] = (struct setting){SET_INSTANCE, st.instance, false};
	return 0;
}

/*
 * With -k the program is not traced itself: start it and hold it until the kernel's records are
 * shown.
 */
static int hold_program(char **argv)
{
	int go[2];

	if (pipe2(go, O_CLOEXEC))
		return fail_errno(errno, "cannot make a pipe");
	st.program = (struct launch_process){.dir.fd = -1};
	st.program.launch.pid = fork();
	if (st.program.launch.pid < 0)
		return fail_errno(errno, "cannot start %s", argv[0]);
	if (!st.program.launch.pid) {
		char c;

		close(go[1]);
		sigprocmask(SIG_SETMASK, &st.mask, NULL);
		if (read(go[0], &c, 1) != 1)
			_exit(CMD_OURS);
		execvp(argv[0], argv);
		note("%s: %s", argv[0], strerror(errno));
		_exit(errno == ENOENT ? CMD_NOT_FOUND : CMD_CANNOT_EXEC);
	}
	close(go[0]);
	return go[1];
}

static void let_go(int go)
{
	if (go < 0)
		launch_go(&st.program.launch);
	else if (write(go, "", 1) != 1)
		note("cannot start the program");
}

static int stream(struct target **t, char **argv)
{
	static const struct settings_writer writer = {write_one, switch_on, NULL};
	struct control_which which;
	int go = -1, err;

	if (*argv && !st.s.which.kernel) {
		err = launch_process(&st.program, argv, false, false, &st.mask);
		if (err)
			return err;
		st.s.which.pid = st.program.launch.pid;
	} else if (*argv) {
		go = hold_program(argv);
		if (go < 0)
			return go;
	}
	err = complete(&st.s);
	if (!err && !st.s.which.kernel)
		err = borrowed_new("stream", &st.borrowed);
	if (!err)
		err = settings_apply(&st.s, &writer);
	which = st.s.which;
	if (which.kernel) {
		which.pid = 0;
		which.instance = st.instance;
	}
	if (!err)
		err = control_open(t, &which, false);
	if (!err && *argv)
		let_go(go);
	if (go >= 0)
		close(go);
	if (!err)
		err = follow_pipe(*t, UINT32_MAX, *argv ? program_ended : NULL);
	if (st.program.launch.pid > 0 && follow_pipe_signal())
		kill(st.program.launch.pid, follow_pipe_signal());
	else if (!err && st.program.launch.pid > 0)
		launch_process_wait(&st.program);
	return err;
}

static void put_back(void)
{
	struct target *t;
	char why[1024];

	borrowed_end(st.borrowed);
	if (!st.instance[0])
		return;
	snprintf(why, sizeof(why), "%s", fail_text());
	if (!control_open(&t, &(struct control_which){.kernel = true}, false)) {
		t->ops->rmdir(t, st.instance);
		target_put(t);
	}
	fail(EIO, "%s", why);
}

static int run(const struct command *c, int argc, char **argv)
{
	struct target *t = NULL;
	int status, err;

	st = (struct stream){.program.dir.fd = -1};
	status = options_parse(c, (void *[]){&st.s, &st.s}, &argc, &argv);
	if (status >= 0)
		return status;
	for (unsigned int i = 0; i < st.s.nr; i++)
		if (st.s.at[i].kind == SET_INSTANCE)
			return options_wrong(c, "it prints one buffer, of its own: leave out -B "
						"(`vestige show -p -B` prints an instance's)");
	if (argc && st.s.which.pid)
		return options_wrong(c, "-P names a process that runs: leave out %s", argv[0]);
	if (st.s.which.kernel && !st.s.nr)
		return options_wrong(c, "-k: say what with -e or -p");
	sigprocmask(SIG_SETMASK, NULL, &st.mask);
	/* from here on there are settings to restore */
	follow_pipe_catch();
	err = stream(&t, argv);
	target_put(t);
	put_back();
	launch_process_end(&st.program);
	if (err == -ENOENT && argc && !st.borrowed && !st.s.which.kernel) {
		note("%s", fail_text());
		return CMD_NOT_FOUND;
	}
	status = cmd_end(err);
	if (!status && argc && !st.program.launch.pid)
		return st.program.status;
	return status;
}

const struct command command_stream = {
	.name = "stream",
	.words = "[--] [PROG [ARGS]]",
	.what = "trace and print what comes, without a file",
	.help = "Choose tracer, functions and events as `vestige start` does, and print the "
		"records as\nthey come, until Ctrl-C or PROG's end; then all settings are as "
		"before. With -k of\nthe kernel, while PROG runs if one is named. What is printed "
		"is consumed.\n",
	.flags = (const struct flag *const[]){settings_target_flags, settings_flags, NULL},
	.runs_program = true,
	.run = run,
};
