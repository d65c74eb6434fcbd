/* SPDX-License-Identifier: MIT */
/*
 * See borrowed.h. The file is a row for each change:
 *
 *	KIND NAME START BYTES PATH\n
 *
 * and behind it BYTES of the control file's old contents. KIND is s (a file that was set), i (an
 * instance that was made) or a (an addition to a file: then the text is the write that undoes it).
 * NAME is the target's. START is the start time of its process, since PIDs are used again. A row is
 * written before the change is made. Tests: tests/cli/test_top.py.
 */
#include "tools/target/borrowed.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/settable.h"
#include "tools/target/areas_dir.h"
#include "tools/target/process.h"

#define SUFFIX	  ".borrowed"
#define MAX_BYTES (1 << 20)

struct row {
	char kind;
	char name[64], path[256];
	unsigned long long start;
	char *text; /* malloced */
};

struct borrowed {
	struct areas_dir dir;
	char name[128];
	FILE *file;
	struct row *rows;
	unsigned int nr;
};

int borrowed_new(const char *command, struct borrowed **out)
{
	struct borrowed *b = calloc(1, sizeof(*b));
	int err = b ? areas_dir_open_any(&b->dir) : fail(ENOMEM, "out of memory"), fd;

	if (err) {
		free(b);
		return err;
	}
	snprintf(b->name, sizeof(b->name), "%s-%d" SUFFIX, command, (int)getpid());
	/* always a new file: in another user's folder, a name may be a link to a file of root's */
	unlinkat(b->dir.fd, b->name, 0);
	fd = openat(b->dir.fd, b->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) || !(b->file = fdopen(fd, "w"))) {
		err = fail_errno(errno, "cannot make %s/%s", b->dir.path, b->name);
		if (fd >= 0)
			close(fd);
		areas_dir_close(&b->dir);
		free(b);
		return err;
	}
	*out = b;
	return 0;
}

static unsigned long long start_of(const struct target *t)
{
	return t->ops == &process_ops ? ((const struct process *)t)->image.start : 0;
}

/* Add a row, to the file too. @text: malloced, owned by @b then in any case. */
static int keep(struct borrowed *b, char kind, const struct target *t, const char *path, char *text)
{
	struct row *rows = reallocarray(b->rows, b->nr + 1, sizeof(*rows)), *r;
	size_t bytes = text ? strlen(text) : 0;

	if (!rows) {
		free(text);
		return fail(ENOMEM, "out of memory");
	}
	b->rows = rows;
	r = &rows[b->nr];
	*r = (struct row){.kind = kind, .start = start_of(t), .text = text};
	snprintf(r->name, sizeof(r->name), "%s", t->name);
	snprintf(r->path, sizeof(r->path), "%s", path);
	fprintf(b->file, "%c %s %llu %zu %s\n", kind, r->name, r->start, bytes, path);
	fwrite(text ? text : "", 1, bytes, b->file);
	b->nr++;
	return fflush(b->file) ? fail_errno(errno, "cannot write %s/%s", b->dir.path, b->name) : 0;
}

struct note {
	struct borrowed *b;
	struct target *t;
};

static int note(void *arg, const char *path, const char *text)
{
	const struct note *n = arg;
	char *copy;

	for (unsigned int i = 0; i < n->b->nr; i++)
		if (n->b->rows[i].kind == 's' && !strcmp(n->b->rows[i].name, n->t->name) &&
		    !strcmp(n->b->rows[i].path, path))
			return 0;
	copy = strdup(text);
	return copy ? keep(n->b, 's', n->t, path, copy) : fail(ENOMEM, "out of memory");
}

int borrowed_note(struct borrowed *b, struct target *t, const char *path)
{
	return target_kept(t, path, note, &(struct note){b, t});
}

int borrowed_set(struct borrowed *b, struct target *t, const char *path, const char *text)
{
	int err = borrowed_note(b, t, path);

	return err ? err : target_set(t, path, text);
}

int borrowed_mkdir(struct borrowed *b, struct target *t, const char *instance)
{
	int err = keep(b, 'i', t, instance, NULL);

	return err ? err : t->ops->mkdir(t, instance);
}

