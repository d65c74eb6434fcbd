/* SPDX-License-Identifier: MIT */
/* trace.dat files as `trace-cmd report` prints them. */
#ifndef VESTIGE_TOOLS_REPORT_H
#define VESTIGE_TOOLS_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/code/demangle.h"
#include "tools/report/line.h"

struct report_input {
	const char *path;
	int64_t ts_offset; /* --ts-offset: added to its stamps, in their units */
	uint64_t hz;	   /* --ts2secs: frequency of its clock; 0: stamps are not converted */
};

struct report_filter {
	const char *text; /* libtraceevent's: EVENTS:EXPRESSION */
	bool out;	  /* -v: records that match are left out */
};

enum report_what {
	REPORT_RECORDS,
	REPORT_ENDIAN,	    /* -e */
	REPORT_FUNCTIONS,   /* -f */
	REPORT_PRINTKS,	    /* -P */
	REPORT_NAMES,	    /* -E */
	REPORT_FORMATS,	    /* --events, --event */
	REPORT_CHECK,	    /* --check-events */
	REPORT_CPUS,	    /* --cpus, --first-event, --last-event */
	REPORT_STAT,	    /* --stat */
	REPORT_UNAME,	    /* --uname */
	REPORT_VERSION,	    /* --version */
	REPORT_FILTER_TEST, /* -T */
};

struct report_options {
	struct report_input *inputs;
	size_t nr_inputs;
	struct line_options line;
	const struct report_filter *filters;
	size_t nr_filters;
	enum report_what what;
	const char *event; /* of REPORT_FORMATS: [SYSTEM:]EVENT, regular expressions; NULL: all */
	const char *cpus;  /* --cpu; NULL: all */
	const char *const
		*plugin_options; /* -O, as libtraceevent takes them; NULL behind the last */
	enum demangle how;
	bool no_irqs, no_softirqs; /* -I, -S */
	bool wakeup;		   /* -w */
	bool ts_diff, ts_check, raw_ts, nodate, align_ts;
	bool first_event, last_event; /* of REPORT_CPUS */
};

/*
 * report_print() - print the inputs to stdout.
 * Several inputs are merged by time. An input that is no trace.dat (a spool, an area, a trace of
 * another tool) is converted to one in a temporary file first.
 * Return: 0 or -errno with fail() set. If the reader of stdout goes away, that is no error: 0.
 */
int report_print(const struct report_options *o);

/*
 * The options of libtraceevent's plug-ins and trace-cmd's own, as `trace-cmd options` prints them.
 */
void report_plugin_options(struct out *o);

#endif
