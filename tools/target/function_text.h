/* SPDX-License-Identifier: MIT */
/*
 * The control files that list functions, as the kernel prints them: one a line, in the order of
 * their addresses, and the commands of set_ftrace_filter behind them.
 */
#ifndef VESTIGE_TOOLS_FUNCTION_TEXT_H
#define VESTIGE_TOOLS_FUNCTION_TEXT_H

#include "tools/area/meta.h"
#include "tools/text/out.h"

/* Print the file of that name. Return: 0 or more; -errno with fail() set. */
int function_text_available_filter_functions(const struct meta *m, struct out *o);
int function_text_available_filter_functions_addrs(const struct meta *m, struct out *o);
int function_text_enabled_functions(const struct meta *m, struct out *o);
int function_text_set_ftrace_filter(const struct meta *m, struct out *o);
int function_text_set_ftrace_notrace(const struct meta *m, struct out *o);
int function_text_set_graph_function(const struct meta *m, struct out *o);
int function_text_set_graph_notrace(const struct meta *m, struct out *o);
int function_text_stack_trace_filter(const struct meta *m, struct out *o);
int function_text_touched_functions(const struct meta *m, struct out *o);

#endif
