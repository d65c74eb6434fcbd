/* SPDX-License-Identifier: MIT */
#include "throws.h"
#include "transcript.h"

#include <stdexcept>
#include <string>

namespace
{

struct Counted {
	int &n;

	explicit NOINLINE Counted(int &at) : n(at)
	{
		n++;
	}
	NOINLINE ~Counted()
	{
		n--;
	}
};

int alive;

} // namespace

NOINLINE int lib_throw(int n, int depth)
{
	Counted here(alive);

	if (depth)
		return lib_throw(n, depth - 1) + 1;
	if (n % 2)
		throw n + alive;
	throw std::runtime_error("library, alive " + std::to_string(alive));
}

NOINLINE int lib_call(int (*f)(int), int n)
{
	Counted here(alive);

	return f(n) + alive;
}

NOINLINE int lib_catch(int (*f)(int), int n)
{
	Counted here(alive);

	try {
		return f(n);
	} catch (const std::exception &e) {
		return -alive;
	} catch (...) {
		return alive;
	}
}