int borrowed_add(struct borrowed *b, struct target *t, const char *path, const char *text,
		 const char *undo)
{
	char *copy = strdup(undo);
	int err = copy ? keep(b, 'a', t, path, copy) : fail(ENOMEM, "out of memory");

	return err ? err : target_write(t, path, text, strlen(text), false);
}

/*
 * Write a file's old text back. The text of a list of functions has comments, which are left out.
 */
static int put_text(struct target *t, const char *path, const char *text)
{
	const char *file = strrchr(path, '/');
	char size[64];
	int err;

	if (!strcmp(file ? file + 1 : path, "buffer_size_kb")) {
		snprintf(size, sizeof(size), "%s", text);
		return target_set(t, path, settable(size));
	}
	if (!strchr(text, '#'))
		return target_set(t, path, text);
	err = target_set(t, path, "");
	while (!err && *text) {
		size_t n = strcspn(text, "\n");

		if (*text != '#' && n)
			err = target_write(t, path, text, n, false);
		text += n + (text[n] == '\n');
	}
	return err;
}

static void put_back(const struct row *r)
{
	int err;
	bool kernel = !strcmp(r->name, "kernel");
	struct target *t = kernel ? target_kernel(NULL, &err) : target_get(r->name, NULL, &err);

	if (!t)
		return;
	if (t->ops->grows && r->kind == 'i') { /* processes that come would find it */
		t->ops->rmdir(t, r->path);
	} else if (t->ops->lives(t) && (kernel || start_of(t) == r->start)) {
		const char *text = r->text ? r->text : "";

		if (r->kind == 's')
			put_text(t, r->path, text);
		else if (r->kind == 'a')
			target_write(t, r->path, text, strlen(text), false);
		else
			t->ops->rmdir(t, r->path);
	}
	target_put(t);
}

static void put_all_back(struct row *rows, unsigned int nr)
{
	/* triggers in an instance hold events that were added */
	for (unsigned int i = nr; i--;)
		if (rows[i].kind == 'i')
			put_back(&rows[i]);
	while (nr--) {
		if (rows[nr].kind != 'i')
			put_back(&rows[nr]);
		free(rows[nr].text);
	}
	free(rows);
}

void borrowed_undo(struct borrowed *b, const char *path)
{
	unsigned int kept = 0;

	for (unsigned int i = b->nr; i--;)
		if (b->rows[i].kind != 'i' && !strcmp(b->rows[i].path, path))
			put_back(&b->rows[i]);
	for (unsigned int i = 0; i < b->nr; i++) {
		if (b->rows[i].kind != 'i' && !strcmp(b->rows[i].path, path))
			free(b->rows[i].text);
		else
			b->rows[kept++] = b->rows[i];
	}
	b->nr = kept;
}

void borrowed_end(struct borrowed *b)
{
	char said[1024];

	if (!b)
		return;
	/* keep the text of the error that ends the command */
	snprintf(said, sizeof(said), "%s", fail_text());
	put_all_back(b->rows, b->nr);
	fail(EIO, "%s", said);
	unlinkat(b->dir.fd, b->name, 0);
	fclose(b->file);
	areas_dir_close(&b->dir);
	free(b);
}

/* Read all complete rows. */
static void read_rows(FILE *f, struct row **rows, unsigned int *nr)
{
	struct row r, *more;
	unsigned int bytes;

	*rows = NULL;
	*nr = 0;
	for (;;) {
		r = (struct row){0};
		if (fscanf(f, "%c %63s %llu %u %255[^\n]", &r.kind, r.name, &r.start, &bytes,
			   r.path) != 5 ||
		    bytes > MAX_BYTES || fgetc(f) != '\n' || !(r.text = calloc(1, bytes + 1)))
			return;
		more = NULL;
		if (fread(r.text, 1, bytes, f) == bytes &&
		    (r.kind == 's' || r.kind == 'i' || r.kind == 'a'))
			more = reallocarray(*rows, *nr + 1, sizeof(r));
		if (!more) {
			free(r.text);
			return;
		}
		*rows = more;
		more[(*nr)++] = r;
	}
}

