/* SPDX-License-Identifier: MIT */
/* Replaces the server if vestige is built without libfuse3. */
#include <errno.h>

#include "tools/base/fail.h"
#include "tools/target/areas.h"
#include "tools/mount/mount.h"

int mount_serve(const struct mount_options *options)
{
	(void)options;
	return fail(ENOSYS, "this vestige was built without libfuse3 (Debian: libfuse3-dev)");
}
