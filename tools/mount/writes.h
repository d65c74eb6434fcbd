/* SPDX-License-Identifier: MIT */
/* What was written to a session, for its members that come later. */
#ifndef VESTIGE_TOOLS_MOUNT_WRITES_H
#define VESTIGE_TOOLS_MOUNT_WRITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct written {
	char *path, *text; /* text NULL: path is an instance that is made */
	size_t n;
	bool truncate;
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC: when it was carried out */
	bool by_server; /* it means something else to each member, who is told by its agent */
};

/* In the order in which they are to be repeated. Zero at first; one thread at a time. */
struct writes {
	struct written *at;
	unsigned int nr, room;
};

/* Is a write to it kept for later members? */
bool writes_keep(const char *path);

/*
 * writes_add() - one that was carried out; it takes the place of those to the same file, where it means the same.
 * @text: NULL: an instance of that name was made. Return: 0, -ENOMEM, -ENOSPC: there are too many.
 */
int writes_add(struct writes *w, const struct written *new);

/* Forget that an instance was made. */
void writes_forget_instance(struct writes *w, const char *name);

/* Forget them all. */
void writes_free(struct writes *w);

#endif
