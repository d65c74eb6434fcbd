/* SPDX-License-Identifier: MIT */
/* Why a process that has libvestige.so has no area. */
#ifndef VESTIGE_TOOLS_NO_AREA_H
#define VESTIGE_TOOLS_NO_AREA_H

/*
 * no_area() - find the reason: the engine could not use the folder that the process's environment
 * names (it prints nothing then), or was switched off. Return: -errno with fail() set; 0: no reason
 * is known.
 */
int no_area(int pid);

/*
 * no_area_to_come() - whether an engine that is loaded into process @pid would refuse the folder of
 * its area. It would stay there and start at no later attach. Return: as no_area().
 */
int no_area_to_come(int pid);

#endif
