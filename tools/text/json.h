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

/* Writes objects and arrays: what stands between two members, and their names. */
struct json {
	struct out *o;
	bool more; /* a comma is due */
};

/*
 * json_open() - begin an object or an array. @name: of the member that it is; NULL: in an array, or the whole.
 * @bracket: '{' or '['; json_close() gets the other one.
 */
void json_open(struct json *j, const char *name, char bracket);
void json_close(struct json *j, char bracket);

/* Members, or with @name NULL elements of an array. json_text(): NULL gives `null`. */
void json_text(struct json *j, const char *name, const char *text);
void json_number(struct json *j, const char *name, uint64_t n);
void json_real(struct json *j, const char *name, double v, int digits);
void json_bool(struct json *j, const char *name, bool v);
void json_null(struct json *j, const char *name);

#endif
