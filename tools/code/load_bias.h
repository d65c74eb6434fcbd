/* SPDX-License-Identifier: MIT */
/*
 * Where a program was loaded, from addresses of its functions that a run has left: the difference
 * to the file's is a whole number of pages, and with it each address is a function's first one.
 * Tests: tests/cli/test_dot.py, test_kd.py.
 */
#ifndef VESTIGE_TOOLS_LOAD_BIAS_H
#define VESTIGE_TOOLS_LOAD_BIAS_H

#include <stddef.h>
#include <stdint.h>

#include "tools/code/elf_code.h"

/*
 * load_bias_find() - the difference with which the most addresses are a function's first one.
 * @seen: addresses from the run. @starts: first addresses of the functions in the file. Both are
 * sorted here. @bias: what is to be taken off an address of the run.
 * Return: how many of the addresses, of which at most LOAD_BIAS_LOOKS are looked at, are
 * functions then; -EINVAL with fail() set: several differences do as well as one another.
 */
#define LOAD_BIAS_LOOKS 64u
int load_bias_find(uint64_t *seen, size_t nr_seen, uint64_t *starts, size_t nr_starts,
		   uint64_t *bias);

/*
 * load_bias_of() - the same for the functions of @code, which was read from @path. @nr_seen: 0: the
 * bias is 0. Return: 0; -EINVAL with fail() set: as above, or no address is a function's; -ENOMEM.
 */
int load_bias_of(const char *path, const struct elf_code *code, uint64_t *seen, size_t nr_seen,
		 uint64_t *bias);

#endif
