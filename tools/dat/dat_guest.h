/* SPDX-License-Identifier: MIT */
/*
 * The options by which the trace.dat files of a host and of its guests refer to each other:
 * TRACEID, GUEST and TIME_SHIFT (trace-cmd.dat.v7(5)). The files are untrusted.
 */
#ifndef VESTIGE_TOOLS_DAT_GUEST_H
#define VESTIGE_TOOLS_DAT_GUEST_H

#include "tools/dat/dat_pieces.h"

/* The samples by which stamps of a guest's CPU are converted to the host's time. */
struct dat_shift {
	uint32_t nr; /* samples, by time */
	struct dat_shift_sample {
		int64_t time, offset, scaling;
		uint64_t fraction; /* bits of the scaling */
	} * at;
};

struct dat_shifts {
	struct dat_shift *cpus; /* NULL: the file has none */
	uint32_t nr_cpus;
	bool interpolates; /* between the samples */
};

/* A guest, from the host's file. */
struct dat_guest {
	uint64_t trace_id; /* of the guest's file */
	char name[DAT_NAME_BYTES];
	uint32_t nr_cpus;
	struct dat_vcpu {
		uint32_t cpu; /* the guest's */
		int32_t tid;  /* of the host's thread that runs it */
	} * cpus;
};

struct dat_peers {
	uint64_t trace_id; /* of the file itself; 0 none */
	struct dat_guest *guests;
	size_t nr_guests, room;
	struct dat_shifts shifts;
};

/*
 * dat_shifts_read() - the first option TIME_SHIFT of a file that was opened with as_is.
 * @out: empty; dat_shifts_free() it, also after a failure. Return: 0, or -errno with fail() set.
 */
int dat_shifts_read(const struct dat_reader *d, struct dat_shifts *out);
void dat_shifts_free(struct dat_shifts *s);

/*
 * Convert a stamp to the host's time. @cpu: any number; if the CPU has no samples, @ts is returned.
 */
uint64_t dat_shifts_apply(const struct dat_shifts *s, unsigned int cpu, uint64_t ts);

/*
 * dat_peers_read() - the three options of the file @path.
 * @out: dat_peers_free() it, also after a failure.
 * Return: 0, or -errno with fail() set, as dat_open().
 */
int dat_peers_read(const char *path, struct dat_peers *out);
void dat_peers_free(struct dat_peers *p);

#endif
