/* SPDX-License-Identifier: MIT */
/*
 * Packs a page of the ring for the spool: docs/formats/spool.md. The format is simple, because the
 * recorder packs while the program runs. An 8-byte word becomes 4 bytes if it is an entry, tail or
 * exit of a function id below 16,384 and less than 65,536 clock units after the word before it. Any
 * other word becomes 12 bytes. A page that would not become smaller is stored unpacked, cut at its
 * commit.
 *
 * Costs 1 ns a record to pack. Tests: tests/unit/reader/test_spool.c.
 */
#ifndef VESTIGE_TOOLS_SPOOL_PACK_H
#define VESTIGE_TOOLS_SPOOL_PACK_H

#include <stddef.h>

#include "tools/area/page_calls.h"
#include "tools/area/spool_format.h"

/* The largest packed page in bytes. */
#define SPOOL_PACKED_MAX (sizeof(struct spool_packed) + PAGE_DATA_BYTES)

/*
 * spool_pack() - pack a page.
 * @page: PAGE_BYTES, aligned to 8. @member, @publish_seq: as in struct spool_packed.
 * @out: room for SPOOL_PACKED_MAX, aligned to 8. Return: bytes of it, a multiple of 8.
 */
size_t spool_pack(const void *page, uint32_t member, uint64_t publish_seq, void *out);

/*
 * spool_unpack() - unpack a page; the bytes behind its commit are zero.
 * @packed: untrusted, @bytes long. @page: room for PAGE_BYTES, aligned to 8.
 * Return: bytes of @packed that were used, a multiple of 8 and SPOOL_PACKED_MAX at most; -EINVAL
 * without fail(): it is damaged or cut.
 */
long spool_unpack(const void *packed, size_t bytes, void *page);

/*
 * spool_look() - look at a page without unpacking it, if it is of struct page_calls.
 * @packed, @bytes: as spool_unpack(). @out: gets the page; its words are those at @packed.
 * @last: gets the greatest stamp.
 * Return: as spool_unpack(); 0: it must be unpacked.
 */
long spool_look(const void *packed, size_t bytes, struct page_calls *out, uint32_t *last);

#endif
