/* SPDX-License-Identifier: MIT */
/*
 * An ELF file of 64 bits in memory, with every read within its bounds: the file is untrusted. A
 * missing or broken part counts as absent. Pure functions, no memory, any context.
 * Tests: tests/fuzz/entries.c.
 */
#ifndef VESTIGE_OBJECT_ELF_IMAGE_H
#define VESTIGE_OBJECT_ELF_IMAGE_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_IMAGE_SEGMENTS 16u

struct elf_image {
	const uint8_t *file;
	uint64_t bytes;
	Elf64_Ehdr head;
	struct {
		uint64_t at, bytes, offset; /* the part of it that is in the file */
		uint32_t flags;
	} segments[ELF_IMAGE_SEGMENTS]; /* PT_LOAD */
	uint32_t nr_segments;
	uint64_t eh_frame_hdr, eh_frame_hdr_bytes; /* 0: none */
	uint64_t dynamic, dynamic_bytes;	   /* the same */
	const uint8_t *names;			   /* of sections; NULL: none */
	uint64_t names_bytes;
};

/* Return: 0; -ENOEXEC: no ELF file of this machine's class and byte order. */
int elf_image_open(struct elf_image *e, const uint8_t *file, uint64_t bytes);

/* The bytes at a virtual address, and in *@n how many follow it in the file. NULL: none. */
const uint8_t *elf_image_at(const struct elf_image *e, uint64_t at, uint64_t *n);

/* Copy @n bytes from a virtual address. Return: 0, or -EFAULT: they are not there. */
int elf_image_read(const struct elf_image *e, uint64_t at, void *to, uint64_t n);

/* The @i-th section header. Return: 0, or -ENOENT: there is none, or its bytes are not there. */
int elf_image_section(const struct elf_image *e, uint32_t i, Elf64_Shdr *out);

/* Whether a section's name begins with @prefix. */
int elf_image_section_is(const struct elf_image *e, const Elf64_Shdr *s, const char *prefix);

/* Its build-id, at most @room bytes. Return: how many; 0: none. */
uint32_t elf_image_build_id(const struct elf_image *e, uint8_t *id, uint32_t room);

/* The value of a tag of the dynamic section; 0: it has none. */
uint64_t elf_image_dynamic(const struct elf_image *e, int64_t tag);

#endif
