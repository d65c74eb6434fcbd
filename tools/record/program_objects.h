/* SPDX-License-Identifier: MIT */
/*
 * The objects of a program and their functions, from the files that the loader would map, without
 * starting the program. For names that must be known before it starts.
 */
#ifndef VESTIGE_TOOLS_PROGRAM_OBJECTS_H
#define VESTIGE_TOOLS_PROGRAM_OBJECTS_H

#include "tools/area/meta.h"
#include "tools/record/launch.h"

/*
 * program_objects() - tables of the objects that were built for tracing, with a function for each
 * symbol of a function: some of these the engine may not be able to trace.
 * @l: of launch_find().
 * @out: on success the tables, which have only strings, objects and functions; freed with
 * meta_free().
 * Return: 0; -ENOMEM with fail() set. An object that cannot be read is left out.
 */
int program_objects(const struct launch *l, struct meta **out);

/*
 * program_files() - call @fn with the path of the program's own file and of each of its objects
 * that the loader would map. @l: of launch_find(). A result of @fn other than 0 stops. Return: that
 * result; 0.
 */
int program_files(const struct launch *l, int (*fn)(void *arg, const char *path), void *arg);

/*
 * program_is_as_it_is() - whether `record` traces the program without the compiler's flags.
 * @l: of launch_find().
 * Return: true if none of its functions was built with such a flag. false for a script, since its
 * interpreter would be traced, and for a static program.
 */
bool program_is_as_it_is(const struct launch *l);

#endif
