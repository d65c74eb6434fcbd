/* SPDX-License-Identifier: MIT */
#include "fuzz.h"

#include <fcntl.h>
#include <string.h>
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

const struct fuzz_target *fuzz_target_find(const char *name)
{
	static const struct fuzz_target *const all[] = {
		&fuzz_area,   &fuzz_spool,   &fuzz_dat,	   &fuzz_control, &fuzz_calls,
		&fuzz_follow, &fuzz_probes,  &fuzz_events, &fuzz_synth,	  &fuzz_insn,
		&fuzz_inject, &fuzz_entries, &fuzz_import, &fuzz_index,	  &fuzz_net,
		&fuzz_blk,    &fuzz_kft,     &fuzz_uftrace};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(all[i]->name, name))
			return all[i];
	return NULL;
}
