/* SPDX-License-Identifier: MIT */
/*
 * Starts a program with the engine in it: finds the file, reports why preloading is not possible,
 * starts it, and stops it at its entry point. By then the loader has run the engine's constructor,
 * and main() has not begun, so the result of the engine's scan can be checked before the program
 * runs. A static program with the engine inside is stopped when the engine has started.
 */
#ifndef VESTIGE_TOOLS_LAUNCH_H
#define VESTIGE_TOOLS_LAUNCH_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define LAUNCH_NR_IGNORED 3

/* At the start of launch.unmodified: it is valid only in the program's process, not in children. */
#define LAUNCH_THIS_PROCESS "pid"

struct launch {
	char path[PATH_MAX];  /* of the program that the user named */
	char image[PATH_MAX]; /* the file that is executed: a script's interpreter, else path */
	bool script;
	const char *areas_dir;	/* folder of the areas */
	const char *boot;	/* VESTIGE_BOOT */
	char session[64];	/* VESTIGE_SESSION: launch_find() makes one */
	char library[PATH_MAX]; /* libvestige.so: launch_find() finds it */
	char first[256];	/* must be preloaded before it: the address sanitizer, or "" */
	sigset_t mask;		/* signal mask of the program */
	/* the program's actions for signals that `record` ignores, from launch_find() */
	struct sigaction ignored[LAUNCH_NR_IGNORED];
	/* bytes from its entry point to engine_ready() of its own engine; 0: it has none */
	uint64_t ready;
	/* VESTIGE_UNMODIFIED, see LAUNCH_THIS_PROCESS; NULL: as it is in the environment */
	const char *unmodified;
	bool silent;   /* its standard streams are /dev/null */
	bool no_agent; /* VESTIGE_AGENT=0: all functions are looked up at start */
	pid_t pid;
	unsigned long long start; /* struct proc_stat's; 0: it has ended */
	bool at_entry;		  /* ptrace holds it there (or at engine_ready()) */
	int status;		  /* waitpid()'s, when it ended before its entry */
	bool ended;
};

/*
 * launch_ignore() - from now on ignore signals that are meant for the program, or would end the
 * recorder before the recording is written: SIGQUIT (Ctrl-\), SIGPIPE, SIGXFSZ. The program gets
 * their earlier actions. To be called after launch_find().
 */
void launch_ignore(void);

/*
 * launch_find() - find @prog as execvp() does, find libvestige.so, and check that nothing prevents
 * preloading. Return: 0 or -errno with fail() set: ENOENT: no such program; EACCES: it cannot be
 * executed; ENOTSUP: the engine cannot be preloaded into it; ELIBACC: there is no libvestige.so.
 */
int launch_find(struct launch *l, const char *prog);

/* Make a name for a session that no other process uses. */
void launch_session(char session[64]);

/*
 * launch_find_part() - find a file that is installed with vestige: beside this program, as in a
 * build folder; in the library folder of the same tree (DESTDIR); else in the library folder.
 * @path: room for PATH_MAX. Return: 0 or -ELIBACC with fail() set.
 */
int launch_find_part(const char *name, char *path);

/*
 * launch_no_engine() - fail() with the message that the program has no area, and the probable
 * cause.
 * @l: found, with areas_dir. Return: -ENOTSUP with fail() set.
 */
int launch_no_engine(const struct launch *l);

/*
 * launch_start() - start the program and wait until it is at its entry point (l->at_entry), or has
 * ended (l->ended); if neither is set, it could not be held, and runs.
 * @must_hold: fail with -ENOTSUP rather than let it run.
 * Return: 0 or -errno with fail() set: execve()'s error.
 * The program is killed when this process ends, until launch_go().
 */
int launch_start(struct launch *l, char **argv, bool must_hold);

/*
 * launch_exec() - become the program, with the engine and the session in its environment.
 * Return: -errno with fail() set: it could not be executed.
 */
int launch_exec(struct launch *l, char **argv);

/* Let the program run. */
void launch_go(struct launch *l);

/* Kill the program and wait for its end. */
void launch_kill(struct launch *l);

/* The name of the program's area in the folder of areas. */
void launch_area_name(const struct launch *l, char name[64]);

#endif
