/* SPDX-License-Identifier: MIT */
/* What hist.c (counting), hist_parse.c and hist_show.c share. Nobody else includes it. */
#ifndef VESTIGE_EVENTS_HIST_IMPL_H
#define VESTIGE_EVENTS_HIST_IMPL_H

#include "engine/events/hist.h"

#define HIST_MAX_KEYS	3u
#define HIST_MAX_VALS	3u /* hitcount among them */
#define HIST_MAX_SORTS	2u
#define HIST_MIN_SIZE	128u
#define HIST_MAX_SIZE	131072u
#define HIST_MAX_STRING 256u
#define HIST_SPARES	8u

enum hist_from { HIST_FIELD, HIST_STATIC, HIST_DYN, HIST_RDYN, HIST_PID, HIST_CPU, HIST_HITCOUNT };

enum hist_modifier {
	HIST_PLAIN,
	HIST_HEX,
	HIST_EXECNAME,
	HIST_LOG2,
	HIST_BUCKETS,
	HIST_PERCENT,
	HIST_GRAPH,
};

struct hist_field {
	uint8_t from;	  /* enum hist_from */
	uint8_t modifier; /* enum hist_modifier */
	uint8_t is_signed;
	uint8_t reserved;
	uint32_t offset, size; /* in the record */
	uint32_t key_at;       /* a key: where it is in a row's; the bytes of a string: size */
	uint64_t buckets;
	char name[64];
};

struct hist_sort {
	uint8_t is_key;
	uint8_t descending;
	uint8_t index; /* of keys or vals */
};

/* Rows, and a table of their numbers + 1 by the hash of their keys; 0: nothing is there. */
struct hist_map {
	uint32_t nr_slots; /* twice the rows, a power of two */
	uint32_t nr_rows;
	uint32_t next; /* rows given out; may go beyond nr_rows */
	uint32_t row_bytes;
	uint32_t
		spares[HIST_SPARES]; /* rows + 1 that were made for a key that another made first */
	uint64_t hits, drops;
	uint32_t *slots;
	uint8_t *rows;
};

struct hist_row {
	uint64_t hash;
	uint64_t vals[HIST_MAX_VALS];
	char comm[16]; /* when a key is common_pid.execname */
	uint64_t key[];
};

struct hist {
	uint32_t nr_keys, nr_vals, nr_sorts;
	struct hist_field keys[HIST_MAX_KEYS];
	struct hist_field vals[HIST_MAX_VALS]; /* the first is hitcount */
	struct hist_sort sorts[HIST_MAX_SORTS];
	uint32_t size;
	uint32_t key_bytes; /* a multiple of eight */
	uint32_t paused;
	uint8_t execname;
	uint8_t no_hitcount;
	char name[64];
	struct hist_map *map;
};

static inline struct hist_row *hist_row(const struct hist_map *m, uint32_t i)
{
	return (struct hist_row *)(m->rows + (uint64_t)i * m->row_bytes);
}

struct hist_map *hist_map_new(const struct hist *h);
void hist_map_free(struct hist_map *m);

#endif
