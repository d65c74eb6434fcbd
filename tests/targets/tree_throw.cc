/* SPDX-License-Identifier: MIT */
/* Exceptions that pass traced calls: a call in the handler is its function's, not the thrower's. */
#include "tree.h"

static volatile int sink;

static NOINLINE int leaf(int n)
{
	CALL;
	return n + sink;
}

static NOINLINE int throws(int n)
{
	CALL;
	if (leaf(n) % 2)
		throw n;
	return n;
}

static NOINLINE int passes(int n)
{
	CALL;
	return throws(n) + leaf(n);
}

static NOINLINE int catches(int n)
{
	CALL;
	try {
		return passes(n);
	} catch (int i) {
		return leaf(i);
	}
}

int main()
{
	CALL;
	for (int i = 0; i < 100; i++)
		sink = catches(i) - i - sink;
	return 0;
}
