/* SPDX-License-Identifier: MIT */
/*
 * The grammar of VESTIGE_BOOT, which is the kernel's command line: words `name=value` (the value
 * perhaps in "...") or `name`, separated by blanks. Returns slices of the text that it gets; any
 * context.
 */
#ifndef VESTIGE_CONTROL_BOOT_PARAMS_H
#define VESTIGE_CONTROL_BOOT_PARAMS_H

#include <stddef.h>
#include <stdint.h>

/* One word; both parts point into the text that was given. */
struct boot_param {
	const char *name;
	size_t name_bytes;
	const char *value;
	size_t value_bytes; /* 0 too when there is no `=` */
};

/*
 * boot_param_next() - find the first word at or behind @at, in NUL-terminated text. Return: where
 * to look for the next word, or NULL: there is no word.
 */
const char *boot_param_next(const char *at, struct boot_param *p);

/* Whether the word has this name. */
int boot_param_is(const struct boot_param *p, const char *name);

/*
 * boot_param_bytes() - read a size as memparse() does: `64k`, `2M`, `1g`, plain bytes. @n: bytes at
 * @text. Return: the size; 0: it is no size, or does not fit.
 */
uint64_t boot_param_bytes(const char *text, size_t n);

#endif
