/* SPDX-License-Identifier: MIT */
/* Checks that entry.S's numbers are C's; no code. */
#include <linux/rseq.h>

#include "arch_patch.h"
#include "engine/hook/graph/graph.h"
#include "engine/hook/graph/graph_stack.h"
#include "engine/hook/cyg.h"
#include "engine/hook/x86_64/offsets.h"
#include "engine/ring/ring.h"

static_assert(offsetof(struct ring_ctl, page) == CTL_PAGE, "CTL_PAGE");
static_assert(offsetof(struct ring_ctl, cpu_key) == CTL_CPU_KEY, "CTL_CPU_KEY");
static_assert(offsetof(struct ring_ctl, nest) == CTL_NEST, "CTL_NEST");
static_assert(offsetof(struct ring_ctl, aborts) == CTL_ABORTS, "CTL_ABORTS");
static_assert(offsetof(struct ring_ctl, page_nest) == CTL_PAGE_NEST, "CTL_PAGE_NEST");
static_assert(RING_CPU_KEY == CPU_KEY, "CPU_KEY");
static_assert(offsetof(struct page_head, commit) == HEAD_COMMIT, "HEAD_COMMIT");
static_assert(offsetof(struct page_head, base_stamp) == HEAD_BASE_STAMP, "HEAD_BASE_STAMP");
static_assert(PAGE_BYTES == PAGE_END, "PAGE_END");
static_assert(offsetof(struct arch_slot, word) == SLOT_WORD, "SLOT_WORD");
static_assert(offsetof(struct rseq, cpu_id) == RSEQ_CPU_ID, "RSEQ_CPU_ID");
static_assert(offsetof(struct rseq, rseq_cs) == RSEQ_CS, "RSEQ_CS");
static_assert(RING_SKIP == VERDICT_SKIP && RING_RETRY == VERDICT_RETRY && RING_XADD == VERDICT_XADD,
	      "verdicts");
static_assert(offsetof(struct cyg_table, mask) == CYG_TABLE_MASK, "CYG_TABLE_MASK");
static_assert(offsetof(struct cyg_table, rows) == CYG_TABLE_ROWS, "CYG_TABLE_ROWS");
static_assert(offsetof(struct cyg_row, word) == CYG_ROW_WORD, "CYG_ROW_WORD");
static_assert(sizeof(struct cyg_row) == CYG_ROW_BYTES, "CYG_ROW_BYTES");
static_assert(RECORD_FUNCTION == 1 && RECORD_ENTRY == 2 && RECORD_EXIT == 4, "cyg_entry.S");
static_assert(RECORD_FUNCTION_BYTES == 16, "entry.S writes 16 bytes");
static_assert(RECORD_GRAPH_BYTES == 8, "graph.S writes 8 bytes");
static_assert(RECORD_TAIL == RECORD_ENTRY + 1, "graph.S adds 1");
static_assert(RECORD_EXIT == RECORD_ENTRY + 2, "graph.S adds 2");
static_assert(RECORD_EXIT_VALUE == RECORD_EXIT + 9, "graph.S adds 9");
static_assert(RECORD_VALUE_BYTES == 16, "graph.S writes 16 bytes");
static_assert(RECORD_ENTRY_ARGS == RECORD_ENTRY + 9, "graph.S adds 9");
static_assert(RECORD_FUNCTION_ARGS == RECORD_FUNCTION + 11, "args_entry.S adds 11");
static_assert(RECORD_ENTRY_ARGS_BYTES == 56 && RECORD_FUNCTION_ARGS_BYTES == 64, "PAYLOAD");
static_assert(offsetof(struct graph_stack, open) == ST_OPEN, "ST_OPEN");
static_assert(offsetof(struct graph_stack, lo) == ST_LO, "ST_LO");
static_assert(offsetof(struct graph_stack, top) == ST_TOP, "ST_TOP");
static_assert(offsetof(struct graph_stack, word) == ST_WORD, "ST_WORD");
static_assert(offsetof(struct graph_stack, root) == ST_ROOT, "ST_ROOT");
static_assert(offsetof(struct graph_stack, hidden) == ST_HIDDEN, "ST_HIDDEN");
static_assert(offsetof(struct graph_stack, depth) == ST_DEPTH, "ST_DEPTH");
static_assert(offsetof(struct graph_stack, shadow) == ST_SHADOW, "ST_SHADOW");
static_assert(offsetof(struct graph_stack, filters) == ST_FILTERS, "ST_FILTERS");
static_assert(offsetof(struct graph_stack, skipped) == ST_SKIPPED, "ST_SKIPPED");
static_assert(offsetof(struct graph_tls, current) == GT_CURRENT, "GT_CURRENT");
static_assert(offsetof(struct graph_tls, word) == GT_WORD, "GT_WORD");
static_assert(offsetof(struct graph_tls, recent) == GT_RECENT, "GT_RECENT");
static_assert(offsetof(struct graph_tls, busy) == GT_BUSY, "GT_BUSY");
static_assert(GRAPH_RECENT == 1u << (64 - GT_RECENT_SHIFT), "graph_recent()");
static_assert(GRAPH_STUBS == STUBS && GRAPH_STUB_BYTES == STUB_BYTES, "stubs");
static_assert(sizeof(struct graph_target) == STUB_BYTES, "graph.S: one stride");
static_assert(offsetof(struct graph_target, body) == TARGET_BODY, "TARGET_BODY");
static_assert(offsetof(struct graph_target, word) == TARGET_WORD, "TARGET_WORD");
static_assert(offsetof(struct graph_target, exit) == TARGET_EXIT, "TARGET_EXIT");
static_assert(offsetof(struct graph_shadow, return_address) == SHADOW_RETURN, "SHADOW_RETURN");
static_assert(offsetof(struct graph_shadow, link) == SHADOW_LINK, "SHADOW_LINK");
static_assert(SHADOW_TAILS == SHADOW_LINK + GRAPH_TAILS_SHIFT / 8, "SHADOW_TAILS");
static_assert(LINK_BITS == 64 - GRAPH_TAILS_SHIFT, "LINK_BITS");
static_assert(TAILS_MASK == GRAPH_TAILS_MASK, "TAILS_MASK");
static_assert(offsetof(struct graph_shadow, stamp) == SHADOW_STAMP, "SHADOW_STAMP");
static_assert(offsetof(struct graph_shadow, calls) == SHADOW_CALLS, "SHADOW_CALLS");
static_assert(sizeof(struct graph_shadow) == 32, "graph_shadow()");
static_assert(GRAPH_SHADOW == SHADOW_BASE, "SHADOW_BASE");
static_assert(GRAPH_ROOT == FLAG_ROOT && GRAPH_NOTRACE == FLAG_NOTRACE, "flags");
static_assert(GRAPH_ENTER == STEP_ENTER && GRAPH_EXIT == STEP_EXIT, "steps");
