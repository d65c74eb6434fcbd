/* SPDX-License-Identifier: MIT */
/* Records of the system `signal`, as the kernel has them (6.12). */
#ifndef VESTIGE_SOURCES_SIGNAL_RECORD_H
#define VESTIGE_SOURCES_SIGNAL_RECORD_H

#include "engine/core/builtin_record.h"
#include "engine/sources/task.h"

struct signal_generate_record {
	struct builtin_record head;
	int32_t sig;
	int32_t error;
	int32_t code; /* SI_USER and its kind */
	char comm[TASK_COMM_BYTES];
	int32_t pid;
	int32_t group; /* 0: to one thread */
	int32_t result;
};

struct signal_deliver_record {
	struct builtin_record head;
	int32_t sig;
	int32_t error;
	int32_t code;
	uint64_t handler;
	uint64_t flags;
};

#endif
