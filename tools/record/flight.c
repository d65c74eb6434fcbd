/* SPDX-License-Identifier: MIT */
/*
 * See flight.h. The processes' own buffers are used and their settings borrowed
 * (target/borrowed.h), so waiting costs only the recording. The engine counts the events and calls
 * that trigger, by hist triggers in an instance of ours, whose counts are read every LOOK_MS. The
 * time of a call is measured by probes of its entry and its return, which make a synthetic event.
 * The end of a process is a trigger, too. A trigger within the window of another makes no file of
 * its own. Tests: tests/cli/test_flight.py.
 */
#include "tools/record/flight.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "tools/base/exit_status.h"
#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/base/signals.h"
#include "tools/base/time_ns.h"
#include "tools/export/exporter.h"
#include "tools/reader/cut.h"
#include "tools/record/flight_refusal.h"
#include "tools/record/launch_process.h"
#include "tools/record/record_impl.h"
#include "tools/target/borrowed.h"
#include "tools/target/event_names.h"
#include "tools/target/target.h"
#include "tools/text/duration.h"

#define LOOK_MS	 50
#define MAX_NAME 128

enum trigger_kind { TRIGGER_SIGNAL, TRIGGER_EVENT, TRIGGER_CALL };

struct trigger {
	enum trigger_kind kind;
	const char *text;
	int sig;
	char name[MAX_NAME]; /* the event as SYSTEM/NAME, the function */
	uint64_t over_ns;
	uint64_t seen[RECORD_MAX_PIDS]; /* hits, by process */
	char hist[2 * MAX_NAME];	/* the file that counts */
};

static const struct {
	const char *name;
	int sig;
} signals[] = {{"SIGUSR1", SIGUSR1}, {"SIGUSR2", SIGUSR2}, {"SIGHUP", SIGHUP},
	       {"SIGALRM", SIGALRM}, {"SIGQUIT", SIGQUIT}, {"SIGWINCH", SIGWINCH}};

struct flight {
	struct record_options opt;
	const struct flight_options *f;
	struct borrowed *borrowed;
	struct target *targets[RECORD_MAX_PIDS], *instances[RECORD_MAX_PIDS];
	unsigned int nr;
	struct trigger triggers[FLIGHT_MAX_TRIGGERS];
	int signals;
	unsigned int nr_files;	       /* the number of the last one */
	unsigned int earlier;	       /* the last number of an earlier run, whose files stay */
	struct launch_process program; /* pid 0: none is named, or it has ended */
	sigset_t mask;		       /* of signals, before */
	unsigned int asked;	       /* signals that asked for the end */
	struct kernel_record *kernel;
	unsigned int nr_ruled;	    /* targets, the first ones, that have the rules of -f and -R */
	bool gone[RECORD_MAX_PIDS]; /* the process has ended, which was reported */
	char exit[128];		    /* how the last process ended, a text */
};

static int parse_call(const char *text, struct trigger *t)
{
	const char *open = text + strlen("call("), *close = strchr(open, ')');

	if (!close || close == open || close - open >= MAX_NAME || close[1] != '>' ||
	    !duration_parse(close + 2, 1000, &t->over_ns, NULL) || !t->over_ns)
		return -EINVAL;
	t->kind = TRIGGER_CALL;
	snprintf(t->name, sizeof(t->name), "%.*s", (int)(close - open), open);
	return strpbrk(t->name, " \t\n*?'\"") ? -EINVAL : 0;
}

static int parse(const char *text, struct trigger *t)
{
	*t = (struct trigger){.text = text};
	if (!strncmp(text, "call(", 5))
		return parse_call(text, t);
	if (!strncmp(text, "event:", 6)) {
		const char *name = text + 6;

		t->kind = TRIGGER_EVENT;
		if (!strchr(name, ':') || strlen(name) >= MAX_NAME || strpbrk(name, " /*?\n"))
			return -EINVAL;
		snprintf(t->name, sizeof(t->name), "%s", name);
		*strchr(t->name, ':') = '/';
		return 0;
	}
	if (strncmp(text, "signal:", 7) != 0)
		return -EINVAL;
	t->kind = TRIGGER_SIGNAL;
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (!strcmp(text + 7, signals[i].name) || !strcmp(text + 7, signals[i].name + 3))
			t->sig = signals[i].sig;
	return t->sig ? 0 : -EINVAL;
}

