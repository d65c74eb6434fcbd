/* SPDX-License-Identifier: MIT */
/*
 * Reads recordings of blktrace: the files NAME.blktrace.CPU of some devices, merged by time; or one
 * stream of records (a pipe of `blktrace -o -`, a file of `blkparse -d`). Either byte order. Times
 * count from the first record. A file is read in batches, and notes (names of processes, the time
 * of day) are valid from the reading of their batch on, as in blkparse. Files are untrusted: an
 * invalid record ends its file with a message. Tests: tests/cli/test_blk.py, tests/fuzz.
 */
#ifndef VESTIGE_TOOLS_BLK_READ_H
#define VESTIGE_TOOLS_BLK_READ_H

#include <time.h>

#include "tools/blk/blk_event.h"

struct blk_reader;

/* A device of the recording, by its place in the list of inputs. */
struct blk_input {
	char *name;	 /* for texts; NULL in a stream: the device's numbers are its name */
	uint32_t device; /* of its first record; 0: none was read */
};

/*
 * blk_reader_open() - open recordings.
 * @folder: before each name; NULL: none. @names: NAME, NAME.blktrace.CPU, or for one stream its
 * file; a single "-" is stdin. @messages: messages with a control group are records; else they are
 * notes, as in blkparse 1.2.0. @note: called for each note when it is read, also during this call;
 * NULL: not. Return: 0 or -errno with fail() set; -ENOENT: a name has no file.
 */
int blk_reader_open(const char *folder, const char *const *names, unsigned int nr, bool messages,
		    void (*note)(void *arg, const struct blk_record *rec), void *arg,
		    struct blk_reader **out);
void blk_reader_close(struct blk_reader *r); /* NULL: nothing */

/*
 * blk_reader_next() - the next record that is no note (messages are records).
 * @input: its index in the list of inputs; in a stream, of its device. @rec: valid until the next
 * call.
 * Return: 1; 0 at the end; -errno with fail() set.
 */
int blk_reader_next(struct blk_reader *r, unsigned int *input, struct blk_record *rec);

const struct blk_input *blk_reader_inputs(const struct blk_reader *r, unsigned int *nr);
/* The name of the @i-th opened file, in the order of opening. */
const char *blk_reader_file(const struct blk_reader *r, unsigned int i);

/* The process's name; NULL: it is not known (yet). */
const char *blk_reader_name(const struct blk_reader *r, uint32_t pid);
/* A name of @bytes for a process that has none; the first name stays. Return: 0 or -errno. */
int blk_reader_add_name(struct blk_reader *r, uint32_t pid, const char *comm, unsigned int bytes);
/* Time 0 by the recording's own clock, ns. */
uint64_t blk_reader_zero(const struct blk_reader *r);
/* The time of day of time 0. Return: false if the recording has none; *out is then 0. */
bool blk_reader_start(const struct blk_reader *r, struct timespec *out);
/* For a stream: gaps in the sequence numbers of records, and how many records are missing. */
void blk_reader_skips(const struct blk_reader *r, unsigned int input, uint64_t *gaps,
		      uint64_t *records);

#endif