void borrowed_leave(struct borrowed *b)
{
	if (!b)
		return;
	for (unsigned int i = 0; i < b->nr; i++)
		free(b->rows[i].text);
	free(b->rows);
	fclose(b->file);
	areas_dir_close(&b->dir);
	free(b);
}

/* `COMMAND-PID.borrowed` */
static bool is_of(const char *name, const char *command)
{
	size_t n = strlen(command);

	if (strncmp(name, command, n) || name[n] != '-')
		return false;
	name += n + 1;
	n = strspn(name, "0123456789");
	return n && !strcmp(name + n, SUFFIX);
}

/* b->name: the file of @command. */
static int find_left(struct borrowed *b, const char *command)
{
	int fd = openat(b->dir.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d) {
		int err = fail_errno(errno, "cannot read %s", b->dir.path);

		if (fd >= 0)
			close(fd);
		return err;
	}
	while ((e = readdir(d)))
		if (strlen(e->d_name) < sizeof(b->name) && is_of(e->d_name, command)) {
			memcpy(b->name, e->d_name, strlen(e->d_name) + 1);
			break;
		}
	closedir(d);
	return e ? 0 : fail(ENOENT, "%s has left nothing", command);
}

int borrowed_take(const char *command, struct borrowed **out)
{
	struct borrowed *b = calloc(1, sizeof(*b));
	int err = b ? areas_dir_find(&b->dir, geteuid()) : fail(ENOMEM, "out of memory"), fd;
	struct stat st;

	if (err) {
		free(b);
		return err;
	}
	err = find_left(b, command);
	if (!err) {
		fd = openat(b->dir.fd, b->name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		b->file = fd < 0 ? NULL : fdopen(fd, "r+");
		if (!b->file || fstat(fd, &st)) {
			err = fail_errno(errno, "cannot read %s/%s", b->dir.path, b->name);
			if (!b->file && fd >= 0)
				close(fd);
		} else if (!S_ISREG(st.st_mode) || st.st_uid != geteuid()) {
			err = fail(EPERM, "%s/%s is not a file of ours", b->dir.path, b->name);
		} else if (flock(fd, LOCK_EX | LOCK_NB)) {
			err = fail(EBUSY, "%s still runs", command);
		}
	}
	if (!err) {
		read_rows(b->file, &b->rows, &b->nr);
		*out = b;
		return 0;
	}
	if (b->file)
		fclose(b->file);
	areas_dir_close(&b->dir);
	free(b);
	return err;
}

static void clean_one(const struct areas_dir *dir, const char *name, bool dry,
		      void (*report)(const char *what))
{
	int fd = openat(dir->fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	char line[512];
	struct stat st;
	struct row *rows;
	unsigned int nr;

	if (!f) {
		if (fd >= 0)
			close(fd);
		return;
	}
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    flock(fd, LOCK_EX | LOCK_NB)) {
		fclose(f);
		return;
	}
	read_rows(f, &rows, &nr);
	for (unsigned int i = 0; i < nr; i++) {
		snprintf(line, sizeof(line), "%s of %s", rows[i].path, rows[i].name);
		report(line);
	}
	if (dry) {
		for (unsigned int i = 0; i < nr; i++)
			free(rows[i].text);
		free(rows);
	} else {
		put_all_back(rows, nr);
		unlinkat(dir->fd, name, 0);
	}
	fclose(f);
}

int borrowed_clean(bool dry, void (*report)(const char *what))
{
	struct areas_dir dir;
	struct dirent *e;
	int err = areas_dir_find(&dir, geteuid()), fd;
	DIR *d;

	if (err)
		return err == -ENOENT ? 0 : err;
	fd = openat(dir.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		err = fail_errno(errno, "cannot read %s", dir.path);
		if (fd >= 0)
			close(fd);
	}
	while (d && (e = readdir(d))) {
		size_t n = strlen(e->d_name);

		if (n > sizeof(SUFFIX) && !strcmp(e->d_name + n - (sizeof(SUFFIX) - 1), SUFFIX))
			clean_one(&dir, e->d_name, dry, report);
	}
	if (d)
		closedir(d);
	areas_dir_close(&dir);
	return err;
}
