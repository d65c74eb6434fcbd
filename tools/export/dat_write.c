/* SPDX-License-Identifier: MIT */
/*
 * Writes a trace.dat from the streams of any reader: dat_write.h. The file is written in order.
 * Sizes and offsets that are known only later are written then, into places left free for them.
 *
 * The calling thread reads the CPUs one after the other and encodes their records; all CPUs of
 * calls are encoded together (dat_graph.h). dat_chunks.c compresses and writes in other threads.
 * Tests: tests/unit/test_dat_write.c, test_dat_clients.c.
 */
#include "tools/export/dat_write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "tools/base/fail.h"
#include "tools/code/prototype.h"
#include "tools/dat/dat_format.h"
#include "tools/dat/native.h"
#include "tools/export/dat_chunks.h"
#include "tools/export/dat_copy.h"
#include "tools/export/dat_events.h"
#include "tools/export/dat_file.h"
#include "tools/export/dat_graph.h"
#include "tools/export/dat_graph_runs.h"
#include "tools/export/dat_live.h"
#include "tools/export/dat_native.h"
#include "tools/export/dat_pages.h"
#include "tools/export/dat_second.h"
#include "tools/export/dat_sections.h"
#include "tools/export/dat_writer.h"

#define BATCH_RECORDS 512u
#define PLAIN_PAGES   64u /* in a chunk that is not compressed */

int dat_writer_put_at(struct writer *w, const void *buf, size_t bytes, uint64_t offset)
{
	int ret = dat_file_pwrite(w->file.fd, buf, bytes, offset);

	return ret ? dat_file_failed(&w->file, ret) : 0;
}

int dat_writer_append(struct writer *w, const void *buf, size_t bytes)
{
	int ret = dat_writer_put_at(w, buf, bytes, w->offset);

	w->offset += bytes;
	return ret;
}

/* Run @fill on a stream in memory. Return: 0 and the malloced text, or -errno with fail() set. */
int dat_writer_in_memory(struct writer *w, void (*fill)(FILE *f, struct reader *r), char **text,
			 size_t *bytes)
{
	FILE *mem = open_memstream(text, bytes);
	int bad;

	if (!mem)
		return dat_file_failed(&w->file, -ENOMEM);
	fill(mem, w->r);
	bad = ferror(mem);
	if (fclose(mem) || bad) {
		free(*text);
		return dat_file_failed(&w->file, -ENOMEM);
	}
	if (*bytes > UINT32_MAX) {
		free(*text);
		return fail(EFBIG, "'%s': its symbols are more than a trace.dat can hold",
			    w->file.path);
	}
	return 0;
}

/* Add the description of a section to the table of strings. Return: its offset in the table. */
static uint32_t string_add(struct writer *w, const char *text)
{
	uint32_t at = (uint32_t)ftell(w->strings_mem);

	fwrite(text, strlen(text) + 1, 1, w->strings_mem);
	return at;
}

static int append_section_head(struct writer *w, unsigned int id, bool compressed, uint32_t name_at,
			       uint64_t bytes)
{
	unsigned char head[DAT_SECTION_BYTES];
	uint16_t id16 = (uint16_t)id, flags = compressed ? DAT_SECTION_COMPRESSED : 0;

	memcpy(head, &id16, 2);
	memcpy(head + 2, &flags, 2);
	memcpy(head + 4, &name_at, 4);
	memcpy(head + 8, &bytes, 8);
	return dat_writer_append(w, head, sizeof(head));
}

static int append_section(struct writer *w, enum dat_option id, uint32_t name_at, bool compress,
			  const char *body, size_t bytes)
{
	char *packed = NULL;
	uint32_t sizes[2];
	size_t n;
	int ret;

	if (compress) {
		size_t bound = ZSTD_compressBound(bytes);

		packed = malloc(sizeof(sizes) + bound);
		if (!packed)
			return dat_file_failed(&w->file, -ENOMEM);
		n = ZSTD_compress(packed + sizeof(sizes), bound, body, bytes, w->level);
		if (ZSTD_isError(n)) {
			free(packed);
			return dat_file_failed(&w->file, -ENOMEM);
		}
		sizes[0] = (uint32_t)n;
		sizes[1] = (uint32_t)bytes;
		memcpy(packed, sizes, sizeof(sizes));
		body = packed;
		bytes = sizeof(sizes) + n;
	}
	ret = append_section_head(w, id, compress, name_at, bytes);
	if (!ret)
		ret = dat_writer_append(w, body, bytes);
	free(packed);
	return ret;
}

