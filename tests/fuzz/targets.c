/* SPDX-License-Identifier: MIT */
#include "fuzz.h"

#include <string.h>

const struct fuzz_target *fuzz_target_find(const char *name)
{
	static const struct fuzz_target *const all[] = {
		&fuzz_area,   &fuzz_spool,   &fuzz_dat,	   &fuzz_control, &fuzz_calls,
		&fuzz_follow, &fuzz_probes,  &fuzz_events, &fuzz_synth,	  &fuzz_insn,
		&fuzz_inject, &fuzz_entries, &fuzz_ways,   &fuzz_import,  &fuzz_index,
		&fuzz_net,    &fuzz_blk,     &fuzz_kft,	   &fuzz_uftrace, &fuzz_ctf};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(all[i]->name, name))
			return all[i];
	return NULL;
}

void *fuzz_get(size_t bytes)
{
	PROMISE(bytes && bytes <= 64u << 20);
	return calloc(1, bytes);
}

void fuzz_put(void *p, size_t bytes)
{
	PROMISE(p && bytes);
	free(p);
}
