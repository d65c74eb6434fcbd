/* SPDX-License-Identifier: MIT */
/* What was written to the session before the program joined it (abi/session.h). Constructor. */
#ifndef VESTIGE_CONTROL_SESSION_H
#define VESTIGE_CONTROL_SESSION_H

#include <stdint.h>

/*
 * session_read() - find it. @dir: of the areas. @name: the session's.
 * Return: the number of its last write; 0: there is none.
 */
uint64_t session_read(const char *dir, const char *name);

/* Do what was found. What is refused is no matter, as where it is written later. */
void session_replay(void);

#endif
