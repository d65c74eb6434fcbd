/* SPDX-License-Identifier: MIT */
/* Shared by recorder.c (members) and recorder_pages.c (their pages). */
#ifndef VESTIGE_TOOLS_RECORDER_IMPL_H
#define VESTIGE_TOOLS_RECORDER_IMPL_H

#include "tools/area/area.h"
#include "tools/record/recorder.h"

struct published {
	uint64_t seq;
	uint32_t index;
	uint32_t cpu;
};

struct member {
	char name[64];
	uint64_t dev, ino;
	int fd;
	uint32_t id; /* in the spool */
	const unsigned char *map;
	uint64_t map_bytes;
	struct meta *meta;
	uint64_t publish_seq;	  /* of the buffer at the last drain */
	uint64_t meta_ns;	  /* time of the last write of its tables */
	uint64_t look_ns;	  /* time of the last check whether they have grown */
	uint64_t active_ns;	  /* time of its last publication */
	uint64_t *open;		  /* of each page, see recorder_turn.c; NULL: none yet */
	struct area_done drained; /* pages that were written, if the buffer overwrites */
	bool is_named;		  /* of recorder_of.processes: its older records are left out */
	bool has_our_session;	  /* it had no session before */
	bool damaged;
};

/*
 * An object that a member has analysed itself; the result goes to the cache at the end
 * (ways_cache.h).
 */
struct analysed {
	char *path;
	uint8_t id[AREA_BUILD_ID_MAX];
	uint32_t id_bytes;
};

struct recorder {
	struct recorder_of of;
	uint64_t folder_ns; /* mtime of the folder at the last scan; 0: scan again */
	struct spool_writer *spool;
	struct member *members;
	unsigned int nr_members, room;
	uint32_t next_id;
	unsigned int unfilled; /* ticks in a row with a file that has no header yet */
	bool rescan;
	bool counter; /* some member has the stamp counter for its clock */
	uint64_t clock_ns, let_go_ns;
	struct recorder_summary sum;
	struct analysed *analysed;
	size_t nr_analysed, room_analysed;
	struct published *found;
	size_t room_found;
	unsigned char *copies; /* room for DRAIN_AT_ONCE pages */
	/* see recorder_turns() */
	void (*turn)(void *arg, uint64_t spool_bytes, uint64_t stamp);
	void *turn_arg;
	uint64_t begun_ns;
	uint64_t open_bytes;	      /* of copies of open pages in the spool */
	bool turn_counter;	      /* turn_stamp is of the counter */
	uint64_t turn_ns, turn_stamp; /* time of the last turn, in ns and in clock units */
};

#define TURN_EVERY_NS	 UINT64_C(100000000)
#define TURN_AT_FIRST_NS UINT64_C(25000000)
#define TURN_SOON_NS	 UINT64_C(2000000000)

/* The time between two turns. Short programs end in the first TURN_SOON_NS. */
static inline uint64_t turn_every_ns(const struct recorder *r, uint64_t now)
{
	return now - r->begun_ns < TURN_SOON_NS ? TURN_AT_FIRST_NS : TURN_EVERY_NS;
}

/*
 * Is it time for a turn? *@stamp: upper limit of the turn's stamp. To be called before the folder
 * and pages are read.
 */
bool turn_begins(struct recorder *r, uint64_t now, uint64_t *stamp);

/*
 * The least stamp of an owned page that is not in the spool in its present state, or @stamp if that
 * is less. To be called before pages are drained.
 */
uint64_t turn_oldest(struct recorder *r, uint64_t stamp);

/* Write to the area. If the file was cut, the next read of it finds that. */
void member_put(const struct member *m, const void *from, size_t bytes, uint64_t at);

/* Report the error of a member, fail_text(), once, and do not drain it any more. */
void member_give_up(struct member *m);

/*
 * member_drain() - write its published pages to the spool. @last: owned pages, too.
 * Return: true if a CPU's share was more than a quarter full.
 */
bool member_drain(struct recorder *r, struct member *m, bool last);

#endif
