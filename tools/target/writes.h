/* SPDX-License-Identifier: MIT */
/* The writes to a session, kept for members that come later. */
#ifndef VESTIGE_TOOLS_WRITES_H
#define VESTIGE_TOOLS_WRITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The translated text of a write for programs with these objects (abi/session.h). */
struct meaning {
	uint64_t objects;
	char *text;
	size_t n;
};

struct written {
	char *path, *text; /* text NULL: an instance is made, and path is its name */
	size_t n;
	bool truncate;
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC: when it was carried out */
	bool depends;		   /* its meaning depends on the program: meaning.h */
	struct meaning *meanings;
	unsigned int nr_meanings;
};

/* In the order in which they are repeated in new members. Zero at first; one thread at a time. */
struct writes {
	struct written *at;
	unsigned int nr, room;
};

/* Is a write to @path kept for later members? */
bool writes_keep(const char *path);

/*
 * writes_add() - add a write that was carried out; it replaces earlier writes to the same file if
 * they have no effect any more. @new: copied, except meanings, which @w owns then in any case.
 * Return: 0; -ENOMEM; -ENOSPC: there are too many.
 */
int writes_add(struct writes *w, struct written *new);

/* Free the meanings of a write that was not added. */
void writes_free_meanings(struct written *w);

/* Forget that an instance was made. */
void writes_forget_instance(struct writes *w, const char *name);

/* Forget them all. */
void writes_free(struct writes *w);

#endif
