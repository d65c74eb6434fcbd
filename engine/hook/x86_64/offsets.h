/* SPDX-License-Identifier: MIT */
/* Offsets in C's structures for entry.S; entry.c checks each with offsetof(). */
#ifndef VESTIGE_HOOK_OFFSETS_H
#define VESTIGE_HOOK_OFFSETS_H

#define CTL_PAGE      0
#define CTL_CPU_KEY   8
#define CTL_NEST      12
#define CTL_ABORTS    16
#define CTL_PAGE_NEST 20
#define CPU_KEY	      0x5a000000

#define HEAD_COMMIT	0
#define HEAD_BASE_STAMP 8
#define PAGE_END	4096

#define SLOT_WORD 8

#define CYG_HASH 0x9e3779b97f4a7c15

#define CYG_TABLE_MASK 0
#define CYG_TABLE_ROWS 8
#define CYG_ROW_WORD   8
#define CYG_ROW_BYTES  16

#define OPS_FRAME_IP 120

/*
 * In a struct text_frame: the return address in an island, from which the probe point is found
 * (text_island.c).
 */
#define TEXT_FRAME_BACK 128
#define TEXT_BACK	11
#define TEXT_PLACE	56

#define RSEQ_CPU_ID 4
#define RSEQ_CS	    8
#define RSEQ_SIG    0x53053053

#define ST_OPEN	   0
#define ST_LO	   8
#define ST_TOP	   16
#define ST_WORD	   24
#define ST_ROOT	   32
#define ST_HIDDEN  40
#define ST_DEPTH   48
#define ST_SHADOW  56
#define ST_FILTERS 72
#define ST_SKIPPED 104

#define GT_CURRENT	0
#define GT_WORD		8
#define GT_RECENT	16
#define GT_BUSY		272
#define GT_RECENT_SHIFT 59
#define GT_RECENT_HASH	0x9e3779b97f4a7c15

#define STUBS	      65536
#define STUB_BYTES    32
#define STUBS_BYTES   (STUBS * STUB_BYTES)
#define TARGET_BODY   0
#define TARGET_WORD   8
#define TARGET_EXIT   16
#define SHADOW_RETURN 0
#define SHADOW_LINK   8
#define SHADOW_TAILS  14 /* upper bits of the link */
#define SHADOW_STAMP  16
#define SHADOW_CALLS  24
#define SHADOW_BASE   0x200000035240
#define FLAG_ROOT     1
#define FLAG_NOTRACE  2
#define LINK_BITS     16 /* bits of a link that are no address */
#define TAILS_MASK    0x7fff
#define STEP_ENTER    0
#define STEP_EXIT     1

#define VERDICT_SKIP  0
#define VERDICT_RETRY 1
#define VERDICT_XADD  2

#endif
