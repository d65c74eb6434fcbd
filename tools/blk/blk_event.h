/* SPDX-License-Identifier: MIT */
/* Decodes a record of blktrace: its payload, its letters, the names of masks. */
#ifndef VESTIGE_TOOLS_BLK_EVENT_H
#define VESTIGE_TOOLS_BLK_EVENT_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/blk/blk_format.h"

#define BLK_RWBS_BYTES 8u

/*
 * A record with its payload. pdu: the payload without the control group's id that it may begin
 * with.
 */
struct blk_record {
	struct blk_event e;
	const unsigned char *pdu;
	unsigned int pdu_bytes;
	uint64_t cgroup; /* 0: the record has none */
};

/* The size of the request in sectors of 512 bytes. */
static inline uint32_t blk_sectors(const struct blk_event *e)
{
	return e->bytes >> 9;
}

/* The number in an unplug's or a split's payload; 0 if it has none. */
uint64_t blk_pdu_number(const struct blk_record *r);
/* Decode the payload of a remap. Return: false: it is no remap. */
bool blk_pdu_remap(const struct blk_record *r, struct blk_remap *out);

/* The kind of the request by blkparse's letters: F D W R N, then F A S M. */
void blk_rwbs(const struct blk_event *e, char out[BLK_RWBS_BYTES]);

/* The action's letters: "Q", "UT"; NULL: there is no such action. */
const char *blk_act_letters(unsigned int act);

/* The bit for a word of blktrace's -a: "read", "issue". 0: there is no such word. */
uint32_t blk_mask(const char *name);

#endif
