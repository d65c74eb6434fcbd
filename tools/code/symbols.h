/* SPDX-License-Identifier: MIT */
/*
 * Names of code addresses, in the address space of a trace.dat.
 *
 * That space is ours: each distinct object (build-id; else device, inode and mtime) has one range
 * of 4 GiB, which depends on nothing else, so that the same function has the same address in
 * every process and every recording of the same build. An address in it is
 *
 *	object_identity_base(...) + (address in the object's program headers)
 *
 * A table is also made from a trace.dat's kallsyms; its addresses are then those in the file.
 */
#ifndef VESTIGE_TOOLS_SYMBOLS_H
#define VESTIGE_TOOLS_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tools/code/demangle.h"

struct symbol {
	uint64_t addr;
	const char *name;   /* as symbols_demangle() says; at first as in the object */
	const char *raw;    /* as in the object */
	const char *module; /* base name of the object; NULL for the main program (or vmlinux) */
	char type;	    /* nm's letter: T t W w ... */
	bool shown;	    /* name is what symbols_demangle() asked for */
};

struct symbols;

/*
 * The address, below all objects', of the function that writes marks in the kernel, so that a mark
 * appears as `tracing_mark_write: TEXT` in every program that reads the kernel's traces.
 */
#define SYMBOLS_MARK_ADDR UINT64_C(0x07fffffe00000000)
#define SYMBOLS_MARK_NAME "tracing_mark_write"

/* An empty table; NULL and errno if memory is short. Freed with symbols_free(). */
struct symbols *symbols_new(void);
void symbols_free(struct symbols *s);

/*
 * symbols_add() - add one symbol; the strings are copied.
 * @module: NULL for the main program.
 * Return: 0 or -ENOMEM.
 */
int symbols_add(struct symbols *s, uint64_t addr, char type, const char *name, const char *module);

/*
 * symbols_add_kallsyms() - add a text in /proc/kallsyms' form, as a trace.dat keeps it.
 * @text: need not end with NUL.
 * Lines that do not parse are skipped. Return: 0 or -ENOMEM.
 */
int symbols_add_kallsyms(struct symbols *s, const char *text, size_t bytes);

/*
 * symbols_find() - the symbol at or below @addr with the greatest address.
 * Of several at one address it is the one that was added first.
 * Return: it, borrowed from the table, or NULL if @addr is below all. Adding invalidates it.
 * Costs a few ns if the address was looked up lately, else a binary search.
 */
const struct symbol *symbols_find(struct symbols *s, uint64_t addr);

/* Bytes from a symbol of the table to the next one, as the kernel computes a symbol's size. */
uint64_t symbols_size(struct symbols *s, const struct symbol *sym);

/*
 * symbols_demangle() - from now on symbols_find() and symbols_at() give names of the C++ and Rust
 * source (see demangle.h). Once, before names are borrowed. A name is decoded when it is first
 * needed.
 */
void symbols_demangle(struct symbols *s, enum demangle how);

/* The first address of an object's range, and the path of its file on the machine where it ran. */
struct symbols_object {
	uint64_t base;
	const char *path;
};

/*
 * symbols_add_object() - add an object's range; the path is copied. Adding it twice does no harm.
 * Return: 0 or -ENOMEM.
 */
int symbols_add_object(struct symbols *s, uint64_t base, const char *path);
/* How many were added, and the i-th. Borrowed until the next is added. */
size_t symbols_nr_objects(const struct symbols *s);
const struct symbols_object *symbols_object_at(const struct symbols *s, size_t i);

/* The number of symbols, and the i-th in order of address. */
size_t symbols_count(struct symbols *s);
const struct symbol *symbols_at(struct symbols *s, size_t i);

/*
 * symbols_print_kallsyms() - write the table in /proc/kallsyms' form, ascending, one line for each
 * address (symbols_find()'s), names as in the objects, ended by a sentinel: readers never match the
 * last line. Return: 0 or -errno with fail() set.
 */
int symbols_print_kallsyms(struct symbols *s, FILE *f);

#endif
