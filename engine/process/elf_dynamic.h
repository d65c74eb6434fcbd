/* SPDX-License-Identifier: MIT */
/*
 * Finds the words of a loaded object that its relocations fill with the address of a named
 * function: the global offset table, through which it calls other objects. Needs neither section
 * headers nor the file's symbols, and the object need not be relocated yet.
 */
#ifndef VESTIGE_PROCESS_ELF_DYNAMIC_H
#define VESTIGE_PROCESS_ELF_DYNAMIC_H

#include "engine/process/object.h"

/*
 * The name of a relocation's symbol, in the object's table of strings; the table ends after @room
 * bytes.
 */
struct dynamic_name {
	const char *at;
	uint64_t room;
	uint32_t symbol; /* index in the table of symbols */
	uint32_t index;	 /* index of the relocation in its table */
};

int dynamic_name_is(const struct dynamic_name *n, const char *name);

/*
 * dynamic_may_name() - whether dynamic_names() may report one of @names. Reads few symbols and no
 * relocation.
 */
int dynamic_may_name(const struct object *o, const char *const *names, uint32_t nr);

/*
 * dynamic_names() - call @each for every relocation of the object that names a symbol. @slot: the
 * address of the word that it fills. @type: R_<cpu>_*. The object is mapped, relocated or not; data
 * outside of it is ignored. Constructor or agent context.
 */
void dynamic_names(const struct object *o,
		   void (*each)(void *arg, uint64_t slot, uint32_t type,
				const struct dynamic_name *name),
		   void *arg);

/* A function that an object exports, as the loader would find it there. */
struct dynamic_function {
	uint64_t
		/* 0: there is none, or it is an IFUNC, whose address is the result of a call */
		address;
	const char *version;
};

/*
 * dynamic_function() - look a function up in one object, by its DT_GNU_HASH. @version: of a
 * reference; NULL: the version that new programs get.
 */
struct dynamic_function dynamic_function(const struct object *o, const char *name,
					 const char *version);

/*
 * dynamic_vdso() - a function of the vDSO, which the kernel maps into each process. Return: its
 * address; 0: there is no vDSO, or it has no such function. Any context.
 */
uint64_t dynamic_vdso(const char *name);

/* The same for a variable that an object exports. Return: its address; 0: there is none. */
uint64_t dynamic_variable(const struct object *o, const char *name);

/*
 * Whether the loader has relocated the object: while dlopen() runs in another thread, it may not
 * have. 0: it has not, or that is not known.
 */
int dynamic_is_relocated(const struct object *o);

/* The version in the object's reference; NULL: none. @symbol: of struct dynamic_name. */
const char *dynamic_version(const struct object *o, uint32_t symbol);

#endif
