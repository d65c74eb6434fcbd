/* SPDX-License-Identifier: MIT */
/* The events of shop.c, see docs/events.md. */
/* clang-format off */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM shop

#if !defined(SHOP_EVENTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define SHOP_EVENTS_H
#include <vestige/tracepoint.h>

TRACE_EVENT(order,
	TP_PROTO(int number, const char *item),
	TP_ARGS(number, item),
	TP_STRUCT__entry(
		__field(int, number)
		__string(item, item)
	),
	TP_fast_assign(
		__entry->number = number;
		__assign_str(item);
	),
	TP_printk("number=%d item=%s", __entry->number, __get_str(item))
);

TRACE_EVENT(paid,
	TP_PROTO(int number, int cents),
	TP_ARGS(number, cents),
	TP_STRUCT__entry(
		__field(int, number)
		__field(int, cents)
	),
	TP_fast_assign(
		__entry->number = number;
		__entry->cents = cents;
	),
	TP_printk("number=%d cents=%d", __entry->number, __entry->cents)
);
#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE shop-events
#include <vestige/define_trace.h>
