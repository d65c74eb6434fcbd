/* SPDX-License-Identifier: MIT */
/*
 * `record --flight`: processes record into their own buffers, which overwrite their oldest records.
 * At each trigger the records before and after it are written to a file.
 */
#ifndef VESTIGE_TOOLS_FLIGHT_H
#define VESTIGE_TOOLS_FLIGHT_H

#include <stdint.h>

#include "tools/record/record.h"

#define FLIGHT_MAX_TRIGGERS 32

struct flight_options {
	uint64_t before_ns, after_ns; /* around a trigger */
	unsigned long long keep;      /* most files; then the oldest is removed */
	const char *triggers[FLIGHT_MAX_TRIGGERS];
	unsigned int nr_triggers;
};

/*
 * flight_record() - record opt->pids until a signal or their end. To be called once in a process.
 * If opt->output is FILE.dat, triggers write FILE-N.dat. Return: the exit status, 0 or CMD_OURS.
 */
int flight_record(const struct record_options *opt, const struct flight_options *f);

/*
 * Check a trigger: signal:NAME, event:SYSTEM:NAME, call(FUNC)>TIME. Return: 0; -EINVAL: it is not
 * valid, without fail().
 */
int flight_check_trigger(const char *text);

#endif
