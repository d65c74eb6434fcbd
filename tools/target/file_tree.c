/* SPDX-License-Identifier: MIT */
/*
 * Parses the area's table of control files: see file_tree.h. The text is untrusted: the length of
 * each row is checked, and names with a slash or `..` are refused, since they become file names of
 * the mount. Tests: tests/tracefs/.
 */
#include "tools/target/file_tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/option.h"
#include "tools/base/fail.h"
#include "tools/base/read_at.h"

#define PER_CPU	  "per_cpu"
#define OPTIONS	  "options"
#define MAX_BYTES (1u << 22)
#define MAX_ROWS  4096u
#define TRIES	  1000
#define TRY_US	  100

/*
 * Copy the text, with no write of the process in between. If the process was stopped or killed
 * while it wrote, the text is partly new and partly old: it is copied as it is, with @torn set and
 * an odd
 * @gen. Return: its bytes or -errno.
 */
static long read_text(int fd, const struct area_table *t, char **text, uint32_t *gen, bool *torn)
{
	struct area_files head, after;

	for (int i = 0; i < TRIES; i++) {
		if (i)
			usleep(TRY_US);
		if (read_at(fd, &head, sizeof(head), t->offset))
			return -EIO;
		*torn = head.gen & 1;
		if (*torn && i < TRIES - 1)
			continue;
		if (head.bytes > MAX_BYTES || head.bytes > t->count - sizeof(head))
			return -EINVAL;
		*text = malloc((size_t)head.bytes + 1);
		if (!*text)
			return -ENOMEM;
		if (read_at(fd, *text, head.bytes, t->offset + sizeof(head)) ||
		    read_at(fd, &after, sizeof(after), t->offset)) {
			free(*text);
			*text = NULL;
			return -EIO;
		}
		if (after.gen == head.gen) {
			(*text)[head.bytes] = '\0';
			*gen = head.gen;
			return head.bytes;
		}
		free(*text);
		*text = NULL;
	}
	return -EAGAIN;
}

static bool name_ok(const char *name)
{
	return *name && *name != '.' && strlen(name) < 128 && !strpbrk(name, "/ \t");
}

static int scope_of(char letter)
{
	switch (letter) {
	case 'i':
		return FILE_INSTANCE;
	case 'g':
		return FILE_GLOBAL;
	case 'c':
		return FILE_CPU;
	case 'o':
		return FILE_OPTION;
	default:
		return -1;
	}
}

static bool has_text(char kind, char scope, unsigned int mode)
{
	return kind == 'd' || (kind == 'e' && scope != 'c' && scope != 'o' && mode & 0444);
}

/* One row at @p, which has @left bytes. Return: bytes that it takes, or 0. */
static size_t parse_row(char *p, size_t left, struct file_row *row)
{
	char *newline = memchr(p, '\n', left), kind, scope;
	unsigned int mode, bytes;
	int at = 0;
	size_t line;

	if (!newline)
		return 0;
	*newline = '\0';
	line = (size_t)(newline - p) + 1;
	if (sscanf(p, "%3o %c %c %5u %n", &mode, &kind, &scope, &bytes, &at) != 4 || !at ||
	    !name_ok(p + at) || scope_of(scope) < 0 || bytes > left - line)
		return 0;
	*row = (struct file_row){
		.path = p + at,
		.mode = (uint16_t)mode,
		.branch = kind == 'd',
		.scope = (uint8_t)scope_of(scope),
		.text = has_text(kind, scope, mode) ? p + line : NULL,
		.bytes = bytes,
	};
	return line + bytes;
}

int file_tree_load(int fd, const struct area_header *head, struct file_tree *tree)
{
	const struct area_table *t = &head->tables[AREA_FILES];
	size_t at = 0;
	bool torn;
	long bytes;

	memset(tree, 0, sizeof(*tree));
	if (t->count < sizeof(struct area_files))
		return fail(ENODATA, "the process has no table of its control files");
	bytes = read_text(fd, t, &tree->text, &tree->gen, &torn);
	if (bytes < 0)
		return fail_errno((int)-bytes, "the table of control files");
	tree->rows = calloc(MAX_ROWS, sizeof(*tree->rows));
	if (!tree->rows)
		return fail(ENOMEM, "out of memory for control files");
	while (at < (size_t)bytes && tree->nr_rows < MAX_ROWS) {
		const char *end = memchr(tree->text + at, '\n', (size_t)bytes - at);
		size_t n =
			parse_row(tree->text + at, (size_t)bytes - at, &tree->rows[tree->nr_rows]);

		if (n) {
			tree->nr_rows++;
			at += n;
			continue;
		}
		if (!torn)
			return fail(EINVAL, "the table of control files is damaged");
		/* between the new and the old part one row is broken: go on with the next line */
		at = end ? (size_t)(end - tree->text) + 1 : (size_t)bytes;
	}
	return 0;
}

void file_tree_free(struct file_tree *tree)
{
	free(tree->rows);
	free(tree->text);
	memset(tree, 0, sizeof(*tree));
}

