/* SPDX-License-Identifier: MIT */
/* See dat_formats.h. Tests: tests/unit/test_dat_read.c. */
#include "dat_formats.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

/* libtraceevent frees nothing of what this returns. */
static char *resolve(void *priv, unsigned long long *addr, char **module)
{
	const struct symbol *sym = symbols_find(priv, *addr);

	if (!sym)
		return NULL;
	*addr = sym->addr;
	*module = (char *)(uintptr_t)sym->module;
	return (char *)(uintptr_t)sym->name;
}

struct tep_handle *formats_new(struct symbols *s, unsigned int long_bytes)
{
	struct tep_handle *tep = tep_alloc();

	if (!tep)
		return NULL;
	/* its complaints about formats that it does not know would go to the terminal */
	tep_set_loglevel(TEP_LOG_NONE);
	tep_set_long_size(tep, (int)long_bytes);
	tep_set_file_bigendian(tep, TEP_LITTLE_ENDIAN);
	tep_set_local_bigendian(tep, TEP_LITTLE_ENDIAN);
	if (tep_set_function_resolver(tep, resolve, s)) {
		tep_free(tep);
		return NULL;
	}
	return tep;
}

/* The number behind `key` between @p and @end, -1 if there is none. */
static long number_after(const char *p, const char *end, const char *key)
{
	const char *at = strstr(p, key);
	long n;

	if (!at || at >= end)
		return -1;
	at += strlen(key);
	while (*at == ' ')
		at++;
	if (!isdigit((unsigned char)*at))
		return -1;
	n = strtol(at, NULL, 10);
	return n >= 0 && n <= UINT16_MAX ? n : -1;
}

/* Whether the declaration of @bytes at @p ends in the name, `T name` or `T name[...]`. */
static bool declares(const char *p, size_t bytes, const char *name)
{
	const char *bracket = memchr(p, '[', bytes);
	size_t n = strlen(name);

	if (bracket)
		bytes = (size_t)(bracket - p);
	return bytes > n && memcmp(p + bytes - n, name, n) == 0 &&
	       (p[bytes - n - 1] == ' ' || p[bytes - n - 1] == '*');
}

struct dat_field formats_field(const char *text, const char *name)
{
	struct dat_field f = {0, 0};
	const char *p = text;

	while ((p = strstr(p, "field:"))) {
		const char *end = strchr(p, '\n'), *semi;
		long offset, bytes;

		if (!end)
			end = p + strlen(p);
		p += 6;
		semi = memchr(p, ';', (size_t)(end - p));
		if (!semi)
			continue;
		if (!declares(p, (size_t)(semi - p), name))
			continue;
		offset = number_after(semi, end, "offset:");
		bytes = number_after(semi, end, "size:");
		if (offset >= 0 && bytes >= 0) {
			f.offset = (uint16_t)offset;
			f.bytes = (uint16_t)bytes;
		}
		break;
	}
	return f;
}

static bool has_name(const char *text, const char *name)
{
	const char *p = strstr(text, "name: ");
	size_t n = strlen(name);

	return p && strncmp(p + 6, name, n) == 0 && p[6 + n] == '\n';
}

bool formats_add(struct tep_handle *tep, struct dat_layout *layout, const char *system,
		 const char *text, size_t bytes)
{
	bool ours = strcmp(system, "ftrace") == 0 && has_name(text, "function");

	if (!layout->type.bytes) {
		layout->type = formats_field(text, "common_type");
		layout->flags = formats_field(text, "common_flags");
		layout->preempt_count = formats_field(text, "common_preempt_count");
		layout->pid = formats_field(text, "common_pid");
	}
	if (ours) {
		long id = number_after(text, text + bytes, "ID:");

		layout->ip = formats_field(text, "ip");
		layout->parent_ip = formats_field(text, "parent_ip");
		ours = id >= 0 && layout->ip.bytes && layout->ip.bytes <= 8 &&
		       layout->parent_ip.bytes <= 8;
		if (ours)
			layout->function_id = (int32_t)id;
	}
	tep_parse_event(tep, text, bytes, system);
	return !ours;
}
