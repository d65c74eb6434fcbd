/* SPDX-License-Identifier: MIT */
/*
 * Names of C++ and Rust functions as their source has them.
 *
 * C++ names are decoded by __cxa_demangle of the C++ library, which is loaded at the first such
 * name. Without libstdc++ or libc++abi these names are shown as in the object. (The alternative,
 * libiberty, is LGPL and only static.) Rust's two schemes are decoded in demangle_rust.c and
 * demangle_rust_legacy.c.
 *
 * Names come from untrusted files: the memory for a name is limited. Not thread-safe.
 * Tests: tests/unit/test_demangle.c, with c++filt as oracle.
 */
#ifndef VESTIGE_TOOLS_DEMANGLE_H
#define VESTIGE_TOOLS_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum demangle {
	DEMANGLE_NONE,	/* as in the object */
	DEMANGLE_SHORT, /* without parameters, return type and template arguments */
	DEMANGLE_FULL,
};

/* The longest mangled name that is decoded, and the longest result. */
#define DEMANGLE_MAX_BYTES 8192u

/*
 * demangle_parse() - the word behind --demangle: full, short or none.
 * Return: false for another word.
 */
extern const char *const demangle_words[]; /* the last NULL */
bool demangle_parse(const char *word, enum demangle *how);

/*
 * demangle() - the name in the source for a symbol.
 * Return: it, to be freed; NULL: the symbol is not mangled, or cannot be decoded.
 */
char *demangle(const char *symbol, enum demangle how);

/*
 * Parts of demangle(). demangle_rust() - decode a name of Rust. demangle_rust_legacy() - decode one
 * of Rust's older scheme, which begins with _ZN. demangle_utf8() - write a code point, at most
 * 0x10ffff, as UTF-8. Return: its length in bytes.
 */
char *demangle_rust(const char *symbol, enum demangle how);
char *demangle_rust_legacy(const char *symbol);
size_t demangle_utf8(char b[4], uint32_t c);

#endif
