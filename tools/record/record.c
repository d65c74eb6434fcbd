/* SPDX-License-Identifier: MIT */
/*
 * See record.h: run a program with the engine in it and write its records into a trace.dat.
 *
 * Steps: look up names in the program's files; start it and check it before main(); drain its
 * records while it runs (recorder.c); when it has ended, write the output from the spool. The
 * program keeps its own streams, exit status and signals. vestige prints only to stderr. A Ctrl-C,
 * which the terminal sends to both, ends the recording, and the file is still written. Tests:
 * tests/cli/test_record.py.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "abi/limits.h"
#include "tools/base/exit_status.h"
#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/base/proc_pid.h"
#include "tools/base/signals.h"
#include "tools/base/system_path.h"
#include "tools/export/dat_live.h"
#include "tools/record/program_objects.h"
#include "tools/record/record_impl.h"
#include "tools/record/record_text.h"
#include "tools/target/event_names.h"
#include "tools/target/function_find.h"
#include "tools/target/function_names.h"

#define TICK_NS		 10000000
#define DEFAULT_TOTAL_KB 65536u

/*
 * Set VESTIGE_UNMODIFIED: the program's objects, and objects in patterns: `FUNC:mod:OBJECT`.
 * Without a flag of the user it is for the program's process only, not for programs that it
 * executes.
 */
static void name_unmodified(struct record_run *run)
{
	size_t n = (size_t)snprintf(run->unmodified, sizeof(run->unmodified), "%s",
				    run->opt.unmodified ? "1" : LAUNCH_THIS_PROCESS ",1");

	for (unsigned int i = 0; i < run->opt.nr_patterns; i++) {
		const char *at = run->opt.patterns[i].text;

		while (run->opt.patterns[i].kind != 'e' && (at = strstr(at, ":mod:"))) {
			size_t bytes;

			at += strlen(":mod:");
			bytes = strcspn(at, ", ");
			if (n + bytes + 4 > sizeof(run->unmodified))
				return;
			n += (size_t)sprintf(run->unmodified + n, ",%.*s*", (int)bytes, at);
		}
	}
}

/*
 * Replace patterns that are names of the C++ or Rust source by the names in the program's object
 * files.
 * Return: 0, or -errno with fail() set.
 */
static int name_functions(struct record_run *run)
{
	bool any = false;
	struct meta *m;
	int err;

	for (unsigned int i = 0; i < run->opt.nr_patterns; i++)
		any |= run->opt.patterns[i].kind != 'e';
	err = any ? program_objects(&run->launch, &m) : 0;
	if (err || !any)
		return err;
	for (unsigned int i = 0; i < run->opt.nr_patterns && !err; i++) {
		char word[512], *names;

		if (run->opt.patterns[i].kind == 'e')
			continue;
		err = function_names_boot(m, run->opt.patterns[i].text, &names);
		/* for as long as this process */
		if (!err)
			run->opt.patterns[i].names = names;
		if (err != -ENOENT)
			continue;
		snprintf(word, sizeof(word), "%s", fail_text());
		if (m->nr_functions)
			err = record_no_function(m, word, run->opt.argv[0]);
		else
			err = fail(EINVAL,
				   "%s has no function that can be traced, and for programs that "
				   "it executes %s has to be named as their objects have it: "
				   "`vestige list -f` shows both names",
				   run->launch.image, word);
	}
	meta_free(m);
	return err;
}

/*
 * Set *@any: does a pattern match a function of the program? Also true if that need not be checked.
 */
static int any_named(const struct record_run *run, bool *any)
{
	bool asked = false;
	struct meta *m;
	int err = 0;

	*any = false;
	for (unsigned int i = 0; i < run->opt.nr_patterns; i++)
		asked |= run->opt.patterns[i].kind == 'l' || run->opt.patterns[i].kind == 'g';
	if (!asked) {
		*any = true;
		return 0;
	}
	err = program_objects(&run->launch, &m);
	if (err)
		return err;
	function_find_begin();
	for (unsigned int i = 0; i < run->opt.nr_patterns && !err && !*any; i++) {
		const char *text = run->opt.patterns[i].text;
		struct function_word w = function_word_split(text, strlen(text));

		if (run->opt.patterns[i].kind != 'l' && run->opt.patterns[i].kind != 'g')
			continue;
		/* a function without a name is given by its address */
		if (w.module || strstr(text, "+0x"))
			*any = true;
		else
			err = function_is_named(m, &w, any);
	}
	function_find_end();
	meta_free(m);
	return err;
}

