/* SPDX-License-Identifier: MIT */
/*
 * More of standin.c: enough functions for a case that probes the kernel's first 256. They are never
 * called.
 */

#define FN __attribute__((noipa, used))

static volatile int many;

#define ONE(name)                                                                                  \
	FN static int name(int n)                                                                  \
	{                                                                                          \
		many += n;                                                                         \
		return many;                                                                       \
	}
#define FOUR(name)                                                                                 \
	ONE(name##0)                                                                               \
	ONE(name##1)                                                                               \
	ONE(name##2)                                                                               \
	ONE(name##3)
#define SIXTEEN(name)                                                                              \
	FOUR(name##0)                                                                              \
	FOUR(name##1)                                                                              \
	FOUR(name##2)                                                                              \
	FOUR(name##3)
#define ALL(name)                                                                                  \
	SIXTEEN(name##0)                                                                           \
	SIXTEEN(name##1)                                                                           \
	SIXTEEN(name##2)                                                                           \
	SIXTEEN(name##3)

ALL(one_of_many_0)
ALL(one_of_many_1)
ALL(one_of_many_2)
ALL(one_of_many_3)
