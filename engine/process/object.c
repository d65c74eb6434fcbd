/* SPDX-License-Identifier: MIT */
/*
 * The list of loaded objects, from dl_iterate_phdr(). Owns the table of struct object. An object
 * that dlclose() removed keeps its row, since records name its functions; if it is loaded again it
 * gets another row. fork: the child has the same objects, and their names in its own area. Tests:
 * tests/engine/fire/dlopen.
 */
#include "engine/process/object.h"

#include <errno.h>
#include <sys/auxv.h>

#include "engine/arch/sys.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/base/seq_buf.h"
#include "engine/ring/ring.h"

static struct object *objects;
static uint32_t nr_objects;
static int are_relocated; /* objects that are found now are relocated */
static int are_elsewhere; /* another thread may be loading them */

uint32_t object_count(void)
{
	return nr_objects;
}

struct object *object_at(uint32_t i)
{
	return &objects[i];
}

/* Find the build-id in the mapped notes: type 3, owner GNU. */
static void read_build_id(struct area_object *row, const ElfW(Phdr) * ph)
{
	const uint8_t *p = (const uint8_t *)(row->bias + ph->p_vaddr);
	const uint8_t *end = p + ph->p_memsz;

	while (end - p >= (long)sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *n = (const void *)p;
		uint64_t name = ((uint64_t)n->n_namesz + 3) & ~(uint64_t)3;
		uint64_t desc = ((uint64_t)n->n_descsz + 3) & ~(uint64_t)3;

		p += sizeof(*n);
		if (name + desc > (uint64_t)(end - p))
			return;
		if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 && !memcmp(p, "GNU", 4) &&
		    n->n_descsz <= AREA_BUILD_ID_MAX) {
			row->build_id_bytes = (uint8_t)n->n_descsz;
			memcpy(row->build_id, p + name, n->n_descsz);
			return;
		}
		p += name + desc;
	}
}

static const char *base_name(const char *path)
{
	const char *name = path;

	for (; *path; path++)
		if (*path == '/' && path[1])
			name = path + 1;
	return name;
}

/*
 * Open an object's file. A name like "[vdso]" is no path, and must not be looked up in the current
 * folder.
 */