/*
 * Decide whether to trace functions that were built without a compiler flag. Unless an option
 * decides, it is done if the whole program was built without, and a pattern matches one of its
 * functions (else the user wants the programs that it executes), and it is no script (that would
 * trace the interpreter). Return: 0 or -errno with fail() set.
 */
static int choose_unmodified(struct record_run *run)
{
	bool any = true;
	int err = 0;

	if (!run->opt.unmodified) {
		if (run->opt.built_only || !record_needs_functions(&run->opt) ||
		    !program_is_as_it_is(&run->launch))
			return 0;
		name_unmodified(run);
		run->launch.unmodified = run->unmodified;
		err = any_named(run, &any);
		if (err || !any) {
			run->launch.unmodified = NULL;
			return err;
		}
		run->as_it_is = true;
		return 0;
	}
	name_unmodified(run);
	run->launch.unmodified = run->unmodified;
	return 0;
}

const struct record_param record_params[RECORD_NR_PARAMS] = {{'e', "trace_event"},
							     {'l', "ftrace_filter"},
							     {'n', "ftrace_notrace"},
							     {'g', "ftrace_graph_filter"},
							     {'G', "ftrace_graph_notrace"}};

int record_buffer_kb(struct record_options *opt)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	uint64_t most, nr = cpus > 0 ? (uint64_t)cpus : 1;

	if (!opt->buffer_kb)
		opt->buffer_kb = DEFAULT_TOTAL_KB / nr;
	if (opt->buffer_kb < 64)
		opt->buffer_kb = 64;
	most = LIMIT_BUFFER_BYTES / 1024 / nr;
	if (opt->buffer_kb > most)
		return fail(EINVAL,
			    "-b %" PRIu64 ": the buffer of a CPU can have %" PRIu64
			    " KB at most on this machine",
			    opt->buffer_kb, most);
	return 0;
}

/* Write a filter or trigger in the engine's form (engine/control/boot_events.h). */
static void put_rule(FILE *f, const struct event_rule *r)
{
	fprintf(f, " %s=\"%s.", r->trigger ? "event_trigger" : "event_filter",
		event_names_word(r->events));
	for (const char *c = r->text; *c; c++)
		if (*c == '"' || *c == '%')
			fprintf(f, "%%%02x", (unsigned char)*c);
		else
			fputc(*c, f);
	fputc('"', f);
}

