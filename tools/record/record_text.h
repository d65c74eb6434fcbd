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
 * record_no_function() - report that no function of @prog matches @word of the command line. @m:
 * the area of @prog, which is held before main(). Return: -EINVAL with fail() set, with a similar
 * name if there is one.
 */
int record_no_function(const struct meta *m, const char *word, const char *prog);

/*
 * record_judge() - check the program, stopped at its entry, before it runs.
 * @m: its area; NULL: there is none.
 * Return: 0, perhaps after a note; or -errno with fail() set: the engine did not start, or it has
 * refused the tracer or a pattern.
 */
int record_judge(const struct record_options *opt, const struct launch *l, const struct meta *m);

/* Print the losses, and how to avoid them. @areas_dir: the folder of areas. */
void record_report_losses(const struct record_options *opt, const char *areas_dir,
			  const struct recorder_summary *sum);

/* Does the tracer of @opt need traceable functions? Others have records of their own. */
bool record_needs_functions(const struct record_options *opt);

/*
 * record_report() - when the program has ended, print losses, or why there are no records.
 * @last_comm: comm of the program when it ended, "" unknown.
 * Return: true when no record was possible.
 */
bool record_report(const struct record_options *opt, const struct launch *l,
		   const struct recorder_summary *sum, const char *last_comm);

/* Print the statistics of a CPU to stderr. @of: text before the CPU's number: "", or "kernel ". */
void record_print_stats(const struct reader_cpu_stats *s, unsigned int cpu, const char *of);

#endif
