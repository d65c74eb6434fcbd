/* SPDX-License-Identifier: MIT */
/*
 * trace_pipe_raw of a session: sub-buffers with the records of all members. One object serves all
 * CPUs.
 */
#ifndef VESTIGE_TOOLS_MEMBERS_RAW_H
#define VESTIGE_TOOLS_MEMBERS_RAW_H

#include "tools/target/session.h"
#include "tools/target/raw.h"

struct members_raw;

/*
 * members_raw_get() - the object of @s, which is borrowed; the caller has joined @cpu.
 * Return: 0 or -errno. To be given back with members_raw_put().
 */
int members_raw_get(struct session *s, unsigned int cpu, struct members_raw **out);
void members_raw_put(struct members_raw *x, unsigned int cpu);

/*
 * members_raw_now() - the records of the members, including those found since the last call. @look:
 * also look for new members now, for a reader that does not read again. Borrowed.
 */
struct raw *members_raw_now(struct members_raw *x, bool look);

/* Can there be more records? */
bool members_raw_live(struct members_raw *x);

#endif
