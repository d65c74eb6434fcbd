/* SPDX-License-Identifier: MIT */
/*
 * See lifecycle.h. A pass over the table for each level: a few dozen rows, three times in a
 * process's life. Tests: all of tests/engine start and end by it; tests/engine/fire/forks.
 */
#include "engine/base/lifecycle.h"

#include <stddef.h>

void lifecycle_start(const struct lifecycle_start *how)
{
	const struct lifecycle *const *row;
	uint32_t level;

	for (level = 0; level < LIFECYCLE_LEVELS; level++)
		REGISTRY_EACH (vestige_lifecycle, row)
			if ((*row)->level == level && (*row)->start)
				(*row)->start(how);
}

void lifecycle_fork(const struct lifecycle_fork *f)
{
	const struct lifecycle *const *row;
	uint32_t level;

	for (level = 0; level < LIFECYCLE_LEVELS; level++)
		REGISTRY_EACH (vestige_lifecycle, row)
			if ((*row)->level == level && (*row)->fork)
				(*row)->fork(f);
}

void lifecycle_exit(void)
{
	const struct lifecycle *const *row;
	uint32_t level;

	for (level = LIFECYCLE_LEVELS; level--;)
		REGISTRY_EACH (vestige_lifecycle, row)
			if ((*row)->level == level && (*row)->exit)
				(*row)->exit();
}
