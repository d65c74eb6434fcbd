/* SPDX-License-Identifier: MIT */
/*
 * What a row of an area's AREA_HISTS names in AREA_HIST_ROOM: the description of a histogram and its
 * counts. Tools believe nothing in them. Version rule: that of area.h.
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
	AREA_HIST_VAL = 2,   /* u64, added up; the first is the hitcount */
	AREA_HIST_VAR = 3,   /* a variable's value; not shown */
	AREA_HIST_TRACK = 4, /* u64 of onmax() or onchange(): `max` or `changed` */
	AREA_HIST_SAVED = 5, /* a value of save(), behind the AREA_HIST_TRACK that it belongs to */
	AREA_HIST_SNAPSHOT = 6, /* not in rows; its name says what snapshots are for */
};

enum area_hist_type {
	AREA_HIST_NUMBER = 0, /* eight bytes */
	AREA_HIST_STRING = 1, /* ended by a NUL or by its room */
	AREA_HIST_STACK = 2,  /* addresses, innermost first, ended by a 0 or by its room */
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
	AREA_HIST_HIDDEN = 1, /* its value is kept but not shown: nohitcount, an expression */
};

struct area_hist_field {
	uint8_t kind;	  /* enum area_hist_kind */
	uint8_t type;	  /* enum area_hist_type */
	uint8_t modifier; /* enum area_hist_modifier */
	uint8_t is_signed;
	uint32_t at;	/* in a row; a multiple of eight */
	uint32_t bytes; /* its room there */
	uint32_t name;	/* NUL-terminated, as it is shown; offset in bytes from area_hist_desc */
	uint64_t param; /* buckets: their width */
	uint32_t comm;	/* execname: where in the row the thread's name is, 16 bytes */
	uint8_t flags;	/* enum area_hist_flag */
	uint8_t reserved[3];
};
static_assert(sizeof(struct area_hist_field) == 32, "area_hist_field is part of the format");

/* The description of a histogram, for printing: this struct, its fields, and text. */
struct area_hist_desc {
	uint32_t bytes; /* with all that follows */
	/* keys, vals and what follows them, in the order in which they are shown */
	uint32_t nr_fields;
	uint32_t field_bytes; /* sizeof(struct area_hist_field) */
	/* NUL-terminated, from here: the line of its trigger, without its state */
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

/* The counts of a histogram: this struct, slots, rows. A slot is the number of a row + 1, or 0. */
struct area_hist_map {
	uint64_t hits;
	uint64_t drops;	   /* keys for which there was no room */
	uint32_t nr_slots; /* uint32_t each, from slots_at on */
	uint32_t nr_rows;
	uint32_t row_bytes;
	uint32_t slots_at;	 /* from here */
	uint64_t rows_at;	 /* from here; a row is its key's hash and the fields */
	uint64_t snapshot_value; /* for which the last snapshot was taken */
	uint32_t snapshot_row;	 /* whose key that was, its number + 1; 0: none was taken */
	uint32_t reserved;
	uint64_t reserved2;
};
static_assert(sizeof(struct area_hist_map) == 64, "area_hist_map is part of the format");

#endif
