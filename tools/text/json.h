/* SPDX-License-Identifier: MIT */
/* JSON (RFC 8259). */
#ifndef VESTIGE_TOOLS_JSON_H
#define VESTIGE_TOOLS_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/text/out.h"

/*
 * json_put() - a string with its quotes. UTF-8 stays as it is; a byte that is not UTF-8 becomes
 * U+FFFD.
 * @text: NULL gives `null`.
 */
void json_put(struct out *o, const char *text);

/* Writes objects and arrays: brackets, commas and the members' names. All zero but `o`: new. */
struct json {
	struct out *o;
	bool more; /* the next member needs a comma before it */
};

/*
 * json_open() - begin an object or an array. @name: of the member; NULL: it is an element of an
 * array, or the outermost value. @bracket: '{' or '['; json_close() gets '}' or ']'.
 */
void json_open(struct json *j, const char *name, char bracket);
void json_close(struct json *j, char bracket);

/* Write a member; with @name NULL an element of an array. json_text(): @text NULL gives `null`. */
void json_text(struct json *j, const char *name, const char *text);
void json_number(struct json *j, const char *name, uint64_t n);
void json_real(struct json *j, const char *name, double v, int digits);
void json_bool(struct json *j, const char *name, bool v);
void json_null(struct json *j, const char *name);

#endif
