/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a cached analysis (object/ways_file.h) with a valid head. Promises: all offsets from
 * it are inside the code, and functions are in order.
 */
#include "fuzz.h"

#include <elf.h>
#include <string.h>

#include "object/digest.h"
#include "object/ways_file.h"

#define TEXT	0x1000u
#define NR_ROWS 8u

/* A file with one segment of code. */
static void make_object(uint8_t object[2 * TEXT])
{
	Elf64_Ehdr head = {.e_phoff = sizeof(head),
			   .e_phnum = 1,
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_type = ET_DYN,
			   .e_machine = EM_X86_64};
	Elf64_Phdr text = {.p_type = PT_LOAD,
			   .p_flags = PF_R | PF_X,
			   .p_offset = TEXT,
			   .p_vaddr = TEXT,
			   .p_filesz = TEXT,
			   .p_memsz = TEXT};

	memcpy(head.e_ident, ELFMAG, SELFMAG);
	head.e_ident[EI_CLASS] = ELFCLASS64;
	head.e_ident[EI_DATA] = ELFDATA2LSB;
	memset(object, 0x90, 2 * TEXT);
	memcpy(object, &head, sizeof(head));
	memcpy(object + sizeof(head), &text, sizeof(text));
}

/* Make the head's versions and digests valid: else no row would be read. */
static void make_fit(uint8_t *ways, size_t n, const uint8_t *object)
{
	struct elf_image image;
	struct ways_head head;

	if (n < sizeof(head) || elf_image_open(&image, object, 2 * TEXT))
		return;
	memcpy(&head, ways, sizeof(head));
	memcpy(head.magic, "VSTGWAYS", sizeof(head.magic));
	head.format = 1;
	head.analysis = ways_file_version();
	head.object = ways_file_object(&image);
	head.object_bytes = 2 * TEXT;
	head.nr = (uint32_t)((n - sizeof(head)) / sizeof(struct ways_row));
	head.digest = 0;
	head.digest = digest(digest(0, &head, sizeof(head)), ways + sizeof(head),
			     head.nr * sizeof(struct ways_row));
	memcpy(ways, &head, sizeof(head));
}

static void read_it(const uint8_t *object, const uint8_t *ways, size_t n)
{
	struct entries e;

	if (ways_file_unpack(&e, object, 2 * TEXT, ways, n, fuzz_get, fuzz_put))
		return;
	for (uint32_t i = 0; i < e.nr; i++) {
		const struct entry *f = &e.functions[i];
		uint64_t from = f->at + f->skip, jump = from + (uint64_t)(int64_t)f->padding;

		PROMISE(f->at >= TEXT && f->at < 2 * TEXT && f->end > f->at);
		PROMISE(!i || e.functions[i - 1].at < f->at);
		PROMISE(f->way < ENTRY_NR_WAYS && f->why < ENTRY_NR_WHYS);
		PROMISE(f->is_part || (f->way == ENTRY_REFUSED) == (f->why != 0));
		PROMISE(f->way == ENTRY_REFUSED || (f->bytes && from + f->bytes <= 2 * TEXT &&
						    jump >= TEXT && jump + 5 <= 2 * TEXT));
	}
	entries_close(&e);
}

static void run(const uint8_t *data, size_t n)
{
	uint8_t object[2 * TEXT], *copy = malloc(n + !n);

	PROMISE(copy);
	memcpy(copy, data, n);
	make_object(object);
	read_it(object, copy, n);
	make_fit(copy, n, object);
	read_it(object, copy, n);
	free(copy);
}

static void mutate(struct mangle *m)
{
	static const uint8_t widths[] = {1, 2, 4, 8};

	if (mangle_random(m, 2))
		mangle_field(m, mangle_random(m, 256), widths[mangle_random(m, 4)]);
	else
		mangle_any(m);
}

const struct fuzz_target fuzz_ways = {"ways", run, mutate};
