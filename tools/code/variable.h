/* SPDX-License-Identifier: MIT */
/*
 * The variables that a function has at its entry and its return, by their names in the source:
 * `fd`, `s->next->text`, `$retval->name`. Converts the DWARF of a variable to a form that a probe
 * can fetch: an argument of the call, offsets for following pointers, and a type (the grammar of
 * kprobe_events).
 */
#ifndef VESTIGE_TOOLS_VARIABLE_H
#define VESTIGE_TOOLS_VARIABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/area.h"
#include "abi/probe_word.h"

#define VARIABLE_BYTES 160

/* A function of an object. */
struct variable_place {
	const char *symbol; /* its name, @symbol_bytes long; NULL: it is given by its address: */
	size_t symbol_bytes;
	bool is_tracepoint; /* `symbol` is the function that calls a tracepoint's probes */
	uint64_t at;	    /* as in the object's program headers, */
	bool is_offset;	    /* or an offset in the file */
};

struct variable {
	char fetch[VARIABLE_BYTES];  /* its value: `$arg1`, `+8($arg2)` */
	char type[16];		     /* `s32`, `b3@2/32`; "": it has no type that can be fetched, */
	enum probe_word_wrong wrong; /* for this reason */
	char string[VARIABLE_BYTES]; /* fetches it as a text, if it is one; else "" */
};

struct variables;

/*
 * variables_open() - find a function.
 * @path: of the object. @row: the object that ran, which the file must be; NULL: any file. Return:
 * 0 and
 * *@out, to be freed with variables_free(), NULL if DWARF does not have the function; -ENOENT:
 * there is no such symbol; -errno.
 */
int variables_open(const char *path, const struct area_object *row,
		   const struct variable_place *place, struct variables **out);
void variables_free(struct variables *v);

/*
 * variables_name() - the name of the @n-th parameter, from 0, borrowed; NULL: it has none, or there
 * are fewer. variables_count() - the number of parameters.
 */
const char *variables_name(const struct variables *v, unsigned int n);
unsigned int variables_count(const struct variables *v);

/* Whether the function is variadic. */
bool variables_variadic(const struct variables *v);

/*
 * variables_find() - look up @text, @n bytes: a parameter or `$retval`, and members of it.
 * Return: 0 and *@out; else an enum probe_word_wrong, and *@position: the offset of the error in
 * @text.
 */
int variables_find(struct variables *v, const char *text, size_t n, struct variable *out,
		   size_t *position);

#endif
