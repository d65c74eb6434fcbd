/* SPDX-License-Identifier: MIT */
/* See ways_file.h. */
#include "object/ways_file.h"

#include <errno.h>
#include <string.h>

#include "object/analysis_version.h"
#include "object/digest.h"
#include "object/entries_impl.h"

#define MAGIC	    "VSTGWAYS"
#define FORMAT	    1u
#define IS_PART	    1u
#define ENTRY_ONLY  2u
#define BY_SYMBOL   4u
#define BY_FDE	    8u
#define ALL_FLAGS   15u
#define MAX_PADDING 160 /* bytes to it, of a short jump behind endbr64 */
#define JUMP_BYTES  5u
#define MAX_MOVED   19u /* the last of five bytes' instructions may have 15 */

_Static_assert(sizeof(struct ways_head) == 56, "a ways file's head");
_Static_assert(sizeof(struct ways_row) == 16, "a ways file's row");

uint64_t ways_file_version(void)
{
	return ANALYSIS_VERSION;
}

/* Of the file, as far as it is there. */
static uint64_t add_part(uint64_t h, const struct elf_image *image, uint64_t at, uint64_t n)
{
	if (at > image->bytes)
		return h;
	n = n < image->bytes - at ? n : image->bytes - at;
	return digest(h, image->file + at, n);
}

uint64_t ways_file_object(const struct elf_image *image)
{
	const Elf64_Ehdr *head = &image->head;
	Elf64_Shdr tables[2], strings;
	uint64_t h = digest(0, &image->bytes, sizeof(image->bytes));
	uint32_t i, nr;

	h = add_part(h, image, 0, sizeof(*head));
	h = add_part(h, image, head->e_phoff, (uint64_t)head->e_phnum * sizeof(Elf64_Phdr));
	h = add_part(h, image, head->e_shoff, (uint64_t)head->e_shnum * sizeof(Elf64_Shdr));
	if (image->names)
		h = digest(h, image->names, image->names_bytes);
	for (i = 0; i < image->nr_segments; i++)
		h = add_part(h, image, image->segments[i].offset, image->segments[i].bytes);
	nr = entries_symbol_tables(image, tables);
	for (i = 0; i < nr; i++) {
		h = add_part(h, image, tables[i].sh_offset, tables[i].sh_size);
		if (!elf_image_section(image, tables[i].sh_link, &strings))
			h = add_part(h, image, strings.sh_offset, strings.sh_size);
	}
	return h;
}

static uint8_t number_of(const struct entry_runtime *all, const char *what)
{
	uint8_t i;

	for (i = 0; what && all[i].symbol; i++)
		if (all[i].what == what)
			return (uint8_t)(i + 1);
	return 0;
}

/* Return: 0, or -EBADMSG: there is no such row. */
static int runtime_of(const struct entry_runtime *all, uint8_t number, const char **what)
{
	uint8_t i;

	*what = NULL;
	for (i = 0; i < number; i++) {
		if (!all[i].symbol)
			return -EBADMSG;
		*what = all[i].what;
	}
	return 0;
}

static uint64_t digest_of_file(struct ways_head head, const uint8_t *rows)
{
	head.digest = 0;
	return digest(digest(0, &head, sizeof(head)), rows, head.nr * sizeof(struct ways_row));
}

static int pack_row(const struct entry *f, struct ways_row *row)
{
	if (f->at > UINT32_MAX || f->end <= f->at || f->end - f->at > UINT32_MAX)
		return -ERANGE;
	*row = (struct ways_row){
		.at = (uint32_t)f->at,
		.bytes = (uint32_t)(f->end - f->at),
		.way = f->way,
		.why = f->why,
		.skip = f->skip,
		.moved = f->bytes,
		.flags = (uint8_t)((f->is_part ? IS_PART : 0) | (f->entry_only ? ENTRY_ONLY : 0) |
				   (f->source & ENTRY_BY_SYMBOL ? BY_SYMBOL : 0) |
				   (f->source & ENTRY_BY_FDE ? BY_FDE : 0)),
		.padding = f->padding,
	};
	return 0;
}

size_t ways_file_pack(const struct entries *e, uint8_t *out)
{
	struct ways_head head = {.magic = MAGIC, .format = FORMAT, .nr = e->nr};
	size_t bytes = sizeof(head) + (size_t)e->nr * sizeof(struct ways_row);
	struct ways_row row;
	uint32_t i;

	if (bytes > WAYS_FILE_MAX_BYTES)
		return 0;
	for (i = 0; i < e->nr; i++) {
		if (pack_row(&e->functions[i], &row))
			return 0;
		if (out)
			memcpy(out + sizeof(head) + i * sizeof(row), &row, sizeof(row));
	}
	if (!out)
		return bytes;
	head.analysis = ways_file_version();
	head.object = ways_file_object(&e->image);
	head.object_bytes = e->image.bytes;
	head.walks = number_of(entry_walkers, e->walks);
	head.copies = number_of(entry_copiers, e->copies);
	head.digest = digest_of_file(head, out + sizeof(head));
	memcpy(out, &head, sizeof(head));
	return bytes;
}

