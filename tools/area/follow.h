/* SPDX-License-Identifier: MIT */
/*
 * Reads and consumes the buffers of processes, live or dead, as trace_pipe does. Each turn gives
 * the records that were not taken yet, of all processes in order of time.
 *
 * 	follow_turn(f, ...)	the reader has what is there now
 * 	reader_read() ...	(merge_again() and its like go on with them)
 * 	follow_take(f, ...) mark the first ones as read
 *
 * A record that is written late, after newer records were given, comes in a later turn.
 */
#ifndef VESTIGE_TOOLS_FOLLOW_H
#define VESTIGE_TOOLS_FOLLOW_H

#include <stdbool.h>
#include <sys/types.h>

#include "tools/reader/reader.h"

/*
 * A reader of several processes holds back records younger than this, and records younger than the
 * last search for processes (follow_known()), if it may wait. A record then comes too late in one
 * case only: its thread was stopped between the stamp and the store for longer than this.
 */
#define FOLLOW_HOLD_NS UINT64_C(50000000)

struct follow;

/* A process: its area, and how to ask whether it lives. */
struct followed {
	const char *path; /* copied */
	dev_t dev;	  /* of its area; after exec() another file has the name */
	ino_t ino;	  /* 0: the file that has the name now */
	bool (*lives)(const void *arg);
	const void *arg;
};

/*
 * follow_open() - follow one process. @names: are its symbols wanted? @out: freed with
 * follow_close().
 * Return: 0 or -errno with fail() set, as reader_open_area().
 */
int follow_open(const struct followed *what, bool names, struct follow **out);
void follow_close(struct follow *f);

/*
 * follow_add() - follow one more process. Its number in struct record.process is the next one. The
 * next turn returns -ESTALE.
 * Return: 0; -errno with fail() set: it cannot be read and was not added.
 */
int follow_add(struct follow *f, const struct followed *what);

/*
 * follow_known() - all processes that existed at CLOCK_MONOTONIC @known_ns were added. Turns with
 * @hold_ns keep later records back, because a process that is added later may have older ones. 0:
 * no more processes will come.
 */
void follow_known(struct follow *f, uint64_t known_ns);

/* The reader. follow_renew() replaces it. Owned by @f. */
struct reader *follow_reader(struct follow *f);

/*
 * follow_turn() - look for records.
 * @cpus: the wanted CPUs; NULL: all.
 * @hold_ns: records younger than this wait for a later turn, so that older records that are found
 * later come before them. 0: only records that are written during the turn wait.
 * Return: 0: no records; 1: there are records, though all may have to wait; -ESTALE: the reader is
 * out of date (objects were loaded, another tracer is set, a process came): call follow_renew(),
 * and drop all that borrows from the old reader; -errno with fail() set.
 */
int follow_turn(struct follow *f, const bool *cpus, uint64_t hold_ns);

/* Make a new reader. Return: 0; -errno with fail() set: there is no reader then. */
int follow_renew(struct follow *f);

/*
 * follow_look() - follow_turn(), with follow_renew() while the tables grow (looked-up functions,
 * new events). If they do not stop growing, it gives the records from before the tables were last
 * read.
 * @renewed: set if the reader was replaced. Return: as follow_turn().
 */
int follow_look(struct follow *f, const bool *cpus, uint64_t hold_ns, bool *renewed);

/* Take (consume) the first @n records of @cpu that were read since the last turn. */
void follow_take(struct follow *f, unsigned int cpu, uint64_t n);

/* Are there records that were not taken? Cheaper than a turn. */
bool follow_any(struct follow *f, const bool *cpus);

/*
 * follow_is_full() - is the buffer of @cpu filled up to buffer_percent? Also true if there are
 * records and recording is off, so that no more will come. Several processes count as one buffer of
 * the size of the largest.
 * @queued_bytes: taken bytes that the user has not read yet; they count as part of the buffer.
 */
bool follow_is_full(struct follow *f, unsigned int cpu, uint64_t queued_bytes);

/* The present buffer_percent of the first process. */
uint32_t follow_percent(const struct follow *f);

/* Can an area get more records? Can one with tracing_on? */
bool follow_lives(const struct follow *f);
bool follow_tracing_on(const struct follow *f);

#endif
