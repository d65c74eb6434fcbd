/* SPDX-License-Identifier: MIT */
/*
 * `vestige leaks`: the memory that a program has allocated and not released, by stack: for a
 * program that it runs, at the end; for a live process, now. Tests: tests/engine/tracers/kmemtrace.
 */
#include "tools/cli/cmd.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/cli/control.h"
#include "tools/cli/text_json.h"
#include "tools/reader/reader.h"
#include "tools/record/record.h"
#include "tools/text/leak_text.h"

struct options {
	struct control_which which;
	bool json;
	unsigned long long bytes; /* record one stack for this number of bytes */
};

static int print_file(struct target *t, const char *file, struct out *o)
{
	return t->ops->print(t, file, o);
}

static int of_process(const struct options *opt)
{
	const char *file = "trace_stat/kmemtrace_leaks";
	struct target *t;
	int err = control_open_file(&t, &opt->which, &file);

	if (err)
		return cmd_end(err);
	err = opt->json ? text_json_print(t, file, text_json_leaks)
			: control_print(t, print_file, file);
	target_put(t);
	return cmd_end(err);
}

static int keep(void *arg, const char *text, size_t bytes)
{
	return fwrite(text, 1, bytes, arg) == bytes ? 0 : -ENOMEM;
}

/* The text of the leaks as JSON. */
static int print_json(struct reader *r, struct out *o)
{
	struct json j = {.o = o};
	char *text = NULL;
	size_t bytes = 0;
	FILE *f = open_memstream(&text, &bytes);
	struct out kept;
	int ret;

	if (!f || out_init_sink(&kept, keep, f)) {
		if (f)
			fclose(f);
		free(text);
		return fail(ENOMEM, "out of memory");
	}
	ret = leak_text_print(r, &kept);
	if ((out_end(&kept) || fclose(f)) && !ret)
		ret = fail(ENOMEM, "out of memory");
	if (!ret) {
		text_json_leaks(&j, text);
		out_text(o, "\n");
	}
	free(text);
	return ret;
}

static int show(const char *path, bool json)
{
	struct reader *r;
	struct out o;
	int ret = reader_open(path, &r);

	if (ret)
		return ret;
	/* beside what the program has printed */
	if (out_init(&o, STDERR_FILENO)) {
		ret = fail(ENOMEM, "out of memory");
	} else {
		ret = json ? print_json(r, &o) : leak_text_print(r, &o);
		if (out_end(&o) && !ret)
			ret = fail(EIO, "cannot write the leaks");
	}
	reader_close(r);
	return ret;
}

static int of_program(const struct options *opt, char **argv)
{
	static struct record_options rec;
	const char *tmp = getenv("TMPDIR");
	char dir[3072], path[4096], boot[64];
	sigset_t mask;
	int status;

	snprintf(dir, sizeof(dir), "%s/vestige-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(dir)) {
		note("cannot make a folder for the recording in %s: set TMPDIR", dir);
		return CMD_OURS;
	}
	snprintf(path, sizeof(path), "%s/trace.dat", dir);
	snprintf(boot, sizeof(boot), "kmemtrace_stacks=%llu", opt->bytes);
	rec = (struct record_options){.tracer = "kmemtrace",
				      .output = path,
				      .file_version = 7,
				      .native = true,
				      .no_summary = true,
				      .quiet = true,
				      .boot = boot,
				      .argv = argv};
	sigprocmask(SIG_SETMASK, NULL, &mask);
	status = record(&rec);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	if (!access(path, R_OK) && show(path, opt->json)) {
		note("%s", fail_text());
		status = status ? status : CMD_OURS;
	}
	unlink(path);
	rmdir(dir);
	return status;
}

static int take_bytes(const struct parsing *p, void *to, const char *value)
{
	return options_take_number(p, value, 1, 1 << 30, "not a number of bytes",
				   &((struct options *)to)->bytes);
}

static int take_pid(const struct parsing *p, void *to, const char *value)
{
	return control_take_pid(p, &((struct options *)to)->which.pid, value);
}

static const struct flag flags[] = {
	{'P', NULL, "PID",
	 "what this process holds now of its allocations since kmemtrace became its tracer",
	 take_pid, 0},
	{'s', NULL, "BYTES",
	 "take one stack for each BYTES that a thread allocates, and estimate (default: 1, the "
	 "stack of "
	 "each block)",
	 take_bytes, 0},
	{0, "json", NULL, "as JSON", NULL, offsetof(struct options, json)},
	FLAGS_END};

static int run(const struct command *c, int argc, char **argv)
{
	struct options opt = {.bytes = 1};
	int status = options_parse(c, (void *[]){&opt}, &argc, &argv);

	if (status >= 0)
		return status;
	if (opt.which.pid && argc)
		return options_wrong(c, "a process or a program, not both: %s", argv[0]);
	if (opt.which.pid)
		return of_process(&opt);
	if (!argc)
		return options_wrong(c, "name a program to run, or a process with -P");
	return of_program(&opt, argv);
}

const struct command command_leaks = {
	.name = "leaks",
	.words = "[--] PROG [ARGS] | -P PID",
	.what = "show what a program has allocated and not released, by stack",
	.help = "Run PROG and print to stderr the blocks that it had not released at its end: by "
		"stack,\nthe most bytes first, with the age of the oldest block. PROG needs no "
		"flag of the compiler.\n",
	.more = "For a process that runs:\n  vestige set -P PID kmemtrace_stacks 1; vestige start "
		"-P PID -p kmemtrace\nand later `vestige leaks -P PID`. The exit status is PROG's; "
		"125 vestige failed.\n",
	.flags = (const struct flag *const[]){flags, NULL},
	.runs_program = true,
	.usage_status = CMD_OURS,
	.run = run,
};
