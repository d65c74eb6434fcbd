/* SPDX-License-Identifier: MIT */
/* The entry points of hook/<cpu>/entry.S and graph.S: where a patched site calls. Never called from C. */
#ifndef VESTIGE_HOOK_ENTRY_H
#define VESTIGE_HOOK_ENTRY_H

void hook_function_rseq(void);
void hook_function_xadd_rdpid(void);
void hook_function_xadd_lsl(void);
void hook_function_mono(void);

/* Those of graph.S, which stubs reach. */
void graph_enter_rseq(void);
void graph_enter_xadd_rdpid(void);
void graph_enter_xadd_lsl(void);
void graph_enter_mono(void);
void graph_enter_filtered_rseq(void);
void graph_enter_filtered_xadd_rdpid(void);
void graph_enter_filtered_xadd_lsl(void);
void graph_enter_filtered_mono(void);
void graph_exit_rseq(void);
void graph_exit_xadd_rdpid(void);
void graph_exit_xadd_lsl(void);
void graph_exit_mono(void);
void graph_exit_filtered_rseq(void);
void graph_exit_filtered_xadd_rdpid(void);
void graph_exit_filtered_xadd_lsl(void);
void graph_exit_filtered_mono(void);
void graph_exit_off(void);

#endif
