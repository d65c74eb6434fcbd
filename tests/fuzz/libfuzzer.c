/* SPDX-License-Identifier: MIT */
/* libFuzzer's side: `fuzz TARGET [libFuzzer's flags] CORPUS...`. */
#include "fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
size_t LLVMFuzzerMutate(uint8_t *data, size_t n, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t max, unsigned int seed);

static const struct fuzz_target *target;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	target = *argc > 1 ? fuzz_target_find((*argv)[1]) : NULL;
	if (!target) {
		fprintf(stderr, "usage: fuzz TARGET [FLAGS] CORPUS...\n");
		exit(2);
	}
	(*argv)[1] = (*argv)[0];
	++*argv;
	--*argc;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	target->run(data, n);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t max, unsigned int seed)
{
	struct mangle m = {data, n, max, seed};
	uint64_t times;

	if (!mangle_random(&m, 3))
		return LLVMFuzzerMutate(data, n, max);
	for (times = 1 + mangle_random(&m, 4); times; times--)
		target->mutate(&m);
	return m.n;
}
