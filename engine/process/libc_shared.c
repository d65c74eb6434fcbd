/* SPDX-License-Identifier: MIT */
/* libc.h for libvestige.so. Tests: all tests that preload it, tests/engine/fire/loader_lock. */
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/process/libc.h"

/* The linker's symbols: the library's first byte, and the end of its code. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

const int libc_is_static = 0;

void *libc_symbol(const char *name)
{
	return dlsym(RTLD_DEFAULT, name);
}

/*
 * The first function of that name in the program's lookup order. Differs from libc_symbol() if
 * dlopen() loaded the engine. NULL: there is none.
 */
static void *libc_first(const char *name)
{
	void *program = dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD);
	void *found = program ? dlsym(program, name) : NULL;

	if (program)
		dlclose(program);
	return found;
}

extern const char own_pthread_create[] __asm__("pthread_create");

int libc_is_late(void)
{
	static int known = -1; /* it does not change, and each look takes the loader's lock */

	if (known < 0) {
		const void *first = libc_first("pthread_create");

		known = first != own_pthread_create && libc_owns(first);
	}
	return known;
}

void *libc_next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE
typedef int find_object_fn(void *pc, struct dl_find_object *result);

static find_object_fn *real_find_object;
static const void *(*find_rows)(uint64_t pc, uint64_t *lo, uint64_t *hi);

void libc_find_rows(const void *(*find)(uint64_t pc, uint64_t *lo, uint64_t *hi))
{
	if (!real_find_object)
		real_find_object = (find_object_fn *)libc_next("_dl_find_object");
	__atomic_store_n(&find_rows, find, __ATOMIC_RELEASE);
}

/* libgcc's unwinder calls this for each frame. */
VESTIGE_EXPORT int _dl_find_object(void *pc, struct dl_find_object *result)
{
	const void *(*find)(uint64_t pc, uint64_t * lo, uint64_t * hi);
	uint64_t lo, hi;
	const void *rows;

	if (!real_find_object)
		real_find_object = (find_object_fn *)libc_next("_dl_find_object");
	if (real_find_object && !real_find_object(pc, result))
		return 0;
	find = __atomic_load_n(&find_rows, __ATOMIC_ACQUIRE);
	rows = find ? find((uint64_t)pc, &lo, &hi) : NULL;
	if (!rows)
		return -1;
	*result = (struct dl_find_object){
		.dlfo_map_start = (void *)(uintptr_t)lo,
		.dlfo_map_end = (void *)(uintptr_t)hi,
		.dlfo_eh_frame = (void *)(uintptr_t)rows,
	};
	return 0;
}
#else
void libc_find_rows(const void *(*find)(uint64_t pc, uint64_t *lo, uint64_t *hi))
{
	(void)find;
}
#endif

/* The bounds of libc, looked up once, in constructor context; hi is 0 before. */
static struct {
	uint64_t at, lo, hi;
} libc;

static int find_bounds(struct dl_phdr_info *info, size_t bytes, void *arg)
{
	uint64_t lo = UINT64_MAX, hi = 0;
	uint32_t i;

	(void)bytes;
	(void)arg;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t from = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD)
			continue;
		lo = from < lo ? from : lo;
		hi = from + p->p_memsz > hi ? from + p->p_memsz : hi;
	}
	if (libc.at - lo >= hi - lo)
		return 0;
	libc.lo = lo;
	libc.hi = hi;
	return 1;
}

/*
 * Not by dladdr(), which searches all of libc's symbols each time. The loader's lock is not taken
 * under the tree lock: a thread in dlopen() takes them in the other order.
 */
int libc_owns(const void *p)
{
	if (!libc.at) {
		libc.at = (uint64_t)dlsym(RTLD_NEXT, "gnu_get_libc_version");
		if (libc.at)
			dl_iterate_phdr(find_bounds, NULL);
	}
	return p && (uint64_t)p - libc.lo < libc.hi - libc.lo;
}

void libc_own_text(uint64_t *lo, uint64_t *hi)
{
	*lo = (uint64_t)__ehdr_start;
	*hi = (uint64_t)etext;
}

struct place {
	uint32_t before; /* objects to pass over */
	char name[4096]; /* PATH_MAX */
};

static int take_name(struct dl_phdr_info *info, size_t bytes, void *arg)
{
	struct place *p = arg;

	(void)bytes;
	if (p->before--)
		return 0;
	str_copy(p->name, sizeof(p->name), info->dlpi_name ? info->dlpi_name : "");
	return 1;
}

static void *find_in(const char *object_name, const char *name)
{
	void *object = dlopen(object_name, RTLD_LAZY | RTLD_NOLOAD), *found;

	if (!object)
		return NULL;
	found = dlsym(object, name);
	dlclose(object);
	return (const char *)found >= __ehdr_start && (const char *)found < etext ? NULL : found;
}

void *libc_own(const char *name)
{
	void *found = find_in("libc.so.6", name);

	return libc_owns(found) ? found : NULL;
}

/*
 * An object's name is copied, and the object is opened after dl_iterate_phdr(): this has a lock of
 * the loader's that dlopen() takes too, but after another one.
 */
void *libc_anywhere(const char *name)
{
	void *found = libc_next(name);
	struct place p;
	uint32_t i;

	for (i = 0; !found; i++) {
		p.before = i;
		if (!dl_iterate_phdr(take_name, &p))
			break;
		if (p.name[0])
			found = find_in(p.name, name);
	}
	return found;
}
