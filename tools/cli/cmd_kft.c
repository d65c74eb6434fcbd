/* SPDX-License-Identifier: MIT */
/*
 * `vestige kft`: traces a program or a live process by KFT's configuration, and writes a log in
 * KFT's form. All calls are recorded (with a list of functions only these and the triggers'). The
 * configuration's triggers and filters are applied when the records are read (tools/kft/kft_run.h),
 * so they are exact for any program. In a process the records are in the instance `kft`. Tests:
 * tests/cli/test_kft.py.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"
#include "tools/kft/kft_run.h"
#include "tools/record/record.h"

#define INSTANCE    "kft"
#define BUFFER_KB   "16384" /* a CPU */
#define WATCH_EVENT KFT_WATCH_SYSTEM ":" KFT_WATCH_EVENT
#define WATCH_DIR   "events/" KFT_WATCH_SYSTEM "/" KFT_WATCH_EVENT

struct options {
	const char *config, *output, *input;
	int pid;
};

/* Write the log of the records of @v, and close @v. */
static int write_log(struct view *v, const struct kft_config *config, const char *output,
		     bool by_hand)
{
	struct kft_run run = {.config = config, .v = v, .by_hand = by_hand};
	bool is_stdout = !strcmp(output, "-");
	int err = kft_run_read(&run), fd;
	struct out o;

	if (!err) {
		fd = is_stdout ? STDOUT_FILENO
			       : open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		if (fd < 0)
			err = fail_errno(errno, "cannot write %s", output);
		else if (out_init(&o, fd))
			err = fail(ENOMEM, "out of memory");
		else {
			kft_run_put(&run, &o);
			err = out_end(&o);
			if (err == -EPIPE && is_stdout)
				err = 0;
			else if (err)
				err = fail_errno(-err, "cannot write %s", output);
		}
		if (fd >= 0 && !is_stdout)
			close(fd);
	}
	/* the run may have been long, so the log is written in any case */
	if (!err)
		err = kft_run_check_names(&run);
	if (!err && !run.was_triggered)
		note("the log is empty: nothing was the trigger to start");
	else if (!err && config->stop.kind != KFT_NONE && run.ended == KFT_BY_END)
		note("nothing was the trigger to stop: the log goes to the end of the records");
	if (!err && run.was_triggered && config->watch_bytes && !run.nr_watches)
		note("the watch logged no stack: the records have no event " WATCH_EVENT
		     " with less than %" PRIu64 " bytes left",
		     config->watch_bytes);
	if (!err)
		view_notes(v, 1);
	kft_run_free(&run);
	return err;
}

static int read_file(const char *path, const struct kft_config *config, const char *output)
{
	struct view v;
	int err;

	view_init(&v);
	v.path = path;
	err = view_open_calls(&v);
	if (!err)
		err = write_log(&v, config, output, false);
	view_close(&v);
	return err;
}

static void add_pattern(struct record_options *opt, char kind, const char *name)
{
	if (name && opt->nr_patterns < RECORD_MAX_PATTERNS) {
		opt->patterns[opt->nr_patterns].kind = kind;
		opt->patterns[opt->nr_patterns++].text = name;
	}
}

#define WATCH_FILTER_BYTES 40

/* The filter of WATCH_EVENT. Return: @text, of WATCH_FILTER_BYTES. */
static const char *watch_filter(const struct kft_config *config, char *text)
{
	snprintf(text, WATCH_FILTER_BYTES, "left < %" PRIu64, config->watch_bytes);
	return text;
}

