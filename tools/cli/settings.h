/* SPDX-License-Identifier: MIT */
/*
 * What trace-cmd's start, set and stream have in common: flags that set a target's tracer, functions,
 * events and buffers, in the order in which they are given. -B, -f, -R and -v are about what is behind
 * or before them.
 */
#ifndef VESTIGE_TOOLS_SETTINGS_H
#define VESTIGE_TOOLS_SETTINGS_H

#include <stdbool.h>

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
	SET_INSTANCE, /* what follows is about it */
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
/* How a program is run that is named behind the flags: --user, --fork, --stderr. */
extern const struct flag settings_run_flags[];

/* Whether a flag was given that sets something. */
bool settings_any(const struct settings *s);

/* How settings_apply() changes a target; the caller may note what was there before. */
struct settings_writer {
	/* As target_write(). */
	int (*write)(void *arg, struct target *t, const char *path, const char *text,
		     bool truncate);
	/* Behind the last setting of a buffer; NULL: nothing. */
	int (*done)(void *arg, struct target *t);
	void *arg;
};

/*
 * settings_apply() - set all of it: in the target itself what is in front of the first -B, and in each
 * instance what is behind its -B, which is made if it is not there; with -v it is removed. A process that
 * runs without the engine gets it.
 * @w: NULL: control_write().
 * Return: 0 or -errno with fail() set.
 */
int settings_apply(const struct settings *s, const struct settings_writer *w);

/*
 * settings_run() - run a program as --user, --fork and --stderr say. It is waited for, unless --fork.
 * Return: its exit status, or 125 to 127.
 */
int settings_run(const struct settings *s, char **argv);

/* settings_all_cpus() - the text for tracing_cpumask that names all CPUs of the machine. Return: @all. */
#define SETTINGS_CPUS_BYTES (1024 / 4 + 1)
const char *settings_all_cpus(char all[SETTINGS_CPUS_BYTES]);

#endif
