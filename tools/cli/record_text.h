/* SPDX-License-Identifier: MIT */
/* What `vestige record` has to say: before the program runs, when it has ended, and --help. */
#ifndef VESTIGE_TOOLS_RECORD_TEXT_H
#define VESTIGE_TOOLS_RECORD_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/cli/launch.h"
#include "tools/cli/recorder.h"
#include "tools/reader/reader.h"

#define RECORD_MAX_PATTERNS 1024
#define RECORD_MAX_OPTIONS  64

struct record_options {
	const char *tracer;
	const char *output;
	uint64_t buffer_kb;   /* a CPU */
	uint64_t max_kb;      /* on disk, a CPU; 0 all */
	uint64_t graph_depth; /* 0 all */
	uint64_t thresh_us;   /* 0 none */
	int file_version;
	bool no_native;
	bool quiet;
	struct {
		char kind; /* 'l', 'n', 'g', or 'G' for --graph-notrace */
		const char *text;
	} patterns[RECORD_MAX_PATTERNS];
	unsigned int nr_patterns;
	const char *options[RECORD_MAX_OPTIONS]; /* words of trace_options */
	unsigned int nr_options;
	char **argv;
};

extern const char record_help[];

/*
 * record_judge() - may the program, held at its entry, run on?
 * @m: its area, NULL when there is none.
 * Return: 0 (with a note, perhaps) or -errno with fail() set: the engine did not start, the tracer
 * or a pattern was refused.
 */
int record_judge(const struct record_options *opt, const struct launch *l, const struct meta *m);

/*
 * record_tell() - losses and the absence of anything to record, when the program has ended.
 * @last_comm: name of the program when it ended, "" unknown.
 * Return: true when nothing could be recorded.
 */
bool record_tell(const struct record_options *opt, const struct launch *l,
		 const struct recorder_summary *sum, const char *last_comm);

/* per_cpu/cpuN/stats of each CPU that has something to tell, to stderr. */
void record_print_stats(const struct reader *r);

#endif