/* Run a program. Return: its exit status, or one of ours after a message. */
static int run_program(const struct options *opt, struct kft_config *config, char **argv)
{
	static struct record_options rec;
	char *recording, filter[WATCH_FILTER_BYTES];
	int err = kft_config_name(config, strchr(argv[0], '/') ? argv[0] : NULL), status;

	if (err) {
		note("%s", fail_text());
		return CMD_OURS;
	}
	if (asprintf(&recording, "%s.%d.dat", strcmp(opt->output, "-") ? opt->output : "kft",
		     (int)getpid()) < 0) {
		note("out of memory");
		return CMD_OURS;
	}
	rec = (struct record_options){.output = recording,
				      .file_version = 7,
				      .tracer = "function_graph",
				      .no_summary = true,
				      .quiet = true,
				      .options = {"context"}, /* what is in a signal handler */
				      .nr_options = 1,
				      .argv = argv};
	if (config->watch_bytes) { /* a stack watch needs all functions */
		add_pattern(&rec, 'e', WATCH_EVENT);
		rec.rules[rec.nr_rules++] = (struct event_rule){
			.events = WATCH_EVENT, .text = watch_filter(config, filter)};
	} else if (config->nr_functions + 2 <= RECORD_MAX_PATTERNS) {
		/* else all are recorded: the list is applied when the records are read */
		for (size_t i = 0; i < config->nr_functions; i++)
			add_pattern(&rec, 'l', config->functions[i]);
		if (rec.nr_patterns) {
			add_pattern(&rec, 'l', config->start.function);
			add_pattern(&rec, 'l', config->stop.function);
		}
	}
	status = record(&rec);
	if (!access(recording, F_OK)) {
		err = read_file(recording, config, opt->output);
		unlink(recording);
	}
	free(recording);
	if (err)
		note("%s", fail_text());
	return err ? CMD_OURS : status;
}

static int write_filter(struct target *t, const struct kft_config *config)
{
	const char *triggers[] = {config->start.function, config->stop.function};
	int err = 0;

	for (size_t i = 0; i < config->nr_functions && !err; i++)
		err = control_write(t, "set_ftrace_filter", config->functions[i], !i);
	for (size_t i = 0; i < 2 && !err; i++)
		if (triggers[i])
			err = control_write(t, "set_ftrace_filter", triggers[i], false);
	/* with a watch all functions are recorded: the names were only written to check them */
	return err || (config->nr_functions && !config->watch_bytes)
		       ? err
		       : target_set(t, "set_ftrace_filter", "");
}

static int switch_watch(struct target *t, const struct kft_config *config)
{
	char filter[WATCH_FILTER_BYTES];
	int err = target_set(t, "events/enable", "0");

	if (err || !config->watch_bytes)
		return err;
	err = target_set(t, WATCH_DIR "/filter", watch_filter(config, filter));
	return err ? err : target_set(t, WATCH_DIR "/enable", "1");
}

static int prime(struct target *t, const struct kft_config *config)
{
	int err = target_set(t, "tracing_on", "0");

	if (!err)
		err = target_set(t, "current_tracer", "nop");
	if (!err)
		err = target_set(t, "set_ftrace_filter", "");
	if (!err)
		err = target_set(t, "buffer_size_kb", BUFFER_KB);
	if (!err)
		err = target_set(t, "options/overwrite", config->overwrite ? "1" : "0");
	if (!err)
		err = target_set(t, "options/context", "1");
	if (!err)
		err = write_filter(t, config);
	if (!err)
		err = switch_watch(t, config);
	if (!err)
		err = target_set(t, "current_tracer", "function_graph");
	if (!err)
		err = target_set(t, "trace", "");
	return err ? err : target_set(t, "tracing_on", "1");
}

/* What is recorded, as a view. */
static int open_records(struct target *t, struct view *v)
{
	struct reader *r = NULL;
	int err = t->ops->records(t, &r);

	view_init(v);
	v->path = "the process";
	return err ? err : view_use(v, r);
}

static int status(struct target *t, const struct kft_config *config)
{
	struct kft_run run = {.config = config, .by_hand = true};
	struct view v = {0};
	struct out o;
	int err = t ? open_records(t, &v) : 0;

	run.v = &v;
	if (t && !err)
		err = kft_run_read(&run);
	if (!err && out_init(&o, STDOUT_FILENO))
		err = fail(ENOMEM, "out of memory");
	if (!err) {
		kft_status_put(&o, config, t ? &run : NULL);
		err = out_end_stdout(&o, 0, "the status");
	}
	kft_run_free(&run);
	view_close(&v);
	return err;
}

static int stop(struct target *t, const struct kft_config *config, const char *output)
{
	struct view v = {0};
	int err = target_set(t, "trace_marker", KFT_MARK_STOP "\n");

	if (!err)
		err = target_set(t, "tracing_on", "0");
	if (!err)
		err = open_records(t, &v);
	if (!err)
		err = write_log(&v, config, output, true);
	view_close(&v);
	return err;
}