int flight_check_trigger(const char *text)
{
	struct trigger t;

	return parse(text, &t);
}

static int check_free(struct target *t)
{
	struct target_text text;
	int err = target_read(t, "current_tracer", &text);

	if (!err && strncmp(text.at, "nop", 3) != 0)
		err = fail(EBUSY, "process %s is traced already: `vestige reset -P %s` ends that",
			   t->name, t->name);
	if (!err)
		free(text.at);
	return err;
}

static int set_patterns(struct flight *fl, struct target *t, char kind, const char *file)
{
	bool first = true;
	int err = 0;

	for (unsigned int i = 0; i < fl->opt.nr_patterns && !err; i++) {
		const char *text = fl->opt.patterns[i].text;

		if (fl->opt.patterns[i].kind != kind)
			continue;
		if (kind == 'e')
			text = event_names_word(text);
		if (first)
			err = borrowed_set(fl->borrowed, t, file, "");
		if (!err)
			err = target_write(t, file, text, strlen(text), false);
		first = false;
	}
	return err;
}

static int set_option(struct flight *fl, struct target *t, const char *option)
{
	bool off = !strncmp(option, "no", 2);
	char path[128];

	snprintf(path, sizeof(path), "options/%s", off ? option + 2 : option);
	return borrowed_set(fl->borrowed, t, path, off ? "0" : "1");
}

/* @number: 0: the file stays as it is. */
static int set_number(struct flight *fl, struct target *t, const char *file, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	return number ? borrowed_set(fl->borrowed, t, file, text) : 0;
}

static int start_one(struct flight *fl, struct target *t)
{
	int err = check_free(t);

	if (!err)
		err = set_number(fl, t, "buffer_size_kb", fl->opt.buffer_kb);
	if (!err)
		err = borrowed_set(fl->borrowed, t, "options/overwrite", "1");
	for (size_t i = 0; i < RECORD_NR_LISTS && !err; i++)
		err = set_patterns(fl, t, record_lists[i].kind, record_lists[i].name);
	if (!err)
		err = set_number(fl, t, "max_graph_depth", fl->opt.graph_depth);
	if (!err)
		err = set_number(fl, t, "tracing_thresh", fl->opt.thresh_us);
	if (!err && fl->opt.budget)
		err = set_number(fl, t, "guard_budget", fl->opt.budget);
	if (!err && fl->opt.budget)
		err = borrowed_set(fl->borrowed, t, "options/guard", "1");
	if (!err)
		err = borrowed_set(fl->borrowed, t, "current_tracer", fl->opt.tracer);
	for (unsigned int i = 0; i < fl->opt.nr_options && !err; i++)
		err = set_option(fl, t, fl->opt.options[i]);
	if (!err)
		err = event_rules_write(t, t, fl->opt.rules, fl->opt.nr_rules);
	fl->nr_ruled += !err;
	if (!err)
		err = set_patterns(fl, t, 'e', "set_event");
	if (!err)
		err = borrowed_set(fl->borrowed, t, "tracing_on", "1");
	return err;
}

static int put(struct target *t, const char *event, const char *trigger)
{
	char path[4 * MAX_NAME];

	snprintf(path, sizeof(path), "events/%s/trigger", event);
	return target_write(t, path, trigger, strlen(trigger), false);
}

