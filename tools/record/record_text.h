/* SPDX-License-Identifier: MIT */
/* The messages of `vestige record`: before the program runs, and when it has ended. */
#ifndef VESTIGE_TOOLS_RECORD_TEXT_H
#define VESTIGE_TOOLS_RECORD_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/reader/reader.h"
#include "tools/record/launch.h"
#include "tools/record/record.h"
#include "tools/record/recorder.h"

/*
 * record_no_function() - no function of @prog, whose area is @m and which is held, matches @word of the command line.
 * Return: -EINVAL with fail() set; it names a function that was probably meant.
 */
int record_no_function(const struct meta *m, const char *word, const char *prog);

/*
 * record_judge() - whether the program, stopped at its entry, may run on.
 * @m: its area, NULL when there is none.
 * Return: 0 (with a note, perhaps) or -errno with fail() set: the engine did not start, the tracer
 * or a pattern was refused.
 */
int record_judge(const struct record_options *opt, const struct launch *l, const struct meta *m);

/* The losses, and how to avoid them. @areas_dir: the folder of the areas. */
void record_report_losses(const struct record_options *opt, const char *areas_dir,
			  const struct recorder_summary *sum);

/* Without functions this tracer records nothing; others have records of their own. */
bool record_needs_functions(const struct record_options *opt);

/*
 * record_report() - losses and the absence of anything to record, when the program has ended.
 * @last_comm: name of the program when it ended, "" unknown.
 * Return: true when nothing could be recorded.
 */
bool record_report(const struct record_options *opt, const struct launch *l,
		   const struct recorder_summary *sum, const char *last_comm);

/* per_cpu/cpuN/stats of a CPU, to stderr. @of: in front of the CPU's number: "", or "kernel ". */
void record_print_stats(const struct reader_cpu_stats *s, unsigned int cpu, const char *of);

#endif
