/* SPDX-License-Identifier: MIT */
/*
 * Writes a part of a trace.dat to a file (split_impl.h). The pieces other than the CPUs' data are
 * copied; the offsets of the data are new. After the first error, s->err, no more is written.
 * Tests: tests/cli/test_split.py.
 */
#include "tools/report/split_impl.h"

#include <stdlib.h>

#include "tools/base/read_at.h"
#include "tools/dat/dat_format.h"

#define ALIGN	    4096u
#define CHUNK_PAGES 32u

static void put(struct splitter *s, const void *data, size_t bytes)
{
	int ret;

	if (s->err)
		return;
	ret = dat_file_pwrite(s->file.fd, data, bytes, s->at);
	s->at += bytes;
	if (ret)
		s->err = dat_file_failed(&s->file, ret);
}

static void put_number(struct splitter *s, uint64_t v, unsigned int bytes)
{
	unsigned char to[8];

	split_number(s, to, v, bytes);
	put(s, to, bytes);
}

static void put_number_at(struct splitter *s, uint64_t at, uint64_t v, unsigned int bytes)
{
	uint64_t here = s->at;

	s->at = at;
	put_number(s, v, bytes);
	s->at = here;
}

/* Copy @bytes of the input from offset @from. */
static void copy(struct splitter *s, uint64_t from, uint64_t bytes)
{
	static unsigned char text[65536]; /* the stack may be small */

	for (uint64_t done = 0, n; done < bytes && !s->err; done += n) {
		n = bytes - done < sizeof(text) ? bytes - done : sizeof(text);
		if (read_at(s->d->layout.fd, text, n, from + done))
			s->err = dat_damaged(s->d, "it ends too early");
		put(s, text, n);
	}
}

/* Write a CPU's sub-buffers: as they are, or compressed, with the number of chunks before them. */
static void put_stream(struct splitter *s, struct split_stream *l)
{
	size_t chunk = (size_t)CHUNK_PAGES * l->b->layout.page_bytes,
	       bound = ZSTD_compressBound(chunk);
	unsigned char *raw = malloc(chunk), *packed = malloc(bound);
	bool compressed = l->b->layout.compressed;
	uint64_t count_at = s->at;
	uint32_t nr = 0;
	size_t n;

	if (!raw || !packed)
		s->err = split_no_memory();
	rewind(l->spool);
	l->at_in_file = s->at;
	if (compressed && l->bytes)
		put_number(s, 0, 4);
	while (!s->err && (n = fread(raw, 1, chunk, l->spool)) > 0) {
		size_t z = compressed ? ZSTD_compress2(s->zstd, packed, bound, raw, n) : 0;

		if (!compressed) {
			put(s, raw, n);
			continue;
		}
		if (ZSTD_isError(z)) {
			s->err = split_no_memory();
			break;
		}
		put_number(s, z, 4);
		put_number(s, n, 4);
		put(s, packed, z);
		nr++;
	}
	if (!s->err && ferror(l->spool))
		s->err = dat_file_failed(&s->file, -EIO);
	l->bytes_in_file = s->at - l->at_in_file;
	if (nr) {
		l->bytes_in_file -= 4; /* the size does not include the number of chunks */
		put_number_at(s, count_at, nr, 4);
	}
	free(raw);
	free(packed);
}

static void put_streams(struct splitter *s, const struct dat_buffer *b)
{
	uint32_t to = b->layout.page_bytes > ALIGN ? b->layout.page_bytes : ALIGN;

	for (size_t i = 0; i < s->nr && !s->err; i++) {
		if (s->streams[i].b != b)
			continue;
		s->at = (s->at + to - 1) / to * to;
		put_stream(s, &s->streams[i]);
	}
}

/* Version 6: `flyrecord`, the table of CPUs, then their data. @b: NULL: they have none. */
static void put_buffer_v6(struct splitter *s, const struct dat_buffer *b)
{
	uint64_t at;

	put(s, "flyrecord", 10);
	for (unsigned int i = 0; !b && i < s->d->buffers[0].nr_cpus; i++) {
		put_number(s, 0, 8);
		put_number(s, 0, 8);
	}
	if (!b)
		return;
	at = s->at;
	s->at += 16u * b->nr_cpus;
	put_streams(s, b);
	for (size_t i = 0; i < s->nr; i++) {
		if (s->streams[i].b != b)
			continue;
		put_number_at(s, at, s->streams[i].at_in_file, 8);
		put_number_at(s, at + 8, s->streams[i].bytes_in_file, 8);
		at += 16;
	}
}

/* Write the head of an option; its data of @bytes follow. */
static void put_option(struct splitter *s, uint16_t id, uint32_t bytes)
{
	put_number(s, id, 2);
	put_number(s, bytes, 4);
}

/*
 * Write all options except the statistics. @places: gets, for each instance, where the offset of
 * its buffer is to be written later.
 */
static void put_options_v6(struct splitter *s, uint64_t *places)
{
	const struct dat_reader *d = s->d;

	for (size_t i = 0; i < d->nr_options; i++) {
		const struct dat_option_data *o = &d->options[i];

		if (o->id == DAT_CPUSTAT || o->id == DAT_BUFFER)
			continue;
		put_option(s, o->id, o->bytes);
		put(s, o->data, o->bytes);
	}
	for (size_t i = 1; i < s->nr_outs; i++) {
		size_t bytes = strlen(s->outs[i].name) + 1;

		put_option(s, DAT_BUFFER, (uint32_t)(8 + bytes));
		places[i] = s->at;
		put_number(s, 0, 8);
		put(s, s->outs[i].name, bytes);
	}
	put_number(s, DAT_DONE, 2);
}

