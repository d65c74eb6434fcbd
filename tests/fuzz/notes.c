/* SPDX-License-Identifier: MIT */
#include "fuzz.h"

#include <fcntl.h>
#include <unistd.h>

/* Of the sanitizers, where there is one. */
__attribute__((weak)) void __sanitizer_set_report_fd(void *fd);

void fuzz_notes(int shown)
{
	static int to = -1, none = -1;

	if (to < 0) {
		to = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
		none = open("/dev/null", O_WRONLY | O_CLOEXEC);
		if (__sanitizer_set_report_fd)
			__sanitizer_set_report_fd((void *)(intptr_t)to);
	}
	dup2(shown ? to : none, STDERR_FILENO);
}
