/* SPDX-License-Identifier: MIT */
/*
 * See elf_frames.h. A row is 8 bytes: where a function begins, and where its entry of .eh_frame
 * lies, both as signed distances from the table's section. The entry gives the function's size. The
 * file is untrusted: no read goes beyond its bytes, and there are at most as many rows as it has.
 * Tests: tests/unit/reader/test_object_space.c.
 */
#include "tools/code/elf_frames.h"

#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES 12u
#define ROW_BYTES  8u
/* The encodings that all linkers use: version 1, pcrel sdata4, udata4, datarel sdata4. */
#define HEAD "\x01\x1b\x03\x3b"

static Elf_Data *bytes_of(Elf *e, uint64_t offset, uint64_t size)
{
	return elf_getdata_rawchunk(e, (int64_t)offset, size, ELF_T_BYTE);
}

static bool find_header(Elf *e, GElf_Phdr *ph)
{
	size_t n = 0;

	elf_getphdrnum(e, &n);
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(e, (int)i, ph) && ph->p_type == PT_GNU_EH_FRAME)
			return true;
	return false;
}

/* The bytes of .eh_frame and their address; NULL: the file has no sections, or not this one. */
static Elf_Data *find_entries(Elf *e, uint64_t *addr)
{
	Elf_Scn *scn = NULL;
	size_t names = 0;
	GElf_Shdr sh;

	elf_getshdrstrndx(e, &names);
	while ((scn = elf_nextscn(e, scn))) {
		const char *name = gelf_getshdr(scn, &sh) ? elf_strptr(e, names, sh.sh_name) : NULL;

		if (!name || strcmp(name, ".eh_frame"))
			continue;
		*addr = sh.sh_addr;
		return elf_rawdata(scn, NULL);
	}
	return NULL;
}

static int32_t get(const unsigned char *p)
{
	int32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/*
 * The size of the function at @addr whose entry is at @at. The entry's CIE is not read: if its next
 * word leads to @addr, then its encoding is the usual one, and the size follows.
 */
static uint64_t size_of(const Elf_Data *entries, uint64_t base, uint64_t at, uint64_t addr)
{
	uint64_t offset = at - base;
	const unsigned char *p;

	if (!entries || !entries->d_buf || at < base || entries->d_size < 16 ||
	    offset > entries->d_size - 16)
		return 0;
	p = (const unsigned char *)entries->d_buf + offset;
	return at + 8 + (uint64_t)(int64_t)get(p + 8) == addr ? (uint32_t)get(p + 12) : 0;
}

static int by_addr(const void *a, const void *b)
{
	const struct elf_frame *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

int elf_frames_read(Elf *e, struct elf_frame **out, size_t *nr)
{
	const char *ident = elf_getident(e, NULL);
	struct elf_frame *frames;
	Elf_Data *head, *entries;
	const unsigned char *p;
	uint64_t base = 0;
	GElf_Phdr ph;
	size_t n;

	*out = NULL;
	*nr = 0;
	if (!ident || ident[EI_DATA] != ELFDATA2LSB || !find_header(e, &ph) ||
	    ph.p_filesz < HEAD_BYTES)
		return 0;
	head = bytes_of(e, ph.p_offset, ph.p_filesz);
	if (!head || head->d_size < HEAD_BYTES)
		return 0;
	p = head->d_buf;
	n = (uint32_t)get(p + 8);
	if (memcmp(p, HEAD, 4) || n > (head->d_size - HEAD_BYTES) / ROW_BYTES || !n)
		return 0;
	frames = malloc(n * sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	entries = find_entries(e, &base);
	p += HEAD_BYTES;
	for (size_t i = 0; i < n; i++, p += ROW_BYTES) {
		uint64_t addr = ph.p_vaddr + (uint64_t)(int64_t)get(p);
		uint64_t at = ph.p_vaddr + (uint64_t)(int64_t)get(p + 4);

		frames[i] = (struct elf_frame){addr, size_of(entries, base, at, addr)};
	}
	qsort(frames, n, sizeof(*frames), by_addr);
	*out = frames;
	*nr = n;
	return 0;
}
