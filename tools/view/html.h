/* SPDX-License-Identifier: MIT */
/* A recording and the viewer in one file, for a browser without a server. */
#ifndef VESTIGE_TOOLS_HTML_H
#define VESTIGE_TOOLS_HTML_H

#include "tools/view/answers.h"

#define HTML_MAX_BYTES (20u << 20)

/*
 * html_write() - write @path, of at most HTML_MAX_BYTES. If the recording does not fit, the
 * shortest calls are left out, then the last events.
 * @cut: what was left out. @path: replaced when the new file is complete. Return: 0 or -errno with
 * fail() set.
 */
int html_write(const char *path, const struct columns *c, struct answer_cut *cut);

#endif
