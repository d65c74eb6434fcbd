/* SPDX-License-Identifier: MIT */
/*
 * Opens the recording of a killed recorder: its spool, and the records in the areas of its
 * processes that it had not drained yet. Areas are only read. Tests: tests/cli/test_control.py.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/reader/reader.h"
#include "tools/record/kernel.h"
#include "tools/record/record.h"
#include "tools/target/areas_dir.h"
#include "tools/target/image.h"

struct paths {
	char **of;
	unsigned int nr, room;
};

static int add(struct paths *p, const char *dir, const char *name)
{
	if (ARRAY_ROOM(p->of, p->nr, p->room, 16) ||
	    asprintf(&p->of[p->nr], "%s/%s", dir, name) < 0)
		return fail(ENOMEM, "out of memory for the names of areas");
	p->nr++;
	return 0;
}

/* Add all areas in the folder of user @uid; none if the folder cannot be read. */
static int list(struct paths *p, unsigned int uid)
{
	struct areas_dir dir;
	struct dirent *e;
	int fd, err = 0;
	DIR *d;

	if (areas_dir_find(&dir, uid))
		return 0;
	fd = fcntl(dir.fd, F_DUPFD_CLOEXEC, 0);
	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d && fd >= 0)
		close(fd);
	while (d && !err && (e = readdir(d))) {
		unsigned long long start;
		bool is_socket;
		int pid;

		if (image_parse_name(e->d_name, &pid, &start, &is_socket) && !is_socket)
			err = add(p, dir.path, e->d_name);
	}
	if (d)
		closedir(d);
	areas_dir_close(&dir);
	return err;
}

/* The PID of the recorder, from the name of its spool; 0: the file was renamed. */
static int recorder_of(const char *spool)
{
	const char *at = strstr(spool, ".spool."), *more;
	long pid = 0;
	char *end;

	while (at && (more = strstr(at + 1, ".spool.")))
		at = more;
	if (at) {
		pid = strtol(at + strlen(".spool."), &end, 10);
		/* behind it may be the number of the spool: see record_spool() */
		pid = (*end && *end != '.') || pid < 1 || pid > INT32_MAX ? 0 : pid;
	}
	return (int)pid;
}

/* Note an instance of `record -k` with the kernel's records, which stays until `vestige clean`. */
static void note_kernel(int recorder)
{
	char name[KERNEL_INSTANCE_BYTES];

	if (recorder && kernel_record_is_left(recorder, name))
		note("the kernel's records are in its instance %s, and are not in this file: "
		     "`vestige extract -k -B %s -o kernel.dat` takes them, `vestige clean` removes "
		     "them",
		     name, name);
}

int record_open_killed(const char *spool, struct reader **out)
{
	struct paths p = {0};
	struct stat st;
	int err = stat(spool, &st) ? 0 : list(&p, st.st_uid);
	const struct spool_areas areas = {(const char *const *)p.of, p.nr, recorder_of(spool)};

	if (!err)
		err = reader_open_spool_areas(spool, &areas, out);
	if (!err)
		note_kernel(areas.recorder);
	for (unsigned int i = 0; i < p.nr; i++)
		free(p.of[i]);
	free(p.of);
	return err;
}
