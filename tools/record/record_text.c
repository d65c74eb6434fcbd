/* SPDX-License-Identifier: MIT */
/* See record_text.h. */
#include "tools/record/record_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/base/shell_word.h"
#include "tools/target/dead_events.h"
#include "tools/target/command_refusal.h"
#include "tools/target/image.h"
#include "tools/target/suggest.h"
#include "tools/target/target.h"
#include "tools/target/tracer_refusal.h"

#define THE_FLAG "-fpatchable-function-entry=6"

/*
 * The part of a line of vestige_status behind @what, up to its " (errno N)"; false: another line.
 */
static bool status_word(const char *line, size_t n, const char *what, char *word, size_t room)
{
	size_t k = strlen(what);

	if (n < k || memcmp(line, what, k))
		return false;
	line += k;
	n -= k;
	for (size_t i = 0; i + 8 < n; i++)
		if (!memcmp(line + i, " (errno ", 8)) {
			n = i;
			break;
		}
	snprintf(word, room, "%.*s", (int)n, line);
	return true;
}

/* The number in a line's " (errno N)"; 0: it has none. */
static int status_errno(const char *line, size_t n)
{
	const char *at = memmem(line, n, " (errno ", 8);

	return at ? atoi(at + 8) : 0;
}

/* The word at *@list of a list with commas, which moves behind it; NULL: there is none. */
static const char *next_word(const char **list, size_t *n)
{
	const char *word = *list;

	if (!*word)
		return NULL;
	*n = strcspn(word, ",");
	*list = word + *n + (word[*n] == ',');
	return word;
}

static bool is_in(const char *list, const char *word, size_t n)
{
	const char *w;
	size_t k;

	while ((w = next_word(&list, &k)))
		if (k == n && !memcmp(w, word, n))
			return true;
	return false;
}

/* Does the engine refuse that word of a list? */
static bool is_refused(const struct meta *m, const char *what, const char *word, size_t n)
{
	char refused[512];

	for (const char *line = m->status; *line; line += *line == '\n') {
		size_t k = strcspn(line, "\n");

		if (status_word(line, k, what, refused, sizeof(refused)) && strlen(refused) == n &&
		    !memcmp(refused, word, n))
			return true;
		line += k;
	}
	return false;
}

/*
 * Write `did you mean NAME? ` with a similar word of control file @list of the held process; "" if
 * there is none.
 */
static const char *meant(const struct meta *m, const char *list, const char *word, char to[192])
{
	struct target *t;
	char near[128], name[16];
	int err;

	snprintf(name, sizeof(name), "%d", (int)m->head.pid);
	t = target_get(name, NULL, &err);
	*to = '\0';
	if (t && suggest(t, list, word, near, sizeof(near)))
		snprintf(to, 192, "did you mean %s? ", near);
	if (t)
		target_put(t);
	return to;
}

int record_no_function(const struct meta *m, const char *word, const char *prog)
{
	char near[192];

	return fail(EINVAL,
		    "no function that can be traced matches %s: %s`vestige list -f %s` shows them",
		    word, meant(m, "available_filter_functions", word, near), prog);
}

/*
 * Check for patterns that the engine has refused. A name of the source may stand for several names;
 * it is refused only if all of them are. Return: 0; -EINVAL with fail() set.
 */
static int judge_patterns(const struct record_options *opt, const struct meta *m)
{
	for (unsigned int i = 0; i < opt->nr_patterns; i++) {
		const char *text = opt->patterns[i].text, *names = opt->patterns[i].names, *w;
		const char *list = names ? names : text;
		/* start of the engine's lines about this list; "": no list of functions */
		char what[32] = "";
		bool any = !*list;
		size_t n;

		for (unsigned int k = 0; k < RECORD_NR_PARAMS; k++)
			if (record_params[k].kind == opt->patterns[i].kind &&
			    opt->patterns[i].kind != 'e')
				snprintf(what, sizeof(what), "%s: ", record_params[k].name);
		while (*what && (w = next_word(&list, &n))) {
			bool refused = n && is_refused(m, what, w, n);
			char word[512];

			any |= !refused;
			snprintf(word, sizeof(word), "%.*s", (int)n, w);
			if (refused && (!names || is_in(text, w, n)))
				return record_no_function(m, word, opt->argv[0]);
		}
		if (*what && !any)
			return record_no_function(m, text, opt->argv[0]);
	}
	return 0;
}

