/* SPDX-License-Identifier: MIT */
/*
 * What `replay`, `graph` and `profile` share: the flags that say which calls of which file are
 * shown and how they are named, and the way from the file to the calls.
 */
#ifndef VESTIGE_TOOLS_VIEW_H
#define VESTIGE_TOOLS_VIEW_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

#include "tools/analysis/call_filter.h"
#include "tools/analysis/calls.h"
#include "tools/base/demangle.h"
#include "tools/reader/reader.h"
#include "tools/text/out.h"

/* The flags' values behind those of letters; a command's own begin at VIEW_OWN. */
enum view_flag {
	VIEW_CPU = 256,
	VIEW_TID,
	VIEW_DEMANGLE,
	VIEW_NO_DEMANGLE,
	VIEW_SRCLINE,
	VIEW_OWN
};

#define VIEW_LETTERS ":i:F:N:D:t:r:h"
/* clang-format off */
#define VIEW_OPTIONS                                                    \
	{"input", required_argument, NULL, 'i'},                        \
	{"filter", required_argument, NULL, 'F'},                       \
	{"notrace", required_argument, NULL, 'N'},                      \
	{"depth", required_argument, NULL, 'D'},                        \
	{"time-filter", required_argument, NULL, 't'},                  \
	{"time-range", required_argument, NULL, 'r'},                   \
	{"cpu", required_argument, NULL, VIEW_CPU},                     \
	{"tid", required_argument, NULL, VIEW_TID},                     \
	{"demangle", required_argument, NULL, VIEW_DEMANGLE},           \
	{"no-demangle", no_argument, NULL, VIEW_NO_DEMANGLE},           \
	{"srcline", no_argument, NULL, VIEW_SRCLINE},                   \
	{"help", no_argument, NULL, 'h'}
/* clang-format on */

#define VIEW_HELP                                                                                  \
	"  -i, --input FILE  the same as FILE\n"                                                   \
	"  -F FUNC           only calls of FUNC and what they call (a glob; may be repeated)\n"    \
	"  -N FUNC           not FUNC and what it calls (may be repeated)\n"                       \
	"  -D DEPTH          only DEPTH levels of calls\n"                                         \
	"  -t TIME           only calls that took TIME or longer: 500ns, 20us, 1.5ms, 2s\n"        \
	"  -r FROM~TO        only calls that began between: with a unit since the first record\n"  \
	"                    (10ms~20ms), without one seconds of the trace's clock; either may\n"  \
	"                    be left out\n"                                                        \
	"      --tid LIST    only these threads: 4711,4712\n"                                      \
	"      --cpu LIST    only what these CPUs recorded: 0,2-3\n"                               \
	"      --demangle=full|short|none\n"                                                       \
	"                    names of C++ and Rust: short (default) leaves parameters and\n"       \
	"                    arguments of templates out; --no-demangle is none\n"                  \
	"      --srcline     each function's file and line, where its program is at hand\n"

struct view {
	const char *command;
	const char *path; /* NULL: trace.dat */
	const char *cpu_text;
	struct call_wish wish;
	bool range_from_start, range_to_start; /* from and to count from the first record */
	enum demangle demangle;
	bool srcline;
	/* from view_open() on */
	struct reader *r;
	bool *cpus;
	struct call_filter *filter;
	struct srcline *lines;	   /* NULL: not asked for */
	struct value_text *values; /* NULL: the trace has no arguments or results */
	uint64_t first_ts, last_ts;
	uint64_t lost;	   /* records, or RECORD_LOST_UNKNOWN */
	uint64_t left_out; /* calls that were deeper than what is kept */
};

/* A view of nothing yet; @command names it in errors. */
void view_init(struct view *v, const char *command);

/*
 * view_option() - take a flag of VIEW_OPTIONS but 'h'.
 * Return: 0; CMD_USAGE after a line on stderr, for what is not one, too.
 */
int view_option(struct view *v, int c, char **argv);

/* One line on stderr about a wrong word. Return: CMD_USAGE. */
int view_bad(const struct view *v, const char *what, const char *word);

/*
 * view_open() - open the file and make the filter. Return: 0 or -errno with fail() set. Either way
 * view_close().
 */
int view_open(struct view *v);
void view_close(struct view *v);

/* Was anything asked for that takes calls with entry and exit? */
bool view_has_filters(const struct view *v);

/*
 * view_run() - read the file to its end and tell its calls.
 * @err: looked at after each record; not 0 ends it (with fail() set, or -EPIPE).
 * Return: 0 or -errno with fail() set.
 */
int view_run(struct view *v, const struct calls_ops *ops, void *arg, const int *err);

/* What the view does not show and its reader must know, to stderr. */
void view_notes(const struct view *v, uint64_t nr_calls);

/* The function's name, or its address. */
void view_put_name(const struct view *v, struct out *o, const struct call_function *fn);
/* `file.c:12`, NULL unknown or not asked for. Borrowed until the next call. */
const char *view_place(const struct view *v, uint64_t ip);

/* A JSON string, or null. */
void view_put_json(struct out *o, const char *text);

#endif
