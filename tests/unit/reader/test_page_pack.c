/* SPDX-License-Identifier: MIT */
/*
 * Pages packed and unpacked (tools/area/page_pack.h): random pages come back, damaged ones do no
 * harm.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "abi/page.h"
#include "tools/area/page_pack.h"

static uint32_t seed;

static uint32_t dice(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)(seed >> 4) * n >> 28);
}

static void random_page(uint64_t *page, unsigned int flavour)
{
	struct page_head *head = (struct page_head *)page;
	unsigned int at = PAGE_HEAD_BYTES / 8, end = 8 + dice(505);

	memset(page, 0, PAGE_BYTES);
	*head = (struct page_head){.commit = end * 8u,
				   .base_stamp = (uint64_t)dice(1u << 28) << 20,
				   .tid = (int32_t)dice(100),
				   .seq = dice(1000)};
	if (flavour == 3)
		head->commit = (uint64_t)dice(20) << dice(40);
	for (uint32_t stamp = dice(100); at < end; at++) {
		uint64_t kind = flavour == 0 ? 2 + dice(5) : dice(16);
		uint64_t id = flavour == 0 ? dice(20) : 8 * dice(8);

		stamp += dice(30) ? dice(60) : dice(1u << 28);
		page[at] = kind << 60 | id << 32 | stamp;
		if (flavour == 2)
			page[at] = (uint64_t)dice(1u << 28) << 36 | dice(1u << 28);
		if (!dice(12))
			page[at] = 0;
	}
	for (; at < PAGE_BYTES / 8; at++)
		page[at] = dice(2); /* behind the commit */
}

static void unpacked_is_what_was_packed(void **state)
{
	static uint64_t pages[PACK_PAGES][PAGE_BYTES / 8], got[PACK_PAGES][PAGE_BYTES / 8];
	struct page_packer *k = page_packer_new();
	unsigned char *packed = malloc(PACK_MAX_BYTES);

	for (seed = 1; seed < 300;) {
		uint32_t before = seed;
		unsigned int nr = 1 + dice(PACK_PAGES), flavour = dice(4);
		size_t bytes;

		page_pack_begin(k);
		for (unsigned int i = 0; i < nr; i++) {
			random_page(pages[i], flavour);
			page_pack_add(k, pages[i]);
		}
		bytes = page_pack_end(k, packed);
		assert_true(bytes <= PACK_MAX_BYTES);
		memset(got, 0xff, sizeof(got));
		assert_int_equal(page_unpack(packed, bytes, nr, got), 0);
		for (unsigned int i = 0; i < nr; i++) {
			const struct page_head *head = (const void *)pages[i];
			size_t end = head->commit < PAGE_BYTES ? head->commit & ~UINT64_C(7)
							       : PAGE_BYTES;

			if (end < PAGE_HEAD_BYTES)
				end = PAGE_HEAD_BYTES;
			memset((char *)pages[i] + end, 0, PAGE_BYTES - end);
			assert_memory_equal(got[i], pages[i], PAGE_BYTES);
		}
		/* what is not a chunk is refused, or gives some pages: it does no harm */
		for (unsigned int i = 0; i < 50; i++) {
			size_t at = dice((uint32_t)bytes);
			unsigned char was = packed[at];

			packed[at] = (unsigned char)dice(256);
			page_unpack(packed, bytes, nr, got);
			packed[at] = was;
			assert_int_equal(page_unpack(packed, dice((uint32_t)bytes), nr, got), -22);
		}
		assert_int_equal(page_unpack(packed, bytes, nr % PACK_PAGES + 1, got), -22);
		seed = before + 1;
	}
	page_packer_free(k);
	free(packed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unpacked_is_what_was_packed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
