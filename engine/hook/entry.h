/* SPDX-License-Identifier: MIT */
/* The entry points of hook/<cpu>/entry.S: where a patched site calls. Never called from C. */
#ifndef VESTIGE_HOOK_ENTRY_H
#define VESTIGE_HOOK_ENTRY_H

void hook_function_rseq(void);
void hook_function_xadd_rdpid(void);
void hook_function_xadd_lsl(void);
void hook_function_mono(void);

#endif
