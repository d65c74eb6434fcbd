/* SPDX-License-Identifier: MIT */
#ifndef VESTIGE_CORE_DESCRIBE_H
#define VESTIGE_CORE_DESCRIBE_H

#include <stdint.h>

/*
 * describe_event() - tell readers of records with that id: a row of AREA_EVENTS, in all instances.
 * @format: as events/SYSTEM/NAME/format has it. Once for each id, under the tree's lock.
 * Return: 0; -ENOSPC, -ENOMEM.
 */
int describe_event(const char *system, const char *name, const char *format, uint16_t id);

#endif
