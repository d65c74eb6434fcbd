/* SPDX-License-Identifier: MIT */
/* See index.h. */
#include "tools/view/index.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/base/cache_folder.h"
#include "tools/base/fail.h"
#include "tools/base/hash.h"
#include "tools/base/read_at.h"
#include "tools/text/view.h"

#define MAX_BYTES   (UINT64_C(8) << 30)
#define MAX_TEXT    (1u << 20)
#define MAX_NAMES   (1u << 28)
#define BUFFER_SIZE (1u << 20)
#define HUGE_PAGE   (2u << 20)
#define PIECE	    (256u << 10) /* bytes of a read; hashed while in the CPU cache */

static uint64_t hash_on(uint64_t h, const void *data, size_t bytes)
{
	uint64_t word;

	for (size_t i = 0; i + sizeof(word) <= bytes; i += sizeof(word)) {
		memcpy(&word, (const unsigned char *)data + i, sizeof(word));
		h = hash_u64(h ^ word);
		h ^= h >> 32;
	}
	return h;
}

/* @h: the hash of all that follows the head. */
static uint64_t hash_with_head(uint64_t h, struct index_head head)
{
	head.hash = 0;
	return hash_on(h, &head, sizeof(head));
}

uint64_t index_hash(const struct index_head *head, const void *data, size_t bytes)
{
	return hash_with_head(hash_on(HASH_BYTES_SEED, data, bytes), *head);
}

/* Where the index is. */

static int no_memory(void)
{
	return fail(ENOMEM, "out of memory");
}

int index_place(const char *path, struct index_id *id, char **out)
{
	char dir[PATH_MAX], real[PATH_MAX], *slash;
	struct stat st;
	int err;

	*out = NULL;
	if (!realpath(path, real) || stat(real, &st))
		return fail_errno(errno, "cannot look at '%s'", path);
	if (!S_ISREG(st.st_mode))
		return fail(EINVAL, "'%s' is no regular file", path);
	*id = (struct index_id){st.st_dev, st.st_ino, (uint64_t)st.st_size,
				(uint64_t)st.st_mtim.tv_sec * UINT64_C(1000000000) +
					(uint64_t)st.st_mtim.tv_nsec};
	slash = strrchr(real, '/');
	snprintf(dir, sizeof(dir), "%.*s", slash == real ? 1 : (int)(slash - real), real);
	if (folder_is_mine(dir, S_IWGRP | S_IWOTH))
		return asprintf(out, "%s.index", real) < 0 ? (*out = NULL, no_memory()) : 0;
	err = cache_folder(dir, sizeof(dir));
	if (err)
		return err;
	return asprintf(out, "%s/%llx-%llx.index", dir, (unsigned long long)id->dev,
			(unsigned long long)id->ino) < 0
		       ? (*out = NULL, no_memory())
		       : 0;
}

/* Writing. */

struct writer {
	FILE *file;
	uint64_t bytes, hash;
};

/* @bytes of @data, and zeros up to the next multiple of 8. */
static void put(struct writer *w, const void *data, size_t bytes)
{
	size_t whole = bytes & ~(size_t)7, rest = bytes - whole;
	unsigned char last[8] = {0};

	if (whole) {
		w->hash = hash_on(w->hash, data, whole);
		fwrite(data, 1, whole, w->file);
	}
	if (rest) {
		memcpy(last, (const unsigned char *)data + whole, rest);
		w->hash = hash_on(w->hash, last, sizeof(last));
		fwrite(last, 1, sizeof(last), w->file);
	}
	w->bytes += whole + (rest ? sizeof(last) : 0);
}

static uint32_t text_bytes(const char *text)
{
	size_t n = text ? strlen(text) : 0;

	return (uint32_t)(n < MAX_TEXT ? n : MAX_TEXT);
}

