/* SPDX-License-Identifier: MIT */
/*
 * Writes a spool (spool_format.h) while a program runs.
 *
 * A chunk is complete in the file before the next one begins. A chunk that could not be written
 * completely is cut off again. So the file is a valid spool at any time. With a limit per CPU (-m)
 * each CPU has two regions of half the limit. When both are full, the older one is reused: the
 * newest pages are kept, between half the limit and the limit.
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
 * @path: must not exist yet. @cmdline: of the program. @max_kb: KiB kept per CPU; 0: all.
 * Return: 0 and *@out, or -errno with fail() set.
 */
int spool_create(const char *path, const char *cmdline, uint64_t max_kb, struct spool_writer **out);

/* Facts about the recording, for the head of a spool. */
struct spool_origin {
	const char *cmdline, *uname;
	unsigned int nr_cpus_online;
};

/*
 * spool_begin() - begin a spool in an open file.
 * @fd: empty, open for reading and writing; taken over by the writer, also on failure. @path: for
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
 * A page to be written: borrowed, aligned to 8. With a limit it may be mapped from a file that may
 * shrink (-EFAULT then). Without a limit it is packed (spool_pack.h), and must be plain memory.
 */
struct spool_page {
	const void *page;
	uint64_t publish_seq; /* 0 owned */
};

/*
 * spool_put_pages() - write pages of one CPU of process @member.
 * Return: 0; -errno with fail() set: those that fit on a full disk are in the file, else none.
 */
int spool_put_pages(struct spool_writer *w, uint32_t member, unsigned int cpu,
		    const struct spool_page *pages, unsigned int nr);

/*
 * spool_put_open() - write the records so far of a page that a thread still owns, for spool_grow.h.
 * spool_put_pages() writes the complete page later. Only for a spool without a limit per CPU.
 * @page: aligned to 8. Return: 0 or -errno with fail() set.
 */
int spool_put_open(struct spool_writer *w, uint32_t member, const void *page);

/* Does the writer read the pages in user space (no limit), so that they must be plain memory? */
int spool_reads_pages(const struct spool_writer *w);

/*
 * spool_on_full() - when the disk is full, call @make_room once and write again. Only for a spool
 * without a limit per CPU.
 */
void spool_on_full(struct spool_writer *w, void (*make_room)(void *arg), void *arg);

/* Has a write failed (full disk)? Then only the end is written from now on. */
int spool_failed(const struct spool_writer *w);

/* This is the copy of a spool that lacks records: its end says so. */
void spool_lacks_records(struct spool_writer *w);

/* Write SPOOL_END. Return: 0; -errno with fail() set: the spool can still be read. */
int spool_end(struct spool_writer *w, uint64_t end_mono_ns);

/*
 * spool_put_names() - write the symbols of all objects, at the end: then a reader of the spool
 * needs no objects.
 * @text: in the format of /proc/kallsyms. Return: 0; -errno with fail() set: the spool is
 * unchanged.
 */
int spool_put_names(struct spool_writer *w, const char *text, size_t bytes);

/* spool_put_names() of @s. */
int spool_put_symbols(struct spool_writer *w, struct symbols *s);

/* Close the file and free the writer. */
void spool_close_writer(struct spool_writer *w);

uint64_t spool_bytes(const struct spool_writer *w);

#endif
