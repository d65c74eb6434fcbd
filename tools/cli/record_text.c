/* SPDX-License-Identifier: MIT */
/* See record_text.h. */
#include "tools/cli/record_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/base/note.h"

#define THE_FLAG "-fpatchable-function-entry=6"

const char record_help[] =
	"usage: vestige record [FLAGS] [--] PROG [ARGS]\n"
	"Run PROG, trace its functions or events, write a trace.dat.\n"
	"\n"
	"  -p TRACER         function (default), function_graph (entries and exits) or nop\n"
	"  -e EVENT          record EVENT: SYSTEM:NAME, SYSTEM or NAME (may be repeated)\n"
	"  -l FUNC           trace only functions that match FUNC (may be repeated): name, *, ?, "
	"[]\n"
	"  -n FUNC           trace no function that matches FUNC (may be repeated)\n"
	"  -g FUNC           function_graph: only FUNC and what it calls (may be repeated)\n"
	"  --graph-notrace FUNC\n"
	"                    function_graph: not FUNC and what it calls (may be repeated)\n"
	"  --max-graph-depth N\n"
	"                    function_graph: only N levels of calls\n"
	"  --tracing-thresh TIME\n"
	"                    function_graph: only calls of TIME or longer: 20us, 1.5ms\n"
	"  --func-args       function: the arguments of each call, too\n"
	"  --funcgraph-args  function_graph: the same\n"
	"  -O OPTION         set an option of trace_options, noOPTION clears it (may be "
	"repeated):\n"
	"                    funcgraph-retval records what functions return\n"
	"  -b KB             size of the ring buffer, for each CPU (default: 64 MB in all)\n"
	"  -m KB             keep at most the newest KB of each CPU on disk\n"
	"  -o FILE           output (default: trace.dat)\n"
	"  --file-version N  version of the trace.dat: 7 (default, compressed) or 6\n"
	"  --no-native       leave out what makes `vestige` read the file faster\n"
	"  -q                no statistics at the end\n"
	"\n"
	"PROG is built with " THE_FLAG "; `vestige doctor PROG` tells what can be\n"
	"traced. Read the recording with `vestige report`, `vestige profile` or trace-cmd report.\n"
	"The exit status is PROG's; 125 vestige failed, 126 PROG cannot be executed, 127 no "
	"PROG.\n";

/* The part of a line of vestige_status behind @what, up to its " (errno N)"; false: another line. */
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

/* A refusal that makes the recording something else than was asked for. */
static int judge_status(const struct record_options *opt, const struct meta *m)
{
	const char *line = m->status;
	char word[512];

	while (*line) {
		size_t n = strcspn(line, "\n");

		if (status_word(line, n, "no function_graph: ", word, sizeof(word)))
			return fail(ENODEV, "no function_graph here: %s; -p function is there",
				    word);
		if (status_word(line, n, "ftrace: ", word, sizeof(word)))
			return fail(
				EINVAL,
				"the engine has no tracer %s: -p function, function_graph or nop",
				word);
		if (status_word(line, n, "trace_options: ", word, sizeof(word)))
			return fail(EINVAL,
				    "there is no option %s with the tracer %s: `vestige get "
				    "trace_options -P PID` shows those of a process",
				    word, opt->tracer);
		if (m->nr_functions &&
		    (status_word(line, n, "ftrace_filter: ", word, sizeof(word)) ||
		     status_word(line, n, "ftrace_notrace: ", word, sizeof(word)) ||
		     status_word(line, n, "ftrace_graph_filter: ", word, sizeof(word)) ||
		     status_word(line, n, "ftrace_graph_notrace: ", word, sizeof(word))))
			return fail(EINVAL,
				    "no function that can be traced matches %s: `vestige list -f "
				    "%s` shows them",
				    word, opt->argv[0]);
		line += n;
		line += *line == '\n';
	}
	return 0;
}

/* What else the engine refused, in its own words. */
static void tell_status(const struct meta *m)
{
	for (const char *line = m->status; *line; line += *line == '\n') {
		int n = (int)strcspn(line, "\n");

		if (strncmp(line, "ftrace_", 7))
			note("the engine says: %.*s", n, line);
		line += n;
	}
}

