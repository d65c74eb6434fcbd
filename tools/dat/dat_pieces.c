/* SPDX-License-Identifier: MIT */
/*
 * The pieces of a trace.dat around its CPUs' data: formats, symbols, names of tasks. Versions 6 and
 * 7 have the same bodies, 7 in sections that may be compressed. Tests: tests/unit/test_dat_read.c.
 */
#include "tools/dat/dat_pieces.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>
#include <zstd.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/code/symbols.h"
#include "tools/dat/dat_format.h"
#include "tools/reader/formats.h"
#include "tools/reader/tasks.h"

#define MAX_SECTION (UINT64_C(512) << 20) /* unpacked */
/*
 * Formats and symbols compress by 5 to 30: the limit is against a small file that needs much
 * memory.
 */
#define MAX_RATIO   256u
#define FREE_BYTES  (UINT64_C(1) << 20)
#define MAX_FORMATS (1u << 20)

int dat_damaged(const struct dat_reader *d, const char *what)
{
	return fail(EINVAL, "'%s' is not a whole trace.dat: %s", d->path, what);
}

int dat_no_memory(const struct dat_reader *d)
{
	return fail(ENOMEM, "out of memory while reading '%s'", d->path);
}

int dat_check(const struct dat_reader *d, const struct cursor *c, const char *what)
{
	return c->bad ? dat_damaged(d, what) : 0;
}

static int read_header_info(struct dat_reader *d, struct cursor *c)
{
	char name[16];
	int i;

	for (i = 0; i < 2; i++) {
		if (!cursor_string(c, name, sizeof(name)) ||
		    strcmp(name, i ? "header_event" : "header_page"))
			return dat_damaged(d, "no header_page or header_event where one is due");
		/* not needed: its contents follow from the size of a long in the file's head */
		cursor_skip(c, cursor_u64(c));
	}
	return dat_check(d, c, "its header_page");
}

static int read_formats(struct dat_reader *d, struct cursor *c, const char *system)
{
	uint32_t nr = cursor_u32(c), i;

	if (nr > MAX_FORMATS)
		return dat_damaged(d, "too many event formats");
	for (i = 0; i < nr && !c->bad; i++) {
		uint64_t bytes = cursor_u64(c);
		char *text = cursor_text(c, bytes);

		if (text && formats_add(&d->formats, &d->layout, system, text, bytes))
			return dat_no_memory(d);
	}
	return dat_check(d, c, "its event formats");
}

static int read_ftrace_events(struct dat_reader *d, struct cursor *c)
{
	return read_formats(d, c, "ftrace");
}

static int read_event_formats(struct dat_reader *d, struct cursor *c)
{
	uint32_t nr = cursor_u32(c), i;
	char system[DAT_NAME_BYTES];
	int ret;

	for (i = 0; i < nr && !c->bad; i++) {
		if (!cursor_string(c, system, sizeof(system)))
			break;
		ret = read_formats(d, c, system);
		if (ret)
			return ret;
	}
	return dat_check(d, c, "its event formats");
}

static int read_kallsyms(struct dat_reader *d, struct cursor *c)
{
	uint32_t bytes = cursor_u32(c);
	char *text = cursor_text(c, bytes);
	int ret = text ? symbols_add_kallsyms(d->head.symbols, text, bytes) : 0;

	free(text);
	return ret ? dat_no_memory(d) : dat_check(d, c, "its kallsyms");
}

/*
 * `0xADDR : "text\n"`. libtraceevent 1.7.1 reads beyond the end of lines of another form (and
 * before the start of texts of fewer than three bytes). So it gets each text alone, always with the
 * \n" at its end that it removes.
 */
static void add_printk(struct dat_reader *d, const char *line, size_t bytes)
{
	const char *colon = memchr(line, ':', bytes), *text, *end = line + bytes;
	char *copy;

	if (!colon)
		return;
	text = colon + 1;
	while (text < end && (*text == ' ' || *text == '"'))
		text++;
	if (end > text && end[-1] == '"')
		end--;
	if (end - text >= 2 && end[-2] == '\\' && end[-1] == 'n')
		end -= 2;
	if (asprintf(&copy, "%.*s\\n\"", (int)(end - text), text) < 0)
		return;
	tep_register_print_string(d->head.tep, copy, strtoull(line, NULL, 16));
	free(copy);
}

static int read_printk(struct dat_reader *d, struct cursor *c)
{
	uint32_t bytes = cursor_u32(c);
	char *text = cursor_text(c, bytes), *line;
	size_t n;

	for (line = text; line && *line; line += n + (line[n] != '\0')) {
		n = strcspn(line, "\n");
		add_printk(d, line, n);
		if (printks_add_line(&d->printks, line, n)) {
			free(text);
			return dat_no_memory(d);
		}
	}
	free(text);
	printks_settle(&d->printks);
	return dat_check(d, c, "its printk formats");
}

static int read_cmdlines(struct dat_reader *d, struct cursor *c)
{
	uint64_t bytes = cursor_u64(c);
	char *text = cursor_text(c, bytes), *line, *next, *comm;
	int ret = 0;

	for (line = text; line && *line && !ret; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		comm = strchr(line, ' ');
		if (comm)
			ret = tasks_set(d->head.tasks, (int32_t)strtol(line, NULL, 10), 0,
					comm + 1);
	}
	free(text);
	return ret ? dat_no_memory(d) : dat_check(d, c, "its names of tasks");
}

