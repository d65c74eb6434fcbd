/* SPDX-License-Identifier: MIT */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM bench

#if !defined(BENCH_EVENTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define BENCH_EVENTS_H
#include <vestige/tracepoint.h>

/* clang-format off */
DECLARE_EVENT_CLASS(two_ints,
	TP_PROTO(int a, int b),
	TP_ARGS(a, b),
	TP_STRUCT__entry(
		__field(int, a)
		__field(int, b)
	),
	TP_fast_assign(
		__entry->a = a;
		__entry->b = b;
	),
	TP_printk("a=%d b=%d", __entry->a, __entry->b)
);
DEFINE_EVENT(two_ints, off, TP_PROTO(int a, int b), TP_ARGS(a, b));
DEFINE_EVENT(two_ints, on, TP_PROTO(int a, int b), TP_ARGS(a, b));
DEFINE_EVENT(two_ints, refused, TP_PROTO(int a, int b), TP_ARGS(a, b));
DEFINE_EVENT(two_ints, passed, TP_PROTO(int a, int b), TP_ARGS(a, b));
DEFINE_EVENT(two_ints, counted, TP_PROTO(int a, int b), TP_ARGS(a, b));

TRACE_EVENT(text,
	TP_PROTO(const char *s),
	TP_ARGS(s),
	TP_STRUCT__entry(__string(s, s)),
	TP_fast_assign(__assign_str(s);),
	TP_printk("%s", __get_str(s))
);
/* clang-format on */
#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE events
#include <vestige/define_trace.h>
