/* SPDX-License-Identifier: MIT */
/* Text in XML and HTML. */
#ifndef VESTIGE_TOOLS_XML_H
#define VESTIGE_TOOLS_XML_H

#include "tools/text/out.h"

/*
 * xml_put() - a text as the content of an element or of an attribute in double quotes: <, >, & and
 * quotes are escaped; control characters, which XML 1.0 forbids, and bytes that are not UTF-8
 * become U+FFFD.
 */
void xml_put(struct out *o, const char *text);

#endif
