/* SPDX-License-Identifier: MIT */
/*
 * Folders in the Common Trace Format 1.8, of LTTng (UST and kernel), barectf and ours: all files
 * `metadata` below the folder are one trace. ctf_library.c reads it in a process of its own, which
 * a damaged trace may crash.
 *
 * LTTng's and our events of -finstrument-functions are calls, any other one is an event with the
 * text of its fields. Times are the clock's less its offset: CLOCK_MONOTONIC with LTTng.
 * Tests: tests/cli/test_import_ctf.py, tests/fuzz/ctf.c.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/import/ctf_library.h"
#include "tools/import/import.h"

#define MAX_DEPTH   8u
#define MAX_FOLDERS 4096u /* that are looked into */
#define PATIENCE_S  4u	  /* see ctf_library_run() */
#define BYTES_PER_S (16u << 20)

struct folders {
	char **paths; /* with a file `metadata` */
	size_t nr, room;
};

struct ctf_import {
	struct import *im;
	FILE *from;
	bool has_origin;
	int64_t origin_ns;
	uint64_t nr_before;
	char name[CTF_TEXT_BYTES], comm[CTF_TEXT_BYTES], text[CTF_TEXT_BYTES];
};

static int no_memory(void)
{
	return fail(ENOMEM, "out of memory");
}

static void free_folders(struct folders *f)
{
	for (size_t i = 0; i < f->nr; i++)
		free(f->paths[i]);
	free(f->paths);
}

/*
 * Find the folders with a file `metadata`. @f NULL: only whether there is one. @fd: is closed.
 * Return: 1: found; 0: not; -errno with fail() set.
 */
