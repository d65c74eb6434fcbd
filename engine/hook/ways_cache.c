/* SPDX-License-Identifier: MIT */
/*
 * See ways_cache.h. A ways file is used if it is trusted (ways_file_is_trusted()), it is no link,
 * and its contents fit (ways_file_unpack()). Otherwise the object is analysed, as if there were no
 * file. The file is read, not mapped: a file that is truncated meanwhile must not end the program.
 *
 * Constructor and notification contexts. fork: nothing. Costs: bench unmodified.
 * Tests: tests/cli/test_ways.py.
 */
#include "engine/hook/ways_cache.h"

#include <fcntl.h>

#include "engine/arch/sys.h"
#include "engine/base/mem.h"
#include "engine/base/seq_buf.h"
#include "object/ways_file.h"

/* Folders, the user's first; "": none. A longer name is not used. */
static char folders[2][512];

static void set_folder(char *folder, const char *a, const char *b, const char *c)
{
	struct seq_buf s;

	seq_init(&s, folder, sizeof(folders[0]) - 1);
	seq_puts(&s, a);
	seq_puts(&s, b);
	seq_puts(&s, c);
	folder[s.len < sizeof(folders[0]) - 1 ? s.len : 0] = 0;
}

void ways_cache_choose(const char *setting, const char *xdg, const char *home)
{
	folders[0][0] = folders[1][0] = 0;
	if (setting && str_equal(setting, "0"))
		return;
	if (setting && setting[0] == '/') {
		set_folder(folders[0], setting, "", "");
		return;
	}
	set_folder(folders[1], WAYS_FOLDER_OF_ROOT, "", "");
	if (!sys_geteuid())
		return;
	if (xdg && xdg[0] == '/')
		set_folder(folders[0], xdg, WAYS_FOLDER_NAME, "");
	else if (home && home[0] == '/')
		set_folder(folders[0], home, WAYS_FOLDER_IN_HOME, WAYS_FOLDER_NAME);
}

static int read_all(int fd, uint8_t *to, size_t bytes)
{
	size_t at = 0;

	while (at < bytes) {
		long n = sys_pread(fd, to + at, bytes - at, at);

		if (n <= 0)
			return 0;
		at += (size_t)n;
	}
	return 1;
}

static int load(const char *path, const struct elf_file *file, struct entries *e,
		void *(*get)(size_t bytes), void (*put)(void *p, size_t bytes))
{
	int fd = sys_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0);
	struct stat st;
	uint8_t *ways;
	int fits = 0;

	if (fd < 0)
		return 0;
	if (!sys_fstat(fd, &st) && ways_file_is_trusted(&st, sys_geteuid())) {
		size_t bytes = (size_t)st.st_size;

		ways = get(bytes);
		fits = ways && read_all(fd, ways, bytes) &&
		       !ways_file_unpack(e, file->map, file->bytes, ways, bytes, get, put);
		if (ways)
			put(ways, bytes);
	}
	sys_close(fd);
	return fits;
}

int ways_cache_load(const struct object *o, const struct elf_file *file, struct entries *e,
		    void *(*get)(size_t bytes), void (*put)(void *p, size_t bytes))
{
	const struct area_object *row = object_row(o);
	char name[WAYS_FILE_NAME_BYTES], path[sizeof(folders[0]) + sizeof(name) + 2];
	struct seq_buf s;
	int i;

	if (ways_file_name(row->build_id, row->build_id_bytes, name))
		return 0;
	for (i = 0; i < 2; i++) {
		if (!folders[i][0])
			continue;
		seq_init(&s, path, sizeof(path) - 1);
		seq_puts(&s, folders[i]);
		seq_putc(&s, '/');
		seq_puts(&s, name);
		path[s.len] = 0;
		if (load(path, file, e, get, put))
			return 1;
	}
	return 0;
}
