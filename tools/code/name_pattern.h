/* SPDX-License-Identifier: MIT */
/*
 * Patterns of function names as users write them: the name in the object (`_ZN2ns4leafEi`), or the
 * name of the C++ or Rust source as it is printed, with or without parameters and arguments of
 * templates (`ns::leaf`, `ns::leaf(int)`, `shared<int>`), each a glob (*, ?, []). Blanks of source
 * names do not count. Not thread-safe (demangle.h). Tests: tests/unit/test_name_pattern.c.
 */
#ifndef VESTIGE_TOOLS_NAME_PATTERN_H
#define VESTIGE_TOOLS_NAME_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

enum name_match {
	NAME_NO,
	NAME_GLOB,
	NAME_EXACT, /* the same name: if one function is meant, others that the glob matches are not */
};

struct name_pattern {
	char *glob;  /* as written */
	char *tight; /* without blanks */
	char *part; /* a text that the name in the object must contain for the source's name to match; "" anything */
};

/* Return: false without memory. */
bool name_pattern_init(struct name_pattern *p, const char *text, size_t n);
void name_pattern_free(struct name_pattern *p);

/* Can it be of a name of the source alone? No name in an object has such characters. */
bool name_pattern_is_source(const char *text, size_t n);

/* Does @name match @glob (*, ?, [])? */
bool name_pattern_fits(const char *glob, const char *name);

/* Does the name in the object match? */
bool name_pattern_raw(const struct name_pattern *p, const char *symbol);

/* Does the name that the source has for it? NAME_NO where that is the same as the object's. */
enum name_match name_pattern_source(const struct name_pattern *p, const char *symbol);

/*
 * name_pattern_word() - the next word of a text.
 * @between: what separates words; a newline does, too. Blanks within brackets, behind `operator`
 * and before a closing `const` belong to the word.
 * @at: where to begin; moves behind the word. @bytes: of the word. Return: it; NULL at the end.
 */
#define NAME_PATTERN_BLANKS " \t\r"
const char *name_pattern_word(const char *text, size_t n, const char *between, size_t *at,
			      size_t *bytes);

#endif
