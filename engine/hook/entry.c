/* SPDX-License-Identifier: MIT */
/* The tables of entry.h, and what the entry points are called. No code. */
#include "engine/hook/entry.h"

#define ENTRIES(way)                                                                               \
	hook_entry hook_function_##way, hook_mcount_##way, hook_kept_fentry_##way,                 \
		hook_kept_mcount_##way;                                                            \
	const struct hook_entries hook_entries_##way = {hook_function_##way, hook_mcount_##way,    \
							hook_kept_fentry_##way,                    \
							hook_kept_mcount_##way}

ENTRIES(rseq);
ENTRIES(xadd_rdpid);
ENTRIES(xadd_lsl);
ENTRIES(mono);
