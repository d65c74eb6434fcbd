/* SPDX-License-Identifier: MIT */
/*
 * Arrays for more data than memory should hold. Together they take up to SPILL_ARRAYS_MEMORY bytes
 * of memory. Beyond it, large ones are in a file without a name in $TMPDIR or /var/tmp, which is
 * mapped: the kernel can write their pages to the disk and use the memory for other work. If the
 * file cannot be made, or its disk is full, they are in memory.
 *
 * Any thread may use its own arrays. fork(): the child may not write to them, nor make any.
 * Tests: tests/unit/test_spill_array.c, tests/cli/test_view_memory.py.
 */
#ifndef VESTIGE_TOOLS_SPILL_ARRAY_H
#define VESTIGE_TOOLS_SPILL_ARRAY_H

#include <stddef.h>

#define SPILL_ARRAYS_MEMORY ((size_t)256 << 20)
#define SPILL_ARRAY_MIN	    ((size_t)128 << 10) /* smaller ones are always in memory */

/*
 * spill_array_grow() - realloc(). The first call of an array has @old NULL.
 * @bytes: the new size, at least the old one. What is new in it is undefined.
 * Return: the array, aligned as by malloc(); NULL with fail() set when memory is short: then @old
 * stays as it is.
 */
void *spill_array_grow(void *old, size_t bytes);

/* NULL: does nothing. */
void spill_array_free(void *array);

/*
 * spill_arrays_trim() - take the file's pages out of this process's memory; its next access brings
 * a page back. Call it after each SPILL_ARRAYS_TRIM bytes or so that were read or written. Costs a
 * system call for each array in the file.
 */
void spill_arrays_trim(void);
#define SPILL_ARRAYS_TRIM ((size_t)32 << 20)
#define SPILL_ARRAYS_ROWS (1u << 19) /* rows of up to 64 bytes have that size */

#endif
