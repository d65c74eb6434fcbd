/* SPDX-License-Identifier: MIT */
#include "target.h"

/* Before the functions that both units have: the table of all entries hangs on this one, and is
 * kept. */
NOINLINE inline int shared_by_none(int n)
{
	COUNTED;
	return n;
}

#define MORE (n < 0 ? n % 3 : 0)
#include "comdat.h"

int other_unit(int n)
{
	COUNTED;
	return shared_by_none(0) + shared_inline(n) + shared_template(n);
}

NOTRACE void other_print_counts()
{
	print_counts();
}
