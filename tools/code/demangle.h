/* SPDX-License-Identifier: MIT */
/*
 * Names of C++ and Rust functions as their source has them.
 *
 * C++ is done by the C++ library's own __cxa_demangle, which is loaded when the first such name is
 * met: a machine without libstdc++ or libc++abi shows these names as the object has them, and a
 * program that shows none does not load it. (libiberty, the other one, is LGPL and static only.)
 * Rust's two schemes are decoded in demangle_rust.c and demangle_rust_legacy.c.
 *
 * Names come from untrusted files: what a name may cost in memory is bounded. Not thread-safe.
 * Tests: tests/unit/test_demangle.c, with c++filt as oracle.
 */
#ifndef VESTIGE_TOOLS_DEMANGLE_H
#define VESTIGE_TOOLS_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum demangle {
	DEMANGLE_NONE,	/* as in the object */
	DEMANGLE_SHORT, /* without parameters, what is returned, arguments of templates */
	DEMANGLE_FULL,
};

/* Longest name that is looked at, and longest that is made. */
#define DEMANGLE_MAX_BYTES 8192u

/*
 * demangle_parse() - the word behind --demangle: full, short or none.
 * Return: false for another word.
 */
extern const char *const demangle_words[]; /* the last NULL */
bool demangle_parse(const char *word, enum demangle *how);

/*
 * demangle() - the name behind a symbol.
 * Return: it, to be freed, or NULL: not a mangled name, or none that can be decoded.
 */
char *demangle(const char *symbol, enum demangle how);

/*
 * The steps of demangle(): a name as Rust's, or by Rust's older scheme alone (it begins with _ZN);
 * a code point, at most 0x10ffff, as UTF-8 (returns its bytes).
 */
char *demangle_rust(const char *symbol, enum demangle how);
char *demangle_rust_legacy(const char *symbol);
size_t demangle_utf8(char b[4], uint32_t c);

#endif
