/* SPDX-License-Identifier: MIT */
#include "comdat.h"

int other_unit(int n)
{
	COUNTED;
	return shared_inline(n) + shared_template(n);
}

NOTRACE void other_print_counts()
{
	print_counts();
}
