/* SPDX-License-Identifier: MIT */
/* Strings of JSON (RFC 8259). */
#ifndef VESTIGE_TOOLS_JSON_H
#define VESTIGE_TOOLS_JSON_H

#include "tools/text/out.h"

/*
 * json_put() - a string with its quotes. UTF-8 stays as it is; a byte that is not UTF-8 becomes
 * U+FFFD.
 * @text: NULL gives `null`.
 */
void json_put(struct out *o, const char *text);

#endif