/* VESTIGE_BOOT, in the kernel's names of boot parameters. */
static int make_boot(struct record_run *run)
{
	const struct record_options *opt = &run->opt;
	FILE *f = fmemopen(run->boot, sizeof(run->boot), "w");
	const char *users = getenv("VESTIGE_BOOT");
	int err;

	if (!f)
		return fail(ENOMEM, "out of memory");
	err = record_buffer_kb(&run->opt);
	if (err) {
		fclose(f);
		return err;
	}
	/*
	 * the user's VESTIGE_BOOT comes first: of the same parameter twice, the later one counts,
	 * ours
	 */
	if (users && *users) {
		fprintf(f, "%s ", users);
		if (!opt->quiet)
			note("VESTIGE_BOOT is taken, too, in front of what the flags say: %s",
			     users);
	}
	fprintf(f, "ftrace=%s", opt->tracer);
	for (size_t i = 0; i < run->libcalls.nr; i++) {
		fputs(i ? ";" : " kprobe_event=", f);
		for (const char *c = run->libcalls.commands[i]; *c; c++)
			fputc(*c == ' ' ? ',' : *c, f);
	}
	if (opt->boot)
		fprintf(f, " %s", opt->boot);
	/* before trace_event, which switches the events on */
	for (unsigned int i = 0; i < opt->nr_rules; i++)
		put_rule(f, &opt->rules[i]);
	for (unsigned int k = 0; k < RECORD_NR_PARAMS; k++) {
		const char *between = "";

		for (unsigned int i = 0; i < opt->nr_patterns; i++) {
			if (opt->patterns[i].kind != record_params[k].kind)
				continue;
			if (!*between)
				fprintf(f, " %s=\"", record_params[k].name);
			fprintf(f, "%s%s", between,
				opt->patterns[i].names ? opt->patterns[i].names
				: opt->patterns[i].kind == 'e'
					? event_names_word(opt->patterns[i].text)
					: opt->patterns[i].text);
			between = ",";
		}
		if (*between)
			fputc('"', f);
	}
	if (opt->graph_depth)
		fprintf(f, " ftrace_graph_max_depth=%" PRIu64, opt->graph_depth);
	if (opt->thresh_us)
		fprintf(f, " tracing_thresh=%" PRIu64, opt->thresh_us);
	if (opt->budget)
		fprintf(f, " guard_budget=%" PRIu64, opt->budget);
	fprintf(f, " trace_buf_size=%" PRIu64 "k trace_options=nooverwrite%s", opt->buffer_kb,
		opt->budget ? ",guard" : "");
	for (unsigned int i = 0; i < opt->nr_options; i++)
		fprintf(f, ",%s", opt->options[i]);
	if (fflush(f) || ftell(f) >= (long)sizeof(run->boot) - 1) {
		fclose(f);
		return fail(E2BIG, "the texts of -e, -f, -R, -l, -n, -g and --graph-notrace and "
				   "VESTIGE_BOOT are "
				   "too long together");
	}
	fclose(f);
	return 0;
}

/* Add the library calls of an object of the program, for program_files(). @arg: the run. */
static int libcalls_of(void *arg, const char *path)
{
	struct record_run *run = arg;

	/* calls made by libraries of the system are left out */
	return run->nr_files++ && path_is_of_system(path) ? 0 : libcall_add(&run->libcalls, path);
}

/* The first word of -e that names events of --libcall; NULL: there is none. */
static const char *named_libcall(const struct record_options *opt)
{
	for (unsigned int i = 0; i < opt->nr_patterns; i++)
		if (opt->patterns[i].kind == 'e' &&
		    libcall_is_named(event_names_word(opt->patterns[i].text)))
			return opt->patterns[i].text;
	return NULL;
}

/* After all objects are added, request their events. @program: for errors. Return: 0 or -errno. */
static int libcalls_ready(struct record_run *run, const char *program)
{
	if (!run->libcalls.nr)
		return fail(ENOEXEC,
			    "--libcall: %s calls no other object through a procedure linkage table "
			    "(static, or built with -fno-plt)",
			    program);
	/* some of them are named */
	if (named_libcall(&run->opt))
		return 0;
	if (run->opt.nr_patterns == RECORD_MAX_PATTERNS)
		return fail(E2BIG, "there are too many patterns");
	run->opt.patterns[run->opt.nr_patterns].kind = 'e';
	run->opt.patterns[run->opt.nr_patterns++].text = LIBCALL_SYSTEM;
	return 0;
}

static void forward(struct record_run *run, int fd)
{
	struct signalfd_siginfo si;
	static int interrupts;

	while (read(fd, &si, sizeof(si)) == sizeof(si)) {
		int sig = (int)si.ssi_signo;

		if (sig == SIGCHLD)
			continue;
		/* From the terminal the program has got it too. */
		if (si.ssi_code != SI_KERNEL)
			kill(run->launch.pid, sig);
		if (sig == SIGINT && ++interrupts == 2) {
			note("the recording ends; %s still runs", run->launch.path);
			run->status = 128 + SIGINT;
			run->ended = true;
		}
	}
}

/* Has the program ended? Its last name shows whether it executed another program. */
static void reap(struct record_run *run)
{
	struct proc_stat last;
	siginfo_t si = {0};
	int status;

	if (run->ended || waitid(P_PID, (id_t)run->launch.pid, &si, WEXITED | WNOHANG | WNOWAIT) ||
	    !si.si_pid)
		return;
	if (proc_stat(run->launch.pid, &last))
		memcpy(run->last_comm, last.comm, sizeof(run->last_comm));
	if (waitpid(run->launch.pid, &status, 0) == run->launch.pid) {
		run->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		run->ended = true;
	}
}