static const struct {
	enum dat_option id;
	const char *name;
	void (*fill)(FILE *f, struct reader *r);
} sections[] = {
	{DAT_HEADER_INFO, "headers", dat_section_header_info},
	{DAT_FTRACE_EVENTS, "ftrace events", dat_section_ftrace_events},
	{DAT_EVENT_FORMATS, "events format", dat_section_event_formats},
	{DAT_KALLSYMS, "kallsyms", dat_section_kallsyms},
	{DAT_PRINTK, "printk", dat_section_printk},
	{DAT_CMDLINES, "command lines", dat_section_cmdlines},
};

static int write_sections(struct writer *w)
{
	size_t i, bytes;
	char *text;
	int ret;

	for (i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		ret = dat_writer_in_memory(w,
					   sections[i].id == DAT_FTRACE_EVENTS && w->compact
						   ? dat_section_compact_events
						   : sections[i].fill,
					   &text, &bytes);
		if (ret)
			return ret;
		if (w->version == 7) {
			uint64_t at = w->offset;

			dat_option_put(w->options_mem, sections[i].id, &at, sizeof(at));
			ret = append_section(w, sections[i].id, string_add(w, sections[i].name),
					     w->level != 0, text, bytes);
		} else {
			ret = dat_writer_append(w, text, bytes);
		}
		free(text);
		if (ret)
			return ret;
	}
	return 0;
}

static int pad_to_page(struct writer *w)
{
	static const char zeros[SUBBUF_BYTES];
	uint64_t rest = w->offset % SUBBUF_BYTES;

	return rest ? dat_writer_append(w, zeros, SUBBUF_BYTES - rest) : 0;
}

/*
 * Set fail() for @ret, an error of encoding @nr records or of writing chunks, which have not set
 * it.
 * Return: -errno.
 */
static int stream_failed(struct writer *w, const struct record *rec, int nr, unsigned int cpu,
			 int ret)
{
	if (ret != -ENOTSUP)
		return dat_file_failed(&w->file, ret);
	while (nr-- > 1 && dat_event_of(rec->kind, false))
		rec++;
	return fail(ENOTSUP,
		    "cannot write '%s': CPU %u has records of kind %u, for which a trace.dat has "
		    "no place",
		    w->file.path, cpu, rec->kind);
}

/* Note the functions with arguments; their prototypes are written at the end of the file. */
static void note_functions(struct prototypes *p, const struct record *rec, unsigned int nr)
{
	for (; nr--; rec++)
		if (rec->graph & RECORD_GRAPH_ARGS)
			prototypes_find(p, rec->ip);
}

static int write_cpu(struct writer *w, struct chunks *chunks, unsigned int cpu,
		     uint32_t chunk_bytes, struct record *batch)
{
	uint32_t nr_chunks = 0;
	struct subbuf_writer pages;
	int n, ret = 0;

	ret = pad_to_page(w);
	if (ret)
		return ret;
	w->cpu_offset[cpu] = w->offset;
	chunks_start(chunks, w->offset + (w->level ? sizeof(nr_chunks) : 0));
	subbuf_init(&pages, chunks, chunk_bytes);
	pages.values = w->r->values;
	pages.head_bytes = 8u + dat_long_bytes(w->r);
	while ((n = reader_read(w->r, cpu, batch, BATCH_RECORDS)) > 0) {
		if (w->now)
			dat_second_shift(w->now->joined, batch, (unsigned int)n);
		else if (w->prototypes)
			note_functions(w->prototypes, batch, (unsigned int)n);
		ret = subbuf_add(&pages, batch, (unsigned int)n);
		if (ret)
			return stream_failed(w, batch, n, cpu, ret);
		w->records += (uint64_t)n;
		dat_progress(w->opt, w->r, w->records, (uint64_t)n);
	}
	if (n < 0)
		return n;
	ret = subbuf_end(&pages);
	if (!ret)
		ret = chunks_flush(chunks);
	if (ret)
		return stream_failed(w, batch, n, cpu, ret);
	if (!pages.nr_pages)
		return 0;
	w->cpu_bytes[cpu] = chunks_offset(chunks) - w->cpu_offset[cpu];
	if (w->level) {
		nr_chunks = chunks_count(chunks);
		ret = dat_writer_put_at(w, &nr_chunks, sizeof(nr_chunks), w->cpu_offset[cpu]);
		/* as in trace-cmd, the size does not include the number of chunks */
		w->cpu_bytes[cpu] -= sizeof(nr_chunks);
	}
	w->offset = chunks_offset(chunks);
	return ret;
}

