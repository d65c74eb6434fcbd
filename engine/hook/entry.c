/* SPDX-License-Identifier: MIT */
/* The tables of port.h, and the names of the entry points. No code. */
#include "engine/hook/port.h"

#define ENTRIES(way)                                                                               \
	hook_entry hook_function_##way, hook_mcount_##way, hook_passed_on_fentry_##way,            \
		hook_passed_on_mcount_##way, hook_cyg_function_##way, hook_cyg_entry_##way,        \
		hook_cyg_exit_##way, hook_function_args_##way, hook_mcount_args_##way,             \
		hook_passed_on_fentry_args_##way, hook_passed_on_mcount_args_##way;                \
	const struct hook_entries hook_entries_##way = {                                           \
		.function = hook_function_##way,                                                   \
		.mcount = hook_mcount_##way,                                                       \
		.passed_on_fentry = hook_passed_on_fentry_##way,                                   \
		.passed_on_mcount = hook_passed_on_mcount_##way,                                   \
		.cyg_function = hook_cyg_function_##way,                                           \
		.cyg_entry = hook_cyg_entry_##way,                                                 \
		.cyg_exit = hook_cyg_exit_##way,                                                   \
		.function_args = hook_function_args_##way,                                         \
		.mcount_args = hook_mcount_args_##way,                                             \
		.passed_on_fentry_args = hook_passed_on_fentry_args_##way,                         \
		.passed_on_mcount_args = hook_passed_on_mcount_args_##way,                         \
	}

ENTRIES(rseq);
ENTRIES(xadd_rdpid);
ENTRIES(xadd_lsl);
ENTRIES(mono);
ENTRIES(none_rseq);
ENTRIES(none_xadd);
