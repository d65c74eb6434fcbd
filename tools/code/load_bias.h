/* SPDX-License-Identifier: MIT */
/*
 * Finds where a program was loaded, from addresses of its functions in a run. The bias, the
 * difference to the addresses in the file, is a whole number of pages; with the right one each
 * address is the start of a function.
 * Tests: tests/cli/test_dot.py, test_kd.py.
 */
#ifndef VESTIGE_TOOLS_LOAD_BIAS_H
#define VESTIGE_TOOLS_LOAD_BIAS_H

#include <stddef.h>
#include <stdint.h>

#include "tools/code/elf_code.h"

/*
 * load_bias_of() - the bias with which the most addresses are the start of a function of @code,
 * which was read from @path. @seen: @nr_seen addresses from the run; sorted here; none: the bias is
 * 0.
 * @bias: gets the number to subtract from an address of the run.
 * Return: 0; -EINVAL with fail() set: several biases fit equally well, or none fits; -ENOMEM.
 */
int load_bias_of(const char *path, const struct elf_code *code, uint64_t *seen, size_t nr_seen,
		 uint64_t *bias);

#endif
