/* SPDX-License-Identifier: MIT */
/*
 * See program_objects.h. The loader itself lists the files that it would map (`ld.so --list
 * PROGRAM`, as for ldd(1)), so RPATH, LD_LIBRARY_PATH, LD_PRELOAD and its cache have their usual
 * effect. No code of the program or of its libraries runs. Tests: tests/cli/test_names.py.
 */
#include "tools/record/program_objects.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/array.h"
#include "tools/base/child.h"
#include "tools/base/fail.h"
#include "tools/code/elf_code.h"

extern char **environ;

struct tables {
	struct meta *m;
	bool any; /* also objects that were built without any flag for tracing */
	size_t room_objects, room_functions, room_strings;
};

/* Functions that code built for tracing calls, and sections that list its sites. */
static bool is_marker(const char *symbol)
{
	static const char *const names[] = {"mcount", "_mcount", "__fentry__",
					    "__cyg_profile_func_enter"};

	for (size_t i = 0; symbol && i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(symbol, names[i]))
			return true;
	return false;
}

static bool calls_marker(Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr, bool is_static)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	GElf_Sym sym;

	for (int i = 0; data && gelf_getsym(data, i, &sym); i++)
		if ((sym.st_shndx == SHN_UNDEF || is_static) &&
		    is_marker(elf_strptr(elf, shdr->sh_link, sym.st_name)))
			return true;
	return false;
}

/* Whether an object was built by one of the flags. */
static bool has_sites(const char *path, bool is_static)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	Elf_Scn *scn = NULL;
	bool found = false;
	size_t names;
	Elf *elf;

	if (fd < 0 || elf_version(EV_CURRENT) == EV_NONE)
		return false;
	elf = elf_begin(fd, ELF_C_READ, NULL);
	while (elf && !found && !elf_getshdrstrndx(elf, &names) && (scn = elf_nextscn(elf, scn))) {
		GElf_Shdr shdr;
		const char *name;

		if (!gelf_getshdr(scn, &shdr))
			continue;
		name = elf_strptr(elf, names, shdr.sh_name);
		found = name && !strcmp(name, "__patchable_function_entries");
		if (!found && (shdr.sh_type == SHT_DYNSYM || shdr.sh_type == SHT_SYMTAB))
			found = calls_marker(elf, scn, &shdr, is_static);
	}
	elf_end(elf);
	close(fd);
	return found;
}

static int by_offset(const void *a, const void *b)
{
	const struct area_function *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Add the row of an object, its functions and its path. Return: 0 or -ENOMEM. */
static int add_rows(struct tables *t, const char *path, const struct elf_code *code)
{
	struct meta *m = t->m;
	size_t nr = m->nr_functions, nr_objects = m->nr_objects, first = nr;
	size_t bytes = strlen(path) + 1;
	struct area_object *o;

	if (ARRAY_ROOM(m->objects, nr_objects, t->room_objects, 16))
		return -ENOMEM;
	o = &m->objects[nr_objects];
	*o = (struct area_object){
		.dev = code->dev,
		.ino = code->ino,
		.mtime_ns = code->mtime_ns,
		.path = (uint32_t)m->string_bytes,
		.first_function = (uint32_t)first,
	};
	if (code->build_id_bytes && code->build_id_bytes <= AREA_BUILD_ID_MAX) {
		o->build_id_bytes = (uint8_t)code->build_id_bytes;
		memcpy(o->build_id, code->build_id, code->build_id_bytes);
	}
	for (size_t i = 0; i < code->nr_symbols; i++) {
		if (code->symbols[i].rank > 2 || code->symbols[i].addr > UINT32_MAX)
			continue;
		if (ARRAY_ROOM(m->functions, nr, t->room_functions, 1024))
			return -ENOMEM;
		m->functions[nr++] = (struct area_function){
			.object = (uint32_t)nr_objects, .offset = (uint32_t)code->symbols[i].addr};
	}
	while (m->string_bytes + bytes > t->room_strings) {
		size_t room = 2 * t->room_strings + bytes;
		char *more = realloc(m->strings, room);

		if (!more)
			return -ENOMEM;
		m->strings = more;
		t->room_strings = room;
	}
	memcpy(m->strings + m->string_bytes, path, bytes);
	m->string_bytes += bytes;
	if (nr > first)
		qsort(m->functions + first, nr - first, sizeof(*m->functions), by_offset);
	o->nr_functions = (uint32_t)(nr - first);
	m->nr_functions = (uint32_t)nr;
	m->nr_objects++;
	return 0;
}

static int add_object(struct tables *t, const char *path, bool is_static)
{
	struct elf_code code = {0};
	int err;

	if ((!t->any && !has_sites(path, is_static)) || elf_code_load(path, &code))
		return 0;
	err = add_rows(t, path, &code);
	elf_code_free(&code);
	return err;
}

/* `	NAME => PATH (0xADDRESS)` or `	PATH (0xADDRESS)`; NULL: no file. */
static const char *path_in(char *line)
{
	char *path = strstr(line, " => "), *end = strrchr(line, '(');

	path = path ? path + 4 : line + strspn(line, " \t");
	if (!end || end <= path || *path != '/')
		return NULL;
	while (end > path && end[-1] == ' ')
		end--;
	*end = '\0';
	return path;
}

/* Start the loader. Return: its output, and *@pid; NULL: it cannot be started. */
static FILE *ask_loader(char *loader, char *image, pid_t *pid)
{
	char list[] = "--list";
	char *argv[] = {loader, list, image, NULL};
	posix_spawn_file_actions_t actions;
	FILE *f = NULL;
	int to[2];

	if (pipe2(to, O_CLOEXEC))
		return NULL;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, to[1], 1);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	if (!posix_spawn(pid, loader, &actions, NULL, argv, environ))
		f = fdopen(to[0], "r");
	posix_spawn_file_actions_destroy(&actions);
	close(to[1]);
	if (!f)
		close(to[0]);
	return f;
}

