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
 * load_bias_of() - the difference with which the most addresses are the first one of a function of
 * @code, which was read from @path. @seen: addresses from the run; sorted here; 0 of them: the bias
 * is 0. @bias: what is to be taken off an address of the run.
 * Return: 0; -EINVAL with fail() set: several differences do as well as one another, or no address
 * is a function's; -ENOMEM.
 */
int load_bias_of(const char *path, const struct elf_code *code, uint64_t *seen, size_t nr_seen,
		 uint64_t *bias);

#endif