int record_drain(struct record_run *run, int signals,
		 void (*signalled)(struct record_run *run, int signals),
		 void (*look)(struct record_run *run))
{
	struct itimerspec every = {{0, TICK_NS}, {0, TICK_NS}};
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	bool noted = false, kernel_noted = false;

	if (timer < 0 || timerfd_settime(timer, 0, &every, NULL))
		return fail_errno(errno, "cannot make a timer");
	while (!run->ended) {
		struct pollfd fds[] = {{timer, POLLIN, 0}, {signals, POLLIN, 0}};
		uint64_t ticks;

		if (!recorder_tick(run->recorder))
			poll(fds, 2, 1000);
		if (read(timer, &ticks, sizeof(ticks)) < 0 && errno != EAGAIN)
			break;
		signalled(run, signals);
		look(run);
		if (spool_failed(run->spool) && !noted) {
			noted = true;
			run->ours = true;
			note("%s: the recording stops, what is recorded so far is kept; the "
			     "program runs on",
			     fail_text());
		}
		/* kernel_record_drain() has set the reason */
		if (run->kernel && kernel_record_drain(run->kernel) && !kernel_noted) {
			kernel_noted = run->ours = true;
			note("%s", fail_text());
		}
	}
	close(timer);
	return 0;
}

/* Note, in one line, that the program is traced without flags, since its calls cost more. */
static void note_as_it_is(const struct record_run *run, const struct meta *m)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < m->nr_functions; i++)
		nr += m->functions[i].how == AREA_BY_REDIRECT;
	if (nr && !run->opt.quiet)
		note("%s was built without a flag: %u functions are traced as they are "
		     "(docs/hooks.md)",
		     run->launch.image, nr);
}

/* Check for a signal that came before the program ran. Return: 0, or -EINTR with fail() set. */
static int interrupted(struct record_run *run, int fd)
{
	struct signalfd_siginfo si;

	while (read(fd, &si, sizeof(si)) == sizeof(si)) {
		if (si.ssi_signo == SIGCHLD)
			continue;
		run->status = 128 + (int)si.ssi_signo;
		return fail(EINTR, "%s by signal %u before %s was started: nothing is recorded",
			    si.ssi_signo == SIGINT ? "interrupted" : "ended", si.ssi_signo,
			    run->launch.path);
	}
	return 0;
}

/* Hold the program before main() and see whether there is anything to record. */
static int start(struct record_run *run, int signals)
{
	struct launch *l = &run->launch;
	const struct meta *m;
	char area[64];
	int err;

	err = launch_start(l, run->opt.argv, false);
	if (!err && run->opt.kernel_limited && !l->ended)
		err = record_kernel_start(&run->opt, run->kernel, &l->pid, 1);
	if (err)
		return err;
	if (l->ended && !recorder_meta(run->recorder, l->pid)) {
		/* it ended while the engine made its area */
		launch_area_name(l, area);
		areas_dir_remove(run->dir.fd, area, true);
		err = interrupted(run, signals);
		if (err)
			return err;
	}
	if (l->ended) {
		/* The loader did not come to the entry: it has said why. */
		run->status =
			WIFEXITED(l->status) ? WEXITSTATUS(l->status) : 128 + WTERMSIG(l->status);
		run->ended = true;
		return 0;
	}
	if (l->at_entry) {
		m = recorder_meta(run->recorder, l->pid);
		err = record_judge(&run->opt, l, m);
		if (err)
			return err;
		if (run->as_it_is)
			note_as_it_is(run, m);
	}
	launch_go(l);
	return 0;
}

