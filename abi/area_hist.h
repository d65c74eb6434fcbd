/* SPDX-License-Identifier: MIT */
/*
 * The description and the counts of a histogram. They are in AREA_HIST_ROOM, at the offsets that a
 * row of AREA_HISTS has. Tools do not trust them. The version rule of area.h applies.
 */
#ifndef VESTIGE_ABI_AREA_HIST_H
#define VESTIGE_ABI_AREA_HIST_H

#include <assert.h>
#include <stdint.h>

#define AREA_HIST_MAX_SORTS  4u
#define AREA_HIST_MAX_FIELDS 128u

/* The kind of a field in a histogram's rows. */
enum area_hist_kind {
	AREA_HIST_KEY = 1,
	AREA_HIST_VAL = 2,   /* u64, a sum; the first one is the hitcount */
	AREA_HIST_VAR = 3,   /* a variable's value; not shown */
	AREA_HIST_TRACK = 4, /* u64 of onmax() or onchange(): `max` or `changed` */
	AREA_HIST_SAVED = 5, /* a value of save(), behind the AREA_HIST_TRACK that it belongs to */
	AREA_HIST_SNAPSHOT = 6, /* not in rows; its name is the variable that takes snapshots */
};

enum area_hist_type {
	AREA_HIST_NUMBER = 0, /* eight bytes */
	AREA_HIST_STRING = 1, /* ends with a NUL, or at the end of its `bytes` */
	AREA_HIST_STACK = 2,  /* addresses, innermost first; ends with a 0, or with its `bytes` */
};

enum area_hist_modifier {
	AREA_HIST_PLAIN = 0,
	AREA_HIST_HEX = 1,
	AREA_HIST_EXECNAME = 2,
	AREA_HIST_LOG2 = 3,
	AREA_HIST_BUCKETS = 4,
	AREA_HIST_PERCENT = 5,
	AREA_HIST_GRAPH = 6,
	AREA_HIST_SYM = 7,
	AREA_HIST_SYM_OFFSET = 8,
	AREA_HIST_SYSCALL = 9,
	AREA_HIST_USECS = 10,
};

enum area_hist_flag {
	AREA_HIST_HIDDEN = 1, /* not shown: the hitcount of a trigger with nohitcount */
};

struct area_hist_field {
	uint8_t kind;	  /* enum area_hist_kind */
	uint8_t type;	  /* enum area_hist_type */
	uint8_t modifier; /* enum area_hist_modifier */
	uint8_t is_signed;
	uint32_t at;	/* offset in a row in bytes, a multiple of eight */
	uint32_t bytes; /* its size in a row */
	uint32_t name;	/* as shown, NUL-terminated; offset in bytes from struct area_hist_desc */
	uint64_t param; /* AREA_HIST_BUCKETS: width of a bucket */
	uint32_t comm;	/* AREA_HIST_EXECNAME: offset in a row of the thread's name, 16 bytes */
	uint8_t flags;	/* enum area_hist_flag */
	uint8_t reserved[3];
};
static_assert(sizeof(struct area_hist_field) == 32, "area_hist_field is part of the format");

/* The description of a histogram, for printing: this struct, its fields, and text. */
struct area_hist_desc {
	uint32_t bytes;	      /* of this struct, its fields and text */
	uint32_t nr_fields;   /* in the order in which they are shown: keys, vals, others */
	uint32_t field_bytes; /* sizeof(struct area_hist_field) */
	/* the trigger's line without its state, NUL-terminated; offset in bytes from this struct */
	uint32_t trigger;
	uint32_t nr_sorts;
	uint32_t reserved;
	struct {
		uint16_t field; /* number of a key or val */
		uint16_t descending;
	} sorts[AREA_HIST_MAX_SORTS];
	struct area_hist_field fields[];
};
static_assert(sizeof(struct area_hist_desc) == 40, "area_hist_desc is part of the format");

/*
 * The counts of a histogram: this struct, then slots, then rows. A slot is a row's index + 1, or 0.
 * A row is the hash of its key, then the fields. Offsets are in bytes from this struct.
 */
struct area_hist_map {
	uint64_t hits;
	uint64_t drops;	   /* records for whose key there was no free row */
	uint32_t nr_slots; /* uint32_t each */
	uint32_t nr_rows;
	uint32_t row_bytes;
	uint32_t slots_at;	 /* offset of the slots */
	uint64_t rows_at;	 /* offset of the rows */
	uint64_t snapshot_value; /* the value that caused the last snapshot */
	uint32_t snapshot_row;	 /* index + 1 of the row of its key; 0: no snapshot was taken */
	uint32_t reserved;
	uint64_t reserved2;
};
static_assert(sizeof(struct area_hist_map) == 64, "area_hist_map is part of the format");

#endif
