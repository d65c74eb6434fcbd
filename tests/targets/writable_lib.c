/* SPDX-License-Identifier: MIT */
/* The library of writable.c. */
int lib_stored = 1;

__attribute__((noipa)) int lib_add(int n)
{
	lib_stored += n;
	return lib_stored;
}
