/* SPDX-License-Identifier: MIT */
/*
 * See object_address.h. This translates numbers `0x...` in filters and triggers; probe_names.c
 * translates places of probes. An address of a trace is between 2^59 and 2^60, where no process has
 * memory, so the two cannot be confused. Tests: tests/tracefs/test_enter.py.
 */
#include "tools/target/object_address.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/area/object_space.h"
#include "tools/base/fail.h"

static bool takes_addresses(const char *file)
{
	const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;

	return !strcmp(name, "filter") || !strcmp(name, "trigger");
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/*
 * The number `0x...` that is a word of its own at text[@at]. Return: its bytes; 0: there is none.
 */
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
	return object_address_is_of_trace(*v) && (i == n || !is_word(text[i])) ? i - at : 0;
}

uint64_t object_address_now(const struct meta *m, uint64_t address)
{
	struct object_space *space = object_space_new();
	int *numbers = calloc(m->nr_objects + 1, sizeof(*numbers));
	uint64_t at = address;
	bool ok = space && numbers;

	for (uint32_t i = 0; i < m->nr_objects && ok; i++) {
		numbers[i] = object_space_add(space, m, i);
		ok = numbers[i] >= 0;
	}
	if (ok && !object_space_assign(space)) {
		for (uint32_t i = 0; i < m->nr_objects; i++) {
			uint64_t offset = address - object_space_base(space, numbers[i]);

			if (offset <= UINT32_MAX && !m->objects[i].unload_stamp)
				at = m->objects[i].bias + offset;
		}
	}
	free(numbers);
	object_space_free(space);
	return at;
}

bool object_addresses_are_in(const char *file, const char *text, size_t n)
{
	uint64_t address;
	size_t i = 0;

	while (i < n && !number_at(text, n, i, &address))
		i++;
	return i < n && takes_addresses(file);
}

int object_addresses_translate(const struct image *t, const char *file, const char *text, size_t n,
			       struct translated *translated)
{
	struct meta *meta = NULL;
	size_t i, bytes = 0;
	uint64_t address;
	FILE *f;

	if (!object_addresses_are_in(file, text, n))
		return 0;
	translated->is_own = true;
	if (image_meta(t, &meta))
		return 0;
	f = open_memstream(&translated->text, &translated->n);
	for (i = 0; f && i < n; i += bytes) {
		bytes = number_at(text, n, i, &address);
		if (bytes) {
			fprintf(f, "0x%" PRIx64, object_address_now(meta, address));
		} else {
			bytes = 1;
			fputc(text[i], f);
		}
	}
	meta_free(meta);
	if (f && !fclose(f))
		return 0;
	if (f)
		free(translated->text);
	translated->text = NULL;
	return fail(ENOMEM, "out of memory");
}