/* @word: `SYSTEM:NAME at POSITION, ERROR: TEXT`, or `SYSTEM:NAME: TEXT`. */
static int refuse_rule(char flag, const char *word, int err)
{
	const char *text = strstr(word, ": "), *at = strstr(word, " at ");
	char where[300], words[128];
	unsigned long position;
	char *end;

	if (!text)
		return fail(EINVAL, "-%c: %s", flag, word);
	if (!at || at > text) {
		snprintf(where, sizeof(where), "-%c '%.200s'", flag, text + 2);
		if (err == EEXIST)
			return fail(EEXIST, "%s: %.*s has this trigger already", where,
				    (int)(text - word), word);
		return fail(EINVAL, "%s: %.*s refuses it: %s%s", where, (int)(text - word), word,
			    strerror(err ? err : EINVAL),
			    flag == 'R' ? "; vestige-events(7) has the triggers" : "");
	}
	position = strtoul(at + 4, &end, 10);
	snprintf(words, sizeof(words), "%.*s", *end == ',' ? (int)(text - end - 2) : 0, end + 2);
	snprintf(where, sizeof(where), "-%c of %.*s", flag, (int)(at - word), word);
	return command_refusal(-EINVAL, where, text + 2, position, words);
}

/* Fail for a refusal after which the recording would not be what the user requested. */
static int judge_status(const struct record_options *opt, const struct meta *m)
{
	const char *line = m->status;
	char word[512], why[512], near[192];

	if (tracer_refusal_of(m->status, opt->tracer, why, sizeof(why)))
		return tracer_refusal_fail(opt->tracer, why);
	while (*line) {
		size_t n = strcspn(line, "\n");

		if (status_word(line, n, "ftrace: ", word, sizeof(word)) &&
		    status_errno(line, n) == ENOMEM)
			return fail(ENOMEM,
				    "%s has no memory for the tracer %s: raise the limit of its "
				    "address space (`ulimit -v`)",
				    m->head.exe, word);
		if (status_word(line, n, "ftrace: ", word, sizeof(word)) &&
		    (status_errno(line, n) == EPERM || status_errno(line, n) == EACCES) &&
		    text_refusal_of(m->status, why, sizeof(why)))
			return fail(status_errno(line, n), "the tracer %s cannot start here: %s",
				    word, why);
		if (status_word(line, n, "ftrace: ", word, sizeof(word)) &&
		    status_errno(line, n) != EINVAL)
			return fail(status_errno(line, n), "the tracer %s cannot start here: %s",
				    word, strerror(status_errno(line, n)));
		if (status_word(line, n, "ftrace: ", word, sizeof(word)))
			return fail(EINVAL,
				    "there is no tracer %s here: %s`vestige list -t` says why one "
				    "is absent, man vestige-tracers lists all",
				    word, meant(m, "available_tracers", word, near));
		if (status_word(line, n, "trace_options: ", word, sizeof(word)))
			return fail(EINVAL,
				    "there is no option %s with the tracer %s: %s`vestige get "
				    "trace_options -P PID` shows a process's",
				    word, opt->tracer,
				    !strcmp(word, "func-args")
					    ? "function_graph has funcgraph-args; "
				    : !strcmp(word, "funcgraph-args")
					    ? "function has func-args; "
					    : meant(m, "trace_options", word, near));
		if (status_word(line, n, "event_filter: ", word, sizeof(word)))
			return refuse_rule('f', word, status_errno(line, n));
		if (status_word(line, n, "event_trigger: ", word, sizeof(word)))
			return refuse_rule('R', word, status_errno(line, n));
		line += n;
		line += *line == '\n';
	}
	return m->nr_functions ? judge_patterns(opt, m) : 0;
}

/*
 * Note the engine's other refusals. Lines about absent tracers are skipped, since these were not
 * requested.
 */
static void note_status(const struct meta *m)
{
	for (const char *line = m->status; *line; line += *line == '\n') {
		int n = (int)strcspn(line, "\n");

		if (strncmp(line, "ftrace_", 7) != 0 && strncmp(line, "no tracer ", 10) != 0)
			note("the engine says: %.*s", n, line);
		line += n;
	}
}

/* Suggest an event of the held process, from its area. */
static bool suggest_event(int pid, const char *word, char *near, size_t bytes)
{
	struct image t;
	bool found = false;
	char *list;

	if (image_open(&t, pid))
		return false;
	list = dead_events_names(&t);
	if (list)
		found = suggest_of(list, word, near, bytes);
	free(list);
	image_close(&t);
	return found || suggest_syscall(word, near, bytes);
}