/* Probes of the function's entry and return, and an event with the time between. */
static int watch_call(struct flight *fl, struct target *top, struct target *in, struct trigger *t,
		      unsigned int number)
{
	char name[32], text[3 * MAX_NAME], undo[64];
	int err;

	snprintf(name, sizeof(name), "f%d_%u", (int)getpid(), number);
	snprintf(text, sizeof(text), "p:flight/%s_in %s", name, t->name);
	snprintf(undo, sizeof(undo), "-:flight/%s_in", name);
	err = borrowed_add(fl->borrowed, top, "kprobe_events", text, undo);
	if (err)
		return flight_refuse_call(top, t->name, text, err);
	snprintf(text, sizeof(text), "r:flight/%s_out %s", name, t->name);
	snprintf(undo, sizeof(undo), "-:flight/%s_out", name);
	err = borrowed_add(fl->borrowed, top, "kprobe_events", text, undo);
	if (err)
		return flight_refuse_call(top, t->name, text, err);
	snprintf(text, sizeof(text), "%s_took u64 us", name);
	snprintf(undo, sizeof(undo), "!%s_took u64 us", name);
	if (!err)
		err = borrowed_add(fl->borrowed, top, "synthetic_events", text, undo);
	/* an instance's files of these are there from now on */
	snprintf(text, sizeof(text), "flight/%s_in", name);
	if (!err)
		err = put(in, text, "hist:keys=common_pid:t0=common_timestamp.usecs");
	snprintf(undo, sizeof(undo), "flight/%s_out", name);
	snprintf(text, sizeof(text),
		 "hist:keys=common_pid:us=common_timestamp.usecs-$t0:"
		 "onmatch(flight.%s_in).trace(%s_took,$us)",
		 name, name);
	if (!err) {
		err = put(in, undo, text);
		if (err)
			return flight_refuse_call(top, t->name, text, err);
	}
	snprintf(undo, sizeof(undo), "synthetic/%s_took", name);
	snprintf(text, sizeof(text), "hist:keys=common_cpu if us >= %" PRIu64,
		 t->over_ns / 1000 ? t->over_ns / 1000 : 1);
	if (!err)
		err = put(in, undo, text);
	snprintf(t->hist, sizeof(t->hist), "events/%s/hist", undo);
	return err;
}

static int watch(struct flight *fl, unsigned int i)
{
	struct target *top = fl->targets[i], *in;
	char instance[32], file[sizeof(fl->triggers[0].hist)];
	int err = 0;

	snprintf(instance, sizeof(instance), "flight-%d", (int)getpid());
	for (unsigned int n = 0; n < fl->f->nr_triggers && !err; n++) {
		struct trigger *t = &fl->triggers[n];

		if (t->kind == TRIGGER_SIGNAL)
			continue;
		if (!fl->instances[i]) {
			err = borrowed_mkdir(fl->borrowed, top, instance);
			if (!err)
				fl->instances[i] = target_get(top->name, instance, &err);
			if (!fl->instances[i])
				return err;
		}
		in = fl->instances[i];
		if (t->kind == TRIGGER_CALL) {
			err = watch_call(fl, top, in, t, n);
			continue;
		}
		snprintf(file, sizeof(file), "events/%s/hist", t->name);
		memcpy(t->hist, file, sizeof(file));
		err = put(in, t->name, "hist:keys=common_cpu");
		if (err == -ENOENT)
			err = fail(ENOENT, "there is no %s in process %s", t->text, top->name);
	}
	return err;
}

/* Start the program; it is then recorded like a process. */
static int launch(struct flight *fl)
{
	int err = launch_process(&fl->program, fl->opt.argv, fl->opt.unmodified, fl->opt.built_only,
				 &fl->mask);

	fl->opt.pids[0] = fl->program.launch.pid;
	fl->opt.nr_pids = 1;
	return err;
}