static int write_streams(struct writer *w, uint32_t chunk_bytes)
{
	struct record *batch = malloc(BATCH_RECORDS * sizeof(*batch));
	struct chunks *chunks = chunks_new(w->file.fd, chunk_bytes, w->level);
	unsigned int cpu;
	int ret = 0;

	if (!batch || !chunks)
		ret = dat_file_failed(&w->file, -ENOMEM);
	for (cpu = 0; !ret && cpu < w->r->nr_cpus; cpu++)
		ret = write_cpu(w, chunks, cpu, chunk_bytes, batch);
	chunks_free(chunks);
	free(batch);
	return ret;
}

static uint32_t chunk_bytes_of(const struct writer *w)
{
	return w->level ? DAT_CHUNK_BYTES : PLAIN_PAGES * SUBBUF_BYTES;
}

/*
 * Encode the calls of all CPUs now, as they depend on one another; one CPU is written to its place.
 * Return: as dat_graph_new().
 */
static int encode_graph(struct writer *w)
{
	uint32_t head = w->level ? sizeof(uint32_t) : 0; /* the number of chunks */
	struct native_known more = {0};			 /* of a further buffer: not used */
	int ret = pad_to_page(w);

	/* with w->graph, the calls are encoded already, and the first CPU's chunks are in place */
	if (!ret && !w->graph)
		ret = dat_graph_new(&w->file, w->r, w->opt, w->level, chunk_bytes_of(w),
				    w->prototypes, w->compact, w->offset + head, &w->graph);
	if (ret)
		return ret;
	w->records = dat_graph_events(w->graph);
	dat_graph_take_known(w->graph, w->now ? &more : &w->known);
	free(more.bases);
	free(more.ends);
	return 0;
}

static int write_graph_cpu(struct writer *w, unsigned int cpu)
{
	uint32_t nr_chunks, head = w->level ? sizeof(nr_chunks) : 0;
	uint64_t bytes;
	int ret = pad_to_page(w);

	w->cpu_offset[cpu] = w->offset;
	if (!ret)
		ret = dat_graph_place(w->graph, cpu, w->offset + head, &bytes, &nr_chunks);
	if (ret || !nr_chunks)
		return ret;
	if (head)
		ret = dat_writer_put_at(w, &nr_chunks, head, w->offset);
	w->cpu_bytes[cpu] = bytes;
	w->offset += head + bytes;
	return ret;
}

/* Wait until the chunks are in their places. */
static int end_copy(struct writer *w)
{
	int ret = dat_copy_end(w->copy);

	w->copy = NULL;
	return ret ? dat_file_failed(&w->file, ret) : 0;
}

static int write_graph(struct writer *w)
{
	unsigned int first = dat_graph_first(w->graph);
	int ret = end_copy(w) ?: write_graph_cpu(w, first);

	for (unsigned int cpu = 0; !ret && cpu < w->r->nr_cpus; cpu++)
		if (cpu != first)
			ret = write_graph_cpu(w, cpu);
	if (!ret)
		w->copy = dat_graph_copy(w->graph);
	dat_graph_free(w->graph);
	w->graph = NULL;
	return ret;
}

