/* SPDX-License-Identifier: MIT */
/*
 * The tables of an area (abi/area.h), checked and copied into memory.
 *
 * The same loader reads an area and the META chunk of a spool: both are a header and tables whose
 * offsets count from the header's first byte. The file is untrusted: a table that lies outside the
 * file, has an impossible entry size or more entries than any engine makes is refused with a line
 * that names it. Pages are not read here (pages.h).
 */
#ifndef VESTIGE_TOOLS_META_H
#define VESTIGE_TOOLS_META_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/area.h"

struct meta {
	struct area_header head; /* session and exe end with NUL */
	uint32_t nr_objects;
	uint32_t nr_functions;
	uint32_t nr_refused;
	uint32_t nr_tasks;
	uint32_t nr_clocks;
	uint32_t nr_buffers;
	uint32_t nr_area_cpus;
	uint32_t nr_probes;
	uint32_t nr_snapshots;
	uint32_t nr_pending;
	uint32_t nr_pages; /* descriptors; 0 in a spool */
	struct area_object *objects;
	struct area_function *functions;
	struct area_refused *refused;
	struct area_task *tasks; /* comm ends with NUL */
	struct area_clock *clocks;
	struct area_buffer *buffers; /* names end with NUL; rows of CPUs are in bounds */
	struct area_cpu *cpus;	     /* pages are in bounds */
	struct area_probe *probes;
	struct area_snapshot *snapshots; /* by row of cpus; there may be none. See area_share() */
	struct area_pending *pending;
	uint32_t nr_hists;
	struct area_hist *hists; /* unchecked; see histogram.h */
	char *strings;		 /* ends with NUL */
	int root_of; /* the process whose root the paths belong to, if it is not ours; 0: ours */
	size_t string_bytes;
	uint32_t nr_events;
	struct area_event *events;
	uint32_t nr_printks;
	struct area_printk *printks;
	uint32_t nr_latencies;
	struct area_latency *latencies; /* by buffer; names end with NUL */
	char *formats;			/* ends with NUL */
	size_t format_bytes;
	char *status; /* ends with NUL */
	size_t status_bytes;
};

/*
 * meta_load() - read and check the header and the tables.
 * @fd: readable file. @base: offset of the header in it. @bytes: from there to the end of the area.
 * @what: names the file in errors.
 * @out: on success the tables, freed with meta_free().
 * Return: 0 or -errno with fail() set: EPROTO another major version, EAGAIN an area that its
 * engine has not filled in yet, EINVAL damaged or not an area, EIO, ENOMEM.
 */
int meta_load(int fd, uint64_t base, uint64_t bytes, const char *what, struct meta **out);
void meta_free(struct meta *m);

/*
 * meta_check_head() - the checks of meta_load() before it reads a table.
 * @head: as read; bytes beyond the end of a shorter file are zero.
 * @bytes: size of the area. Return: as meta_load().
 */
int meta_check_head(const struct area_header *head, uint64_t bytes, const char *what);

/* Has a header table @id, which a minor version added? */
bool meta_has_table(const struct area_header *head, int id);

/* The string at @offset of AREA_STRINGS; "" when out of bounds. Borrowed. */
const char *meta_string(const struct meta *m, uint32_t offset);

/*
 * Are there objects whose functions the process has not searched yet, because no user needed them
 * (AREA_OBJECT_WAITING)?
 */
bool meta_waits(const struct meta *m);

/*
 * meta_pack() - the header and the tables as one block that meta_load() reads back.
 * @out: the block, freed by the caller. @bytes: its size, a multiple of 8.
 * Page descriptors are left out. Return: 0 or -ENOMEM with fail() set.
 */
int meta_pack(const struct meta *m, void **out, size_t *bytes);

/* Does the top buffer overwrite its oldest records when it is full? */
static inline bool meta_overwrites(const struct meta *m)
{
	return m->nr_buffers && (m->buffers[0].flags & AREA_BUFFER_OVERWRITE);
}

/* Sums over the CPUs of the top buffer, for the losses in a status line. */
struct meta_losses {
	uint64_t overrun;
	uint64_t dropped_events;
	uint64_t commit_overrun;
	uint64_t no_memory;
	uint64_t no_growth;
};
struct meta_losses meta_losses(const struct meta *m);

#endif
