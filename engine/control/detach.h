/* SPDX-License-Identifier: MIT */
/* The engine asleep, after `vestige detach`, and awake again. */
#ifndef VESTIGE_CONTROL_DETACH_H
#define VESTIGE_CONTROL_DETACH_H

struct tree_row;

/*
 * detach_wake() - a control file is about to be written: an engine that sleeps is as it was before.
 * @row: the file; NULL: an instance is made. Under the tree's lock.
 */
void detach_wake(const struct tree_row *row);

#endif
