/* SPDX-License-Identifier: MIT */
/*
 * Reads a 64-bit ELF file in memory. The file is untrusted: every read is within its bounds, and a
 * broken part counts as absent. Pure functions, no memory, any context.
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

/*
 * Return: 0; -ENOEXEC: not an ELF file of this machine's class and byte order. @file is borrowed.
 */
int elf_image_open(struct elf_image *e, const uint8_t *file, uint64_t bytes);

/* The bytes at virtual address @at; *@n: the number of bytes from there. NULL: none. Borrowed. */
const uint8_t *elf_image_at(const struct elf_image *e, uint64_t at, uint64_t *n);

/* Copy @n bytes from a virtual address. Return: 0, or -EFAULT: the file does not have them. */
int elf_image_read(const struct elf_image *e, uint64_t at, void *to, uint64_t n);

/* The @i-th section header. Return: 0, or -ENOENT: the file does not have it or its contents. */
int elf_image_section(const struct elf_image *e, uint32_t i, Elf64_Shdr *out);

/* Whether a section's name begins with @prefix. */
int elf_image_section_is(const struct elf_image *e, const Elf64_Shdr *s, const char *prefix);

/* Its build-id. @id: @room bytes. Return: bytes of the build-id; 0: none, or it does not fit. */
uint32_t elf_image_build_id(const struct elf_image *e, uint8_t *id, uint32_t room);

/* The value of a tag of the dynamic section; 0: the tag is absent. */
uint64_t elf_image_dynamic(const struct elf_image *e, int64_t tag);

#endif
