/* SPDX-License-Identifier: MIT */
/* See boot_params.h. Tests: tests/unit/test_engine_base.c, tests/fuzz/control.c. */
#include "engine/control/boot_params.h"

#include "engine/base/mem.h"
#include "engine/base/text.h"

const char *boot_param_next(const char *at, struct boot_param *p)
{
	while (is_blank(*at))
		at++;
	if (!*at)
		return NULL;
	p->name = at;
	while (*at && *at != '=' && !is_blank(*at))
		at++;
	p->name_bytes = (size_t)(at - p->name);
	p->value = at;
	p->value_bytes = 0;
	if (*at != '=')
		return at;
	p->value = ++at;
	if (*at == '"') {
		p->value = ++at;
		while (*at && *at != '"')
			at++;
		p->value_bytes = (size_t)(at - p->value);
		return *at ? at + 1 : at;
	}
	while (*at && !is_blank(*at))
		at++;
	p->value_bytes = (size_t)(at - p->value);
	return at;
}

int boot_param_is(const struct boot_param *p, const char *name)
{
	return strlen(name) == p->name_bytes && !memcmp(p->name, name, p->name_bytes);
}

uint64_t boot_param_bytes(const char *text, size_t n)
{
	uint64_t v, unit = 1;

	if (n && (text[n - 1] | 32) == 'k')
		unit = 1024;
	else if (n && (text[n - 1] | 32) == 'm')
		unit = 1024 * 1024;
	else if (n && (text[n - 1] | 32) == 'g')
		unit = 1024 * 1024 * 1024;
	if (str_to_u64(text, unit == 1 ? n : n - 1, &v) || v > UINT64_MAX / unit)
		return 0;
	return v * unit;
}
