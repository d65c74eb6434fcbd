/* SPDX-License-Identifier: MIT */
/* Nothing but the proof that entry.S's numbers are C's. */
#include <linux/rseq.h>

#include "arch_patch.h"
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
static_assert(RECORD_FUNCTION_BYTES == 16, "entry.S writes 16 bytes");
