/* SPDX-License-Identifier: MIT */
/*
 * Functions of libc (or of whatever the program has in its place) that pass by a function of ours
 * while somebody wants to see their calls, and lead where they always did when nobody does.
 *
 *	static struct interposed rows[] = {{.name = "free", .wrapper = wrap_free}, ...};
 *	err = interpose_want(rows, ARRAY_SIZE(rows));	...	interpose_drop(rows, ARRAY_SIZE(rows));
 *
 * Who else wants the same function has a wrapper of its own, which is called by the other's.
 *
 * What a wrapper has to keep to:
 *
 *	- It has the function's prototype, does what it has to do by what any hook may call (no libc, no
 *	  lock, no errno), and calls or tail-calls rows[i].real, which is never NULL there.
 *	- Any thread and any signal handler come there, from the first want on for ever: a program
 *	  may have kept the address, and who waits in the real function returns through it.
 *	- Who called: INTERPOSE_CALLER(), in the wrapper itself. Whether it is the program: interpose_muted().
 *	- A function that returns twice (vfork, setjmp) needs one in assembler.
 *
 * Seen are calls by the words of the loader's tables (global offset tables), libc's own calls of malloc()
 * and its kind among them. Not seen: an address that dlsym() told or that lies in data, calls of
 * an object within itself, what the loader allocates for itself, other namespaces (dlmopen()).
 * In a static program there are no such words.
 */
#ifndef VESTIGE_CORE_INTERPOSE_H
#define VESTIGE_CORE_INTERPOSE_H

#include <stdint.h>

struct interposed {
	const char *name;
	const void *wrapper;
	void *real; /* where the wrapper goes on */
	/* core's */
	uint32_t users;
	struct interposed_function *function;
	struct interposed *next; /* of the same function: nearer to it */
};

/* Whether calls can be seen at all: not in a static program. After the start. */
int interpose_possible(void);

/*
 * interpose_want() - from now on these @n functions' calls come to their wrappers; counted.
 * Under the tree's lock; in constructor or control context.
 * Return: 0, also when some objects refuse (vestige_status says so) or no function of such a name is
 * there; -ENODEV: the program is static; -ENOMEM. Nothing has changed then.
 */
int interpose_want(struct interposed *rows, uint32_t n);

/* No longer by this user. Under the tree's lock. */
void interpose_drop(struct interposed *rows, uint32_t n);

/* The one or the other. */
static inline int interpose_switch(struct interposed *rows, uint32_t n, int on)
{
	if (on)
		return interpose_want(rows, n);
	interpose_drop(rows, n);
	return 0;
}

/*
 * interpose_beside() - another function of the object in which @address, a row's real, lies.
 * Under the tree's lock. Return: its address or NULL.
 */
void *interpose_beside(const void *address, const char *name);

/* A function that was ever wanted. */
struct interposed_function {
	const char *name;
	uint32_t hash; /* str_hash() */
	struct interposed *rows;
	struct interposed_function *next;
	/* the interposer's */
	void *real;	  /* NULL: it was not found */
	const void *head; /* where words lead now: the first wanted wrapper; NULL: as they did */
};

extern struct interposed_function *interposed_functions;

/* Whether somebody wants it now. */
int interposed_wanted(const struct interposed_function *f);

/* Let the wrappers go on to each other and to f->real. Return: what f->head is to be. */
const void *interposed_link(const struct interposed_function *f);

/* Who makes it so: registers itself. @apply: rows' users have come or gone. 0 or -errno. */
struct interposer {
	int (*apply)(void);
	void *(*beside)(const void *address, const char *name);
	/* A return address that is not the caller's, in these bounds, and the caller's then. */
	uint64_t stubs, stubs_bytes;
	uint64_t (*caller)(const uint64_t *slot);
};

void interposer_register(const struct interposer *interposer);
extern const struct interposer *interposer;

/*
 * What the engine itself asks of libc, and what the agent does, is not the program's: while this thread has
 * muted its wrappers, they go on without a word. Pairs may nest.
 */
extern __thread uint32_t interpose_mutes __attribute__((tls_model("initial-exec")));

static inline void interpose_mute(void)
{
	interpose_mutes++;
}

static inline void interpose_unmute(void)
{
	interpose_mutes--;
}

static inline int interpose_muted(void)
{
	return interpose_mutes != 0;
}

/* The address behind the call of the function of which @slot holds the return address. */
static inline uint64_t interpose_caller(const uint64_t *slot)
{
	const struct interposer *i = interposer;

	return *slot - i->stubs < i->stubs_bytes ? i->caller(slot) : *slot;
}
#define INTERPOSE_CALLER() interpose_caller((const uint64_t *)__builtin_frame_address(0) + 1)

#endif
