/* SPDX-License-Identifier: MIT */
/*
 * Work that may take long: a line on stderr after the first second, and the handling of Ctrl-C
 * until it is done. A thread of its own prints, independently of the work. The work reports its
 * progress and ends when `stop` is set: struct reader looks at it.
 */
#ifndef VESTIGE_TOOLS_PROGRESS_H
#define VESTIGE_TOOLS_PROGRESS_H

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tools/export/exporter.h"

struct progress {
	atomic_bool stop;      /* Ctrl-C: the work is to end */
	const char *file;      /* path of the file that is written */
	const char *hint;      /* the current work, and the effect of Ctrl-C */
	bool quiet;	       /* nothing is printed */
	bool after_program;    /* signals of the first second were for the program */
	struct reader *kernel; /* see struct export_options; set by the caller, NULL at first */
	/* See struct export_options; set by the caller, NULL at first. */
	const char *name;
	const struct dat_more *more;
	unsigned int nr_more;
	struct dat_live *live; /* see struct export_options; set by the caller, NULL at first */
	struct view *view;     /* see struct export_options; set by the caller, NULL at first */
	uint64_t part_bytes;   /* the same */
	int (*sink)(void *arg, const char *text, size_t bytes); /* the same */
	void *sink_arg;
	bool tty; /* the line is updated during the work */
	bool drawn;
	int signals, end; /* signalfd, eventfd */
	pthread_t thread;
	bool running;
	sem_t begun; /* the thread has begun */
	sigset_t old;
	uint64_t begun_ns;
	uint64_t first_ns,
		first;	  /* the first report of progress: its time, and the number of events */
	uint64_t percent; /* the greatest that was printed: it never falls */
	_Atomic uint64_t done, total;
};

/*
 * progress_begin() - from now on SIGINT, SIGTERM and SIGHUP end the work, but not this program.
 * @file, @hint: one line each, borrowed.
 */
void progress_begin(struct progress *p, const char *file, const char *hint, bool quiet);

/*
 * progress_begin_after() - the same after a program that the command has run: signals end the work
 * only after a second, when the line has been printed. Earlier ones are dropped, so a second Ctrl-C
 * that was meant for the program does not end the work.
 */
void progress_begin_after(struct progress *p, const char *file, const char *hint, bool quiet);

/*
 * progress_write() - write p->file from @r: the work of record, convert and extract. It ends early
 * when `stop` is set. @plain: see struct export_options. Return: 0 or -errno with fail() set.
 */
int progress_write(struct progress *p, const struct exporter *to, bool plain, struct reader *r);

/* progress_step() - report progress: @done of @total. @arg: the struct progress. Any thread. */
void progress_step(void *arg, uint64_t done, uint64_t total);

/*
 * progress_view() - the work is reading @v, which is open: it reports its progress, and ends when
 * `stop` is set.
 */
void progress_view(struct progress *p, struct view *v);

/* Remove the line and restore the signals. Return: whether a signal has ended the work. */
bool progress_end(struct progress *p);

#endif
