/* SPDX-License-Identifier: MIT */
/* Operators new and delete of all sorts, once each for a line; says how often. */
#include <cstdio>
#include <new>

static unsigned long nr_new, nr_delete;
static void *kept[8];

struct alignas(64) wide {
	char c[64];
};

/* All of make() is before the first of drop(): no block is used again. */
__attribute__((noinline)) void make(size_t n)
{
	kept[0] = ::operator new(n);
	kept[1] = ::operator new[](n);
	kept[2] = ::operator new(n, std::nothrow);
	kept[3] = ::operator new[](n, std::nothrow);
	kept[4] = new wide;
	kept[5] = new wide[n];
	nr_new += 6;
	try {
		kept[6] = ::operator new((size_t)-1 / 2);
	} catch (const std::bad_alloc &) {
		nr_new++;
	}
	kept[6] = ::operator new(n);
	nr_new++;
}

__attribute__((noinline)) void drop()
{
	::operator delete(kept[0]);
	::operator delete[](kept[1]);
	::operator delete(kept[2], std::nothrow);
	::operator delete[](kept[3], std::nothrow);
	delete (wide *)kept[4];
	delete[](wide *) kept[5];
	::operator delete(kept[6], (size_t)10);
	nr_delete += 7;
}

int main()
{
	static char line[100], in[100], out[100];

	setvbuf(stdin, in, _IOLBF, sizeof(in));
	setvbuf(stdout, out, _IOLBF, sizeof(out));
	while (fgets(line, sizeof(line), stdin)) {
		nr_new = nr_delete = 0;
		make(10);
		drop();
		printf("done %lu %lu\n", nr_new, nr_delete);
	}
	return 0;
}