static int put_names(struct writer *w, const struct columns *c)
{
	for (size_t i = 0; i < c->nr_names; i++) {
		const struct column_name *n = &c->names[i];
		struct index_name name = {.ip = n->ip,
					  .text_bytes = text_bytes(n->text),
					  .object_bytes = n->object ? text_bytes(n->object) + 1 : 0,
					  .place_bytes = n->place ? text_bytes(n->place) + 1 : 0};
		uint32_t object = n->object ? name.object_bytes - 1 : 0;
		uint32_t place = n->place ? name.place_bytes - 1 : 0;
		size_t bytes = (size_t)name.text_bytes + object + place;
		char *all = malloc(bytes + 1);

		if (!all)
			return no_memory();
		memcpy(all, n->text, name.text_bytes);
		if (object)
			memcpy(all + name.text_bytes, n->object, object);
		if (place)
			memcpy(all + name.text_bytes + object, n->place, place);
		put(w, &name, sizeof(name));
		put(w, all, bytes);
		free(all);
	}
	return 0;
}

static void put_row(struct writer *w, const struct span_row *row)
{
	struct index_row head = {row->nr, !row->outline};

	put(w, &head, sizeof(head));
	if (row->outline) {
		put(w, row->nodes[0], row->nr_nodes[0] * sizeof(*row->nodes[0]));
		return;
	}
	put(w, row->start, row->nr * sizeof(*row->start));
	put(w, row->length, row->nr * sizeof(*row->length));
	put(w, row->name, row->nr * sizeof(*row->name));
	put(w, row->extra, row->nr * sizeof(*row->extra));
}

static int put_all(struct writer *w, const struct columns *c)
{
	int err = put_names(w, c);

	for (size_t i = 0; i < c->nr_tracks && !err; i++) {
		const struct track *t = &c->tracks[i];
		struct index_track track = {t->kind,	t->id,
					    t->pid,	t->process,
					    t->stack,	text_bytes(t->name),
					    t->nr_rows, text_bytes(t->buffer)};

		put(w, &track, sizeof(track));
		put(w, t->name, track.name_bytes);
		put(w, t->buffer, track.buffer_bytes);
		for (uint32_t row = 0; row < t->nr_rows; row++)
			put_row(w, &t->rows[row]);
	}
	for (size_t i = 0; i < c->nr_lost; i++)
		put(w,
		    &(struct index_lost){
			    .ts = c->lost[i].ts, .nr = c->lost[i].nr, .cpu = c->lost[i].cpu},
		    sizeof(struct index_lost));
	return err;
}

static int write_to(FILE *file, const struct index_id *id, const struct columns *c)
{
	struct writer w = {.file = file, .hash = HASH_BYTES_SEED};
	struct index_head head = {.magic = INDEX_MAGIC,
				  .version = INDEX_VERSION,
				  .head_bytes = sizeof(head),
				  .id = *id,
				  .first = c->first,
				  .last = c->last,
				  .nr_calls = c->nr_calls,
				  .too_deep = c->too_deep,
				  .nr_events = c->events.nr,
				  .has_states = c->has_states,
				  .nr_names = (uint32_t)c->nr_names,
				  .nr_tracks = (uint32_t)c->nr_tracks,
				  .nr_lost = (uint32_t)c->nr_lost};
	int err;

	fwrite(&head, sizeof(head), 1, file);
	err = put_all(&w, c);
	head.file_bytes = sizeof(head) + w.bytes;
	head.hash = hash_with_head(w.hash, head);
	if (err)
		return err;
	if (fseek(file, 0, SEEK_SET) || fwrite(&head, sizeof(head), 1, file) != 1 || fflush(file) ||
	    ferror(file))
		return -EIO;
	return 0;
}

