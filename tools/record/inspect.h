/* SPDX-License-Identifier: MIT */
/* Lets the engine scan a program without running its main(). */
#ifndef VESTIGE_TOOLS_INSPECT_H
#define VESTIGE_TOOLS_INSPECT_H

#include "tools/area/meta.h"
#include "tools/record/launch.h"

/*
 * inspect_program() - start @argv[0] with the engine, read the tables, end it.
 * @l: zeroed; describes the started program afterwards.
 * @out: on success the tables, freed with meta_free().
 * Return: 0 or -errno with fail() set, as launch_find() and launch_start().
 * Constructors of shared objects that the loader maps do run; the program's own do not.
 */
int inspect_program(struct launch *l, char **argv, struct meta **out);

/*
 * inspect_recorded() - the same, with the functions that `record` would trace: if it would trace
 * the program without compiler flags, l->unmodified is set. @unmodified: the flag --unmodified was
 * given.
 */
int inspect_recorded(struct launch *l, char **argv, bool unmodified, struct meta **out);

#endif
