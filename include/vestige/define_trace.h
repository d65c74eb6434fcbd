/* SPDX-License-Identifier: MIT */
/*
 * A header of events includes this file in its last line. If CREATE_TRACE_POINTS is defined, this
 * file includes the header several times again: TRACE_INCLUDE_FILE (by default TRACE_SYSTEM) in
 * TRACE_INCLUDE_PATH. That makes the tracepoint, record, probe function, fields and print format of
 * each event. Without CREATE_TRACE_POINTS it does nothing.
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
