/* SPDX-License-Identifier: MIT */
/* Shared by the files of histograms alone; no other file includes it. */
#ifndef VESTIGE_EVENTS_TRIGGER_HIST_IMPL_H
#define VESTIGE_EVENTS_TRIGGER_HIST_IMPL_H

#include "abi/area_hist.h"
#include "engine/events/trigger/hist.h"

#define HIST_MAX_KEYS	3u
#define HIST_MAX_VALS	3u /* hitcount included */
#define HIST_MAX_SORTS	2u
#define HIST_MIN_SIZE	128u
#define HIST_MAX_SIZE	131072u
#define HIST_MAX_STRING 256u
#define HIST_MAX_STACK	16u  /* frames */
#define HIST_MAX_KEY	384u /* bytes of all keys, as the kernel counts them */
#define HIST_SPARES	8u
#define HIST_GROW_BYTES 65536u /* of rows, which get memory in steps of this size */

/* ns in a unit of the area's clock, times 2^32; set when a histogram uses times. */
extern uint64_t hist_unit_ns;

enum hist_from {
	HIST_FIELD,
	/* text in the record, at a fixed offset; the next two: where a word of the record says */
	HIST_STATIC,
	HIST_DYN,
	HIST_RDYN,
	HIST_PID,
	HIST_CPU,
	HIST_HITCOUNT,
	HIST_TIME,    /* common_timestamp */
	HIST_COMMON,  /* common_type: the same in all records of the event */
	HIST_FLAGS,   /* common_flags */
	HIST_PREEMPT, /* common_preempt_count */
	HIST_STACK,   /* the thread's stack */
	HIST_STACK_FIELD,
	HIST_EXPR, /* an expression of others */
};

enum hist_modifier {
	HIST_PLAIN = AREA_HIST_PLAIN,
	HIST_HEX = AREA_HIST_HEX,
	HIST_EXECNAME = AREA_HIST_EXECNAME,
	HIST_LOG2 = AREA_HIST_LOG2,
	HIST_BUCKETS = AREA_HIST_BUCKETS,
	HIST_PERCENT = AREA_HIST_PERCENT,
	HIST_GRAPH = AREA_HIST_GRAPH,
	HIST_SYM = AREA_HIST_SYM,
	HIST_SYM_OFFSET = AREA_HIST_SYM_OFFSET,
	HIST_SYSCALL = AREA_HIST_SYSCALL,
	HIST_USECS = AREA_HIST_USECS,
	HIST_STACKTRACE, /* of a field that has a stack */
};

struct hist_field {
	uint8_t from;	  /* enum hist_from */
	uint8_t modifier; /* enum hist_modifier */
	uint8_t is_signed;
	uint8_t reserved;
	uint32_t offset, size; /* of the field in the record */
	uint32_t key_at;       /* a key: its offset among a row's keys */
	uint32_t key_bytes;    /* a key: its bytes there */
	uint64_t buckets;
	uint64_t value;		      /* HIST_COMMON */
	const struct hist_expr *expr; /* HIST_EXPR */
	char name[64];
};

struct hist_sort {
	uint8_t is_key;
	uint8_t descending;
	uint8_t index; /* index in keys or vals */
};

/*
 * The counts. Rows, and a hash table with their numbers + 1 (0: empty), are in the area, where
 * readers find them.
 */
struct hist_map {
	struct area_hist_map *shown;
	uint32_t *slots;
	uint8_t *rows;
	uint32_t nr_slots; /* twice the rows, a power of two */
	uint32_t nr_rows;
	uint32_t row_bytes;
	uint32_t next;	 /* rows that have been taken; may be greater than nr_rows */
	uint32_t backed; /* rows, from the first, that have memory */
	/* numbers + 1 of rows that were made for a key for which another thread had made one */
	uint32_t spares[HIST_SPARES];
	uint64_t at;	/* offset in the area, see hist_alloc.h */
	uint32_t users; /* histograms of one name that use it */
};

/*
 * A row: the hash of its keys, the values, and from key_at on its keys; then, if hist.execname, the
 * thread's name, and from extra_at on the other data of a key (struct hist).
 */
