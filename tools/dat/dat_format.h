/* SPDX-License-Identifier: MIT */
/*
 * Numbers of the trace.dat format, versions 6 and 7, and of the kernel's sub-buffers in it, for the
 * reader here and the writer in tools/export. trace-cmd.dat.v6(5), trace-cmd.dat.v7(5) and the
 * kernel's events/header_page and header_event are the sources.
 */
#ifndef VESTIGE_TOOLS_DAT_FORMAT_H
#define VESTIGE_TOOLS_DAT_FORMAT_H

#include <stdint.h>

#define DAT_MAGIC	"\x17\x08\x44tracing" /* 10 bytes, without the NUL */
#define DAT_MAGIC_BYTES 10u

/* Ids of options; from 15 on they are also ids of sections. */
enum dat_option {
	DAT_DONE = 0, /* as a section: options */
	DAT_DATE = 1,
	DAT_CPUSTAT = 2,
	DAT_BUFFER = 3, /* as a section: the CPUs' data */
	DAT_TRACECLOCK = 4,
	DAT_UNAME = 5,
	DAT_HOOK = 6,
	DAT_OFFSET = 7,
	DAT_CPUCOUNT = 8,
	DAT_VERSION = 9,
	DAT_PROCMAPS = 10,
	DAT_TRACEID = 11,
	DAT_TIME_SHIFT = 12,
	DAT_GUEST = 13,
	DAT_TSC2NSEC = 14,
	DAT_STRINGS = 15,
	DAT_HEADER_INFO = 16,
	DAT_FTRACE_EVENTS = 17,
	DAT_EVENT_FORMATS = 18,
	DAT_KALLSYMS = 19,
	DAT_PRINTK = 20,
	DAT_CMDLINES = 21,
	DAT_BUFFER_TEXT = 22,
	DAT_PROTOTYPES = 0x7650,  /* ours: see docs/formats/arguments.md; other readers skip it */
	DAT_TRACED = 0x7651,	  /* ours: `pid tgid`, a line each thread of a traced process */
	DAT_ENDS = 0x7652,	  /* ours: `stack stamp`, a line each struct record_end */
	DAT_LOST_AT_END = 0x7653, /* ours: `cpu records`, a line each lost_at_end that is not 0 */
};

/* A section of version 7: u16 id, u16 flags, u32 description, u64 size of what follows. */
#define DAT_SECTION_BYTES      16u
#define DAT_SECTION_COMPRESSED 1u

/* A sub-buffer: u64 time stamp, long commit, events. */
#define SUBBUF_BYTES	     4096u
#define SUBBUF_HEAD_BYTES    16u /* with longs of 8 bytes; each of our own recordings has these */
#define SUBBUF_COMMIT_MASK   UINT64_C(0x7ffffff)
#define SUBBUF_MISSED_EVENTS (UINT64_C(1) << 31)
#define SUBBUF_MISSED_STORED (UINT64_C(1) << 30)

/* An event's header word: type_len in the low 5 bits, the time since the last event above. */
#define EVENT_TYPE_BITS	  5
#define EVENT_DELTA_BITS  27
#define EVENT_DELTA_MAX	  ((UINT64_C(1) << EVENT_DELTA_BITS) - 1)
#define EVENT_DATA_MAX	  28u /* type_len 1..28: the number of words of data */
#define EVENT_PADDING	  29u
#define EVENT_TIME_EXTEND 30u
#define EVENT_TIME_STAMP  31u
#define EVENT_STAMP_BITS  59 /* of a TIME_STAMP; the upper five are the sub-buffer's */

/* The fields that each event begins with. */
#define EVENT_COMMON_BYTES 8u

/* Ids of the ftrace system's events. */
#define DAT_ID_FUNCTION 1
#define DAT_ID_PRINT	5
#define DAT_ID_EXIT	10
#define DAT_ID_ENTRY	11

/* Bits of the field `how`, which our files add to funcgraph_entry and funcgraph_exit. */
#define DAT_HOW_TAIL	 1 /* entered by a tail call */
#define DAT_HOW_UNWOUND	 2 /* it did not return: throw, longjmp, cancel */
#define DAT_HOW_RETVAL	 8 /* retval is what the call returned */
#define DAT_HOW_NO_START 4 /* its entry is not in the trace: calltime is equal to rettime */

#endif
