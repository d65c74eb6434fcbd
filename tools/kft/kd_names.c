/* SPDX-License-Identifier: MIT */
/* See kd.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/read_at.h"
#include "tools/code/elf_code.h"
#include "tools/code/load_bias.h"
#include "tools/code/symbols.h"
#include "tools/kft/kd.h"
#include "tools/reader/reader.h"

#define MAX_MAP_BYTES (INT64_C(1) << 30)

static int no_memory(void)
{
	return fail(ENOMEM, "out of memory");
}

/* The best names of an address first: symbols_find() gives the first one. */
static int add_program(struct symbols *s, const struct elf_code *code)
{
	for (unsigned int rank = 0; rank <= ELF_RANK_STUB; rank++)
		for (size_t i = 0; i < code->nr_symbols; i++)
			if (code->symbols[i].rank == rank &&
			    symbols_add(s, code->symbols[i].addr, code->symbols[i].type,
					code->symbols[i].name, NULL))
				return no_memory();
	return 0;
}

static int read_program(const char *path, uint64_t *seen, size_t nr, uint64_t *bias,
			struct symbols *s)
{
	struct elf_code code = {0};
	int err = elf_code_load(path, &code);

	if (err)
		return err;
	err = load_bias_of(path, &code, seen, nr, bias);
	if (!err)
		err = add_program(s, &code);
	elf_code_free(&code);
	return err;
}

static int copy_recording(const char *path, struct symbols *s)
{
	struct reader *r;
	int err = reader_open(path, &r);

	if (err)
		return err;
	for (size_t i = 0; i < symbols_count(r->symbols) && !err; i++) {
		const struct symbol *sym = symbols_at(r->symbols, i);

		if (symbols_add(s, sym->addr, sym->type, sym->raw, NULL))
			err = no_memory();
	}
	reader_close(r);
	return err;
}

static int read_map(int fd, const char *path, struct symbols *s)
{
	struct stat st;
	char *text;
	int err;

	if (fstat(fd, &st))
		return fail_errno(errno, "cannot stat '%s'", path);
	if (!S_ISREG(st.st_mode) || st.st_size > MAX_MAP_BYTES)
		return fail(EINVAL, "'%s' is no System.map", path);
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return no_memory();
	err = read_at_or_fail(fd, text, (size_t)st.st_size, 0, path);
	if (!err)
		err = symbols_add_kallsyms(s, text, (size_t)st.st_size) ? no_memory() : 0;
	free(text);
	if (!err && !symbols_count(s))
		err = fail(EINVAL,
			   "'%s' is neither a program nor a System.map nor a recording: no line of "
			   "it is an address, a letter and a name",
			   path);
	return err;
}

int kd_names_open(const char *path, uint64_t *seen, size_t nr, uint64_t *bias, struct symbols **out)
{
	struct symbols *s = symbols_new();
	unsigned char head[16] = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), err;

	*bias = 0;
	if (!s)
		err = no_memory();
	else if (fd < 0)
		err = fail_errno(errno, "cannot open '%s'", path);
	else if (pread(fd, head, sizeof(head), 0) < 0)
		err = fail_errno(errno, "cannot read '%s'", path);
	else if (!memcmp(head, "\177ELF", 4))
		err = read_program(path, seen, nr, bias, s);
	else if (reader_format_of(head))
		err = copy_recording(path, s);
	else
		err = read_map(fd, path, s);
	if (fd >= 0)
		close(fd);
	if (err)
		symbols_free(s);
	else
		*out = s;
	return err;
}
