/* SPDX-License-Identifier: MIT */
/*
 * The requests of the page: from an address such as /api/spans?from=0&to=9 to an answer. Kept from
 * one request to the next: the results of the last filters, the SQL handle, the source files.
 */
#ifndef VESTIGE_TOOLS_REQUESTS_H
#define VESTIGE_TOOLS_REQUESTS_H

#include <microhttpd.h>
#include <stdatomic.h>

#include "tools/view/answers.h"

#define MAX_FILTERS 4u /* cached at most */

/* The columns that a filter of the page leaves, cached. */
struct filtered {
	char *steps;
	struct columns *c;
	uint64_t used; /* number of the last request that used it; 0: never */
};

/* What is served. One request at a time. */
struct served {
	const struct columns *c; /* borrowed */
	struct answer_about about;
	const char *source_dir; /* see source_text_new() */
	uint64_t generation;	/* how often @c was replaced */
	/* of this module; made when a request needs them */
	struct filtered filters[MAX_FILTERS];
	uint64_t nr_requests; /* those with a filter */
	uint64_t nr_answers;
	struct source_text *source;
	struct sql *sql;
	atomic_bool stop; /* set by the owner: a query ends soon */
};

/* A text that grows; `at` is to be freed. */
struct body {
	char *at;
	size_t nr, room;
};

/* A sink of struct out. Return: 0 or -ENOMEM, too where it gets too large. */
int body_add(void *body, const char *text, size_t bytes);

/*
 * served_answer() - answer a request as JSON.
 * @path: of its address. @out: empty.
 * Return: 0; -ENOENT: there is no such request; -EINVAL: an argument is wrong; -EAGAIN: an outline
 * cannot answer it; -ENOMEM.
 */
int served_answer(struct served *s, struct MHD_Connection *con, const char *path, struct body *out);

/* Free the caches, before @c changes or at the end. */
void served_forget(struct served *s);

#endif