static int write_cpus(struct writer *w)
{
	return w->graph ? write_graph(w) : write_streams(w, chunk_bytes_of(w));
}

/* The records of a further buffer. */
int dat_writer_more(struct writer *w, const struct more *m)
{
	struct reader *r = w->r;
	uint64_t *offset = w->cpu_offset, *bytes = w->cpu_bytes, records = w->records;
	int ret = 0;

	w->records = 0;
	w->r = m->joined->second;
	w->r->values = r->values;
	w->cpu_offset = m->offset;
	w->cpu_bytes = m->bytes;
	w->now = m;
	if (w->r->graph && !dat_second_shifts(m->joined))
		ret = encode_graph(w);
	if (!ret)
		ret = write_cpus(w);
	w->records += records;
	w->now = NULL;
	w->r = r;
	w->cpu_offset = offset;
	w->cpu_bytes = bytes;
	return ret;
}

/* The sections of formats and names, for all buffers. */
int dat_writer_sections(struct writer *w)
{
	bool graph = w->r->graph; /* of the first buffer only */
	int ret;

	for (unsigned int i = 0; i < w->opt->nr_more; i++)
		w->r->graph |= w->opt->more[i].r->graph;
	ret = write_sections(w);
	w->r->graph = graph;
	return ret;
}

int dat_writer_initial(struct writer *w)
{
	const uint32_t page = SUBBUF_BYTES;
	char head[64] = DAT_MAGIC;
	size_t n = DAT_MAGIC_BYTES;

	head[n++] = (char)('0' + w->version);
	head[n++] = '\0';
	head[n++] = 0; /* little endian */
	head[n++] = (char)dat_long_bytes(w->r);
	memcpy(head + n, &page, sizeof(page));
	n += sizeof(page);
	if (w->version == 7) {
		const char *name = w->level ? "zstd" : "none";
		const char *version = w->level ? ZSTD_versionString() : "";

		n += (size_t)snprintf(head + n, sizeof(head) - n, "%s", name) + 1;
		n += (size_t)snprintf(head + n, sizeof(head) - n, "%s", version) + 1;
	}
	return dat_writer_append(w, head, n);
}

/* No option points to this section: a reader that walks from section to section skips it. */
int dat_writer_native(struct writer *w, uint32_t name_at)
{
	uint64_t at = w->offset, bytes = 0;
	int ret = 0;

	if (w->version == 7)
		ret = append_section_head(w, NATIVE_SECTION_ID, false, name_at, bytes);
	if (!ret)
		ret = dat_native_write(w->native, &w->file, w->r, w->opt, w->records, &w->known,
				       &w->offset);
	bytes = w->offset - at - DAT_SECTION_BYTES;
	if (!ret && w->version == 7)
		ret = dat_writer_put_at(w, &bytes, sizeof(bytes), at + 8);
	return ret;
}

/* The first options: about the recording, and the offsets of the sections. More follow later. */
static int write_options_v7(struct writer *w, uint64_t head_at)
{
	uint64_t at = w->offset, none = 0;
	int ret;

	dat_options_put_common(w->options_mem, w->r);
	dat_option_put(w->options_mem, DAT_DONE, &none, sizeof(none));
	if (fflush(w->options_mem))
		return dat_file_failed(&w->file, -ENOMEM);
	ret = append_section(w, DAT_DONE, string_add(w, "options"), false, w->options,
			     w->options_bytes);
	w->done_at = w->offset - sizeof(none);
	return ret ? ret : dat_writer_put_at(w, &at, sizeof(at), head_at);
}

