/* SPDX-License-Identifier: MIT */
/*
 * Makes a trace.dat of its parts: the file without its CPUs' data, and the pages of each CPU.
 * Versions 6 and 7, both byte orders. The parts are untrusted: each length that is used is checked.
 * The result is a valid file only if the parts belong together. Formats: trace-cmd.dat.v6(5),
 * .v7(5).
 */
#ifndef VESTIGE_TOOLS_NET_DAT_JOIN_H
#define VESTIGE_TOOLS_NET_DAT_JOIN_H

#include <stdbool.h>
#include <stdint.h>

struct dat_join_cpu {
	int fd; /* writable: its pages, from the beginning of the file on */
	uint64_t bytes;
};

struct dat_join {
	const char *name; /* of the file in errors */
	int fd;		  /* the file without the CPUs' data */
	uint64_t bytes;
	bool with_options; /* version 6: it ends with its options, not before the number of CPUs */
	uint32_t page_bytes, nr_cpus;
	const struct dat_join_cpu *cpus;
	bool synced;
	bool free;	   /* free the disk space of the CPUs' pages as they are copied */
	int64_t offset_ns; /* if synced: option OFFSET, which readers add to each stamp */
};

/* The most bytes that the result has in addition to the CPUs' pages and the file @j->fd. */
#define DAT_JOIN_ROOM (UINT64_C(1) << 15)

/*
 * dat_join() - write the whole file. @out: an empty file, seekable. An incomplete last page of a
 * CPU is left out. Return: 0; -EPROTO: the parts are not valid; or -errno of a write; with fail()
 * set.
 */
int dat_join(const struct dat_join *j, int out);

#endif
