/* SPDX-License-Identifier: MIT */
/* A record as a line of text: blkparse's default lines and its formats (man blkparse). */
#ifndef VESTIGE_TOOLS_BLK_LINE_H
#define VESTIGE_TOOLS_BLK_LINE_H

#include <time.h>

#include "tools/blk/blk_event.h"
#include "tools/text/out.h"

#define BLK_NO_TIME UINT64_MAX

/* Formats of actions, by the first letter of the action. All NULL: default lines. */
struct blk_formats {
	char *of[128];
};

/* The data for a line that is not in the record. */
struct blk_line {
	const char *letters; /* of the action */
	const char *name;    /* of the process; NULL: not known */
	unsigned int cpu;
	uint64_t elapsed_ns;   /* BLK_NO_TIME: none */
	struct timespec start; /* the time of day of time 0 */
	bool with_pdu; /* of the payload of a request that is no file system's, or a message */
};

/*
 * blk_formats_all() - @format for each action that has none yet. blk_formats_one() - @spec is
 * "LETTER,FORMAT". Return: 0 or -errno with fail() set.
 */
int blk_formats_all(struct blk_formats *f, const char *format);
int blk_formats_one(struct blk_formats *f, const char *spec);
void blk_formats_free(struct blk_formats *f);

/*
 * A struct for the record, with its letters (NULL: it has no line), and whether the payload is
 * shown.
 */
struct blk_line blk_line_of(const struct blk_record *r);

/*
 * blk_line_text() - the record without its time, CPU and process, as a line: "8,0 WS 64 + 8 [dd]".
 * @l: only letters and name are used.
 */
void blk_line_text(struct out *o, const struct blk_record *r, const struct blk_line *l);

void blk_line_put(struct out *o, const struct blk_formats *f, const struct blk_record *r,
		  const struct blk_line *l);

#endif
