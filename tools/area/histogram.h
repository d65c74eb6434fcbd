/* SPDX-License-Identifier: MIT */
/*
 * A histogram of an event, read from the area of its process (struct area_hist). The area is
 * untrusted: values out of range are an error. A row that changes during the read is as it was at
 * one moment.
 */
#ifndef VESTIGE_TOOLS_HISTOGRAM_H
#define VESTIGE_TOOLS_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/area_hist.h"
#include "tools/area/meta.h"

struct histogram_sort {
	uint32_t field;
	bool descending;
};

struct histogram {
	uint64_t order;	   /* its place among the event's histograms */
	uint64_t since_ns; /* begin of counting; CLOCK_MONOTONIC */
	bool paused;
	const char *trigger; /* as in the trigger file, without its state */
	uint32_t nr_fields;
	struct area_hist_field *fields; /* checked: inside a row, comm with 16 bytes */
	const char **names;		/* of the fields */
	uint32_t nr_sorts;
	struct histogram_sort sorts[AREA_HIST_MAX_SORTS];
	uint64_t hits, drops;
	uint32_t row_bytes;
	uint32_t nr_rows;
	uint8_t *rows;
	uint64_t snapshot_value;      /* the value at which the last snapshot was taken */
	uint8_t *snapshot_row;	      /* the row of that snapshot; NULL: none */
	struct area_hist_desc *about; /* memory of names and trigger */
};

static inline const uint8_t *histogram_row(const struct histogram *h, uint32_t i)
{
	return h->rows + (size_t)i * h->row_bytes;
}

static inline uint64_t histogram_number(const struct histogram *h, uint32_t field,
					const uint8_t *row)
{
	uint64_t v;

	__builtin_memcpy(&v, row + h->fields[field].at, sizeof(v));
	return v;
}

/* The text of a key in @row. *@room: gets the most bytes that it may have. */
static inline const char *histogram_text(const struct histogram *h, uint32_t field,
					 const uint8_t *row, size_t *room)
{
	*room = h->fields[field].bytes;
	return (const char *)row + h->fields[field].at;
}

struct histograms {
	uint32_t nr;
	struct histogram *at; /* in the order of their triggers */
};

/*
 * histograms_load() - read all histograms of an event.
 * @fd: the area, with tables @m and @bytes. @what: names it in errors.
 * @out: freed with histograms_free(), also after an error.
 * Return: 0, also if there is none; -ENOENT without fail(): the process has no such event; -EINVAL,
 * -EIO, -ENOMEM with fail() set.
 */
int histograms_load(int fd, const struct meta *m, uint64_t bytes, const char *system,
		    const char *name, const char *what, struct histograms *out);
void histograms_free(struct histograms *hs);
/* Remove the @i-th histogram. */
void histograms_drop(struct histograms *hs, uint32_t i);

#endif
