/* SPDX-License-Identifier: MIT */
/* Arguments and results of functions as text. */
#ifndef VESTIGE_TOOLS_VALUE_TEXT_H
#define VESTIGE_TOOLS_VALUE_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/reader/reader.h"
#include "tools/text/out.h"

struct value_text;

/*
 * @r is borrowed. The DWARF of its objects is read when it is first needed. NULL: memory is short.
 */
struct value_text *value_text_new(struct reader *r);
void value_text_free(struct value_text *v);

/*
 * value_text_args() - `(a=0x1, b=-2, c=...)`: integers with a sign decimal, others hexadecimal,
 * enums by name, `...` for a value that no register holds; without DWARF the six registers in
 * hexadecimal. @ip: the function. @args: see record_arg().
 */
void value_text_args(struct value_text *v, struct out *o, uint64_t ip, const void *args);

/* Whether the function is known to return nothing. */
bool value_text_is_void(struct value_text *v, uint64_t ip);

/*
 * value_text_result() - the function's result. Without DWARF it has the kernel's form: hexadecimal,
 * but a value that looks like -errno is decimal. @hex: always hexadecimal.
 */
void value_text_result(struct value_text *v, struct out *o, uint64_t ip, uint64_t value, bool hex);

#endif
