/* SPDX-License-Identifier: MIT */
/*
 * The grammar of VESTIGE_BOOT, the kernel's command line: `name=value` words between blanks, the
 * value perhaps in "...", or a `name` alone. Text in, slices of it out; any context.
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
 * boot_param_next() - the first word at or behind @at, NUL-terminated text.
 * Return: where the next one is to be looked for, or NULL behind the last.
 */
const char *boot_param_next(const char *at, struct boot_param *p);

/* Whether that is its name. */
int boot_param_is(const struct boot_param *p, const char *name);

/*
 * boot_param_bytes() - a size as memparse() takes it: `64k`, `2M`, `1g`, plain bytes.
 * @n: bytes at @text. Return: the size; 0 if it is none or does not fit.
 */
uint64_t boot_param_bytes(const char *text, size_t n);

#endif