static void note_no_event(const struct meta *m, const char *word)
{
	char near[128];

	if (suggest_event((int)m->head.pid, word, near, sizeof(near)))
		note("%s has no event %s, did you mean %s? It is recorded only of programs that %s "
		     "executes",
		     m->head.exe, word, near, m->head.exe);
	else
		note("%s has no event %s: it is recorded only of programs that %s executes",
		     m->head.exe, word, m->head.exe);
}

/* Note missing events: an object that the program loads later may have them. */
static void note_events(const struct meta *m)
{
	char word[512];

	for (const char *line = m->status; *line; line += *line == '\n') {
		size_t n = strcspn(line, "\n");

		if (status_word(line, n, "trace_event: ", word, sizeof(word)))
			note_no_event(m, word);
		line += n;
	}
}

/* The advice for a program without functions that can be traced. */
static const char *cure(const struct launch *l)
{
	return l->unmodified ? "build it with " THE_FLAG
			     : "`vestige record --unmodified` traces it as it is; or build it "
			       "with " THE_FLAG;
}

bool record_needs_functions(const struct record_options *opt)
{
	return !strcmp(opt->tracer, "function") || !strcmp(opt->tracer, "function_graph");
}

static bool wants_events(const struct record_options *opt)
{
	unsigned int i;

	for (i = 0; i < opt->nr_patterns; i++)
		if (opt->patterns[i].kind == 'e')
			return true;
	return false;
}

/*
 * Fail if function_graph is set and no call of the program can be wrapped. Return: 0 or -EOPNOTSUPP
 * with fail() set.
 */
static int judge_graph(const struct record_options *opt, const struct launch *l,
		       const struct meta *m)
{
	char path[SHELL_WORD_BYTES];
	int bytes;
	const char *why = graph_refusal_of(m->status, &bytes);

	if (strcmp(opt->tracer, "function_graph") || !m->nr_functions || meta_waits(m) ||
	    l->script || wants_events(opt) || recorder_nr_wrapped(m))
		return 0;
	if (why)
		return fail(EOPNOTSUPP,
			    "function_graph can follow no function of %s: %.*s; -p function "
			    "records the calls",
			    l->image, bytes, why);
	return fail(EOPNOTSUPP,
		    "function_graph can follow no function of %s (`vestige doctor %s` says why); "
		    "-p function records the calls",
		    l->image, shell_word(l->path, path));
}

int record_judge(const struct record_options *opt, const struct launch *l, const struct meta *m)
{
	int err;

	if (!m)
		return launch_no_engine(l);
	err = judge_status(opt, m);
	if (!err)
		err = judge_graph(opt, l, m);
	if (err)
		return err;
	if (!m->nr_functions && !meta_waits(m))
		note_status(m);
	else if (!l->script)
		note_events(m);
	if (!m->nr_functions && record_needs_functions(opt) && !l->script)
		note("%s has no function that can be traced: %s (programs that it executes are "
		     "recorded)",
		     l->image, cure(l));
	return 0;
}

/* Does a process that runs @path have the name @comm, unless it gave itself another? */
static bool is_comm_of(const char *path, const char *comm)
{
	const char *name = strrchr(path, '/');
	char first[16];

	snprintf(first, sizeof(first), "%.15s", name ? name + 1 : path);
	return !strcmp(first, comm);
}

/* Has the program executed another one, which has made no area? */
static bool became_another(const struct launch *l, const struct recorder_summary *sum,
			   const char *last_comm)
{
	return *last_comm && !is_comm_of(l->image, last_comm) && !is_comm_of(l->path, last_comm) &&
	       sum->nr_members == 1;
}

static void tell_nothing(const struct launch *l, const struct recorder_summary *sum,
			 const char *last_comm)
{
	char path[SHELL_WORD_BYTES];

	if (!sum->nr_members)
		note("nothing was recorded: the engine did not start in %s", l->image);
	else if (sum->asleep[0])
		note("nothing was recorded: %s", sum->asleep);
	else if (became_another(l, sum, last_comm))
		note("nothing was recorded: %s has no function that can be traced, and it executed "
		     "%s, which either was without LD_PRELOAD and VESTIGE_* in its environment or "
		     "cannot be preloaded; record that program itself",
		     l->image, last_comm);
	else if (l->script && !l->unmodified)
		note("nothing was recorded: %s is a script for %s, and neither that nor what it "
		     "ran was built with a flag: `vestige record --unmodified` traces them as they "
		     "are",
		     l->path, l->image);
	else if (l->script)
		note("nothing was recorded: %s is a script for %s, which has no function that can "
		     "be traced, nor has what it ran: build that with " THE_FLAG,
		     l->path, l->image);
	else
		note("nothing was recorded: %s has no function that can be traced: %s (`vestige "
		     "doctor %s` says more). A program that it executed in a sandbox has no %s: "
		     "bind that folder into it (bwrap --bind %s %s), or set VESTIGE_DIR to one "
		     "that "
		     "both have",
		     l->image, cure(l), shell_word(l->path, path), l->areas_dir, l->areas_dir,
		     l->areas_dir);
}

