/* SPDX-License-Identifier: MIT */
/*
 * trace_options: each option is one bit of area_buffer.options. The list is in the kernel's order:
 * first the options of every tracer, then each tracer's own. A new option gets the next free bit,
 * wherever it is in the order of the list. Names and defaults are the kernel's (6.12; -args: 6.15).
 * The engine keeps the bits. Most of them only change how the tools print.
 */
#ifndef VESTIGE_ABI_OPTION_H
#define VESTIGE_ABI_OPTION_H

#include <stdint.h>

/* X(NAME, "name", bit, at first) */
#define AREA_OPTIONS_GLOBAL(X)                                                                     \
	X(PRINT_PARENT, "print-parent", 0, 1)                                                      \
	X(SYM_OFFSET, "sym-offset", 1, 0)                                                          \
	X(SYM_ADDR, "sym-addr", 2, 0)                                                              \
	X(VERBOSE, "verbose", 13, 0)                                                               \
	X(RAW, "raw", 14, 0)                                                                       \
	X(HEX, "hex", 15, 0)                                                                       \
	X(BIN, "bin", 16, 0)                                                                       \
	X(BLOCK, "block", 17, 0)                                                                   \
	X(FIELDS, "fields", 18, 0)                                                                 \
	X(TRACE_PRINTK, "trace_printk", 3, 1)                                                      \
	X(ANNOTATE, "annotate", 4, 1)                                                              \
	X(USERSTACKTRACE, "userstacktrace", 19, 0)                                                 \
	X(SYM_USEROBJ, "sym-userobj", 20, 0)                                                       \
	X(PRINTK_MSG_ONLY, "printk-msg-only", 21, 0)                                               \
	X(CONTEXT_INFO, "context-info", 5, 1)                                                      \
	X(LATENCY_FORMAT, "latency-format", 22, 0)                                                 \
	X(RECORD_CMD, "record-cmd", 6, 1)                                                          \
	X(RECORD_TGID, "record-tgid", 7, 0)                                                        \
	X(OVERWRITE, "overwrite", 8, 1)                                                            \
	X(DISABLE_ON_FREE, "disable_on_free", 23, 0)                                               \
	X(IRQ_INFO, "irq-info", 9, 1)                                                              \
	X(MARKERS, "markers", 10, 1)                                                               \
	X(EVENT_FORK, "event-fork", 11, 0)                                                         \
	X(TRACE_PRINTK_DEST, "trace_printk_dest", 24, 1)                                           \
	X(COPY_TRACE_MARKER, "copy_trace_marker", 25, 0)                                           \
	X(PAUSE_ON_TRACE, "pause-on-trace", 26, 0)                                                 \
	X(HASH_PTR, "hash-ptr", 27, 1)                                                             \
	X(FUNCTION_TRACE, "function-trace", 28, 1)                                                 \
	X(FUNCTION_FORK, "function-fork", 12, 0)                                                   \
	X(DISPLAY_GRAPH, "display-graph", 29, 0)                                                   \
	X(STACKTRACE, "stacktrace", 30, 0)                                                         \
	X(BRANCH, "branch", 31, 0)                                                                 \
	X(CONTEXT, "context", 60, 0)                                                               \
	X(GUARD, "guard", 61, 0)

#define AREA_OPTIONS_GRAPH(X)                                                                      \
	X(FUNCGRAPH_OVERRUN, "funcgraph-overrun", 32, 0)                                           \
	X(FUNCGRAPH_CPU, "funcgraph-cpu", 33, 1)                                                   \
	X(FUNCGRAPH_OVERHEAD, "funcgraph-overhead", 34, 1)                                         \
	X(FUNCGRAPH_PROC, "funcgraph-proc", 35, 0)                                                 \
	X(FUNCGRAPH_DURATION, "funcgraph-duration", 36, 1)                                         \
	X(FUNCGRAPH_ABSTIME, "funcgraph-abstime", 37, 0)                                           \
	X(FUNCGRAPH_IRQS, "funcgraph-irqs", 38, 1)                                                 \
	X(FUNCGRAPH_TAIL, "funcgraph-tail", 39, 0)                                                 \
	X(FUNCGRAPH_RETVAL, "funcgraph-retval", 40, 0)                                             \
	X(FUNCGRAPH_RETVAL_HEX, "funcgraph-retval-hex", 41, 0)                                     \
	X(FUNCGRAPH_ARGS, "funcgraph-args", 44, 0)                                                 \
	X(SLEEP_TIME, "sleep-time", 42, 1)                                                         \
	X(GRAPH_TIME, "graph-time", 43, 1)

#define AREA_OPTIONS_FUNCTION(X)                                                                   \
	X(FUNC_STACK_TRACE, "func_stack_trace", 49, 0)                                             \
	X(FUNC_NO_REPEATS, "func-no-repeats", 50, 0)                                               \
	X(FUNC_ARGS, "func-args", 48, 0)

#define AREA_OPTIONS_NOP(X)                                                                        \
	X(TEST_NOP_ACCEPT, "test_nop_accept", 56, 0)                                               \
	X(TEST_NOP_REFUSE, "test_nop_refuse", 57, 0)

#define AREA_OPTION_BIT(NAME, name, bit, first) AREA_OPTION_##NAME = (bit),
enum area_option {
	AREA_OPTIONS_GLOBAL(AREA_OPTION_BIT) AREA_OPTIONS_GRAPH(AREA_OPTION_BIT)
		AREA_OPTIONS_FUNCTION(AREA_OPTION_BIT) AREA_OPTIONS_NOP(AREA_OPTION_BIT)
};
#undef AREA_OPTION_BIT

#define AREA_OPTION_FIRST(NAME, name, bit, first) | (uint64_t)(first) << (bit)
#define AREA_OPTIONS_DEFAULT                                                                       \
	(UINT64_C(0) AREA_OPTIONS_GLOBAL(AREA_OPTION_FIRST) AREA_OPTIONS_GRAPH(AREA_OPTION_FIRST)  \
		 AREA_OPTIONS_FUNCTION(AREA_OPTION_FIRST) AREA_OPTIONS_NOP(AREA_OPTION_FIRST))

/* Whether it is one of AREA_OPTIONS_GLOBAL. */
static inline int area_option_is_global(int bit)
{
	return bit < 32 || bit == AREA_OPTION_CONTEXT || bit == AREA_OPTION_GUARD;
}

static inline int area_option_on(uint64_t options, enum area_option o)
{
	return (int)(options >> o & 1);
}

#endif
