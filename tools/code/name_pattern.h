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
	NAME_EXACT, /* the pattern is the name itself: other functions that match are not meant */
};

struct name_pattern {
	char *glob;  /* as written */
	char *tight; /* without blanks */
	char *part;  /* text that must be in the object's name if the source's matches; "" none */
};

/*
 * Make a pattern of @text, @n bytes; freed with name_pattern_free(). Return: false without memory.
 */
bool name_pattern_init(struct name_pattern *p, const char *text, size_t n);
void name_pattern_free(struct name_pattern *p);

/* Can it match only names of the source? It has a character that no name in an object has. */
bool name_pattern_is_source(const char *text, size_t n);

/* Does @name match @glob (*, ?, [])? */
bool name_pattern_fits(const char *glob, const char *name);

/* Does the name in the object match? */
bool name_pattern_raw(const struct name_pattern *p, const char *symbol);

/* Does the source's name of @symbol match? NAME_NO if that name is the same as @symbol. */
enum name_match name_pattern_source(const struct name_pattern *p, const char *symbol);

/*
 * name_pattern_word() - the next word of a text.
 * @between: characters that separate words; a newline does, too. Blanks inside brackets, behind
 * `operator` and before a closing `const` are part of the word.
 * @at: the offset to begin at; moved behind the word. @bytes: gets the word's length. Return: it,
 * in
 * @text; NULL at the end.
 */
#define NAME_PATTERN_BLANKS " \t\r"
const char *name_pattern_word(const char *text, size_t n, const char *between, size_t *at,
			      size_t *bytes);

#endif
