/* SPDX-License-Identifier: MIT */
/*
 * A program that stays in dlopen(), and so has the loader's lock, until it reads a line; then it
 * loads another object from there.
 *
 *	loader_lock LIBRARY OTHER [BEFORE]
 *
 * With -DLIBRARY: the object, whose constructor does that. With -DUNWINDER: an object with the
 * functions of libunwind that the engine calls; with -DSTAY, too, it waits amid its relocation. If
 * BEFORE is given, that object is loaded first. At its end the program waits for another line then,
 * and prints whether the engine has registered rules with one of these objects.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#if defined(LIBRARY)
__attribute__((constructor)) static void stay(void)
{
	char c;

	if (!getenv("OTHER"))
		return;
	if (write(1, "inside\n", 7) != 7 || read(0, &c, 1) != 1)
		_exit(2);
	if (!dlopen(getenv("OTHER"), RTLD_NOW))
		_exit(3);
}
#elif defined(UNWINDER)
struct rules {
	struct rules *next, *prev;
	uint64_t range[3];
	int32_t format, pad;
	uint64_t rest[7];
};

struct list {
	uint32_t version, generation;
	struct rules *first;
};

struct found {
	uint64_t words[13]; /* the fourth: its handler */
};

void _U_dyn_register(struct rules *r);
void _U_dyn_cancel(struct rules *r);
struct list *_U_dyn_info_list_addr(void);
int _ULx86_64_get_proc_info_by_ip(void *space, uint64_t ip, struct found *out, void *arg);
int loader_lock_has_rules(void);

void *_ULx86_64_local_addr_space = &_ULx86_64_local_addr_space;
struct list loader_lock_list; /* others see it, so it is found by a word that is relocated */

void _U_dyn_register(struct rules *r)
{
	r->next = loader_lock_list.first;
	loader_lock_list.first = r;
}

void _U_dyn_cancel(struct rules *r)
{
	loader_lock_list.first = r->next;
}

struct list *_U_dyn_info_list_addr(void)
{
	return &loader_lock_list;
}

/* As version 1.6: the format's words come after an offset. */
int _ULx86_64_get_proc_info_by_ip(void *space, uint64_t ip, struct found *out, void *arg)
{
	(void)arg;
	if (space != &_ULx86_64_local_addr_space || loader_lock_list.first->range[0] != ip)
		return -1;
	out->words[3] = loader_lock_list.first->rest[2];
	return 0;
}

int loader_lock_has_rules(void)
{
	const struct rules *r = _U_dyn_info_list_addr()->first;

	return r && !r->next && r->format == 2;
}

#ifdef STAY
static int one(void)
{
	return 1;
}

static long by_itself(long nr, long a, const void *b, long c)
{
	__asm__ volatile("syscall" : "+a"(nr) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return nr;
}

/* Called by the loader. Nothing outside of it can be called yet. */
static int (*stay(void))(void)
{
	char c;

	by_itself(1, 1, "inside\n", 7);
	by_itself(0, 0, &c, 1);
	return one;
}

int amid_relocation(void) __attribute__((ifunc("stay")));
int (*loader_lock_stays)(void) = amid_relocation;
#endif
#else
static int has_rules(void *lib)
{
	int (*of)(void);

	*(void **)&of = dlsym(lib, "loader_lock_has_rules");
	return of && of();
}

int main(int argc, char **argv)
{
	void *lib, *before = NULL;

	if (argc != 3 && argc != 4)
		return 1;
	if (argc == 4)
		before = dlopen(argv[3], RTLD_NOW);
	setenv("OTHER", argv[2], 1);
	lib = dlopen(argv[1], RTLD_LAZY);
	if (!lib || (argc == 4 && !before)) {
		puts(dlerror());
		return 1;
	}
	puts("done");
	fflush(stdout);
	if (before && getchar() == '\n')
		puts(has_rules(before) || has_rules(lib) ? "rules" : "no rules");
	return 0;
}
#endif
