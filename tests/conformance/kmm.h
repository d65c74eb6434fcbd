/* SPDX-License-Identifier: MIT */
/* The same of memory. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM kmem

#if !defined(CONFORMANCE_KMEM_H) || defined(TRACE_HEADER_MULTI_READ)
#define CONFORMANCE_KMEM_H

#include <vestige/tracepoint.h>

/* clang-format off */
TRACE_EVENT(kmem_cache_free,
	TP_PROTO(unsigned long call_site, const void *ptr, const char *name),
	TP_ARGS(call_site, ptr, name),
	TP_STRUCT__entry(
		__field(unsigned long, call_site)
		__field(const void *, ptr)
		__string(name, name)
	),
	TP_fast_assign(
		__entry->call_site = call_site;
		__entry->ptr = ptr;
		__assign_str(name);
	),
	TP_printk("call_site=%pS ptr=%p name=%s", (void *)__entry->call_site, __entry->ptr,
		  __get_str(name))
);
/* clang-format on */

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE kmm
#include <vestige/define_trace.h>