static int run_it(struct record_run *run, int signals)
{
	int err;

	err = recorder_new(
		&(struct recorder_of){.dirfd = run->dir.fd, .session = run->launch.session},
		run->spool, &run->recorder);
	if (err)
		return err;
	if (!run->opt.kernel_limited)
		err = record_kernel_start(&run->opt, run->kernel, NULL, 0);
	if (!err)
		err = interrupted(run, signals);
	if (!err)
		err = start(run, signals);
	if (!err && !run->ended) {
		record_live(run);
		err = record_drain(run, signals, forward, reap);
	}
	if (err) {
		char why[1024];

		snprintf(why, sizeof(why), "%s", fail_text());
		launch_kill(&run->launch);
		recorder_finish(run->recorder, &run->sum);
		return fail(-err, "%s", why);
	}
	record_leave(run);
	record_end(run);
	return 0;
}

static int record_signals(void)
{
	sigset_t block;
	int fd;

	signals_ending(&block);
	sigaddset(&block, SIGCHLD);
	sigprocmask(SIG_BLOCK, &block, NULL);
	fd = signalfd(-1, &block, SFD_NONBLOCK | SFD_CLOEXEC);
	return fd < 0 ? fail_errno(errno, "cannot read signals") : fd;
}

int record_whole(struct record_run *run, const char *cmdline,
		 int (*take)(struct record_run *run, int signals))
{
	/* block signals before there is a file that a signal would leave behind */
	int signals = record_signals(), err = signals < 0 ? signals : record_spool(run, cmdline);

	if (!err)
		err = record_kernel(&run->opt, &run->kernel);
	if (err) {
		err = fail(EIO, "%s", fail_text());
	} else {
		launch_ignore();
		err = take(run, signals);
	}
	if (signals >= 0)
		close(signals);
	if (!err)
		record_output(run);
	else if (run->spool)
		unlink(run->spool_path);
	return err;
}

static int record_program(struct record_run *run)
{
	char cmdline[256] = "", *at = cmdline;
	int err;

	err = launch_find(&run->launch, run->opt.argv[0]);
	if (err)
		return err;
	err = areas_dir_open(&run->dir);
	if (err)
		return fail(EIO, "%s", fail_text());
	err = choose_unmodified(run);
	if (!err)
		err = name_functions(run);
	if (!err && !run->opt.libcall && named_libcall(&run->opt))
		err = libcall_is_missing(named_libcall(&run->opt));
	if (!err && run->opt.libcall)
		err = program_files(&run->launch, libcalls_of, run);
	if (!err && run->opt.libcall)
		err = libcalls_ready(run, run->launch.image);
	if (!err)
		err = make_boot(run);
	for (char **a = run->opt.argv; *a && at < cmdline + sizeof(cmdline) - 1; a++)
		at += snprintf(at, (size_t)(cmdline + sizeof(cmdline) - at), "%s%s",
			       at > cmdline ? " " : "", *a);
	if (err)
		return fail(EIO, "%s", fail_text());
	run->launch.areas_dir = run->dir.path;
	run->launch.boot = run->boot;
	err = record_whole(run, cmdline, run_it);
	if (err)
		return err == -EACCES || err == -EINTR ? err : fail(EIO, "%s", fail_text());
	if (record_report(&run->opt, &run->launch, &run->sum, run->last_comm))
		run->ours = true;
	return 0;
}

int record(const struct record_options *opt)
{
	static struct record_run run;
	int err;

	run.opt = *opt;
	run.dir.fd = -1;
	err = opt->net ? net_sender_open(opt->net, &run.sender) : 0;
	if (!err && opt->net && !net_sender_synced(run.sender))
		note("%s does not compare clocks: the stamps are of this host", opt->net);
	if (!err)
		err = run.opt.nr_pids ? record_processes(&run) : record_program(&run);
	if (err)
		note("%s", fail_text());
	net_sender_close(run.sender);
	reader_close(run.kernel_reader);
	kernel_record_free(run.kernel);
	dat_live_free(run.live);
	recorder_free(run.recorder);
	spool_close_writer(run.spool);
	areas_dir_close(&run.dir);
	if (err == -ENOENT)
		return CMD_NOT_FOUND;
	if (err == -EACCES)
		return CMD_CANNOT_EXEC;
	if (err == -EINTR && run.status)
		return run.status;
	if (err)
		return CMD_OURS;
	return run.status ? run.status : run.ours ? CMD_OURS : 0;
}