/* Only an index may be replaced: another file of that name is the user's. */
static bool may_replace(const char *index)
{
	int fd = open(index, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	uint64_t magic = 0;
	bool may = errno == ENOENT;

	if (fd < 0)
		return may;
	may = pread(fd, &magic, sizeof(magic), 0) == sizeof(magic) && magic == INDEX_MAGIC;
	close(fd);
	return may;
}

int index_save(const char *index, const struct index_id *id, const struct columns *c)
{
	char *tmp, *buffer = malloc(BUFFER_SIZE);
	FILE *file = NULL;
	int fd, err = 0;

	if (!may_replace(index)) {
		free(buffer);
		return fail(EEXIST, "%s exists and is no index", index);
	}
	if (!buffer || asprintf(&tmp, "%s.%d", index, (int)getpid()) < 0) {
		free(buffer);
		return no_memory();
	}
	fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		err = fail_errno(errno, "cannot make %s", tmp);
		goto out;
	}
	file = fdopen(fd, "w");
	if (file)
		setvbuf(file, buffer, _IOFBF, BUFFER_SIZE);
	errno = 0;
	err = file ? write_to(file, id, c) : -ENOMEM;
	if (err == -EIO)
		err = fail_errno(errno ? errno : EIO, "cannot write %s", tmp);
	if (file ? fclose(file) : close(fd))
		err = err ? err : fail_errno(errno, "cannot write %s", tmp);
	if (!err && rename(tmp, index))
		err = fail_errno(errno, "cannot name %s", index);
	if (err)
		unlink(tmp);
out:
	free(tmp);
	free(buffer);
	return err;
}

/* Reading. */

struct cursor {
	const unsigned char *at;
	size_t left;
};

static int damaged(void)
{
	return fail(EINVAL, "the index is damaged");
}

/* The next @bytes; the padding to 8 behind them is skipped. NULL: fewer are left. */
static const void *take(struct cursor *c, uint64_t bytes)
{
	const unsigned char *at = c->at;
	uint64_t padded = bytes + (8 - bytes % 8) % 8;

	if (bytes > MAX_BYTES || padded > c->left)
		return NULL;
	c->at += padded;
	c->left -= padded;
	return at;
}

static bool take_copy(struct cursor *c, void *to, size_t bytes)
{
	const void *from = take(c, bytes);

	if (from)
		memcpy(to, from, bytes);
	return from;
}

static int copy_text(char **to, const char *from, uint32_t bytes)
{
	*to = strndup(from, bytes);
	return *to ? 0 : no_memory();
}

static int load_names(struct cursor *at, struct columns *c, uint32_t nr)
{
	int err = 0;

	c->names = calloc(nr + 1u, sizeof(*c->names));
	if (!c->names)
		return no_memory();
	while (c->nr_names < nr && !err) {
		struct column_name *to = &c->names[c->nr_names];
		struct index_name name;
		const char *text;

		if (!take_copy(at, &name, sizeof(name)) || name.text_bytes > MAX_TEXT ||
		    name.object_bytes > MAX_TEXT + 1 || name.place_bytes > MAX_TEXT + 1)
			return damaged();
		name.object_bytes += !name.object_bytes;
		name.place_bytes += !name.place_bytes;
		text = take(at,
			    (uint64_t)name.text_bytes + name.object_bytes + name.place_bytes - 2);
		if (!text)
			return damaged();
		c->nr_names++;
		to->ip = name.ip;
		err = copy_text(&to->text, text, name.text_bytes);
		text += name.text_bytes;
		if (!err && name.object_bytes > 1)
			err = copy_text(&to->object, text, name.object_bytes - 1);
		text += name.object_bytes - 1;
		if (!err && name.place_bytes > 1)
			err = copy_text(&to->place, text, name.place_bytes - 1);
	}
	return err;
}

static uint32_t u32_at(const unsigned char *p, size_t i)
{
	uint32_t v;

	memcpy(&v, p + 4 * i, sizeof(v));
	return v;
}

static uint64_t u64_at(const unsigned char *p, size_t i)
{
	uint64_t v;

	memcpy(&v, p + 8 * i, sizeof(v));
	return v;
}

