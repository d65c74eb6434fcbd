/* SPDX-License-Identifier: MIT */
/*
 * Reading and consuming the buffers of processes, live or dead, as trace_pipe does: in turns, each
 * of which gives the records that were not taken yet, of all processes in order of time.
 *
 *	follow_turn(f, ...)	the reader has what is there now
 *	reader_read() ...	(merge_again() and its like go on with them)
 * 	follow_take(f, ...) mark the first ones as read
 *
 * A record that has not been written yet but is older than one of this turn comes in a later one.
 */
#ifndef VESTIGE_TOOLS_FOLLOW_H
#define VESTIGE_TOOLS_FOLLOW_H

#include <stdbool.h>
#include <sys/types.h>

#include "tools/reader/reader.h"

/*
 * A reader of several processes that may wait holds back records that are younger than this, and those that are
 * younger than the last look for processes (follow_known()): a thread that was stopped between the stamp and the
 * store of a record for longer than this is the one case in which a record comes late.
 */
#define FOLLOW_HOLD_NS UINT64_C(50000000)

struct follow;

/* A process: its area, and how to ask whether it lives. */
struct followed {
	const char *path; /* copied */
	dev_t dev; /* of its area; a file that took its place by exec() is another process's */
	ino_t ino; /* 0: whichever is there */
	bool (*lives)(const void *arg);
	const void *arg;
};

/*
 * follow_open() - follow one process. @names: its symbols are wanted.
 * Return: 0 or -errno with fail() set, as reader_open_area().
 */
int follow_open(const struct followed *what, bool names, struct follow **out);
void follow_close(struct follow *f);

/*
 * follow_add() - and another one: its number in struct record.process is the next one. The next
 * turn says -ESTALE. Return: 0 or -errno with fail() set, when nothing will come of it.
 */
int follow_add(struct follow *f, const struct followed *what);

/*
 * follow_known() - all processes are added that were there at CLOCK_MONOTONIC @known_ns: records from then on
 * wait in turns that hold, as a process that is added later may have older ones. 0: no process will come.
 */
void follow_known(struct follow *f, uint64_t known_ns);

/* Its reader: another one after follow_renew(). Owned by @f. */
struct reader *follow_reader(struct follow *f);

/*
 * follow_turn() - look for records. @cpus: the wanted ones; NULL all. @hold_ns: younger records
 * than this wait for a later turn, so that older records that are found meanwhile come before them;
 * 0: only records wait that are written while the turn reads. Return: 0 there are none; 1 there are
 * some, though they may all wait; -ESTALE the reader is out of date (objects were loaded, another
 * tracer records, a process came): call follow_renew(), and drop all that borrows from the old one;
 * -errno with fail() set.
 */
int follow_turn(struct follow *f, const bool *cpus, uint64_t hold_ns);

/* Make the reader anew. Return: 0 or -errno with fail() set, after which there is none. */
int follow_renew(struct follow *f);

/*
 * follow_look() - follow_turn(), with follow_renew() as often as tables grow meanwhile: functions
 * that are looked up, new events. If they never cease to grow, it gives the records from before
 * they were read last. @renewed: set when the reader is another one. Return: as follow_turn().
 */
int follow_look(struct follow *f, const bool *cpus, uint64_t hold_ns, bool *renewed);

/* The first @n records of @cpu that were read since the last turn are taken, all together. */
void follow_take(struct follow *f, unsigned int cpu, uint64_t n);

/* Is there anything that was not taken? Cheaper than a turn. */
bool follow_any(struct follow *f, const bool *cpus);

/*
 * follow_is_full() - is the buffer of @cpu as full as the processes' buffer_percent says, or is
 * there anything and no more will come (recording is off)? Several processes count as one buffer,
 * as large as the largest. @queued_bytes: of it that were taken and that their reader has not had
 * yet.
 */
bool follow_is_full(struct follow *f, unsigned int cpu, uint64_t queued_bytes);

/* The first one's buffer_percent, as it is now. */
uint32_t follow_percent(const struct follow *f);

/* Does any process live; does one that does record (tracing_on)? */
bool follow_lives(const struct follow *f);
bool follow_tracing_on(const struct follow *f);

#endif