static int walk(int fd, const char *path, unsigned int depth, struct folders *f, unsigned int *left)
{
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	struct stat st;
	int found = 0;

	if (!d && fd >= 0)
		close(fd);
	if (!d || !*left || !depth) {
		if (d)
			closedir(d);
		return 0;
	}
	--*left;
	if (!fstatat(dirfd(d), "metadata", &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode)) {
		found = 1;
		if (f &&
		    (ARRAY_ROOM(f->paths, f->nr, f->room, 8) || !(f->paths[f->nr] = strdup(path))))
			found = no_memory();
		else if (f)
			f->nr++;
	}
	while (!found && (e = readdir(d))) {
		char *below;

		if (e->d_name[0] == '.' || (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN))
			continue;
		if (asprintf(&below, "%s/%s", path, e->d_name) < 0) {
			found = no_memory();
			break;
		}
		found = walk(openat(dirfd(d), e->d_name,
				    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
			     below, depth - 1, f, left);
		free(below);
		if (f && found > 0) /* and the others beside it */
			found = 0;
	}
	closedir(d);
	return found;
}

static bool ctf_is_folder(int fd)
{
	unsigned int left = MAX_FOLDERS;

	return walk(openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "", MAX_DEPTH, NULL,
		    &left) > 0;
}

static bool take_string(FILE *from, char *to, uint32_t bytes)
{
	if (bytes >= CTF_TEXT_BYTES || fread(to, 1, bytes, from) != bytes)
		return false;
	to[bytes] = '\0';
	return true;
}

static int take_record(struct ctf_import *own, const struct ctf_item *item)
{
	uint64_t ip, parent = 0;
	char caller[32];
	int64_t ts;
	int64_t origin = own->origin_ns;
	int32_t thread;
	int err;

	if (!own->has_origin) {
		own->has_origin = true;
		own->origin_ns = origin = item->origin_ns;
		if (origin > 0)
			import_realtime(own->im, (uint64_t)origin);
	}
	if (__builtin_sub_overflow(item->ns, origin, &ts) || ts < 0) {
		own->nr_before++;
		return 0;
	}
	err = import_thread(own->im, item->pid == CTF_NO_THREAD ? 0 : item->pid,
			    item->tid == CTF_NO_THREAD ? 0 : item->tid, &thread);
	if (!err && *own->comm)
		err = import_task(own->im, thread,
				  item->pid > 0 && item->pid < INT32_MAX ? (int32_t)item->pid : 0,
				  own->comm);
	if (err || item->kind == CTF_LEAVE)
		return err ? err : import_leave(own->im, item->cpu, thread, (uint64_t)ts);
	err = import_function(own->im, own->name, NULL, &ip);
	if (err)
		return err;
	if (item->kind == CTF_ENTER)
		return import_enter(own->im, item->cpu, thread, (uint64_t)ts, ip);
	if (item->kind == CTF_HIT && item->caller) {
		snprintf(caller, sizeof(caller), "0x%llx", (unsigned long long)item->caller);
		err = import_function(own->im, caller, NULL, &parent);
	}
	if (err || item->kind == CTF_HIT)
		return err ? err : import_hit(own->im, item->cpu, thread, (uint64_t)ts, ip, parent);
	return import_text(own->im, item->cpu, thread, (uint64_t)ts, ip, own->text);
}

/* Return: 0; 1 at the end; -errno with fail() set. */
static int take_item(struct ctf_import *own)
{
	struct ctf_item item;

	if (fread(&item, sizeof(item), 1, own->from) != 1)
		return fail(EPROTO, "babeltrace2's library has failed");
	if (!take_string(own->from, own->name, item.name_bytes) ||
	    !take_string(own->from, own->comm, item.comm_bytes) ||
	    !take_string(own->from, own->text, item.text_bytes))
		return fail(EPROTO, "babeltrace2's library has failed");
	switch (item.kind) {
	case CTF_END:
		return 1;
	case CTF_ERROR:
		return fail(EINVAL, "%s", own->text);
	case CTF_LOST:
		note("%llu events were lost while it was recorded", (unsigned long long)item.addr);
		return 0;
	default:
		return take_record(own, &item);
	}
}

/* @has_ended: the child has closed its end of the pipe, so it ends by itself and is not killed. */
static int end_child(pid_t child, bool has_ended, int err)
{
	int status = 0;

	if (!has_ended)
		kill(child, SIGKILL);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (err == -EPROTO && WIFEXITED(status) && WEXITSTATUS(status) == CTF_STUCK_STATUS)
		return fail(EPROTO,
			    "babeltrace2's library does not come to an end: the trace is damaged");
	if (err == -EPROTO && WIFSIGNALED(status))
		return fail(EPROTO,
			    "babeltrace2's library ended with signal %d (%s): it is damaged",
			    WTERMSIG(status), strsignal(WTERMSIG(status)));
	return err;
}

/* The library reads all files before the first event. */
static unsigned int patience_s(const struct folders *f)
{
	uint64_t bytes = 0;
	struct dirent *e;
	struct stat st;

	for (size_t i = 0; i < f->nr; i++) {
		DIR *d = opendir(f->paths[i]);

		while (d && (e = readdir(d)))
			if (!fstatat(dirfd(d), e->d_name, &st, 0) && S_ISREG(st.st_mode))
				bytes += (uint64_t)st.st_size;
		if (d)
			closedir(d);
	}
	return PATIENCE_S +
	       (unsigned int)(bytes / BYTES_PER_S < 86400 ? bytes / BYTES_PER_S : 86400);
}

static int read_traces(struct ctf_import *own, const struct folders *f)
{
	unsigned int patience = patience_s(f);
	pid_t child, parent = getpid();
	bool has_ended = false;
	int fds[2], err;

	if (pipe2(fds, O_CLOEXEC))
		return fail_errno(errno, "cannot make a pipe");
	child = fork();
	if (!child) {
		close(fds[0]);
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
			_exit(1);
		ctf_library_run((const char *const *)f->paths, f->nr, fds[1], patience);
		_exit(0);
	}
	err = child < 0 ? fail_errno(errno, "cannot fork") : 0;
	close(fds[1]);
	own->from = err ? NULL : fdopen(fds[0], "r");
	if (!err && !own->from)
		err = no_memory();
	if (!own->from)
		close(fds[0]);
	while (!err)
		err = take_item(own);
	if (own->from) {
		has_ended = feof(own->from);
		fclose(own->from);
	}
	return child > 0 ? end_child(child, has_ended, err > 0 ? 0 : err) : err;
}

static int ctf_read(struct import_text *in, struct import *im)
{
	struct ctf_import *own = calloc(1, sizeof(*own));
	unsigned int left = MAX_FOLDERS;
	struct folders f = {0};
	int err = own ? 0 : no_memory();

	if (!err)
		err = walk(openat(in->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), in->path,
			   MAX_DEPTH, &f, &left);
	if (!err || err > 0) {
		own->im = im;
		err = f.nr ? read_traces(own, &f) : fail(ENOENT, "its file metadata has gone");
	}
	if (!err && own->nr_before)
		note("%llu events from before the clock's offset are left out",
		     (unsigned long long)own->nr_before);
	free_folders(&f);
	free(own);
	return err;
}

const struct importer ctf_importer = {
	.name = "a CTF trace", .read = ctf_read, .is_folder = ctf_is_folder};
