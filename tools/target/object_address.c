/* SPDX-License-Identifier: MIT */
/*
 * See object_address.h. Numbers `0x...` in files that take addresses: filters, triggers and places of probes.
 * A number between 2^59 and 2^60 is no address of a process, so that nothing else can be meant.
 * Tests: tests/tracefs/test_enter.py.
 */
#include "tools/target/object_address.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/reader/area.h"
#include "tools/reader/symbols_elf.h"

static bool takes_addresses(const char *file)
{
	static const char *const names[] = {"filter", "trigger", "kprobe_events", "dynamic_events"};
	const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The number `0x...` that is a word of its own at text[@at]. Return: its bytes; 0: there is none. */
static size_t number_at(const char *text, size_t n, size_t at, uint64_t *v)
{
	size_t i = at + 2;

	if (n - at < 3 || text[at] != '0' || (text[at + 1] | 0x20) != 'x' ||
	    (at && is_word(text[at - 1])))
		return 0;
	for (*v = 0; i < n && isxdigit((unsigned char)text[i]) && !(*v >> 60); i++)
		*v = *v << 4 |
		     (uint64_t)(isdigit((unsigned char)text[i]) ? text[i] - '0'
								: (text[i] | 0x20) - 'a' + 10);
	return *v >> 59 == 1 && (i == n || !is_word(text[i])) ? i - at : 0;
}

static int load(const struct target *t, struct meta **meta)
{
	uint64_t bytes;
	int fd = area_open(t->dir.fd, t->process, O_RDONLY, &bytes), err;

	if (fd < 0)
		return fd;
	err = meta_load(fd, 0, bytes, t->path, meta);
	close(fd);
	return err;
}

/* Where the process has it. */
static bool find(const struct meta *m, uint64_t address, uint64_t *live)
{
	for (uint32_t i = 0; i < m->nr_objects; i++) {
		const struct area_object *row = &m->objects[i];

		if (row->unload_stamp ||
		    object_identity_base(row, meta_string(m, row->path)) >> 32 != address >> 32)
			continue;
		*live = row->bias + (uint32_t)address;
		return true;
	}
	return false;
}

int object_addresses_tell(const struct target *t, const char *file, const char *text, size_t n,
			  char **out, size_t *out_n)
{
	struct meta *meta = NULL;
	size_t i = 0, bytes = 0;
	uint64_t address, live;
	FILE *f;

	*out = NULL;
	if (!takes_addresses(file))
		return 0;
	while (i < n && !number_at(text, n, i, &address))
		i++;
	if (i == n || load(t, &meta))
		return 0;
	f = open_memstream(out, out_n);
	for (i = 0; f && i < n; i += bytes) {
		bytes = number_at(text, n, i, &address);
		if (bytes && find(meta, address, &live)) {
			fprintf(f, "0x%" PRIx64, live);
		} else {
			bytes = 1;
			fputc(text[i], f);
		}
	}
	meta_free(meta);
	if (f && !fclose(f))
		return 0;
	if (f)
		free(*out);
	*out = NULL;
	return fail(ENOMEM, "no memory");
}
