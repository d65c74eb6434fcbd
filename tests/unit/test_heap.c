/* SPDX-License-Identifier: MIT */
/* Memory of control paths (engine/process/heap.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/process/heap.h"

static void memory_is_zero_and_aligned(void **state)
{
	static const size_t sizes[] = {1, 16, 17, 65520, 65536, 300000};
	static const uint8_t zeros[300000];
	uint8_t *p;

	(void)state;
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
			p = heap_alloc(sizes[i]);
			assert_non_null(p);
			assert_int_equal((uintptr_t)p % 16, 0);
			assert_memory_equal(p, zeros, sizes[i]);
			memset(p, 0xff, sizes[i]);
			heap_free(p);
		}
	assert_null(heap_alloc(SIZE_MAX));
}

static void an_array_grows_with_what_it_has(void **state)
{
	uint32_t nr = 0, room = 0, grown = 0;
	uint64_t *array = NULL, *more;

	(void)state;
	for (; nr < 100000; nr++) {
		uint32_t before = room;

		more = heap_grow(array, nr, &room, sizeof(*array));
		assert_non_null(more);
		assert_true(nr < room);
		if (room == before)
			assert_ptr_equal(more, array);
		else
			grown++;
		array = more;
		array[nr] = nr;
	}
	for (uint32_t i = 0; i < nr; i++)
		assert_int_equal(array[i], i);
	assert_true(grown < 20);
	heap_free(array);
}

static void an_array_that_cannot_grow_stays(void **state)
{
	uint32_t room = 0;
	char *array = heap_grow(NULL, 0, &room, 1);
	uint32_t before = room;

	(void)state;
	assert_non_null(array);
	array[0] = 'x';
	assert_null(heap_grow(array, room, &room, SIZE_MAX / 4096));
	assert_int_equal(room, before);
	assert_int_equal(array[0], 'x');
	heap_free(array);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_zero_and_aligned),
		cmocka_unit_test(an_array_grows_with_what_it_has),
		cmocka_unit_test(an_array_that_cannot_grow_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
