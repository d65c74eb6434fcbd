/* SPDX-License-Identifier: MIT */
/*
 * A perf sample (PERF_RECORD_SAMPLE), as process/perf.c asks for them: id, thread, time, CPU and
 * period, and the kind's other fields. A field that does not fit into the record's bytes is left
 * out.
 */
#ifndef VESTIGE_PROCESS_PERF_SAMPLE_H
#define VESTIGE_PROCESS_PERF_SAMPLE_H

#include "engine/process/perf.h"

/* The fields that all samples have. */
#define PERF_SAMPLE_COMMON                                                                         \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |           \
	 PERF_SAMPLE_PERIOD)

/* Read the event's id, by which its kind is found. Return: 0: the record is too short. */
int perf_sample_id(const uint8_t *p, uint32_t bytes, uint64_t *id);

/*
 * perf_sample_take() - fill in @rec except its kind. @sample_type: PERF_SAMPLE_COMMON, and the bits
 * of PERF_SAMPLE_IP, _ADDR, _RAW and _BRANCH_STACK that its kind has. @p: the record with its
 * header,
 * @bytes; raw and branches point into it. Return: 1; 0: the record is too short for its fields, and
 * @rec is unchanged.
 */
int perf_sample_take(struct perf_record *rec, uint64_t sample_type, const uint8_t *p,
		     uint32_t bytes);

/* Read one branch of a branch stack. @i: below nr_branches; 0 is the latest. */
void perf_sample_branch(const struct perf_record *rec, uint32_t i, uint64_t *from, uint64_t *to);

#endif
