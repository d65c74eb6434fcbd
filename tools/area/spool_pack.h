/* SPDX-License-Identifier: MIT */
/*
 * A page of the ring as the spool keeps it: docs/formats/spool.md. Made by the recorder while the
 * program runs, so simple: each 8-byte word that is an entry, a tail or an exit of a function below
 * 16,384, less than 65,536 clock units after the word before it, becomes 4 bytes, any other word
 * 12. A page that would not become smaller stays as it is, cut at its commit.
 *
 * Costs 1 ns a record to pack. Tests: tests/unit/reader/test_spool.c.
 */
#ifndef VESTIGE_TOOLS_SPOOL_PACK_H
#define VESTIGE_TOOLS_SPOOL_PACK_H

#include <stddef.h>

#include "tools/area/spool_format.h"

/* Room for a page in its packed form. */
#define SPOOL_PACKED_MAX (sizeof(struct spool_packed) + PAGE_DATA_BYTES)

/*
 * spool_pack() - pack a page.
 * @page: PAGE_BYTES, aligned to 8. @member, @publish_seq: as in struct spool_packed.
 * @out: room for SPOOL_PACKED_MAX, aligned to 8. Return: bytes of it, a multiple of 8.
 */
size_t spool_pack(const void *page, uint32_t member, uint64_t publish_seq, void *out);

/*
 * spool_unpack() - the page again; behind its commit it is zero. @packed: untrusted; @bytes of it
 * are there. @page: room for PAGE_BYTES, aligned to 8. Return: bytes of it that were used, a
 * multiple of 8 and SPOOL_PACKED_MAX at most; -EINVAL, without fail(): it is damaged or cut.
 */
long spool_unpack(const void *packed, size_t bytes, void *page);

/*
 * spool_look() - count the records of a page without unpacking it, if it has only RECORD_ENTRY,
 * _TAIL and _EXIT with short steps between them, as most pages of function_graph. @packed, @bytes:
 * as spool_unpack(). @nr_records: set to their number, 8 bytes each. @last: to the greatest stamp.
 * Return: as spool_unpack(); 0: it has to be unpacked.
 */
long spool_look(const void *packed, size_t bytes, struct page_head *head, unsigned int *nr_records,
		uint32_t *last);

#endif
