/* SPDX-License-Identifier: MIT */
/*
 * The questions of the page, from an address such as /api/spans?from=0&to=9 to an answer. Kept from
 * one question to the next: the result of the last filters, the SQL handle, the sources.
 */
#ifndef VESTIGE_TOOLS_QUESTIONS_H
#define VESTIGE_TOOLS_QUESTIONS_H

#include <microhttpd.h>
#include <stdatomic.h>

#include "tools/view/answers.h"

#define MAX_FILTERS 4u /* whose columns are kept */

/* What a filter of the page leaves. */
struct filtered {
	char *steps;
	struct columns *c;
	uint64_t used; /* when it was asked for last */
};

/* What is asked. One question at a time. */
struct served {
	const struct columns *c; /* borrowed */
	struct answer_about about;
	const char *source_dir; /* see source_text_new() */
	uint64_t generation;	/* how often @c was replaced */
	/* the module's; made with the first question */
	struct filtered filters[MAX_FILTERS];
	uint64_t nr_questions;
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
 * Return: 0; -ENOENT: there is no such question; -EINVAL: something in it is wrong; -EAGAIN: an
 * outline cannot answer it; -ENOMEM.
 */
int served_answer(struct served *s, struct MHD_Connection *con, const char *path, struct body *out);

/* Free what was kept, before @c changes or at the end. */
void served_forget(struct served *s);

#endif