int record_judge(const struct record_options *opt, const struct launch *l, const struct meta *m)
{
	int err;

	if (!m)
		return fail(ENOTSUP,
			    "the engine did not start in %s: it could not make its area in %s "
			    "(is that folder reachable and writable for the program?), or %s could "
			    "not be loaded",
			    l->image, l->areas_dir, l->library);
	err = judge_status(opt, m);
	if (err)
		return err;
	if (!m->nr_functions)
		tell_status(m);
	if (!m->nr_functions && strcmp(opt->tracer, "nop") && !l->script)
		note("%s has no function that can be traced: build it with " THE_FLAG
		     " (programs that it executes are recorded)",
		     l->image);
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

static void tell_nothing(const struct launch *l, const struct recorder_summary *sum,
			 const char *last_comm)
{
	if (!sum->nr_members)
		note("nothing was recorded: the engine did not start in %s", l->image);
	else if (sum->asleep[0])
		note("nothing was recorded: %s", sum->asleep);
	else if (*last_comm && !is_comm_of(l->image, last_comm) &&
		 !is_comm_of(l->path, last_comm) && sum->nr_members == 1)
		note("nothing was recorded: %s has no function that can be traced, and it executed "
		     "%s, which either was without LD_PRELOAD and VESTIGE_* in its environment or "
		     "cannot be preloaded; record that program itself",
		     l->image, last_comm);
	else if (l->script)
		note("nothing was recorded: %s is a script for %s, which has no function that can "
		     "be traced, nor has what it ran: build that with " THE_FLAG,
		     l->path, l->image);
	else
		note("nothing was recorded: %s has no function that can be traced: build it "
		     "with " THE_FLAG " (`vestige doctor %s` tells more)",
		     l->image, l->path);
}

static bool wants_events(const struct record_options *opt)
{
	unsigned int i;

	for (i = 0; i < opt->nr_patterns; i++)
		if (opt->patterns[i].kind == 'e')
			return true;
	return false;
}

bool record_tell(const struct record_options *opt, const struct launch *l,
		 const struct recorder_summary *sum, const char *last_comm)
{
	const struct meta_losses *loss = &sum->losses;

	if (loss->no_memory)
		note("%s was full: the ring buffer could not have all its memory; remove what "
		     "fills it, or set VESTIGE_DIR to a folder with more room",
		     l->areas_dir);
	if (loss->dropped_events)
		note("%" PRIu64 " events were dropped because the ring buffer was full: enlarge it "
		     "with -b (it has %" PRIu64
		     " KB a CPU), or trace fewer functions with -l or -n",
		     loss->dropped_events, opt->buffer_kb);
	if (loss->overrun)
		note("%" PRIu64 " events were overwritten before they were read: enlarge the "
		     "buffer with -b",
		     loss->overrun);
	if (sum->untraced_calls)
		note("%" PRIu64 " calls were not recorded: made by threads for which there was no "
		     "memory, or in a forked child that had no area",
		     sum->untraced_calls);
	if (!strcmp(opt->tracer, "nop") || wants_events(opt))
		return false;
	if (sum->refused[0])
		note("no function of %s matches %s: where no -l matches, all its functions are "
		     "recorded",
		     sum->refused_exe, sum->refused);
	if (sum->nr_functions && !sum->nr_enabled && opt->nr_patterns) {
		note("nothing was recorded: no function was left by -l and -n: `vestige list -f "
		     "%s` "
		     "shows what there is",
		     l->path);
		return true;
	}
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

void record_print_stats(const struct reader *r)
{
	for (unsigned int c = 0; r->stats && c < r->nr_cpus; c++) {
		const struct reader_cpu_stats *s = &r->stats[c];

		fprintf(stderr, "CPU: %u\nentries: %" PRIu64 "\noverrun: %" PRIu64 "\n", c,
			s->entries, s->overrun);
		fprintf(stderr, "commit overrun: %" PRIu64 "\nbytes: %" PRIu64 "\n",
			s->commit_overrun, s->bytes);
		print_ts("oldest event ts", s->oldest_ts);
		print_ts("now ts", s->now_ts);
		fprintf(stderr, "dropped events: %" PRIu64 "\nread events: %" PRIu64 "\n\n",
			s->dropped_events, s->read_events);
	}
}