static void put_v6(struct splitter *s)
{
	struct dat_reader *d = s->d;
	/* behind "options", or in front of "flyrecord" where there are none */
	uint64_t until = d->nr_options ? d->options[0].at - 6 : d->buffers[0].at - 10;
	uint64_t *places = calloc(s->nr_outs, sizeof(*places));

	if (!places) {
		s->err = split_no_memory();
		return;
	}
	copy(s, 0, until);
	if (!d->nr_options && s->nr_outs > 1)
		put(s, "options  ", 10);
	if (d->nr_options || s->nr_outs > 1)
		put_options_v6(s, places);
	for (size_t i = 0; i < s->nr_outs; i++) {
		if (i)
			put_number_at(s, places[i], s->at, 8);
		put_buffer_v6(s, s->outs[i].b);
	}
	free(places);
}

/* Write the head of a section of version 7; end_section() sets its size. Return: its offset. */
static uint64_t begin_section(struct splitter *s, uint16_t id, uint16_t flags)
{
	unsigned char head[DAT_SECTION_BYTES] = {0};
	uint64_t at = s->at;

	split_number(s, head, id, 2);
	split_number(s, head + 2, flags, 2);
	put(s, head, sizeof(head));
	return at;
}

static void end_section(struct splitter *s, uint64_t at)
{
	put_number_at(s, at + 8, s->at - at - DAT_SECTION_BYTES, 8);
}

/*
 * Write the option of a buffer, with new offsets. For an empty one the input's top buffer is used.
 */
static void put_buffer_option(struct splitter *s, const struct out_buffer *out, uint64_t section)
{
	const struct dat_buffer *b = out->b ? out->b : s->d->buffers;
	size_t names = strlen(out->name) + strlen(b->clock) + 2;
	uint32_t nr = 0;

	for (size_t i = 0; i < s->nr; i++)
		nr += s->streams[i].b == out->b && s->streams[i].bytes;
	put_option(s, DAT_BUFFER, (uint32_t)(8 + names + 8 + 20u * nr));
	put_number(s, section, 8);
	put(s, out->name, strlen(out->name) + 1);
	put(s, b->clock, strlen(b->clock) + 1);
	put_number(s, b->layout.page_bytes, 4);
	put_number(s, nr, 4);
	for (size_t i = 0; i < s->nr; i++) {
		const struct split_stream *l = &s->streams[i];

		if (l->b != out->b || !l->bytes)
			continue;
		put_number(s, l->in->cpu, 4);
		put_number(s, l->at_in_file, 8);
		put_number(s, l->bytes_in_file, 8);
	}
}

/* Copy the section whose offset is in an option. Return: its new offset. */
static uint64_t copy_section(struct splitter *s, const struct dat_option_data *o)
{
	uint64_t from = 0, at = s->at;

	if (o->bytes < 8) {
		s->err = dat_damaged(s->d, "its options");
		return 0;
	}
	memcpy(&from, o->data, 8);
	if (s->d->layout.swap)
		from = __builtin_bswap64(from);
	for (size_t i = 0; i < s->d->nr_sections; i++)
		if (s->d->sections[i].at == from) {
			copy(s, from, DAT_SECTION_BYTES + s->d->sections[i].bytes);
			return at;
		}
	s->err = dat_damaged(s->d, "an option names a section that is not there");
	return 0;
}

static bool is_piece(uint16_t id)
{
	for (size_t i = 0; i < DAT_NR_PIECES; i++)
		if (dat_pieces[i].id == id)
			return true;
	return false;
}

/* Whether an option is not copied, because the part has its own or none. */
static bool is_left_out(uint16_t id)
{
	return id == DAT_CPUSTAT || id == DAT_DONE || id == DAT_BUFFER || id == DAT_BUFFER_TEXT ||
	       id == DAT_STRINGS;
}

static void put_v7(struct splitter *s)
{
	struct dat_reader *d = s->d;
	uint64_t *places = calloc(d->nr_options + s->nr_outs, sizeof(*places));
	uint64_t *of_buffers, options;

	if (!places) {
		s->err = split_no_memory();
		return;
	}
	of_buffers = places + d->nr_options;
	copy(s, 0, d->pieces_at);
	for (size_t i = 0; i < d->nr_options && !s->err; i++)
		if (is_piece(d->options[i].id))
			places[i] = copy_section(s, &d->options[i]);
	for (size_t i = 0; i < s->nr_outs; i++) {
		const struct dat_buffer *b = s->outs[i].b;
		bool compressed = (b ? b : d->buffers)->layout.compressed;

		of_buffers[i] =
			begin_section(s, DAT_BUFFER, compressed ? DAT_SECTION_COMPRESSED : 0);
		if (b)
			put_streams(s, b);
		end_section(s, of_buffers[i]);
	}
	options = begin_section(s, DAT_DONE, 0);
	for (size_t i = 0; i < d->nr_options; i++) {
		const struct dat_option_data *o = &d->options[i];

		if (is_left_out(o->id))
			continue;
		put_option(s, o->id, o->bytes);
		if (places[i])
			put_number(s, places[i], 8);
		else
			put(s, o->data, o->bytes);
	}
	for (size_t i = 0; i < s->nr_outs; i++)
		put_buffer_option(s, &s->outs[i], of_buffers[i]);
	put_option(s, DAT_DONE, 8);
	put_number(s, 0, 8);
	end_section(s, options);
	put_number_at(s, d->pieces_at - 8, options, 8);
	free(places);
}

int split_write_file(struct splitter *s)
{
	s->at = 0;
	s->err = 0;
	if (s->d->version == 7)
		put_v7(s);
	else
		put_v6(s);
	return s->err;
}
