/* SPDX-License-Identifier: MIT */
/*
 * The DWARF of a trace's objects, if their files are on this machine, for srcline.h and
 * prototype.h. An object is used only if its file is the one that ran. Its DWARF is in that file,
 * or in its debug file (by build-id below /usr/lib/debug, or by .gnu_debuglink).
 */
#ifndef VESTIGE_TOOLS_DEBUGINFO_H
#define VESTIGE_TOOLS_DEBUGINFO_H

#include <elfutils/libdwfl.h>
#include <stdint.h>

#include "tools/code/symbols.h"

struct debuginfo;

/* @symbols: borrowed; has the objects. Return: NULL and errno if memory is short. */
struct debuginfo *debuginfo_new(const struct symbols *symbols);
void debuginfo_free(struct debuginfo *d);

/*
 * debuginfo_module() - the object with the code at @addr, of a trace.dat's address space. @at: set
 * to the same address as libdwfl's functions need it for this module. Return: borrowed; NULL: the
 * file is not on this machine, or has no DWARF. The first call for an object opens it, which may
 * take long.
 */
Dwfl_Module *debuginfo_module(struct debuginfo *d, uint64_t addr, Dwarf_Addr *at);

#endif
