/* SPDX-License-Identifier: MIT */
/* See blk_event.h. Tests: tests/cli/test_blk.py. */
#include "tools/blk/blk_event.h"

#include <endian.h>
#include <string.h>
#include <strings.h>

uint64_t blk_pdu_number(const struct blk_record *r)
{
	uint64_t n;

	if (r->pdu_bytes < sizeof(n))
		return 0;
	memcpy(&n, r->pdu, sizeof(n));
	return be64toh(n);
}

bool blk_pdu_remap(const struct blk_record *r, struct blk_remap *out)
{
	if (r->pdu_bytes < sizeof(*out))
		return false;
	memcpy(out, r->pdu, sizeof(*out));
	out->from = be32toh(out->from);
	out->to = be32toh(out->to);
	out->sector_from = be64toh(out->sector_from);
	return true;
}

void blk_rwbs(const struct blk_event *e, char out[BLK_RWBS_BYTES])
{
	char *p = out;

	if (BLK_HAS(e, BLK_CAT_FLUSH))
		*p++ = 'F';
	*p++ = BLK_HAS(e, BLK_CAT_DISCARD) ? 'D'
	       : BLK_HAS(e, BLK_CAT_WRITE) ? 'W'
	       : e->bytes		   ? 'R'
					   : 'N';
	if (BLK_HAS(e, BLK_CAT_FUA))
		*p++ = 'F';
	if (BLK_HAS(e, BLK_CAT_AHEAD))
		*p++ = 'A';
	if (BLK_HAS(e, BLK_CAT_SYNC))
		*p++ = 'S';
	if (BLK_HAS(e, BLK_CAT_META))
		*p++ = 'M';
	*p = '\0';
}

const char *blk_act_letters(unsigned int act)
{
	static const char *const letters[] = {
		[BLK_QUEUE] = "Q",	   [BLK_BACKMERGE] = "M", [BLK_FRONTMERGE] = "F",
		[BLK_GETRQ] = "G",	   [BLK_SLEEPRQ] = "S",	  [BLK_REQUEUE] = "R",
		[BLK_ISSUE] = "D",	   [BLK_COMPLETE] = "C",  [BLK_PLUG] = "P",
		[BLK_UNPLUG_IO] = "U",	   [BLK_INSERT] = "I",	  [BLK_SPLIT] = "X",
		[BLK_UNPLUG_TIMER] = "UT", [BLK_BOUNCE] = "B",	  [BLK_REMAP] = "A",
	};

	return act < sizeof(letters) / sizeof(*letters) ? letters[act] : NULL;
}

uint32_t blk_mask(const char *name)
{
	/* by bit, from the lowest one */
	static const char *const names[] = {
		"read", "write", "flush",  "sync",  "queue", "requeue", "issue",    "complete",
		"fs",	"pc",	 "notify", "ahead", "meta",  "discard", "drv_data", "fua"};

	for (unsigned int i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcasecmp(names[i], name))
			return 1u << i;
	return 0;
}
