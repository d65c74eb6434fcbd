/* SPDX-License-Identifier: MIT */
/*
 * Writing a spool (spool_format.h) while a program runs.
 *
 * A chunk is complete in the file before the next one is begun, and one that could not be written
 * whole is cut off again: at each moment the file is a spool. With a limit per CPU (-m) pages go
 * into two regions a CPU, of half the limit each; when both are full the older one is used again,
 * so that between half and all of the limit is kept, the newest.
 */
#ifndef VESTIGE_TOOLS_SPOOL_WRITE_H
#define VESTIGE_TOOLS_SPOOL_WRITE_H

#include <stddef.h>
#include <stdint.h>

#include "tools/area/meta.h"

struct spool_writer;
struct symbols;

/*
 * spool_create() - begin a spool.
 * @path: must not exist yet. @cmdline: of the program. @max_kb: kept per CPU, 0 all.
 * Return: 0 and *@out, or -errno with fail() set.
 */
int spool_create(const char *path, const char *cmdline, uint64_t max_kb, struct spool_writer **out);

/* Facts about the recording in the head of a spool. */
struct spool_origin {
	const char *cmdline, *uname;
	unsigned int nr_cpus_online;
};

/*
 * spool_begin() - begin a spool in a file that is there.
 * @fd: empty, open for reading and writing; becomes the writer's, also on failure. @path: for
 * errors.
 * @max_kb, return: as spool_create().
 */
int spool_begin(int fd, const char *path, const struct spool_origin *of, uint64_t max_kb,
		struct spool_writer **out);

/* Write the tables of process @member. Return: 0 or -errno with fail() set. */
int spool_put_meta(struct spool_writer *w, uint32_t member, const struct meta *m);

/* Write one pair of clocks. Return: 0 or -errno with fail() set. */
int spool_put_clock(struct spool_writer *w, const struct area_clock *pair);

/*
 * A page to be written: borrowed, aligned to 8. With a limit it may be mapped from a file that
 * shrinks (gives -EFAULT); without, it is packed (spool_pack.h), and must be memory.
 */
struct spool_page {
	const void *page;
	uint64_t publish_seq; /* 0 owned */
};

/*
 * spool_put_pages() - write pages of one CPU of process @member.
 * Return: 0, or -errno with fail() set; nothing of them is in the file then.
 */
int spool_put_pages(struct spool_writer *w, uint32_t member, unsigned int cpu,
		    const struct spool_page *pages, unsigned int nr);

/*
 * spool_put_open() - write what there is of a page that a thread still owns, for spool_grow.h:
 * spool_put_pages() writes all of it later. Without a limit per CPU alone.
 * @page: aligned to 8. Return: 0 or -errno with fail() set.
 */
int spool_put_open(struct spool_writer *w, uint32_t member, const void *page);

/* Does it look into the pages itself? */
int spool_reads_pages(const struct spool_writer *w);

/*
 * spool_on_full() - when a write finds no room, call @make_room once and try again. Without a limit
 * per CPU alone.
 */
void spool_on_full(struct spool_writer *w, void (*make_room)(void *arg), void *arg);

/* Was a write refused (full disk)? From then on nothing but the end is written. */
int spool_failed(const struct spool_writer *w);

/* Write the end. Return: 0 or -errno with fail() set; the spool is readable anyway. */
int spool_end(struct spool_writer *w, uint64_t end_mono_ns);

/*
 * spool_put_names() - write the symbols of all objects, at the end: a reader of the spool needs no
 * object then.
 * @text: in /proc/kallsyms' form. Return: 0 or -errno with fail() set; without them the spool is as
 * it was.
 */
int spool_put_names(struct spool_writer *w, const char *text, size_t bytes);

/* The same of a reader's symbols. */
int spool_put_symbols(struct spool_writer *w, struct symbols *s);

/* Close; the file stays. */
void spool_close_writer(struct spool_writer *w);

uint64_t spool_bytes(const struct spool_writer *w);

#endif
