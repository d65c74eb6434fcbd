/* SPDX-License-Identifier: MIT */
/* Events as the kernel's headers write them, with its names for types and nothing else included. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM ktypes

#if !defined(KTYPES_H) || defined(TRACE_HEADER_MULTI_READ)
#define KTYPES_H

#include <vestige/tracepoint.h>

/* clang-format off */

TRACE_EVENT(ktypes_io,

	TP_PROTO(dev_t dev, sector_t sector, u32 nr_bytes, s64 left, gfp_t flags, __le16 wire),

	TP_ARGS(dev, sector, nr_bytes, left, flags, wire),

	TP_STRUCT__entry(
		__field(	dev_t,		dev		)
		__field(	sector_t,	sector		)
		__field(	u32,		nr_bytes	)
		__field(	s64,		left		)
		__field(	gfp_t,		flags		)
		__field(	__le16,		wire		)
		__field(	loff_t,		pos		)
		__field(	umode_t,	mode		)
		__field(	pgoff_t,	index		)
		__field(	ktime_t,	at		)
		__field(	__u64,		old		)
		__field(	bool,		is_read		)
		__array(	char,		comm, TASK_COMM_LEN )
		__array(	u8,		mac, 6		)
	),

	TP_fast_assign(
		__entry->dev		= dev;
		__entry->sector		= sector;
		__entry->nr_bytes	= nr_bytes;
		__entry->left		= left;
		__entry->flags		= flags;
		__entry->wire		= wire;
		__entry->pos		= -1;
		__entry->mode		= 0644;
		__entry->index		= 7;
		__entry->at		= -8;
		__entry->old		= 9;
		__entry->is_read	= true;
		memset(__entry->comm, 0, sizeof(__entry->comm));
		memset(__entry->mac, 0xab, sizeof(__entry->mac));
	),

	TP_printk("sector=%llu bytes=%u left=%lld flags=%x wire=%x mode=%o pos=%lld",
		  __entry->sector, __entry->nr_bytes, __entry->left,
		  __entry->flags, __entry->wire, __entry->mode, __entry->pos)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE ktypes
#include <vestige/define_trace.h>