static int load_whole(struct cursor *at, const struct columns *c, size_t nr, struct span_row *row)
{
	const unsigned char *start = take(at, 8 * nr), *length = take(at, 8 * nr);
	const unsigned char *name = take(at, 4 * nr), *extra = take(at, 4 * nr);

	if (!start || !length || !name || !extra)
		return damaged();
	*row = (struct span_row){.has_extra = true};
	for (size_t i = 0; i < nr; i++) {
		if (u32_at(name, i) >= c->nr_names)
			return damaged();
		if (span_row_add(row, u64_at(start, i), u64_at(length, i), u32_at(name, i),
				 u32_at(extra, i)))
			return -ENOMEM;
	}
	return span_row_finish(row);
}

static int load_row(struct cursor *at, const struct columns *c, struct span_row *row)
{
	struct index_row head;
	const void *leaves;
	uint64_t bytes;
	int err;

	if (!take_copy(at, &head, sizeof(head)) || head.nr > MAX_BYTES)
		return damaged();
	if (head.whole) {
		err = head.nr <= SPAN_WHOLE ? load_whole(at, c, head.nr, row) : damaged();
	} else {
		bytes = (head.nr + SPAN_LEAF - 1) / SPAN_LEAF * sizeof(struct span_node);
		leaves = head.nr > SPAN_WHOLE ? take(at, bytes) : NULL;
		if (!leaves)
			return damaged();
		/* they stay where they were read: columns.index */
		err = span_row_from_leaves(head.nr, (struct span_node *)(uintptr_t)leaves,
					   (uint32_t)c->nr_names, row);
	}
	/* nothing may begin before or end after the times of the head */
	if (!err && row->nr &&
	    (row->nodes[0][0].start < c->first ||
	     row->nodes[0][row->nr_nodes[0] - 1].end > c->last))
		err = damaged();
	return err;
}

static int load_track(struct cursor *at, struct columns *c, struct track *t)
{
	struct index_track head;
	const char *name, *buffer;
	int err;

	if (!take_copy(at, &head, sizeof(head)) || head.kind >= TRACK_NR_KINDS ||
	    head.nr_rows > COLUMNS_MAX_ROWS || head.name_bytes > MAX_TEXT ||
	    head.buffer_bytes > MAX_TEXT)
		return damaged();
	name = take(at, head.name_bytes);
	buffer = name ? take(at, head.buffer_bytes) : NULL;
	if (!buffer)
		return damaged();
	*t = (struct track){.kind = (enum track_kind)head.kind,
			    .id = head.id,
			    .pid = head.pid,
			    .process = head.process,
			    .stack = head.stack};
	err = columns_own_text(c, name, head.name_bytes, &t->name);
	err = err ? err : columns_own_text(c, buffer, head.buffer_bytes, &t->buffer);
	t->rows = calloc(head.nr_rows + 1u, sizeof(*t->rows));
	if (!t->rows)
		return no_memory();
	while (t->nr_rows < head.nr_rows && !err)
		err = load_row(at, c, &t->rows[t->nr_rows++]);
	return err;
}

static int load_lost(struct cursor *at, struct columns *c, uint32_t nr)
{
	const struct index_lost *from = take(at, (uint64_t)nr * sizeof(*from));

	if (!from || at->left)
		return damaged();
	c->lost = calloc(nr + 1u, sizeof(*c->lost));
	if (!c->lost)
		return no_memory();
	for (; c->nr_lost < nr; c->nr_lost++)
		c->lost[c->nr_lost] = (struct column_lost){.ts = from[c->nr_lost].ts,
							   .nr = from[c->nr_lost].nr,
							   .cpu = from[c->nr_lost].cpu};
	return 0;
}

static int load_all(const struct index_head *head, struct cursor *at, struct columns *c)
{
	int err;

	/* each name, track and gap takes at least its row's bytes in the file */
	if (head->first > head->last || head->nr_names > MAX_NAMES ||
	    head->nr_names > at->left / sizeof(struct index_name) ||
	    head->nr_tracks > at->left / sizeof(struct index_track) ||
	    head->nr_lost > at->left / sizeof(struct index_lost))
		return damaged();
	c->first = head->first;
	c->last = head->last;
	c->nr_calls = head->nr_calls;
	c->too_deep = head->too_deep;
	c->events.nr = head->nr_events;
	c->has_states = head->has_states;
	err = load_names(at, c, head->nr_names);
	c->tracks = err ? NULL : calloc(head->nr_tracks + 1u, sizeof(*c->tracks));
	if (!err && !c->tracks)
		err = no_memory();
	while (c->nr_tracks < head->nr_tracks && !err)
		err = load_track(at, c, &c->tracks[c->nr_tracks++]);
	return err ? err : load_lost(at, c, head->nr_lost);
}

