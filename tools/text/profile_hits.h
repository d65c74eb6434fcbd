/* SPDX-License-Identifier: MIT */
/*
 * `vestige profile` of function records, which have no times: how often each function was called.
 */
#ifndef VESTIGE_TOOLS_PROFILE_HITS_H
#define VESTIGE_TOOLS_PROFILE_HITS_H

#include "tools/text/profile_graph.h"

/*
 * profile_hits_print() - print the counts of @v, which is open, to stdout.
 * Return: 0 or -errno with fail() set: EINVAL if @opt needs entries and exits.
 */
int profile_hits_print(struct view *v, const struct profile_options *opt);

#endif
