/* SPDX-License-Identifier: MIT */
/* The tables of entry.h, and what the entry points are called. No code. */
#include "engine/hook/entry.h"

#define ENTRIES(way)                                                                               \
	hook_entry hook_function_##way, hook_mcount_##way, hook_kept_fentry_##way,                 \
		hook_kept_mcount_##way, hook_cyg_function_##way, hook_cyg_entry_##way,             \
		hook_cyg_exit_##way, hook_function_args_##way, hook_mcount_args_##way,             \
		hook_kept_fentry_args_##way, hook_kept_mcount_args_##way;                          \
	const struct hook_entries hook_entries_##way = {                                           \
		.function = hook_function_##way,                                                   \
		.mcount = hook_mcount_##way,                                                       \
		.kept_fentry = hook_kept_fentry_##way,                                             \
		.kept_mcount = hook_kept_mcount_##way,                                             \
		.cyg_function = hook_cyg_function_##way,                                           \
		.cyg_entry = hook_cyg_entry_##way,                                                 \
		.cyg_exit = hook_cyg_exit_##way,                                                   \
		.function_args = hook_function_args_##way,                                         \
		.mcount_args = hook_mcount_args_##way,                                             \
		.kept_fentry_args = hook_kept_fentry_args_##way,                                   \
		.kept_mcount_args = hook_kept_mcount_args_##way,                                   \
	}

ENTRIES(rseq);
ENTRIES(xadd_rdpid);
ENTRIES(xadd_lsl);
ENTRIES(mono);
ENTRIES(none_rseq);
ENTRIES(none_xadd);
