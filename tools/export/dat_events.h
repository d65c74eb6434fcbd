/* SPDX-License-Identifier: MIT */
/*
 * The table of the events that we write into a trace.dat with our own formats: a row for each form
 * of an event.
 */
#ifndef VESTIGE_TOOLS_DAT_EVENTS_H
#define VESTIGE_TOOLS_DAT_EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "tools/reader/reader.h"

/*
 * The limit of an event's data: it must fit in a sub-buffer, with its head and a count of lost
 * records.
 */
#define DAT_EVENT_MAX 4048u

/* In a file whose records have arguments and results, some events have another form. */
enum dat_values { DAT_EITHER, DAT_WITHOUT_VALUES, DAT_WITH_VALUES };

struct dat_event {
	uint8_t kind;	  /* the record's */
	uint16_t id;	  /* common_type, as in the kernel */
	uint16_t bytes;	  /* of the event's data: a multiple of 4, at most 112; 0: see size() */
	const char *name; /* in the system ftrace */
	/* The text of events/ftrace/NAME/format; NULL: as in an earlier row with this id. */
	const char *format;
	bool graph;		/* only files with calls (entry and exit) have it */
	enum dat_values values; /* the files that have this form */
	/* Bytes of the data: a multiple of 4, at most DAT_EVENT_MAX. NULL if `bytes` is not 0. */
	uint32_t (*size)(const struct record *rec);
	/* Store the data after the common fields, which are stored already. */
	void (*encode)(unsigned char *data, const struct record *rec);
};

extern const struct dat_event dat_events[];
extern const unsigned int dat_nr_events;

/*
 * The row for records of @kind. @values: the file has arguments and results. NULL: such records
 * cannot be written.
 */
const struct dat_event *dat_event_of(uint8_t kind, bool values);

/*
 * The compact form of funcgraph_entry and funcgraph_exit, for a file of plain calls that are not
 * deeper than DAT_COMPACT_DEPTH, on stacks with numbers up to DAT_COMPACT_STACK. It has the
 * kernel's fields in their least sizes, and the fields stack and how. overrun is always 0: it has
 * the offset of common_preempt_count, which is always 0 as well.
 */
#define DAT_COMPACT_ENTRY_BYTES 20u
#define DAT_COMPACT_EXIT_BYTES	36u
#define DAT_COMPACT_DEPTH	INT16_MAX
#define DAT_COMPACT_STACK	UINT8_MAX

/* The format of the event @id in such a file; NULL: the same as in other files. */
const char *dat_compact_format(uint16_t id);

/*
 * Store an entry or an exit. @data: room for the bytes above. @common: the common fields. @ip: the
 * function. @calltime, @rettime: stamps. @how: DAT_HOW_*.
 */
static inline void dat_compact_entry(unsigned char *data, uint64_t common, uint64_t ip,
				     uint32_t depth, uint32_t stack, uint32_t how)
{
	uint32_t last = depth | stack << 16 | how << 24;

	memcpy(data, &common, 8);
	memcpy(data + 8, &ip, 8);
	memcpy(data + 16, &last, 4);
}

static inline void dat_compact_exit(unsigned char *data, uint64_t common, uint64_t ip,
				    uint64_t calltime, uint64_t rettime, uint32_t depth,
				    uint32_t stack, uint32_t how)
{
	uint32_t last = depth | stack << 16 | how << 24;

	memcpy(data, &common, 8);
	memcpy(data + 8, &ip, 8);
	memcpy(data + 16, &calltime, 8);
	memcpy(data + 24, &rettime, 8);
	memcpy(data + 32, &last, 4);
}

#endif