static int start_all(struct flight *fl)
{
	int err = borrowed_new("flight", &fl->borrowed);

	if (!err && fl->opt.argv && fl->opt.argv[0])
		err = launch(fl);
	if (!err)
		err = record_kernel(&fl->opt, &fl->kernel);
	if (!err)
		err = record_kernel_start(&fl->opt, fl->kernel, fl->opt.pids, fl->opt.nr_pids);

	for (unsigned int i = 0; i < fl->opt.nr_pids && !err; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%d", fl->opt.pids[i]);
		fl->targets[i] = target_get(name, NULL, &err);
		if (!fl->targets[i])
			return err;
		fl->nr++;
		err = check_free(fl->targets[i]);
		if (!err)
			err = event_rules_check(fl->targets[i], fl->opt.rules, fl->opt.nr_rules);
		if (err)
			return err;
		err = watch(fl, i);
		if (!err)
			err = start_one(fl, fl->targets[i]);
	}
	if (!err && fl->program.launch.pid)
		launch_go(&fl->program.launch);
	return err;
}

static void end_all(struct flight *fl)
{
	for (unsigned int i = 0; i < fl->nr; i++)
		target_put(fl->instances[i]);
	for (unsigned int i = 0; i < fl->nr_ruled; i++)
		event_rules_undo(fl->targets[i], fl->opt.rules, fl->opt.nr_rules);
	borrowed_end(fl->borrowed);
	for (unsigned int i = 0; i < fl->nr; i++)
		target_put(fl->targets[i]);
}

static uint64_t hits(struct target *t, const char *file)
{
	struct target_text text;
	uint64_t n = 0;
	const char *at;

	if (target_read(t, file, &text))
		return 0;
	at = strstr(text.at, "Hits: ");
	if (at)
		n = strtoull(at + 6, NULL, 10);
	free(text.at);
	return n;
}

/* The first trigger that has occurred since the last look; NULL: none. All others are skipped. */
static const char *look(struct flight *fl)
{
	const char *came = NULL;

	for (unsigned int n = 0; n < fl->f->nr_triggers; n++) {
		struct trigger *t = &fl->triggers[n];

		for (unsigned int i = 0; i < fl->nr && t->kind != TRIGGER_SIGNAL; i++) {
			uint64_t now = hits(fl->instances[i], t->hist);

			if (now > t->seen[i] && !came)
				came = t->text;
			if (now > t->seen[i])
				t->seen[i] = now;
		}
	}
	return came;
}

/*
 * Read a signal. Return: the text of its trigger; "": it is no trigger, and ends the recording;
 * NULL: none came.
 */
static const char *signalled(struct flight *fl)
{
	struct signalfd_siginfo si;
	const char *came = NULL;

	while (read(fl->signals, &si, sizeof(si)) == sizeof(si)) {
		const char *is = "";

		for (unsigned int n = 0; n < fl->f->nr_triggers; n++)
			if (fl->triggers[n].kind == TRIGGER_SIGNAL &&
			    fl->triggers[n].sig == (int)si.ssi_signo)
				is = fl->triggers[n].text;
		if (*is) {
			came = is;
			continue;
		}
		/*
		 * pass it to our program first, as record does; the terminal has sent it to the
		 * program, too
		 */
		if (fl->program.launch.pid && si.ssi_code != SI_KERNEL)
			kill(fl->program.launch.pid, (int)si.ssi_signo);
		if (!fl->program.launch.pid || fl->asked++)
			return "";
	}
	return came;
}

/* The processes that have ended since the last look, as the reason of a file; NULL: none has. */
static const char *ended(struct flight *fl)
{
	const char *which = NULL;

	launch_process_runs(&fl->program);
	for (unsigned int i = 0; i < fl->nr; i++) {
		if (fl->gone[i] || fl->targets[i]->ops->lives(fl->targets[i]))
			continue;
		fl->gone[i] = true;
		if (which)
			note("%s", which);
		snprintf(fl->exit, sizeof(fl->exit),
			 "exit: process %s has ended, or executes another program",
			 fl->targets[i]->name);
		which = fl->exit;
	}
	return which;
}

static bool any_lives(const struct flight *fl)
{
	for (unsigned int i = 0; i < fl->nr; i++)
		if (!fl->gone[i])
			return true;
	return false;
}

/* The bytes of the output's path before its suffix. */
static size_t stem_bytes(const char *out)
{
	const char *dot = strrchr(out, '.');

	return dot && !strchr(dot, '/') ? (size_t)(dot - out) : strlen(out);
}

