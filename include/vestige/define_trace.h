/* SPDX-License-Identifier: MIT */
/*
 * The last line of a header of events. Where CREATE_TRACE_POINTS is defined it reads that header
 * again (TRACE_INCLUDE_FILE, by default TRACE_SYSTEM, in TRACE_INCLUDE_PATH), several times, to
 * make of each event its tracepoint, record, probe, fields and print format; elsewhere it does
 * nothing.
 */
/* clang-format off */
#ifdef CREATE_TRACE_POINTS
#undef CREATE_TRACE_POINTS

#ifndef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE TRACE_SYSTEM
#define VESTIGE_UNDEF_INCLUDE_FILE_
#endif
#ifndef TRACE_INCLUDE_PATH
#define VESTIGE_INCLUDE__(system) <trace/events/system.h>
#else
#define VESTIGE_INCLUDE__(system) VESTIGE_STR_(TRACE_INCLUDE_PATH/system.h)
#endif
#define VESTIGE_INCLUDE_(system) VESTIGE_INCLUDE__(system)

#define TRACE_HEADER_MULTI_READ
#include <vestige/trace_events.h>
#undef TRACE_HEADER_MULTI_READ

#ifdef VESTIGE_UNDEF_INCLUDE_FILE_
#undef VESTIGE_UNDEF_INCLUDE_FILE_
#undef TRACE_INCLUDE_FILE
#endif
#undef VESTIGE_INCLUDE__
#undef VESTIGE_INCLUDE_
#define CREATE_TRACE_POINTS
#endif
/* clang-format on */
