/* SPDX-License-Identifier: MIT */
/* See branch.h. Tests: tests/tracefs/test_files.py. */
#include "tools/mount/branch.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool name_ok(const char *name)
{
	return *name && strcmp(name, ".") && strcmp(name, "..") && !strchr(name, '/');
}

static unsigned int bucket(const char *path)
{
	unsigned int h = 5381;

	for (; *path; path++)
		h = h * 33 + (unsigned char)*path;
	return h % BRANCH_BUCKETS;
}

void branch_dir_free(struct branch_dir *d)
{
	if (!d)
		return;
	free(d->files);
	free(d->by_name);
	free(d->text);
	free(d);
}

void branch_forget(struct branch *b)
{
	branch_dir_free(b->once);
	b->once = NULL;
	for (unsigned int i = 0; i < BRANCH_BUCKETS; i++) {
		struct branch_dir *d;

		while ((d = b->dirs[i])) {
			b->dirs[i] = d->next;
			branch_dir_free(d);
		}
	}
}

const struct branch_dir *branch_find(struct branch *b, uint32_t gen, const char *path)
{
	const struct branch_dir *d;

	if (b->gen != gen || gen & 1)
		return NULL;
	for (d = b->dirs[bucket(path)]; d && strcmp(d->path, path); d = d->next)
		;
	return d;
}

void branch_keep(struct branch *b, uint32_t gen, struct branch_dir *d)
{
	struct branch_dir **at;

	branch_dir_free(b->once);
	b->once = gen & 1 ? d : NULL;
	if (b->once)
		return;
	if (b->gen != gen)
		branch_forget(b);
	b->gen = gen;
	at = &b->dirs[bucket(d->path)];
	d->next = *at;
	*at = d;
}

static int by_name(const void *a, const void *b)
{
	const struct branch_file *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* Lines `MODE NAME`, the mode octal. */
static void parse(struct branch_dir *d)
{
	char *line, *next, *end;

	for (line = strtok_r(d->text, "\n", &next); line; line = strtok_r(NULL, "\n", &next)) {
		mode_t mode = (mode_t)strtoul(line, &end, 8);

		if (*end == ' ' && name_ok(end + 1))
			d->files[d->nr++] = (struct branch_file){
				.name = end + 1, .is_dir = S_ISDIR(mode), .mode = mode & 0777};
	}
}

struct branch_dir *branch_dir_new(const char *path, char *text)
{
	struct branch_dir *d = malloc(sizeof(*d) + strlen(path) + 1);
	size_t lines = 1;

	if (!d) {
		free(text);
		return NULL;
	}
	for (const char *p = text; (p = strchr(p, '\n')); p++)
		lines++;
	*d = (struct branch_dir){
		.text = text,
		.files = calloc(lines, sizeof(*d->files)),
		.by_name = calloc(lines, sizeof(*d->by_name)),
	};
	strcpy(d->path, path);
	if (!d->files || !d->by_name) {
		branch_dir_free(d);
		return NULL;
	}
	parse(d);
	memcpy(d->by_name, d->files, d->nr * sizeof(*d->files));
	qsort(d->by_name, d->nr, sizeof(*d->by_name), by_name);
	return d;
}

const struct branch_file *branch_dir_file(const struct branch_dir *d, const char *name)
{
	const struct branch_file wanted = {.name = name};

	return bsearch(&wanted, d->by_name, d->nr, sizeof(*d->by_name), by_name);
}
