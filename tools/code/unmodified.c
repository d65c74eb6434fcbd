/* SPDX-License-Identifier: MIT */
/* See unmodified.h. Tests: tests/cli/test_doctor.py. */
#include "tools/code/unmodified.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"

static void *get(size_t bytes)
{
	return calloc(1, bytes);
}

static void put(void *p, size_t bytes)
{
	(void)bytes;
	free(p);
}

static int by_address(const void *a, const void *b)
{
	const struct elf_symbol *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Map the file. A file that is cut short later ends the program, as it does for other readers. */
static int map_file(const char *path, struct unmodified *u)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	int err = 0;

	if (fd < 0)
		return fail_errno(errno, "cannot open %s", path);
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !st.st_size) {
		close(fd);
		return fail(EINVAL, "%s is not an ELF file", path);
	}
	u->bytes = (size_t)st.st_size;
	u->map = mmap(NULL, u->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (u->map == MAP_FAILED)
		err = fail_errno(errno, "cannot map %s", path);
	close(fd);
	return err;
}

static int find(const char *path, struct unmodified *u)
{
	int err = entries_open(&u->entries, u->map, u->bytes, get, put);

	if (err == -ENOMEM)
		return fail(ENOMEM, "out of memory for the functions of %s", path);
	if (err || u->entries.image.head.e_machine != EM_X86_64) {
		if (!err)
			entries_close(&u->entries);
		return fail(EINVAL, "%s is not an ELF file with code of this machine", path);
	}
	/* its debug file may have more names */
	for (size_t i = 0; i < u->code.nr_symbols && !err; i++)
		if (u->code.symbols[i].rank < ELF_RANK_STUB)
			err = entries_add(&u->entries, u->code.symbols[i].addr,
					  u->code.symbols[i].size, u->code.symbols[i].name);
	if (err) {
		entries_close(&u->entries);
		return fail(ENOMEM, "out of memory for the functions of %s", path);
	}
	if (entries_find_ways(&u->entries)) {
		entries_close(&u->entries);
		return fail(ENOMEM, "out of memory for the functions of %s", path);
	}
	return 0;
}

int unmodified_load(const char *path, struct unmodified *u)
{
	const char *slash = strrchr(path, '/');
	int err;

	memset(u, 0, sizeof(*u));
	u->base = slash ? slash + 1 : path;
	err = elf_code_load(path, &u->code);
	if (err)
		return err;
	err = map_file(path, u);
	if (!err) {
		err = find(path, u);
		if (err)
			munmap(u->map, u->bytes);
	}
	if (err) {
		elf_code_free(&u->code);
		return err;
	}
	if (u->code.nr_symbols)
		qsort(u->code.symbols, u->code.nr_symbols, sizeof(*u->code.symbols), by_address);
	for (uint32_t i = 0; i < u->entries.nr; i++) {
		const struct entry *f = &u->entries.functions[i];

		if (f->is_part) {
			u->nr_parts++;
			continue;
		}
		u->nr++;
		u->by_way[f->way]++;
		if (f->way == ENTRY_REFUSED)
			u->by_why[f->why]++;
	}
	return 0;
}

void unmodified_free(struct unmodified *u)
{
	entries_close(&u->entries);
	munmap(u->map, u->bytes);
	elf_code_free(&u->code);
}

const char *unmodified_name(const struct unmodified *u, const struct entry *f, char *text,
			    size_t bytes)
{
	size_t lo = LOWER_BOUND(i, 0, u->code.nr_symbols, u->code.symbols[i].addr < f->at);

	if (lo < u->code.nr_symbols && u->code.symbols[lo].addr == f->at)
		return u->code.symbols[lo].name;
	snprintf(text, bytes, "%s+0x%llx", u->base, (unsigned long long)f->at);
	return text;
}