/* The bit of an option, -1 when this version knows none of that name. */
static int option_bit(const char *name)
{
	static const struct {
		const char *name;
		int bit;
	} options[] = {
#define ROW(NAME, name, number, first) {name, number},
		AREA_OPTIONS_GLOBAL(ROW) AREA_OPTIONS_FUNCTION(ROW) AREA_OPTIONS_GRAPH(ROW)
			AREA_OPTIONS_NOP(ROW)
#undef ROW
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		if (!strcmp(options[i].name, name))
			return options[i].bit;
	return -1;
}

static bool in_folder(const struct file_row *row, int folder)
{
	return folder == FILE_INSTANCE ? row->scope <= FILE_GLOBAL : row->scope == folder;
}

/* @folder: FILE_INSTANCE the root, FILE_CPU a CPU's, FILE_OPTION options/. */
/* The part of @path behind @folder: "" for the folder itself, NULL when @path is not in it. */
static const char *inside(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	if (strncmp(path, folder, n) || (path[n] && path[n] != '/'))
		return NULL;
	return path[n] ? path + n + 1 : path + n;
}

static bool in_branch(const struct file_tree *tree, const char *path)
{
	for (uint32_t i = 0; i < tree->nr_rows; i++)
		if (tree->rows[i].branch && inside(path, tree->rows[i].path))
			return true;
	return false;
}

static const struct file_row *find_row(const struct file_tree *tree, const char *name, int folder)
{
	for (uint32_t i = 0; i < tree->nr_rows; i++)
		if (in_folder(&tree->rows[i], folder) && !strcmp(tree->rows[i].path, name))
			return &tree->rows[i];
	return NULL;
}

/* `cpuN`, then its end or a slash. Return: what is behind it, NULL when it is none. */
static const char *take_cpu(const char *p, uint32_t nr_cpus, unsigned int *cpu)
{
	unsigned long n;
	char *end;

	if (strncmp(p, "cpu", 3) || p[3] < '0' || p[3] > '9' || (p[3] == '0' && p[4] >= '0'))
		return NULL;
	n = strtoul(p + 3, &end, 10);
	if (n >= nr_cpus || (*end && *end != '/'))
		return NULL;
	*cpu = (unsigned int)n;
	return *end ? end + 1 : end;
}

int file_tree_find(const struct file_tree *tree, const char *path, uint32_t nr_cpus,
		   struct file_at *at)
{
	const char *rest;
	int folder = FILE_INSTANCE;

	*at = (struct file_at){.cpu = UINT32_MAX, .option = -1};
	at->branch = in_branch(tree, path);
	if (at->branch)
		return 0;
	rest = inside(path, OPTIONS);
	if (rest) {
		path = rest;
		folder = FILE_OPTION;
	} else if ((rest = inside(path, PER_CPU))) {
		if (!*rest)
			return 0;
		path = take_cpu(rest, nr_cpus, &at->cpu);
		folder = FILE_CPU;
	}
	if (!path)
		return -ENOENT;
	if (!*path)
		return 0;
	at->row = find_row(tree, path, folder);
	if (at->row && folder == FILE_OPTION)
		at->option = option_bit(at->row->path);
	return at->row ? 0 : -ENOENT;
}

static int list_rows(const struct file_tree *tree, int folder, unsigned int cpu,
		     int (*put)(void *arg, const char *name, const struct file_at *at), void *arg)
{
	int ret = 0;

	for (uint32_t i = 0; !ret && i < tree->nr_rows; i++) {
		const struct file_row *row = &tree->rows[i];
		struct file_at at = {.row = row, .cpu = cpu, .option = -1};

		if (folder == FILE_OPTION)
			at.option = option_bit(row->path);
		if (row->branch)
			at.row = NULL;
		if (in_folder(row, folder))
			ret = put(arg, row->path, &at);
	}
	return ret;
}

const struct file_row *file_tree_row(const struct file_tree *tree, const char *name)
{
	return find_row(tree, name, FILE_INSTANCE);
}

int file_tree_list(const struct file_tree *tree, const char *dir, uint32_t nr_cpus,
		   int (*put)(void *arg, const char *name, const struct file_at *at), void *arg)
{
	struct file_at at;
	char cpu[16];
	int ret = file_tree_find(tree, dir, nr_cpus, &at);

	if (ret || at.row || at.branch)
		return -ENOENT;
	if (at.cpu != UINT32_MAX)
		return list_rows(tree, FILE_CPU, at.cpu, put, arg);
	if (!strcmp(dir, OPTIONS))
		return list_rows(tree, FILE_OPTION, UINT32_MAX, put, arg);
	if (!strcmp(dir, PER_CPU)) {
		for (unsigned int i = 0; !ret && i < nr_cpus; i++) {
			snprintf(cpu, sizeof(cpu), "cpu%u", i);
			ret = put(arg, cpu, &at);
		}
		return ret;
	}
	ret = list_rows(tree, FILE_INSTANCE, UINT32_MAX, put, arg);
	if (!ret)
		ret = put(arg, OPTIONS, &at);
	return ret ? ret : put(arg, PER_CPU, &at);
}
