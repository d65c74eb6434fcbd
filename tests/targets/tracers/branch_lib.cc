/* SPDX-License-Identifier: MIT */
/* branch_lib: places in an inline function, a template and a plain function of a C++ object. */
#include <vestige/branch.h>

static volatile int sink;

template <class T> struct Odd {
	static bool is(T v)
	{
		return unlikely(v & 1);
	}
};

inline __attribute__((noinline)) bool small(int v)
{
	return likely(v < 90);
}

extern "C" void branch_lib(int i)
{
	sink += Odd<int>::is(i) + Odd<long>::is(i) + small(i);
}
