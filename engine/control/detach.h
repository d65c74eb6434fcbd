/* SPDX-License-Identifier: MIT */
/* The detached engine: `vestige detach`, and the way back. */
#ifndef VESTIGE_CONTROL_DETACH_H
#define VESTIGE_CONTROL_DETACH_H

struct tree_row;

/*
 * detach_wake() - before a control file is written: a detached engine undoes the detach. @row: the
 * file; NULL: an instance is made. Under the tree lock.
 */
void detach_wake(const struct tree_row *row);

#endif