static int each_needed(char *loader, char *image, int (*fn)(void *arg, const char *path), void *arg)
{
	char *line = NULL;
	size_t room = 0;
	pid_t pid = -1;
	int err = 0;
	FILE *f;

	f = ask_loader(loader, image, &pid);
	while (f && !err && getline(&line, &room, f) > 0) {
		const char *path = path_in(line);

		if (path)
			err = fn(arg, path);
	}
	free(line);
	if (f)
		fclose(f);
	if (pid > 0)
		child_wait(pid);
	return err;
}

static int add_needed(void *arg, const char *path)
{
	return add_object(arg, path, false);
}

/* Its name in the process's area, and how it starts. Return: whether it can be read. */
static bool read_image(const struct launch *l, char image[PATH_MAX], struct elf_start *elf)
{
	bool good;
	int fd;

	if (!realpath(l->image, image))
		snprintf(image, PATH_MAX, "%s", l->image);
	fd = open(image, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	good = fd >= 0 && !elf_start_read(fd, image, elf);
	if (fd >= 0)
		close(fd);
	return good;
}

int program_files(const struct launch *l, int (*fn)(void *arg, const char *path), void *arg)
{
	char image[PATH_MAX];
	struct elf_start elf;
	int err;

	if (!read_image(l, image, &elf))
		return 0;
	err = fn(arg, image);
	return err || !elf.interp[0] ? err : each_needed(elf.interp, image, fn, arg);
}

int program_objects(const struct launch *l, struct meta **out)
{
	struct tables t = {.m = calloc(1, sizeof(*t.m)), .any = l->unmodified != NULL};
	char image[PATH_MAX];
	struct elf_start elf;
	int err = 0;

	if (!t.m)
		return fail(ENOMEM, "out of memory");
	/* an object that cannot be read is left out */
	if (read_image(l, image, &elf)) {
		err = add_object(&t, image, !elf.interp[0]);
		if (!err && elf.interp[0])
			err = each_needed(elf.interp, image, add_needed, &t);
	}
	if (err) {
		meta_free(t.m);
		return fail(ENOMEM, "out of memory for the names in %s", l->image);
	}
	*out = t.m;
	return 0;
}

/*
 * Whether functions of the program's own file have sites. A static program is traced only with
 * sites: true.
 */
static bool program_has_sites(const struct launch *l)
{
	struct elf_start elf;
	int fd = open(l->image, O_RDONLY | O_CLOEXEC | O_NOCTTY), err;

	err = fd < 0 || elf_start_read(fd, l->image, &elf);
	if (fd >= 0)
		close(fd);
	return err || !elf.interp[0] || has_sites(l->image, false);
}

bool program_is_as_it_is(const struct launch *l)
{
	return !l->script && !program_has_sites(l);
}
