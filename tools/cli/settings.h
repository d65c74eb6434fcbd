/* SPDX-License-Identifier: MIT */
/*
 * Shared by start, set and stream, as in trace-cmd: flags that set a target's tracer, functions,
 * events and buffers. Their order counts: -f and -R apply to the event before them, -B and -v to
 * the flags behind them.
 */
#ifndef VESTIGE_TOOLS_SETTINGS_H
#define VESTIGE_TOOLS_SETTINGS_H

#include <stdbool.h>

#include "tools/base/cpu_list.h"
#include "tools/cli/control.h"

#define SETTINGS_MAX 512u

enum setting_kind {
	SET_TRACER,
	SET_EVENT,
	SET_FILTER,  /* of the event before it */
	SET_TRIGGER, /* the same */
	SET_FUNCTION,
	SET_NOTRACE,
	SET_GRAPH,
	SET_OPTION,
	SET_MODULE,
	SET_CLOCK,
	SET_BUFFER_KB,
	SET_CPUS,
	SET_DEPTH,
	SET_NAMES, /* --cmdlines-size */
	SET_STACKS,
	SET_FUNCTION_STACKS,
	SET_NO_FUNCTIONS,
	SET_NO_FUNCTIONS_AT_ALL,
	SET_INSTANCE, /* the settings behind it apply to this instance */
};

struct setting {
	enum setting_kind kind;
	const char *text; /* NULL: a switch */
	bool negated;	  /* behind -v */
};

struct settings {
	struct control_which
		which; /* without an instance; with -k and -P the kernel, of that process */
	struct setting at[SETTINGS_MAX];
	unsigned int nr;
	bool negate; /* while the flags are taken: -v was there */
	bool children, missing_ok, quiet;
	const char *user;
	bool fork;
};

/* -P and -k; -p, -e and all others that set something. Both of a struct settings. */
extern const struct flag settings_target_flags[], settings_flags[];
/* For a program behind the flags: --user, --fork, --stderr. */
extern const struct flag settings_run_flags[];

/* Whether a flag was given that sets something. */
bool settings_any(const struct settings *s);

/* Callbacks by which settings_apply() changes a target, so that the caller can save old values. */
struct settings_writer {
	/* As target_write(). */
	int (*write)(void *arg, struct target *t, const char *path, const char *text,
		     bool truncate);
	/* Behind the last setting of a buffer; NULL: nothing. */
	int (*done)(void *arg, struct target *t);
	void *arg;
};

/*
 * settings_apply() - apply all settings. Those in front of the first -B are for the target itself,
 * those behind a -B for its instance, which is made if it is not there; with -v it is removed. The
 * engine is loaded into a process that runs without it.
 * @w: NULL: control_write().
 * Return: 0 or -errno with fail() set.
 */
int settings_apply(const struct settings *s, const struct settings_writer *w);

/*
 * settings_run() - run a program with --user, --fork and --stderr, and wait for it, unless --fork
 * is set.
 * Return: its exit status, or 125 to 127.
 */
int settings_run(const struct settings *s, char **argv);

/*
 * settings_all_cpus() - the text for tracing_cpumask that names all CPUs of the machine. Return:
 * @all.
 */
const char *settings_all_cpus(char all[CPU_MASK_BYTES]);

#endif
