/* SPDX-License-Identifier: MIT */
/* One LTTng-UST tracepoint with one field, as a function record has (the caller). */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER vestige_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "lttng_tp.h"

#if !defined(BENCH_LTTNG_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_LTTNG_TP_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(vestige_bench, call, LTTNG_UST_TP_ARGS(void),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer_hex(
				   unsigned long, caller,
				   (unsigned long)__builtin_return_address(0))))

#endif

#include <lttng/tracepoint-event.h>
