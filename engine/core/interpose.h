/* SPDX-License-Identifier: MIT */
/*
 * Makes calls of libc's functions (or of the program's replacements) go through a wrapper while
 * they are wanted, and otherwise directly to the function.
 *
 *	static struct interposed rows[] = {{.name = "free", .wrapper = wrap_free}, ...};
 *	err = interpose_register(rows, ARRAY_SIZE(rows));
 *	interpose_unregister(rows, ARRAY_SIZE(rows));
 *
 * A second user of the same function has a wrapper of its own, which the first one calls.
 *
 * Rules for a wrapper:
 *
 *	- It has the function's prototype, keeps to any context (no libc, no lock, no errno), and
 *	  calls or tail-calls rows[i].real, which is never NULL there.
 *	- Any thread and any signal handler may call it, from the first want on for ever: a program
 *	  may have stored the address, and a thread that waits in the real function returns through
 *	  the wrapper.
 *	- INTERPOSE_CALLER(), in the wrapper itself, is the caller's address. interpose_muted() says
 *	  whether the engine itself made the call.
 *	- A function that returns twice (vfork, setjmp) needs one in assembler.
 *
 * It sees calls through the words of the loader's tables (global offset tables), also libc's own
 * calls of malloc() and its kind. It does not see calls by an address from dlsym() or from data,
 * calls within one object, allocations of the loader, and other namespaces (dlmopen()). In a static
 * program there are no such words.
 */
#ifndef VESTIGE_CORE_INTERPOSE_H
#define VESTIGE_CORE_INTERPOSE_H

#include <stdint.h>

struct interposed {
	const char *name;
	const void *wrapper;
	void *real; /* the function that the wrapper calls */
	/* core's own */
	uint32_t users;
	struct interposed_function *function;
	struct interposed *next; /* next row of the same function, nearer to it */
};

/*
 * A row of a table of functions. The second macro: the function that a row's wrapper calls, with
 * its type.
 */
#define INTERPOSED(index, function, by)                                                            \
	[index] = {.name = (function), .wrapper = (const void *)(by)}
#define INTERPOSE_REAL(row, type) ((__typeof__(type) *)(row).real)

/* Whether calls can be seen at all; not in a static program. After the start. */
int interpose_possible(void);

/*
 * interpose_register() - from now on calls of these @n functions go through their wrappers;
 * registrations are counted. Under the tree lock; in constructor or control context. Return: 0,
 * even if some objects refuse (vestige_status reports it) or there is no function of such a name;
 * -ENODEV: the program is static; -ENOMEM. After an error nothing has changed.
 */
int interpose_register(struct interposed *rows, uint32_t n);

/* End the registration of this user. Under the tree lock. */
void interpose_unregister(struct interposed *rows, uint32_t n);

/* interpose_register() if @on, else interpose_unregister(). Return: 0 or -errno. */
static inline int interpose_switch(struct interposed *rows, uint32_t n, int on)
{
	if (on)
		return interpose_register(rows, n);
	interpose_unregister(rows, n);
	return 0;
}

/*
 * interpose_beside() - look up another function of the object that has @address, a row's real.
 * Under the tree lock. Return: its address or NULL.
 */
void *interpose_beside(const void *address, const char *name);

/*
 * interpose_weak() - a weak name was missing when the program started, and is defined now: words of
 * the program's tables for @name that are 0 get @address. Under the tree lock.
 */
void interpose_weak(const char *name, const void *address);

/* A function that some user has wanted at least once. */
struct interposed_function {
	const char *name;
	uint32_t hash; /* str_hash() */
	struct interposed *rows;
	struct interposed_function *next;
	/* of the interposer: */
	void *real; /* NULL: it was not found */
	/* the first wanted wrapper, to which words lead; NULL: they lead where they did before */
	const void *head;
};

extern struct interposed_function *interposed_functions;

/* Whether any user wants it now. */
int interposed_wanted(const struct interposed_function *f);

/* Link the wrappers to each other and to f->real. Return: the new value for f->head. */
const void *interposed_link(const struct interposed_function *f);

/*
 * The hook, which registers itself. @apply: called when the users of rows have changed. Return: 0
 * or -errno.
 */
struct interposer {
	int (*apply)(void);
	void *(*beside)(const void *address, const char *name);
	void (*weak)(const char *name, const void *address);
};

void interposer_register(const struct interposer *interposer);
extern const struct interposer *interposer; /* NULL: there is none, as in a static program */

/*
 * Stubs through which a hook makes calls return: a return address in these bounds is not the
 * caller's; caller() gives that. The hook sets it at its start; without a hook no address is in it.
 */
struct return_stubs {
	uint64_t start, bytes;
	uint64_t (*caller)(const uint64_t *slot);
};
extern struct return_stubs return_stubs;

/*
 * While a thread is muted, its wrappers pass calls on and report nothing: calls that the engine
 * itself or the agent makes are not the program's. Pairs may nest.
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

/* Whether a return address is a stub's, with which the graph has replaced the real one. */
static inline int interpose_is_stub(uint64_t address)
{
	return address - return_stubs.start < return_stubs.bytes;
}

/* The return address of the call whose return address is in @slot, stubs resolved. */
static inline uint64_t interpose_caller(const uint64_t *slot)
{
	const struct return_stubs *r = &return_stubs;

	return *slot - r->start < r->bytes ? r->caller(slot) : *slot;
}
#define INTERPOSE_CALLER() interpose_caller((const uint64_t *)__builtin_frame_address(0) + 1)

#endif
