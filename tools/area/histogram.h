/* SPDX-License-Identifier: MIT */
/*
 * A histogram of an event as its process left it in its area (struct area_hist). Nothing there is
 * checked: values out of range are an error, and rows that change meanwhile are as they were at
 * some moment.
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
	uint64_t order;	   /* among those of its event */
	uint64_t since_ns; /* it began to count; CLOCK_MONOTONIC */
	bool paused;
	const char *trigger; /* its line, without its state */
	uint32_t nr_fields;
	struct area_hist_field *fields; /* in bounds: at and bytes of a row, comm with 16 bytes */
	const char **names;		/* of the fields */
	uint32_t nr_sorts;
	struct histogram_sort sorts[AREA_HIST_MAX_SORTS];
	uint64_t hits, drops;
	uint32_t row_bytes;
	uint32_t nr_rows;
	uint8_t *rows;
	uint64_t snapshot_value;      /* for which the last snapshot was taken */
	uint8_t *snapshot_row;	      /* the row whose key it was; NULL: none was taken */
	struct area_hist_desc *about; /* has the names and the line */
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

/* A key that is text: @row's, and how many bytes it has at most. */
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
 * histograms_load() - all of an event. @fd: of the area, whose tables are @m and which has @bytes.
 * @out: freed with histograms_free() whatever is returned. Return: 0, also when there is none;
 * -ENOENT: no event of that name was used there, without fail(); -EINVAL, -EIO, -ENOMEM with fail()
 * set.
 */
int histograms_load(int fd, const struct meta *m, uint64_t bytes, const char *system,
		    const char *name, const char *what, struct histograms *out);
void histograms_free(struct histograms *hs);
/* Without the @i-th. */
void histograms_drop(struct histograms *hs, uint32_t i);

#endif