/* `prime`, `start`, `stop`, `status` in a process. */
static int control(const struct options *opt, const char *verb, const struct kft_config *config)
{
	struct control_which which = {.pid = opt->pid, .instance = INSTANCE};
	bool primes = !strcmp(verb, "prime");
	struct target *t = NULL;
	int err = primes ? control_open_attached(&t, &which) : control_open(&t, &which, false);

	if (err == -ENOENT && !strcmp(verb, "status"))
		return status(NULL, config);
	if (err == -ENOENT && !primes)
		return fail(ENOENT, "process %d is not primed: vestige kft -P %d -c %s prime",
			    opt->pid, opt->pid, opt->config);
	if (err)
		return err;
	if (primes)
		err = prime(t, config);
	else if (!strcmp(verb, "start"))
		err = target_set(t, "trace_marker", KFT_MARK_START "\n");
	else if (!strcmp(verb, "stop"))
		err = stop(t, config, opt->output);
	else
		err = status(t, config);
	target_put(t);
	if (!err && !strcmp(verb, "stop")) {
		which.instance = NULL;
		err = control_open(&t, &which, false);
		if (!err) {
			err = t->ops->rmdir(t, INSTANCE);
			target_put(t);
		}
	}
	return err;
}

static bool is_verb(const char *word)
{
	return !strcmp(word, "prime") || !strcmp(word, "start") || !strcmp(word, "stop") ||
	       !strcmp(word, "status");
}

static int take_pid(const struct parsing *p, void *to, const char *value)
{
	return control_take_pid(p, &((struct options *)to)->pid, value);
}

#define AT(field) offsetof(struct options, field)

static const struct flag flags[] = {
	{'c', "config", "FILE", "the configuration", NULL, AT(config)},
	{'o', "output", "LOG", "the log, - for stdout (kft.log)", NULL, AT(output)},
	{'i', "input", "DAT", "of this recording, in place of a program", NULL, AT(input)},
	{'P', "pid", "PID", "of this process, which runs", take_pid, 0},
	FLAGS_END};

static int run(const struct command *c, int argc, char **argv)
{
	struct options opt = {.output = "kft.log"};
	struct kft_config config = {0};
	int err, exit_status = options_parse(c, (void *[]){&opt}, &argc, &argv);

	if (exit_status >= 0)
		return exit_status;
	if (!opt.config)
		return options_wrong(c, "name the configuration: -c FILE");
	if (opt.pid && opt.input)
		return options_wrong(c, "-P and -i cannot be used together");
	if (opt.pid && (argc != 1 || !is_verb(argv[0])))
		return options_wrong(c, "with -P there is one word: prime, start, stop or status");
	if (opt.input && argc)
		return options_wrong(c, "with -i no program is run: %s", argv[0]);
	if (!opt.pid && !opt.input && !argc)
		return options_wrong(c, "no program is named: vestige kft -c FILE -- PROG ARGS");
	err = kft_config_read(opt.config, &config);
	if (!err && !opt.pid && !opt.input) {
		exit_status = run_program(&opt, &config, argv);
		kft_config_free(&config);
		return exit_status;
	}
	if (!err)
		err = kft_config_name(&config, NULL);
	if (!err)
		err = opt.pid ? control(&opt, argv[0], &config)
			      : read_file(opt.input, &config, opt.output);
	kft_config_free(&config);
	if (err)
		note("%s", fail_text());
	return err ? CMD_OURS : 0;
}

const struct command command_kft = {
	.name = "kft",
	.words = "-c FILE [--] PROG [ARGS]",
	.what = "trace as a configuration of KFT says, into a log of its form",
	.help = "Run PROG, or trace a process, as KFT's configuration FILE says: triggers to start "
		"and stop, filters by\ntime, function and signal handler, the size of the log. "
		"`vestige "
		"kd` reads the log.\n"
		"\n"
		"  vestige kft -c FILE ./program && vestige kd -s l kft.log\n"
		"  vestige kft -c FILE -i trace.dat\n"
		"  vestige kft -c FILE -P PID prime\n"
		"  vestige kft -c FILE -P PID stop      # or: start, status\n",
	.more = "The exit status is PROG's; 125 vestige failed, 126 PROG cannot be executed, 127 "
		"no "
		"PROG.\n",
	.flags = (const struct flag *const[]){flags, NULL},
	.runs_program = true,
	.usage_status = CMD_OURS,
	.run = run,
};
