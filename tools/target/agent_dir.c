/* SPDX-License-Identifier: MIT */
/* See agent_dir.h. Tests: tests/tracefs/test_files.py. */
#include "tools/target/agent_dir.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/base/hash.h"

static bool name_ok(const char *name)
{
	return *name && strcmp(name, ".") && strcmp(name, "..") && !strchr(name, '/');
}

static unsigned int bucket(const char *path)
{
	return (unsigned int)(hash_bytes(HASH_BYTES_SEED, path, strlen(path)) % AGENT_DIR_BUCKETS);
}

static void listing_free(struct agent_dir_listing *d)
{
	if (!d)
		return;
	free(d->files);
	free(d->by_name);
	free(d->text);
	free(d);
}

void agent_dir_forget(struct agent_dir *b)
{
	listing_free(b->once);
	b->once = NULL;
	for (unsigned int i = 0; i < AGENT_DIR_BUCKETS; i++) {
		struct agent_dir_listing *d;

		while ((d = b->dirs[i])) {
			b->dirs[i] = d->next;
			listing_free(d);
		}
	}
}

const struct agent_dir_listing *agent_dir_find(struct agent_dir *b, uint32_t gen, const char *path)
{
	const struct agent_dir_listing *d;

	if (b->gen != gen || gen & 1)
		return NULL;
	for (d = b->dirs[bucket(path)]; d && strcmp(d->path, path); d = d->next)
		;
	return d;
}

void agent_dir_keep(struct agent_dir *b, uint32_t gen, struct agent_dir_listing *d)
{
	struct agent_dir_listing **at;

	listing_free(b->once);
	b->once = gen & 1 ? d : NULL;
	if (b->once)
		return;
	if (b->gen != gen)
		agent_dir_forget(b);
	b->gen = gen;
	at = &b->dirs[bucket(d->path)];
	d->next = *at;
	*at = d;
}

static int by_name(const void *a, const void *b)
{
	const struct agent_dir_file *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* Lines `MODE NAME`, the mode octal. */
static void parse(struct agent_dir_listing *d)
{
	char *line, *next, *end;

	for (line = strtok_r(d->text, "\n", &next); line; line = strtok_r(NULL, "\n", &next)) {
		mode_t mode = (mode_t)strtoul(line, &end, 8);

		if (*end == ' ' && name_ok(end + 1))
			d->files[d->nr++] = (struct agent_dir_file){
				.name = end + 1, .is_dir = S_ISDIR(mode), .mode = mode & 0777};
	}
}

struct agent_dir_listing *agent_dir_listing_new(const char *path, char *text)
{
	struct agent_dir_listing *d = malloc(sizeof(*d) + strlen(path) + 1);
	size_t lines = 1;

	if (!d) {
		free(text);
		return NULL;
	}
	for (const char *p = text; (p = strchr(p, '\n')); p++)
		lines++;
	*d = (struct agent_dir_listing){
		.text = text,
		.files = calloc(lines, sizeof(*d->files)),
		.by_name = calloc(lines, sizeof(*d->by_name)),
	};
	strcpy(d->path, path);
	if (!d->files || !d->by_name) {
		listing_free(d);
		return NULL;
	}
	parse(d);
	memcpy(d->by_name, d->files, d->nr * sizeof(*d->files));
	qsort(d->by_name, d->nr, sizeof(*d->by_name), by_name);
	return d;
}

const struct agent_dir_file *agent_dir_listing_file(const struct agent_dir_listing *d,
						    const char *name)
{
	const struct agent_dir_file wanted = {.name = name};

	return bsearch(&wanted, d->by_name, d->nr, sizeof(*d->by_name), by_name);
}