/* The bytes of the folder in the output's path, with its last slash; 0: it is the current one. */
static size_t folder_bytes(const char *out)
{
	const char *slash = strrchr(out, '/');

	return slash ? (size_t)(slash - out) + 1 : 0;
}

static void folder_of(const char *out, char folder[PATH_MAX])
{
	size_t n = folder_bytes(out);

	snprintf(folder, PATH_MAX, "%.*s", n ? (int)n : 1, n ? out : ".");
}

static void file_name(const struct flight *fl, unsigned int n, unsigned int i, char *to,
		      size_t bytes)
{
	const char *out = fl->opt.output;
	int stem = (int)stem_bytes(out);

	if (fl->nr == 1)
		snprintf(to, bytes, "%.*s-%u%s", stem, out, n, out + stem);
	else
		snprintf(to, bytes, "%.*s-%u-%s%s", stem, out, n, fl->targets[i]->name, out + stem);
}

/*
 * The highest number of a file of an earlier run; 0: there is none. These files stay: the service
 * may have been restarted after a crash that the last one shows.
 */
static unsigned int last_number(const char *out)
{
	const char *name = out + folder_bytes(out);
	size_t stem = stem_bytes(name);
	char folder[PATH_MAX];
	unsigned long last = 0;
	struct dirent *e;
	DIR *d;

	folder_of(out, folder);
	d = opendir(folder);
	while (d && (e = readdir(d))) {
		char *end;
		unsigned long n;

		if (strncmp(e->d_name, name, stem) != 0 || e->d_name[stem] != '-')
			continue;
		n = strtoul(e->d_name + stem + 1, &end, 10);
		if ((!*end || *end == '.' || *end == '-') && n > last && n < UINT32_MAX / 2)
			last = n;
	}
	if (d)
		closedir(d);
	return (unsigned int)last;
}

/* For struct export_options. @arg: uint64_t, gets the number of records so far. */
static void count(void *arg, uint64_t done, uint64_t total)
{
	(void)total;
	*(uint64_t *)arg = done;
}

/* @kernel: the file with the kernel's records; NULL: there is none. */
static int save_one(struct flight *fl, unsigned int i, uint64_t at, const char *kernel)
{
	uint64_t nr = 0;
	struct export_options eo = {
		.plain = true, .to = exporters, .progress = count, .progress_arg = &nr};
	struct target *t = fl->targets[i];
	struct reader *r = NULL;
	char path[4096];
	uint64_t from = at > fl->f->before_ns ? at - fl->f->before_ns : 0;
	int err = t->ops->records(t, &r);

	file_name(fl, fl->nr_files, i, path, sizeof(path));
	if (!err && kernel)
		record_kernel_symbols(r->symbols);
	if (!err)
		err = reader_cut(r, from, at + fl->f->after_ns, &r);
	if (err)
		return err;
	if (kernel)
		err = reader_open_dat(kernel, &eo.kernel);
	if (!err && kernel)
		err = reader_cut(eo.kernel, from, at + fl->f->after_ns, &eo.kernel);
	if (!err) {
		reader_move_stamps(r, fl->opt.date, fl->opt.ts_offset_ns);
		err = exporters->write(path, r, &eo);
	}
	reader_close(eo.kernel);
	reader_close(r);
	if (!err)
		note("wrote %s", path);
	if (!err && !nr)
		note("it has no record: there was none in the window, or the buffer of process "
		     "%s has overwritten them; make it larger with -b, or choose functions with "
		     "-l or -g",
		     t->name);
	return err;
}

