/* SPDX-License-Identifier: MIT */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER vestige_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "lttng_events.h"

#if !defined(BENCH_LTTNG_EVENTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_LTTNG_EVENTS_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(vestige_bench, two_ints, LTTNG_UST_TP_ARGS(int, a, int, b),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, a, a)
						       lttng_ust_field_integer(int, b, b)))

#endif

#include <lttng/tracepoint-event.h>