void record_report_losses(const struct record_options *opt, const char *areas_dir,
			  const struct recorder_summary *sum)
{
	const struct meta_losses *loss = &sum->losses;

	if (loss->no_memory)
		note("%s was full: the ring buffer could not have all its memory; remove what "
		     "fills it, or set VESTIGE_DIR to a folder with more room",
		     areas_dir);
	if (loss->dropped_events && loss->no_growth)
		note("%" PRIu64 " events were dropped: the program has given up system calls "
		     "(seccomp), after which no more of the ring buffer than it had then can be "
		     "used: trace fewer functions with -l or -n",
		     loss->dropped_events);
	else if (loss->dropped_events && sum->spool_failed)
		note("%" PRIu64 " events were dropped, as the recording could not be written any "
		     "more: make room on the disk of %s, or name another one with -o",
		     loss->dropped_events, opt->output);
	else if (loss->dropped_events)
		note("%" PRIu64 " events were dropped because the ring buffer was full: enlarge it "
		     "with -b (it has %" PRIu64
		     " KB a CPU), or trace fewer functions with -l or -n",
		     loss->dropped_events, opt->buffer_kb);
	if (loss->overrun)
		note("%" PRIu64 " events were overwritten before they were read%s", loss->overrun,
		     sum->spool_failed ? "" : ": enlarge the buffer with -b");
	if (sum->untraced_calls)
		note("%" PRIu64 " calls were not recorded: made by threads for which memory could "
		     "not be mapped (there was none, or a sandbox such as seccomp forbids it), or "
		     "in "
		     "a forked child that had no area",
		     sum->untraced_calls);
}

bool record_report(const struct record_options *opt, const struct launch *l,
		   const struct recorder_summary *sum, const char *last_comm)
{
	char path[SHELL_WORD_BYTES];

	record_report_losses(opt, l->areas_dir, sum);
	if (sum->graph_ended[0])
		note("function_graph ended amid the run: %s; -p function goes on",
		     sum->graph_ended);
	if (!record_needs_functions(opt) || wants_events(opt))
		return false;
	if (sum->refused[0])
		note("no function of %s matches %s: where no -l matches, all its functions are "
		     "recorded",
		     sum->refused_exe, sum->refused);
	if (sum->nr_functions && !sum->nr_wrapped && !strcmp(opt->tracer, "function_graph")) {
		note("nothing was recorded: function_graph can follow no function of %s (`vestige "
		     "doctor %s` says why); -p function records the calls",
		     l->image, shell_word(l->path, path));
		return true;
	}
	if (sum->nr_functions && !sum->nr_enabled && opt->nr_patterns) {
		note("nothing was recorded: no function was left by -l and -n: `vestige list -f "
		     "%s` "
		     "shows what there is",
		     l->path);
		return true;
	}
	if (sum->nr_functions && l->unmodified && became_another(l, sum, last_comm))
		note("nothing was recorded of %s, which %s executed: it either was without "
		     "LD_PRELOAD and VESTIGE_* in its environment or cannot be preloaded; record "
		     "that program itself",
		     last_comm, l->image);
	if (sum->nr_functions)
		return false;
	tell_nothing(l, sum, last_comm);
	return true;
}

static void print_ts(const char *what, uint64_t ns)
{
	uint64_t us = ns / 1000;

	fprintf(stderr, "%s: %5" PRIu64 ".%06" PRIu64 "\n", what, us / 1000000, us % 1000000);
}

void record_print_stats(const struct reader_cpu_stats *s, unsigned int cpu, const char *of)
{
	fprintf(stderr, "%sCPU: %u\nentries: %" PRIu64 "\noverrun: %" PRIu64 "\n", of, cpu,
		s->entries, s->overrun);
	fprintf(stderr, "commit overrun: %" PRIu64 "\nbytes: %" PRIu64 "\n", s->commit_overrun,
		s->bytes);
	print_ts("oldest event ts", s->oldest_ts);
	print_ts("now ts", s->now_ts);
	fprintf(stderr, "dropped events: %" PRIu64 "\nread events: %" PRIu64 "\n\n",
		s->dropped_events, s->read_events);
}