static int save(struct flight *fl, const char *why, uint64_t at)
{
	char path[4096], kernel[4096];
	int err = 0;

	fl->nr_files++;
	note("%s", why);
	snprintf(kernel, sizeof(kernel), "%s.kernel.%d", fl->opt.output, (int)getpid());
	if (fl->kernel && kernel_record_save(fl->kernel, kernel)) {
		note("the kernel's records are lost: %s", fail_text());
		err = -EIO;
		*kernel = '\0';
	}
	for (unsigned int i = 0; i < fl->nr; i++) {
		int one = save_one(fl, i, at, fl->kernel && *kernel ? kernel : NULL);

		if (one) {
			/* after an error, such as a full disk, go on: the next file may succeed */
			note("%s", fail_text());
			err = one;
		}
		if (fl->f->keep && fl->nr_files - fl->earlier > fl->f->keep) {
			file_name(fl, fl->nr_files - (unsigned int)fl->f->keep, i, path,
				  sizeof(path));
			unlink(path);
		}
	}
	if (fl->kernel)
		unlink(kernel);
	return err;
}

/* Return: 0, or the last error of a file. */
static int fly(struct flight *fl)
{
	const char *why = NULL, *came, *gone;
	uint64_t at = 0, now;
	int err = 0;

	for (bool on = true; on || why;) {
		struct pollfd p = {fl->signals, POLLIN, 0};

		if (on)
			poll(&p, 1, LOOK_MS);
		came = signalled(fl);
		if (came && !*came)
			on = false;
		else if (!came)
			came = look(fl);
		now = time_ns(CLOCK_MONOTONIC);
		gone = ended(fl);
		/* the end of a process within the window of a trigger makes no file of its own */
		if (gone && (why || (came && *came)))
			note("%s", gone);
		else if (gone)
			came = gone;
		if (came && *came && !why) {
			why = came;
			at = now;
		}
		on = on && any_lives(fl);
		/* at the end no more records come, so do not wait for the window's end */
		if (why && (now >= at + fl->f->after_ns || !on)) {
			int one = save(fl, why, at);

			err = one ? one : err;
			why = NULL;
		}
	}
	return err;
}

/* Check now, not at the first trigger, that a file can be made. Return: 0 or fail()'s -errno. */
static int check_folder(const char *output)
{
	char folder[PATH_MAX];

	folder_of(output, folder);
	return access(folder, W_OK | X_OK)
		       ? fail_errno(errno, "no file can be made in %s: say with -o where", folder)
		       : 0;
}

int flight_record(const struct record_options *opt, const struct flight_options *f)
{
	static struct flight fl;
	sigset_t ours;
	bool started = false;
	int err;

	/* a literal of this size would be on the stack, which may be small */
	fl.opt = *opt;
	fl.f = f;
	fl.program.dir.fd = -1;
	signals_ending(&ours);
	for (unsigned int n = 0; n < f->nr_triggers; n++) {
		parse(f->triggers[n], &fl.triggers[n]);
		if (fl.triggers[n].kind == TRIGGER_SIGNAL)
			sigaddset(&ours, fl.triggers[n].sig);
	}
	sigprocmask(SIG_BLOCK, &ours, &fl.mask);
	fl.signals = signalfd(-1, &ours, SFD_NONBLOCK | SFD_CLOEXEC);
	err = fl.signals < 0 ? fail_errno(errno, "cannot wait for signals")
			     : check_folder(opt->output);
	fl.nr_files = fl.earlier = last_number(opt->output);
	if (!err)
		err = start_all(&fl);
	started = !err;
	if (!err) {
		look(&fl); /* events from before the start are no triggers */
		if (!opt->quiet)
			note("waiting for %u trigger%s; Ctrl-C ends", f->nr_triggers,
			     f->nr_triggers == 1 ? "" : "s");
		err = fly(&fl);
		if (err)
			fail(-err, "not all files were written");
	}
	end_all(&fl);
	launch_process_end(&fl.program);
	kernel_record_free(fl.kernel);
	/* signals stay blocked, so a second Ctrl-C cannot damage the files */
	close(fl.signals);
	if (err)
		note("%s", fail_text());
	if (err == -ENOENT && !started && !fl.program.launch.library[0] && opt->argv[0])
		return CMD_NOT_FOUND;
	return fl.program.status ? fl.program.status : err ? CMD_OURS : 0;
}
