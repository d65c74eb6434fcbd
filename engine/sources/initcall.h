/* SPDX-License-Identifier: MIT */
/*
 * Initialisers of the program and its shared objects (DT_INIT, DT_INIT_ARRAY: constructors, C++
 * objects), and their counterparts at the end (DT_FINI_ARRAY, DT_FINI), as the loader calls them.
 */
#ifndef VESTIGE_SOURCES_INITCALL_H
#define VESTIGE_SOURCES_INITCALL_H

#include "engine/sources/source.h"

struct initcall {
	uint64_t function;
	int done;    /* 0: it is about to be called; 1: it has returned */
	uint64_t ns; /* duration */
};

struct initcall_listener {
	struct source_link link;
	void (*call)(const struct initcall *c);
};

/* Its want() fails with -ENODEV in a static program: no loader calls the initialisers. */
extern struct source initcalls;

#endif
