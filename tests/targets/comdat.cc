/* SPDX-License-Identifier: MIT */
/*
 * C++ with comdat_other.cc: the same inline functions and templates in two units, exceptions
 * thrown through traced functions, virtual calls, a destructor that runs while unwinding.
 */
#include "comdat.h"

struct base {
	virtual int call(int n) = 0;
	virtual ~base()
	{
	}
};

struct guard {
	int *n;
	NOINLINE ~guard();
};

guard::~guard()
{
	static struct counter here;

	here.name = "guard::~guard()";
	count_call(&here);
	++*n;
}

struct derived : base {
	int call(int n) override;
};

static NOINLINE int thrower(int n)
{
	COUNTED;
	if (n % 2)
		throw n;
	return n;
}

NOINLINE int derived::call(int n)
{
	static struct counter here;

	here.name = "derived::call(int)";
	count_call(&here);
	return thrower(n);
}

static NOINLINE int middle(base *b, int n, int *unwound)
{
	COUNTED;
	guard g{unwound};
	return b->call(n) + shared_inline(n) + shared_template(n);
}

int main()
{
	derived d;
	int caught = 0, unwound = 0, sum = 0;

	COUNTED;
	for (int i = 0; i < 1000; i++) {
		try {
			sum += middle(&d, i, &unwound);
		} catch (int) {
			caught++;
		}
		sum += other_unit(i);
	}
	print_counts();
	other_print_counts();
	return caught == 500 && unwound == 1000 ? 0 : 1;
}