struct hist_row {
	uint64_t hash;
	uint64_t vals[];
};

struct hist {
	uint32_t nr_keys, nr_vals, nr_sorts;
	struct hist_field keys[HIST_MAX_KEYS];
	struct hist_field vals[HIST_MAX_VALS]; /* the first is hitcount */
	struct hist_sort sorts[HIST_MAX_SORTS];
	uint32_t size;
	uint32_t key_bytes; /* a multiple of eight */
	uint32_t key_at;    /* offset in a row; these offsets are set by hist_start() */
	uint32_t comm_at;
	uint32_t extra_at, extra_bytes;
	uint32_t paused;
	uint8_t execname;
	uint8_t no_hitcount;
	uint8_t has_time;  /* it uses common_timestamp */
	uint8_t has_stack; /* it uses common_stacktrace */
	uint8_t in_usecs;  /* common_timestamp is in us everywhere in the line */
	char clock[16];	   /* `clock=` */
	uint32_t clock_at; /* offset in the line */
	uint32_t name_at;  /* offset of `name=` in the line */
	char name[64];
	struct hist_vars *more; /* variables and their users; NULL: there are none */
	/* set by hist_start(); map and row are in the area of the instance */
	struct trace_array *tr;
	struct hist_map *map; /* NULL: a fork's child had no memory for it */
	struct area_hist *row;
	uint64_t about; /* offset of the description in the area */
};

static inline struct hist_row *hist_row(const struct hist_map *m, uint32_t i)
{
	return (struct hist_row *)(m->rows + (uint64_t)i * m->row_bytes);
}

static inline uint64_t *hist_row_key(const struct hist *h, const struct hist_row *row)
{
	return (uint64_t *)((uint8_t *)row + h->key_at);
}

static inline int hist_is_text(const struct hist_field *f)
{
	return f->from == HIST_STATIC || f->from == HIST_DYN || f->from == HIST_RDYN;
}

/*
 * Whether a key or value is shown as text: it is text, and no modifier makes a number of its
 * address.
 */
static inline int hist_is_string(const struct hist_field *f)
{
	return hist_is_text(f) && f->modifier != HIST_LOG2 && f->modifier != HIST_BUCKETS;
}

static inline int hist_is_stack(const struct hist_field *f)
{
	return f->from == HIST_STACK || f->from == HIST_STACK_FIELD;
}

static inline uint32_t hist_row_number(const struct hist_map *m, const struct hist_row *row)
{
	return (uint32_t)((uint64_t)((const uint8_t *)row - m->rows) / m->row_bytes);
}

/* The value of a numeric field. @refs: values of the references, for expressions. Any context. */
uint64_t hist_value(const struct hist *h, const struct hist_field *f, const void *record,
		    const uint64_t *refs);
/*
 * Copy a record's text or stack into zeroed room; a text gets a NUL behind it if there is room, see
 * hist_var.c.
 */
void hist_copy_bytes(const struct hist_field *f, const void *record, uint64_t *to);

/* The row of a key; NULL: there is none. Any context. */
struct hist_row *hist_row_find(struct hist *h, const uint64_t *key);
/*
 * As hist_row_find(), and count a hit; the row is made if there is none. NULL: no room; counted as
 * a drop.
 */
struct hist_row *hist_row_get(const struct hist *h, struct hist_map *m, const uint64_t *key);

/* Count a record of a histogram with variables, see hist_var.c. @key: its keys in a row's form. */
void hist_fire_more(struct hist *h, struct hist_map *map, const uint64_t *key, const void *record);
/* Store the values of save(). */
void hist_save(const struct hist *h, struct hist_row *row, const void *record,
	       const uint64_t *refs);

/* Put a field as it is in a line: `name.modifier`. */
void hist_show_field(const struct hist_field *f, struct seq_buf *s);

/* The clock that it needs if it uses times. */
const char *hist_clock(const struct hist *h);

/*
 * Put its description (struct area_hist_desc). @filter: text of its trigger's filter; NULL: none.
 */
void hist_describe(const struct hist *h, const char *filter, struct seq_buf *s);

#endif