/* The second options, with the buffers, then the strings and the native section. */
static int write_tail_v7(struct writer *w)
{
	uint64_t at = w->offset, none = 0;
	uint32_t name_at, native_at;
	size_t bytes = 0;
	char *text = NULL;
	FILE *mem = open_memstream(&text, &bytes);
	int ret;

	if (!mem)
		return dat_file_failed(&w->file, -ENOMEM);
	dat_option_put_buffer(mem, w->r, w->opt->name ? w->opt->name : "", w->buffer_at,
			      w->cpu_offset, w->cpu_bytes);
	for (unsigned int i = 0; i < w->opt->nr_more; i++)
		dat_option_put_buffer(mem, w->more[i].joined->second, w->more[i].name,
				      w->more[i].at, w->more[i].offset, w->more[i].bytes);
	dat_option_put_prototypes(mem, w->prototypes);
	dat_option_put_ends(mem, w->known.ends, w->known.nr_ends);
	dat_option_put_lost_at_end(mem, w->r);
	dat_option_put(mem, DAT_DONE, &none, sizeof(none));
	ret = fclose(mem) ? dat_file_failed(&w->file, -ENOMEM) : 0;
	if (!ret)
		ret = append_section(w, DAT_DONE, string_add(w, "options"), false, text, bytes);
	free(text);
	if (!ret)
		ret = dat_writer_put_at(w, &at, sizeof(at), w->done_at);
	if (ret)
		return ret;
	name_at = string_add(w, "strings");
	native_at = w->opt->native ? string_add(w, "vestige pages") : 0;
	if (fflush(w->strings_mem))
		return dat_file_failed(&w->file, -ENOMEM);
	ret = append_section(w, DAT_STRINGS, name_at, w->level != 0, w->strings, w->strings_bytes);
	return ret || !w->opt->native ? ret : dat_writer_native(w, native_at);
}

static void close_texts(struct writer *w)
{
	if (w->strings_mem)
		fclose(w->strings_mem);
	if (w->options_mem)
		fclose(w->options_mem);
	free(w->strings);
	free(w->options);
	w->strings_mem = w->options_mem = NULL;
	w->strings = w->options = NULL;
}

/*
 * The head of the file and of the section of records. All other sections come after the records:
 * some are not known before, and an option points to each.
 */
static int begin_v7(struct writer *w)
{
	uint64_t none = 0;
	int ret;

	w->strings_mem = open_memstream(&w->strings, &w->strings_bytes);
	w->options_mem = open_memstream(&w->options, &w->options_bytes);
	if (!w->strings_mem || !w->options_mem)
		return dat_file_failed(&w->file, -ENOMEM);
	ret = dat_writer_initial(w);
	w->head_at = w->offset;
	if (!ret)
		ret = dat_writer_append(w, &none, sizeof(none));
	w->buffer_at = w->offset;
	return ret ? ret
		   : append_section_head(w, DAT_BUFFER, w->level != 0,
					 string_add(w, "buffer flyrecord"), 0);
}

/* A further buffer of version 7: a section like the first buffer's. */
static int write_more(struct writer *w, struct more *m)
{
	uint64_t bytes;
	char name[300];
	int ret;

	m->at = w->offset;
	snprintf(name, sizeof(name), "buffer %s", m->name);
	ret = append_section_head(w, DAT_BUFFER, w->level != 0, string_add(w, name), 0);
	if (!ret)
		ret = dat_writer_more(w, m);
	bytes = w->offset - m->at - DAT_SECTION_BYTES;
	return ret ? ret : dat_writer_put_at(w, &bytes, sizeof(bytes), m->at + 8);
}

static int write_back_v7(struct writer *w)
{
	uint64_t bytes = w->offset - w->buffer_at - DAT_SECTION_BYTES;
	int ret = dat_writer_put_at(w, &bytes, sizeof(bytes), w->buffer_at + 8);

	if (!ret)
		ret = dat_writer_sections(w);
	if (!ret)
		ret = write_options_v7(w, w->head_at);
	for (unsigned int i = 0; !ret && i < w->opt->nr_more; i++)
		ret = write_more(w, &w->more[i]);
	return ret ? ret : write_tail_v7(w);
}

/* Write everything before the CPUs' data. */
static int write_front(struct writer *w)
{
	if (w->version == 7)
		return begin_v7(w);
	w->offset = 0;
	return dat_writer_front6(w);
}

