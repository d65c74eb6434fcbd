/* SPDX-License-Identifier: MIT */
/* The entry points of hook/<cpu>/: where a site calls. None is ever called from C. */
#ifndef VESTIGE_HOOK_ENTRY_H
#define VESTIGE_HOOK_ENTRY_H

typedef void hook_entry(void);

/* One way of reserving and one clock. Data, because they are addresses. */
struct hook_entries {
	hook_entry *function;	  /* at a function's first instruction: entry.S */
	hook_entry *mcount;	  /* behind its prologue; rbp is the frame: mcount_entry.S */
	hook_entry *kept_fentry;  /* as `function`, and on to hook_real_fentry */
	hook_entry *kept_mcount;  /* as `mcount`, and on to hook_real_mcount */
	hook_entry *cyg_function; /* __cyg_profile_func_enter: cyg_entry.S */
	hook_entry *cyg_entry, *cyg_exit; /* the two of them for a graph */
	/* the first four, with the registers of the arguments: args_entry.S */
	hook_entry *function_args, *mcount_args, *kept_fentry_args, *kept_mcount_args;
};

extern const struct hook_entries hook_entries_rseq;
extern const struct hook_entries hook_entries_xadd_rdpid;
extern const struct hook_entries hook_entries_xadd_lsl;
extern const struct hook_entries hook_entries_mono;
extern const struct hook_entries hook_entries_none_rseq; /* no stamps */
extern const struct hook_entries hook_entries_none_xadd;

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
void graph_enter_none_rseq(void);
void graph_enter_none_xadd(void);
void graph_enter_filtered_none_rseq(void);
void graph_enter_filtered_none_xadd(void);
void graph_exit_none_rseq(void);
void graph_exit_none_xadd(void);
void graph_exit_filtered_none_rseq(void);
void graph_exit_filtered_none_xadd(void);
void graph_enter_multi(void);
void graph_enter_multi_mono(void);
void graph_exit_multi(void);
void graph_exit_off(void);

/* For functions with callbacks (core/ops.h); ops_entry_start() before the first of them. */
void hook_ops(void);
/* For probes at any instruction (core/text_probe.h): of text_island.c. */
void hook_text(void);
/* For functions that instances want (core/calls.h), and no callback. */
void hook_calls(void);
void ops_entry_start(void);

#endif
