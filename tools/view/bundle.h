/* SPDX-License-Identifier: MIT */
/*
 * The page of `vestige view`: what make-bundle makes of web/page.html, web/src/style.css and
 * web/dist/view.js. The page's four parts go around its head, style and script.
 */
#ifndef VESTIGE_TOOLS_BUNDLE_H
#define VESTIGE_TOOLS_BUNDLE_H

#include <stddef.h>

extern const unsigned char page_begin[], page_style[], page_script[], page_end[];
extern const size_t page_begin_bytes, page_style_bytes, page_script_bytes, page_end_bytes;
extern const unsigned char bundle_style[], bundle_script[];
extern const size_t bundle_style_bytes, bundle_script_bytes;
/* As a Content-Security-Policy names them: sha256-... */
extern const char bundle_style_hash[], bundle_script_hash[];

#endif
