/* SPDX-License-Identifier: MIT */
/* What mem.c loads in mem_lib.so's place, in C++: two pairs of new and delete. */
#include <cstddef>

extern "C" int lib_call(void);

static void *volatile kept;

int lib_call(void)
{
	kept = ::operator new(10);
	::operator delete(kept);
	kept = ::operator new[](10);
	::operator delete[](kept);
	return 2;
}
