/* SPDX-License-Identifier: MIT */
/* See elf_image.h. */
#include "object/elf_image.h"

#include <errno.h>
#include <string.h>

#define MAX_DYNAMIC 1024u

static int within(uint64_t offset, uint64_t n, uint64_t bytes)
{
	return offset <= bytes && n <= bytes - offset;
}

static void take_segment(struct elf_image *e, const Elf64_Phdr *ph)
{
	if (ph->p_type == PT_GNU_EH_FRAME) {
		e->eh_frame_hdr = ph->p_vaddr;
		e->eh_frame_hdr_bytes = ph->p_filesz;
	} else if (ph->p_type == PT_DYNAMIC) {
		e->dynamic = ph->p_vaddr;
		e->dynamic_bytes = ph->p_filesz;
	} else if (ph->p_type == PT_LOAD && e->nr_segments < ELF_IMAGE_SEGMENTS && ph->p_filesz &&
		   within(ph->p_offset, ph->p_filesz, e->bytes) &&
		   ph->p_vaddr + ph->p_filesz > ph->p_vaddr) {
		e->segments[e->nr_segments].at = ph->p_vaddr;
		e->segments[e->nr_segments].bytes = ph->p_filesz;
		e->segments[e->nr_segments].offset = ph->p_offset;
		e->segments[e->nr_segments++].flags = ph->p_flags;
	}
}

int elf_image_open(struct elf_image *e, const uint8_t *file, uint64_t bytes)
{
	Elf64_Shdr names;
	uint32_t i;

	memset(e, 0, sizeof(*e));
	e->file = file;
	e->bytes = bytes;
	if (bytes < sizeof(e->head))
		return -ENOEXEC;
	memcpy(&e->head, file, sizeof(e->head));
	if (memcmp(e->head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    e->head.e_ident[EI_CLASS] != ELFCLASS64 || e->head.e_ident[EI_DATA] != ELFDATA2LSB)
		return -ENOEXEC;
	for (i = 0; i < e->head.e_phnum && e->head.e_phentsize == sizeof(Elf64_Phdr); i++) {
		uint64_t at = e->head.e_phoff + (uint64_t)i * sizeof(Elf64_Phdr);
		Elf64_Phdr ph;

		if (!within(at, sizeof(ph), bytes))
			break;
		memcpy(&ph, file + at, sizeof(ph));
		take_segment(e, &ph);
	}
	if (!elf_image_section(e, e->head.e_shstrndx, &names)) {
		e->names = file + names.sh_offset;
		e->names_bytes = names.sh_size;
	}
	return 0;
}

const uint8_t *elf_image_at(const struct elf_image *e, uint64_t at, uint64_t *n)
{
	uint32_t i;

	for (i = 0; i < e->nr_segments; i++) {
		uint64_t in = at - e->segments[i].at;

		if (in >= e->segments[i].bytes)
			continue;
		*n = e->segments[i].bytes - in;
		return e->file + e->segments[i].offset + in;
	}
	*n = 0;
	return NULL;
}

int elf_image_read(const struct elf_image *e, uint64_t at, void *to, uint64_t n)
{
	uint64_t left;
	const uint8_t *p = elf_image_at(e, at, &left);

	if (!p || left < n)
		return -EFAULT;
	memcpy(to, p, n);
	return 0;
}

int elf_image_section(const struct elf_image *e, uint32_t i, Elf64_Shdr *out)
{
	uint64_t at = e->head.e_shoff + (uint64_t)i * sizeof(*out);

	if (i >= e->head.e_shnum || e->head.e_shentsize != sizeof(*out) || at < e->head.e_shoff ||
	    !within(at, sizeof(*out), e->bytes))
		return -ENOENT;
	memcpy(out, e->file + at, sizeof(*out));
	return out->sh_type != SHT_NOBITS && within(out->sh_offset, out->sh_size, e->bytes)
		       ? 0
		       : -ENOENT;
}

int elf_image_section_is(const struct elf_image *e, const Elf64_Shdr *s, const char *prefix)
{
	size_t n = strlen(prefix);

	return e->names && within(s->sh_name, n, e->names_bytes) &&
	       !memcmp(e->names + s->sh_name, prefix, n);
}

/* In the notes of one program header. */
static uint32_t id_in_notes(const uint8_t *p, uint64_t left, uint8_t *id, uint32_t room)
{
	Elf64_Nhdr n;

	while (left >= sizeof(n)) {
		uint64_t name, desc;

		memcpy(&n, p, sizeof(n));
		name = ((uint64_t)n.n_namesz + 3) & ~(uint64_t)3;
		desc = ((uint64_t)n.n_descsz + 3) & ~(uint64_t)3;
		p += sizeof(n);
		left -= sizeof(n);
		if (name + desc > left)
			return 0;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && !memcmp(p, "GNU", 4) &&
		    n.n_descsz <= room) {
			memcpy(id, p + name, n.n_descsz);
			return n.n_descsz;
		}
		p += name + desc;
		left -= name + desc;
	}
	return 0;
}

uint32_t elf_image_build_id(const struct elf_image *e, uint8_t *id, uint32_t room)
{
	uint32_t i, n = 0;

	for (i = 0; i < e->head.e_phnum && e->head.e_phentsize == sizeof(Elf64_Phdr) && !n; i++) {
		uint64_t at = e->head.e_phoff + (uint64_t)i * sizeof(Elf64_Phdr);
		Elf64_Phdr ph;

		if (!within(at, sizeof(ph), e->bytes))
			break;
		memcpy(&ph, e->file + at, sizeof(ph));
		if (ph.p_type == PT_NOTE && within(ph.p_offset, ph.p_filesz, e->bytes))
			n = id_in_notes(e->file + ph.p_offset, ph.p_filesz, id, room);
	}
	return n;
}

uint64_t elf_image_dynamic(const struct elf_image *e, int64_t tag)
{
	uint64_t n = e->dynamic_bytes / sizeof(Elf64_Dyn), i;

	for (i = 0; i < n && i < MAX_DYNAMIC; i++) {
		Elf64_Dyn d;

		if (elf_image_read(e, e->dynamic + i * sizeof(d), &d, sizeof(d)) ||
		    d.d_tag == DT_NULL)
			return 0;
		if (d.d_tag == tag)
			return d.d_un.d_val;
	}
	return 0;
}