static int write_all(struct writer *w)
{
	int ret;

	w->compact = w->graph || (w->r->graph && dat_graph_may_be_compact(w->r));
	for (unsigned int i = 0; i < w->opt->nr_more; i++)
		w->compact &= !w->opt->more[i].r->graph;
	ret = write_front(w);
	if (!ret && w->r->graph)
		ret = encode_graph(w);
	/* the calls do not fit in the compact form: version 6 has its formats in front */
	if (ret == DAT_GRAPH_OTHER) {
		w->compact = false;
		ret = w->version == 7 ? 0 : write_front(w);
		if (!ret)
			ret = encode_graph(w);
	}
	if (!ret)
		ret = write_cpus(w);
	if (!ret)
		ret = w->version == 7 ? write_back_v7(w) : dat_writer_back6(w);
	return ret;
}

/* Let the first reader have the formats of all buffers. Return: 0 or -errno with fail() set. */
static int join_more(struct writer *w)
{
	w->more = calloc(w->opt->nr_more + 1u, sizeof(*w->more));
	for (unsigned int i = 0; w->more && i < w->opt->nr_more; i++) {
		struct reader *r = w->opt->more[i].r;
		struct more *m = &w->more[i];

		m->name = w->opt->more[i].name;
		m->offset = calloc(r->nr_cpus + 1u, sizeof(*m->offset));
		m->bytes = calloc(r->nr_cpus + 1u, sizeof(*m->bytes));
		if (!m->offset || !m->bytes)
			return dat_file_failed(&w->file, -ENOMEM);
		m->joined = dat_second_join(w->r, r);
		if (!m->joined)
			return -ENOMEM;
		w->r->values |= r->values; /* each event has one form in all buffers */
	}
	return w->more ? 0 : dat_file_failed(&w->file, -ENOMEM);
}

/* Undo the joins, the last one first: each has saved the formats of the joins before it. */
static void leave_more(struct writer *w)
{
	for (unsigned int i = w->opt->nr_more; w->more && i--;) {
		dat_second_leave(w->more[i].joined);
		free(w->more[i].offset);
		free(w->more[i].bytes);
	}
	free(w->more);
}

int dat_write(const char *path, struct reader *r, const struct dat_options *opt)
{
	struct dat_options with = *opt;
	struct writer w = {.r = r, .opt = &with, .version = opt->version};
	int ret;

	if (opt->version != 6 && opt->version != 7)
		return fail(EINVAL, "trace.dat has the versions 6 and 7, not %d", opt->version);
	w.level = opt->version == 7 ? opt->zstd_level : 0;
	if (w.level < 0 || w.level > 19)
		return fail(EINVAL, "zstd levels are 0 (none) to 19, not %d", w.level);
	with.native = opt->native && pages_of_reader(r);
	ret = opt->live ? dat_live_take(opt->live, path, r, &with, &w.file, &w.graph, &w.native)
			: 0;
	with.learn = ret == DAT_GRAPH_LEARN;
	if (ret >= 0 && !w.graph)
		ret = dat_file_create(&w.file, path);
	if (ret)
		return ret;
	if (with.native && !w.native)
		w.native = dat_native_begin(&w.file, r);
	w.cpu_offset = calloc(r->nr_cpus + 1u, sizeof(*w.cpu_offset));
	w.cpu_bytes = calloc(r->nr_cpus + 1u, sizeof(*w.cpu_bytes));
	ret = join_more(&w);
	/* version 6 has no option for them */
	if (r->values && opt->version == 7)
		w.prototypes = prototypes_new(r->symbols);
	if (!ret && (!w.cpu_offset || !w.cpu_bytes))
		ret = dat_file_failed(&w.file, -ENOMEM);
	else if (!ret)
		ret = write_all(&w);
	if (ret)
		dat_copy_drop(w.copy);
	else
		ret = end_copy(&w);
	if (ret)
		dat_file_abort(&w.file);
	else
		ret = dat_file_commit(&w.file);
	close_texts(&w);
	prototypes_free(w.prototypes);
	free(w.cpu_offset);
	free(w.cpu_bytes);
	leave_more(&w);
	dat_native_free(w.native);
	free(w.known.bases);
	free(w.known.ends);
	dat_graph_free(w.graph);
	if (!ret && opt->progress)
		opt->progress(opt->progress_arg, w.records, w.records);
	return ret;
}