int object_open(const struct object *o)
{
	return object_row(o)->status == AREA_OBJECT_VDSO
		       ? -ENOENT
		       : (int)sys_open(o->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
}

/* Set the file's identity, and its path: absolute, whatever path dlopen() got. */
static void read_identity(struct object *o, struct area_object *row)
{
	char link[40], path[4096];
	struct seq_buf s;
	struct stat st;
	int fd = object_open(o);
	long n;

	if (fd < 0) {
		row->path = area_string(o->path);
		return;
	}
	if (!sys_fstat(fd, &st)) {
		row->dev = st.st_dev;
		row->ino = st.st_ino;
		row->mtime_ns = st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec;
	}
	seq_init(&s, link, sizeof(link) - 1);
	/*
	 * the agent has descriptors of its own, and may be the loading thread: libgcc, for
	 * unwinding
	 */
	seq_puts(&s, "/proc/thread-self/fd/");
	seq_putu(&s, (uint64_t)fd);
	link[s.len] = 0;
	n = sys_readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = 0;
	row->path = area_string(n > 0 && path[0] == '/' ? path : o->path);
	sys_close(fd);
}

/* A path that stays valid for opening the file; the loader's string is freed with the object. */
static const char *lasting_path(const struct object *o)
{
	return o->index ? area_string_at(object_row(o)->path) : "/proc/self/exe";
}

static void take_names(struct object *o)
{
	o->path = lasting_path(o);
	o->name = base_name(area_string_at(object_row(o)->path));
}

/* A child with an area of its own has the names there. */
static void fork_objects(const struct lifecycle_fork *f)
{
	uint32_t i;

	for (i = 0; f->when == LIFECYCLE_FORK_TAKE && i < nr_objects; i++)
		take_names(&objects[i]);
}

int object_is_mapped(const struct object *o, const ElfW(Phdr) * ph)
{
	uint32_t i;

	for (i = 0; i < o->nr_phdr; i++) {
		const ElfW(Phdr) *load = &o->phdr[i];
		uint64_t at = ph->p_vaddr - load->p_vaddr;

		if (load->p_type == PT_LOAD && load->p_flags & PF_R && at < load->p_memsz &&
		    ph->p_memsz <= load->p_memsz - at)
			return 1;
	}
	return 0;
}

const uint8_t *object_eh_header(const struct object *o, uint64_t *bytes)
{
	uint32_t i;

	for (i = 0; i < o->nr_phdr; i++) {
		const ElfW(Phdr) *ph = &o->phdr[i];

		if (ph->p_type != PT_GNU_EH_FRAME || !object_is_mapped(o, ph))
			continue;
		*bytes = ph->p_memsz;
		return (const uint8_t *)(object_row(o)->bias + ph->p_vaddr);
	}
	return NULL;
}

static int add_object(const struct dl_phdr_info *info)
{
	static const char self[] = "";
	uint64_t vdso = getauxval(AT_SYSINFO_EHDR), loader = getauxval(AT_BASE);
	struct area_object *row;
	struct object *o;
	uint32_t i;

	if (nr_objects == OBJECT_MAX || area_reserve(AREA_OBJECTS, nr_objects + 1))
		return -ENOSPC;
	o = &objects[nr_objects];
	row = area_object(nr_objects);
	o->index = nr_objects;
	o->phdr = info->dlpi_phdr;
	o->nr_phdr = info->dlpi_phnum;
	o->path = nr_objects ? info->dlpi_name : "/proc/self/exe";
	row->bias = o->bias = info->dlpi_addr;
	row->lo = UINT64_MAX;
	for (i = 0; i < o->nr_phdr; i++) {
		const ElfW(Phdr) *ph = &o->phdr[i];

		if (ph->p_type == PT_LOAD) {
			if (row->bias + ph->p_vaddr < row->lo)
				row->lo = row->bias + ph->p_vaddr;
			if (row->bias + ph->p_vaddr + ph->p_memsz > row->hi)
				row->hi = row->bias + ph->p_vaddr + ph->p_memsz;
		} else if (ph->p_type == PT_NOTE && !row->build_id_bytes &&
			   object_is_mapped(o, ph)) {
			read_build_id(row, ph);
		}
	}
	if (vdso >= row->lo && vdso < row->hi) {
		row->status = AREA_OBJECT_VDSO;
		row->path = area_string("[vdso]");
	} else {
		if (loader >= row->lo && loader < row->hi)
			row->status = AREA_OBJECT_LOADER;
		/* libvestige.a: the engine is in the program itself */
		if (o->index && (uint64_t)self >= row->lo && (uint64_t)self < row->hi)
			row->status = AREA_OBJECT_ENGINE;
		read_identity(o, row);
	}
	take_names(o);
	o->relocated = are_relocated;
	o->elsewhere = are_elsewhere;
	o->loaded = 1;
	o->seen = 1;
	area->tables[AREA_OBJECTS].count = ++nr_objects;
	return 0;
}

/* @arg: int, the first error. All objects are looked at, even if there is no row for a new one. */
static int see_object(struct dl_phdr_info *info, size_t bytes, void *arg)
{
	int *err = arg;
	uint32_t i;

	(void)bytes;
	for (i = 0; i < nr_objects; i++) {
		struct object *o = &objects[i];

		if (o->loaded && !o->seen && object_row(o)->bias == info->dlpi_addr &&
		    o->phdr == info->dlpi_phdr) {
			o->seen = 1;
			return 0;
		}
	}
	if (!*err)
		*err = add_object(info);
	return 0;
}

int objects_update(uint32_t *first_new, void (*gone)(struct object *o))
{
	uint32_t i;
	int err = 0;

	*first_new = nr_objects;
	for (i = 0; i < nr_objects; i++)
		objects[i].seen = 0;
	dl_iterate_phdr(see_object, &err);
	for (i = 0; i < *first_new; i++) {
		if (!objects[i].loaded || objects[i].seen)
			continue;
		objects[i].loaded = 0;
		object_row(&objects[i])->unload_stamp = ring_clock();
		gone(&objects[i]);
	}
	for (i = *first_new; i < nr_objects; i++)
		object_row(&objects[i])->load_stamp = ring_clock();
	return err;
}

void objects_follow(void)
{
	const struct object_follower *const *f;
	uint32_t level;

	for (level = 0; level < OBJECT_FOLLOW_LEVELS; level++)
		REGISTRY_EACH (vestige_object_followers, f)
			if ((*f)->level == level)
				(*f)->changed();
}

void objects_follow_elsewhere(void)
{
	are_elsewhere = 1;
	objects_follow();
	are_elsewhere = 0;
}

void objects_follow_relocated(void)
{
	are_relocated = 1;
	objects_follow();
	are_relocated = 0;
}

static int load_object(struct dl_phdr_info *info, size_t bytes, void *arg)
{
	(void)bytes;
	(void)arg;
	return add_object(info);
}

int objects_load(void)
{
	objects = sys_map_table(OBJECT_MAX * sizeof(*objects));
	if (!objects)
		return -ENOMEM;
	return dl_iterate_phdr(load_object, NULL);
}

LIFECYCLE(LIFECYCLE_PROCESS, NULL, fork_objects, NULL);