static int check_head(const struct index_head *head, const struct index_id *id, uint64_t bytes)
{
	if (head->magic != INDEX_MAGIC || head->version != INDEX_VERSION ||
	    head->head_bytes != sizeof(*head) || memcmp(&head->id, id, sizeof(*id)))
		return fail(ESTALE, "the index is of another recording or version");
	return head->file_bytes != bytes || bytes % 8 ? damaged() : 0;
}

/*
 * Open an index of this user and read its head. The head is checked before memory for the rest is
 * allocated: a file of another kind may have any size.
 */
static int open_index(const char *path, const struct index_id *id, int *fd, struct index_head *head)
{
	struct stat st;
	int err = 0;

	*fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (*fd < 0)
		return fail_errno(errno, "cannot open %s", path);
	if (fstat(*fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    (uint64_t)st.st_size < sizeof(*head) || (uint64_t)st.st_size > MAX_BYTES)
		err = fail(EINVAL, "%s is no index that belongs to this user", path);
	else if (read_at(*fd, head, sizeof(*head), 0))
		err = damaged();
	if (!err)
		err = check_head(head, id, (uint64_t)st.st_size);
	if (err)
		close(*fd);
	return err;
}

/* Huge pages: with small ones the page faults would cost more than reading a large index. */
static void *room_for(size_t bytes)
{
	void *room;

	if (bytes < 2 * (size_t)HUGE_PAGE)
		return malloc(bytes + 1);
	if (posix_memalign(&room, HUGE_PAGE, bytes))
		return NULL;
	madvise(room, bytes, MADV_HUGEPAGE); /* without huge pages small ones do */
	return room;
}

/* The data behind the head. @out: freed by the caller, NULL after an error. */
static int read_rest(int fd, const struct index_head *head, unsigned char **out, size_t *bytes)
{
	uint64_t hash = HASH_BYTES_SEED;
	size_t at = 0, hashed = 0;
	int err = 0;

	*bytes = head->file_bytes - sizeof(*head);
	*out = room_for(*bytes);
	if (!*out)
		return no_memory();
	while (at < *bytes) {
		size_t n = *bytes - at < PIECE ? *bytes - at : PIECE;

		err = read_at(fd, *out + at, n, sizeof(*head) + at);
		if (err)
			break;
		at += n;
		/* an incomplete word is hashed with the next piece */
		hash = hash_on(hash, *out + hashed, at - hashed);
		hashed = at & ~(size_t)7;
	}
	if (err || head->hash != hash_with_head(hash, *head))
		err = damaged();
	if (err) {
		free(*out);
		*out = NULL;
	}
	return err;
}

int index_load(const char *index, const struct index_id *id, struct view *v, struct columns **out)
{
	struct columns *c = NULL;
	struct index_head head;
	struct cursor at;
	unsigned char *rest = NULL;
	size_t bytes = 0;
	int fd, err = open_index(index, id, &fd, &head);

	if (!err) {
		err = read_rest(fd, &head, &rest, &bytes);
		close(fd);
	}
	if (!err) {
		c = calloc(1, sizeof(*c));
		at = (struct cursor){rest, bytes};
		if (c) {
			*c = (struct columns){.v = v, .outline = true};
			c->files = calloc(1, sizeof(*c->files));
		}
		err = c && c->files ? load_all(&head, &at, c) : no_memory();
	}
	if (c)
		c->index = rest;
	else
		free(rest);
	if (err) {
		columns_free(c);
		return err;
	}
	c->files[0].path = v ? v->path : "";
	c->nr_files = 1;
	*out = c;
	return 0;
}