static int is_code(const struct elf_image *image, uint64_t at, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < image->nr_segments; i++) {
		uint64_t in = at - image->segments[i].at;

		if (in < image->segments[i].bytes)
			return image->segments[i].flags & PF_X &&
			       image->segments[i].bytes - in >= n;
	}
	return 0;
}

/*
 * Whether the analysis can make such a row. @last: start of the function before it. A function
 * that is redirected must have its window in the code.
 */
static int is_good(const struct entries *e, const struct ways_row *r, uint64_t last)
{
	uint64_t from = (uint64_t)r->at + r->skip;

	if (r->at < e->text_lo || r->at >= e->text_hi || r->at < last || !r->bytes ||
	    r->way >= ENTRY_NR_WAYS || r->why >= ENTRY_NR_WHYS || r->flags & ~ALL_FLAGS ||
	    r->reserved || (r->skip && r->skip != ENTRY_ENDBR_BYTES))
		return 0;
	if (r->way != ENTRY_PADDING && r->padding)
		return 0;
	if (r->way == ENTRY_REFUSED)
		return !r->moved && (r->why || r->flags & IS_PART);
	if (r->why || r->flags & IS_PART || !r->moved || r->moved > MAX_MOVED ||
	    !is_code(&e->image, from, r->moved))
		return 0;
	if (r->way != ENTRY_PADDING)
		return is_code(&e->image, from, JUMP_BYTES);
	return r->moved >= 2 && r->padding && r->padding >= -MAX_PADDING &&
	       r->padding <= MAX_PADDING &&
	       is_code(&e->image, from + (uint64_t)(int64_t)r->padding, JUMP_BYTES);
}

static int unpack_rows(struct entries *e, const uint8_t *rows, uint32_t nr)
{
	uint64_t next = 0;
	uint32_t i;

	for (i = 0; i < nr; i++) {
		struct ways_row r;

		memcpy(&r, rows + i * sizeof(r), sizeof(r));
		if (!is_good(e, &r, next))
			return -EBADMSG;
		e->functions[i] = (struct entry){
			.at = r.at,
			.end = (uint64_t)r.at + r.bytes,
			.way = r.way,
			.why = r.why,
			.is_part = (r.flags & IS_PART) != 0,
			.source = (uint8_t)((r.flags & BY_SYMBOL ? ENTRY_BY_SYMBOL : 0) |
					    (r.flags & BY_FDE ? ENTRY_BY_FDE : 0)),
			.skip = r.skip,
			.bytes = r.moved,
			.entry_only = (r.flags & ENTRY_ONLY) != 0,
			.padding = r.padding,
		};
		next = (uint64_t)r.at + 1;
	}
	e->nr = nr;
	return 0;
}

int ways_file_unpack(struct entries *e, const uint8_t *object, uint64_t object_bytes,
		     const uint8_t *ways, size_t bytes, void *(*get)(size_t bytes),
		     void (*put)(void *p, size_t bytes))
{
	const uint8_t *rows = ways + sizeof(struct ways_head);
	struct ways_head head;
	int err;

	if (bytes < sizeof(head) || bytes > WAYS_FILE_MAX_BYTES)
		return -EBADMSG;
	memcpy(&head, ways, sizeof(head));
	if (memcmp(head.magic, MAGIC, sizeof(head.magic)) != 0 ||
	    (bytes - sizeof(head)) / sizeof(struct ways_row) != head.nr ||
	    (bytes - sizeof(head)) % sizeof(struct ways_row))
		return -EBADMSG;
	if (head.format != FORMAT || head.analysis != ways_file_version() ||
	    head.object_bytes != object_bytes)
		return -ESTALE;
	if (digest_of_file(head, rows) != head.digest)
		return -EBADMSG;
	err = entries_open_image(e, object, object_bytes, get, put);
	if (err)
		return err;
	if (head.object != ways_file_object(&e->image))
		return -ESTALE;
	if (runtime_of(entry_walkers, head.walks, &e->walks) ||
	    runtime_of(entry_copiers, head.copies, &e->copies))
		return -EBADMSG;
	if (head.nr) {
		e->functions = get((size_t)head.nr * sizeof(*e->functions));
		if (!e->functions)
			return -ENOMEM;
		e->room = head.nr;
	}
	err = unpack_rows(e, rows, head.nr);
	if (err)
		entries_close(e);
	return err;
}

bool ways_file_is_trusted(const struct stat *st, uid_t user)
{
	return S_ISREG(st->st_mode) && !(st->st_mode & (S_IWGRP | S_IWOTH)) &&
	       (!st->st_uid || st->st_uid == user) && st->st_size > 0 &&
	       st->st_size <= (off_t)WAYS_FILE_MAX_BYTES;
}

int ways_file_name(const uint8_t *id, uint32_t id_bytes, char *name)
{
	static const char digits[] = "0123456789abcdef";
	uint32_t i;

	/* a shorter one is not unique enough */
	if (id_bytes < 8 || id_bytes > WAYS_FILE_MAX_ID)
		return -EINVAL;
	for (i = 0; i < id_bytes; i++) {
		*name++ = digits[id[i] >> 4];
		*name++ = digits[id[i] & 15];
	}
	memcpy(name, WAYS_FILE_SUFFIX, sizeof(WAYS_FILE_SUFFIX));
	return 0;
}