const struct dat_piece dat_pieces[DAT_NR_PIECES] = {
	{DAT_HEADER_INFO, read_header_info},
	{DAT_FTRACE_EVENTS, read_ftrace_events},
	{DAT_EVENT_FORMATS, read_event_formats},
	{DAT_KALLSYMS, read_kallsyms},
	{DAT_PRINTK, read_printk},
	{DAT_CMDLINES, read_cmdlines},
};

int dat_section_head(struct dat_reader *d, struct cursor *c, uint16_t want, bool *packed,
		     uint64_t *bytes)
{
	struct dat_section_place at = {.at = c->pos};

	at.id = cursor_u16(c);
	at.flags = cursor_u16(c);
	at.description = cursor_u32(c);
	*bytes = at.bytes = cursor_u64(c);
	*packed = at.flags & DAT_SECTION_COMPRESSED;
	if (c->bad || at.id != want || *bytes > c->end - c->pos)
		return dat_damaged(d, "a section is not where its options say");
	if (!d->layout.as_is)
		return 0;
	if (ARRAY_ROOM(d->sections, d->nr_sections, d->sections_room, 16))
		return dat_no_memory(d);
	d->sections[d->nr_sections++] = at;
	return 0;
}

/* Unpack compressed data at the cursor. */
static int unpack(struct dat_reader *d, struct cursor *c, unsigned char **out, uint64_t *out_bytes)
{
	unsigned char *packed, *body = NULL;
	uint32_t sizes[2];
	size_t n;
	int ret = 0;

	sizes[0] = cursor_u32(c);
	sizes[1] = cursor_u32(c);
	packed = (unsigned char *)cursor_text(c, sizes[0]);
	if (!packed)
		return dat_damaged(d, "a compressed section ends too early");
	if (sizes[1] > MAX_SECTION || sizes[1] > FREE_BYTES + (uint64_t)sizes[0] * MAX_RATIO ||
	    !cursor_zstd_agrees(packed, sizes[0], sizes[1]))
		ret = dat_damaged(d, "a compressed section of an impossible size");
	if (!ret) {
		body = malloc(sizes[1] + 1u);
		if (!body)
			ret = dat_no_memory(d);
	}
	if (!ret) {
		n = ZSTD_decompress(body, sizes[1], packed, sizes[0]);
		if (ZSTD_isError(n) || n != sizes[1])
			ret = dat_damaged(d, "a section that does not decompress");
	}
	free(packed);
	if (ret) {
		free(body);
		return ret;
	}
	body[sizes[1]] = '\0';
	*out = body;
	*out_bytes = sizes[1];
	return 0;
}

int dat_section_body(struct dat_reader *d, struct cursor *head, bool packed, uint64_t bytes,
		     unsigned char **out, uint64_t *out_bytes)
{
	if (bytes > head->end - head->pos)
		return dat_damaged(d, "a section that reaches beyond its end");
	head->end = head->pos + bytes;
	if (packed)
		return unpack(d, head, out, out_bytes);
	if (bytes > MAX_SECTION)
		return dat_damaged(d, "a section of an impossible size");
	*out = (unsigned char *)cursor_text(head, bytes);
	*out_bytes = bytes;
	return *out ? 0 : dat_damaged(d, "a section that cannot be read");
}

int dat_buffer_text(struct dat_reader *d, const struct dat_buffer *b, unsigned char **out,
		    uint64_t *out_bytes)
{
	unsigned char *text = NULL, *part, *more;
	uint64_t bytes = 0, part_bytes;
	struct cursor c;
	uint32_t nr;
	int ret = 0;

	dat_cursor_on_file(d, &c, b->text_at);
	if (!b->text_packed)
		return dat_section_body(d, &c, false, b->text_bytes, out, out_bytes);
	/* in chunks, as records are; the section's size does not count their number */
	for (nr = cursor_u32(&c); nr && !ret; nr--) {
		ret = unpack(d, &c, &part, &part_bytes);
		if (ret)
			break;
		more = bytes + part_bytes > MAX_SECTION ? NULL
							: realloc(text, bytes + part_bytes + 1);
		if (more) {
			memcpy(more + bytes, part, part_bytes);
			text = more;
			bytes += part_bytes;
			text[bytes] = '\0';
		} else {
			ret = dat_no_memory(d);
		}
		free(part);
	}
	if (!ret && !text)
		ret = dat_damaged(d, "an empty text of a latency tracer");
	if (ret) {
		free(text);
		return ret;
	}
	*out = text;
	*out_bytes = bytes;
	return 0;
}

int dat_section_read(struct dat_reader *d, const struct dat_piece *piece, uint64_t at)
{
	unsigned char *body = NULL;
	uint64_t bytes, body_bytes;
	struct cursor c;
	bool is_packed;
	int ret;

	dat_cursor_on_file(d, &c, at);
	ret = dat_section_head(d, &c, piece->id, &is_packed, &bytes);
	if (ret)
		return ret;
	if (!is_packed) {
		c.end = c.pos + bytes;
		return piece->parse(d, &c);
	}
	ret = dat_section_body(d, &c, true, bytes, &body, &body_bytes);
	if (ret)
		return ret;
	dat_cursor_on_memory(d, &c, body, (size_t)body_bytes);
	ret = piece->parse(d, &c);
	free(body);
	return ret;
}
