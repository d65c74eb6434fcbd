/* SPDX-License-Identifier: MIT */
/* What entry.S knows of C's structures; entry.c checks each against offsetof(). */
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

#define RSEQ_CPU_ID 4
#define RSEQ_CS	    8
#define RSEQ_SIG    0x53053053

#define VERDICT_SKIP  0
#define VERDICT_RETRY 1
#define VERDICT_XADD  2

#endif
