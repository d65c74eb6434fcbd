/* SPDX-License-Identifier: MIT */
/*
 * The reader of a trace.dat of version 6 or 7, plain or zstd, of any writer: the top buffer's CPUs,
 * and a reader for each other buffer (dat_instance.c). Formats, symbols, names of tasks
 * (dat_pieces.c) and options (dat_options.c) are read when it is opened. The CPUs' data are read
 * piece by piece (dat_stream.c), so the file may be larger than memory.
 *
 * The file is untrusted: each offset, count and size is checked against the file, and compressed
 * data must state its unpacked size. Tests: tests/unit/test_dat_read.c (files of ours and of the
 * kernel, and mutated ones).
 */
#include "tools/reader/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <traceevent/event-parse.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/job.h"
#include "tools/code/prototype.h"
#include "tools/code/symbols.h"
#include "tools/dat/dat_cursor.h"
#include "tools/dat/dat_format.h"
#include "tools/dat/dat_instance.h"
#include "tools/dat/dat_options.h"
#include "tools/dat/dat_pieces.h"
#include "tools/dat/dat_swap.h"
#include "tools/dat/native.h"
#include "tools/reader/open_file.h"
#include "tools/reader/tasks.h"

#define MAX_OPTIONS  64 /* sections of options in a chain */
#define SURVEY_BATCH 512u
#define NR_EVENT_IDS 65536
#define MAX_AHEAD    64u

static struct dat_reader *of(struct reader *r)
{
	return (struct dat_reader *)r;
}

static int dat_read(struct reader *r, unsigned int cpu, struct record *out, unsigned int max)
{
	return dat_stream_read(&of(r)->streams[cpu], out, max);
}

static void dat_close(struct reader *r)
{
	struct dat_reader *d = of(r);
	unsigned int i;

	while (r->nr_further)
		reader_close(r->further[--r->nr_further]);
	free(r->further);
	while (d->nr_buffers) {
		struct dat_buffer *b = &d->buffers[--d->nr_buffers];

		for (i = 0; b->streams && i < b->nr_cpus; i++)
			dat_stream_reset(&b->streams[i]);
		free(b->streams);
	}
	free(d->buffers);
	job_thread_free(d->jobs);
	while (d->nr_options)
		free(d->options[--d->nr_options].data);
	free(d->options);
	free(d->sections);
	pages_free(d->native);
	free(d->stats);
	free(d->head.ends);
	dat_swap_free(d->swaps);
	formats_free(&d->formats);
	printks_free(&d->printks);
	/* before the symbols, which it asks for names */
	if (r->tep)
		tep_free(r->tep);
	prototypes_free(r->prototypes);
	symbols_free(r->symbols);
	tasks_free(r->tasks);
	if (d->layout.fd >= 0)
		close(d->layout.fd);
	free(d->path);
	free(d);
}

static int dat_rewind(struct reader *r)
{
	unsigned int cpu;

	for (cpu = 0; cpu < r->nr_cpus; cpu++)
		dat_stream_reset(&of(r)->streams[cpu]);
	return 0;
}

static struct reader *native_of(struct reader *r)
{
	return pages_reader(of(r)->native);
}

static int native_read(struct reader *r, unsigned int cpu, struct record *out, unsigned int max)
{
	return reader_read(native_of(r), cpu, out, max);
}

static int native_read_run(struct reader *r, unsigned int cpu, struct run *out)
{
	return native_of(r)->ops->read_run(native_of(r), cpu, out);
}

static int native_rewind(struct reader *r)
{
	return native_of(r)->ops->rewind(native_of(r));
}

static void native_find_depths(struct reader *r);

static uint64_t native_process_key(struct reader *r, uint32_t process, bool *ended)
{
	return native_of(r)->ops->process_key(native_of(r), process, ended);
}

static const struct reader_ops native_ops = {.read = native_read,
					     .close = dat_close,
					     .rewind = native_rewind,
					     .read_run = native_read_run,
					     .find_depths = native_find_depths,
					     .process_key = native_process_key};

static const struct reader_ops dat_ops = {
	.read = dat_read, .close = dat_close, .rewind = dat_rewind};

/* Depths are in the kernel's format, so switch to its records. */
static void native_find_depths(struct reader *r)
{
	struct dat_reader *d = of(r);

	r->ops = &dat_ops;
	r->bases_known = r->leaves_unknown = false;
	pages_free(d->native);
	d->native = NULL;
}

/*
 * Take the records from the native pages, if there are any. They are the same as in the kernel's
 * format.
 */
static int use_native(struct dat_reader *d)
{
	int ret = native_open(d->layout.fd, d->path, d->head.nr_cpus, &d->formats, &d->native);

	if (ret || !d->native)
		return ret;
	d->head.ops = &native_ops;
	d->head.bases = pages_reader(d->native)->bases;
	d->head.nr_bases = pages_reader(d->native)->nr_bases;
	d->head.bases_known = true;
	d->head.leaves_unknown = pages_reader(d->native)->leaves_unknown;
	pages_find_lost_at_end(d->native, d->head.stats);
	return 0;
}

static int open_v7(struct dat_reader *d, struct cursor *c)
{
	uint64_t at[DAT_NR_PIECES] = {0}, next, bytes;
	bool packed;
	size_t i;
	int ret, n;

	cursor_string(c, d->compressor, sizeof(d->compressor));
	cursor_string(c, d->compressor_version, sizeof(d->compressor_version));
	next = cursor_u64(c);
	if (c->bad)
		return dat_damaged(d, "its head");
	if (strcmp(d->compressor, "none") != 0 && strcmp(d->compressor, "zstd") != 0)
		return fail(EPROTO,
			    "'%s' is compressed with %s, which this program does not read; "
			    "`trace-cmd convert --compression zstd` makes one that it does",
			    d->path, d->compressor);
	d->pieces_at = c->pos;
	for (n = 0; next; n++) {
		if (n == MAX_OPTIONS)
			return dat_damaged(d, "its options go round in a circle");
		dat_cursor_on_file(d, c, next);
		ret = dat_section_head(d, c, DAT_DONE, &packed, &bytes);
		if (ret)
			return ret;
		if (packed)
			return dat_damaged(d, "its options are compressed");
		c->end = c->pos + bytes;
		ret = dat_read_options(d, c, at, &next);
		if (ret)
			return ret;
	}
	for (i = 0; i < DAT_NR_PIECES; i++) {
		if (!at[i])
			continue;
		ret = dat_section_read(d, &dat_pieces[i], at[i]);
		if (ret)
			return ret;
	}
	return d->nr_buffers ? 0 : dat_damaged(d, "it has no buffer of records");
}

static int open_v6(struct dat_reader *d, struct cursor *c)
{
	struct dat_buffer *b;
	uint64_t next, at;
	char kind[10];
	size_t i;
	int ret;

	d->pieces_at = c->pos;
	for (i = 0; i < DAT_NR_PIECES; i++) {
		ret = dat_pieces[i].parse(d, c);
		if (ret)
			return ret;
	}
	d->cpus_given = cursor_u32(c);
	at = c->pos;
	b = dat_buffer_new(d);
	if (!b)
		return dat_no_memory(d);
	cursor_get(c, kind, sizeof(kind));
	if (memcmp(kind, "options  ", 10) == 0) {
		ret = dat_read_options(d, c, NULL, &next);
		if (ret)
			return ret;
	} else {
		dat_cursor_on_file(d, c, at);
	}
	ret = dat_buffer_v6(d, &d->buffers[0], c);
	for (i = 1; !ret && i < d->nr_buffers; i++) {
		dat_cursor_on_file(d, c, d->buffers[i].at);
		ret = dat_buffer_v6(d, &d->buffers[i], c);
	}
	return ret;
}

static bool lies(struct dat_field f, uint16_t offset, uint16_t bytes)
{
	return f.offset == offset && f.bytes == bytes;
}

static bool is_usual(const struct dat_layout *l)
{
	return !l->swap && lies(l->type, 0, 2) && lies(l->flags, 2, 1) &&
	       lies(l->preempt_count, 3, 1) && lies(l->pid, 4, 4);
}

/*
 * After all options are read: choose the top buffer, and give the facts about the clock to all
 * buffers.
 */
static int choose_top(struct dat_reader *d)
{
	size_t i;

	d->top = d->buffers;
	for (i = 0; i < d->nr_buffers; i++) {
		struct dat_buffer *b = &d->buffers[i];
		struct dat_layout layout = d->layout;
		uint32_t cpu;

		layout.usual = is_usual(&layout);
		layout.compressed = b->layout.compressed;
		layout.page_bytes = b->layout.page_bytes;
		b->layout = layout;
		/* the array may have moved */
		for (cpu = 0; cpu < b->nr_cpus; cpu++)
			b->streams[cpu].layout = &b->layout;
		if (!b->name[0] && d->top->name[0])
			d->top = b;
	}
	if (d->top->clock[0])
		snprintf(d->head.clock, sizeof(d->head.clock), "%.*s",
			 (int)sizeof(d->head.clock) - 1, d->top->clock);
	d->head.nr_cpus = d->top->nr_cpus;
	d->head.buffer = d->top->name;
	d->streams = d->top->streams;
	d->layout = d->top->layout;
	if (d->top->is_text && !d->layout.as_is)
		return fail(EPROTO,
			    "'%s' holds the text of a latency tracer, not records; `vestige "
			    "report` prints it",
			    d->path);
	return 0;
}

/* trace-cmd's list of clocks that count nanoseconds. */
static bool clock_is_ns(const char *clock)
{
	return !clock[0] || strcmp(clock, "local") == 0 || strcmp(clock, "global") == 0 ||
	       strcmp(clock, "perf") == 0 || strncmp(clock, "mono", 4) == 0 ||
	       strcmp(clock, "boot") == 0 || strcmp(clock, "tai") == 0 ||
	       strcmp(clock, "tsc2nsec") == 0;
}

/*
 * Read all of the CPU, or its first records when @peek: count them, and mark which events occur.
 * Errors are reported later, when records are read.
 */
static uint64_t survey_cpu(struct dat_stream *s, struct record *batch, bool *seen, bool peek)
{
	uint64_t nr = 0;
	int n, i;

	while ((n = dat_stream_read(s, batch, SURVEY_BATCH)) > 0) {
		for (i = 0; i < n; i++)
			seen[batch[i].event] = true;
		nr += (uint64_t)n;
		if (peek)
			break;
	}
	dat_stream_reset(s);
	return nr;
}

/*
 * Switch on the options that print arguments and results, if the file has them: the user recorded
 * them on purpose. The kernel's records always have the field of a result, and from Linux 6.15 on
 * the field of the arguments.
 */
static void take_options(struct dat_reader *d)
{
	const struct dat_layout *l = &d->layout;

	if (l->entry_args)
		d->head.options_flipped |= UINT64_C(1) << AREA_OPTION_FUNCGRAPH_ARGS;
	if (l->function_args)
		d->head.options_flipped |= UINT64_C(1) << AREA_OPTION_FUNC_ARGS;
	if (l->exit_retval.bytes && l->exit_how.bytes)
		d->head.options_flipped |= UINT64_C(1) << AREA_OPTION_FUNCGRAPH_RETVAL;
}

/*
 * Set the tracer of @of by the events in its records, and whether they can have values: the formats
 * do not show it. @peek: our own file, which has only formats of events that occur.
 */
static void set_tracer(const struct dat_reader *d, struct reader *of, const bool *seen, bool peek)
{
	const struct dat_layout *l = &d->layout;
	bool entry = l->entry_id >= 0 && (peek || seen[l->entry_id]);
	bool graph = entry || (l->exit_id >= 0 && seen[l->exit_id]);
	bool function = l->function_id >= 0 && seen[l->function_id];
	const char *other = formats_tracer(&d->formats, seen);

	snprintf(of->tracer, sizeof(of->tracer), "%s",
		 graph	    ? "function_graph"
		 : function ? "function"
		 : other    ? other
			    : "nop");
	of->graph = graph;
	of->values = d->head.options_flipped && (peek || graph || function);
}

/* The other buffers, as readers. The events that @all has seen count as seen by them, too. */
static int open_further(struct dat_reader *d, struct record *batch, bool *all)
{
	/* our file has only formats of events that occur */
	bool peek = d->ours && d->layout.entry_id < 0 && d->layout.exit_id < 0;
	bool *seen = malloc(NR_EVENT_IDS * sizeof(*seen));

	d->head.further = calloc(d->nr_buffers + 1, sizeof(*d->head.further));
	if (!d->head.further || !seen) {
		free(seen);
		return dat_no_memory(d);
	}
	for (size_t i = 0; i < d->nr_buffers; i++) {
		const struct dat_buffer *b = &d->buffers[i];
		struct reader *r;
		uint64_t nr;

		if (b == d->top)
			continue;
		if (b->is_text) {
			d->head.text_buffer = b->name;
			continue;
		}
		r = dat_instance_open(d, b);
		if (!r) {
			free(seen);
			return dat_no_memory(d);
		}
		d->head.further[d->head.nr_further++] = r;
		memset(seen, 0, NR_EVENT_IDS * sizeof(*seen));
		for (uint32_t cpu = 0; cpu < b->nr_cpus; cpu++) {
			nr = survey_cpu(&b->streams[cpu], batch, seen, peek);
			if (!peek)
				r->stats[cpu].entries = nr;
		}
		set_tracer(d, r, seen, peek);
		for (size_t id = 0; id < NR_EVENT_IDS; id++)
			all[id] |= seen[id] || d->ours;
	}
	free(seen);
	return 0;
}

/* From now on numbers in records are converted to our byte order. */
static int use_swaps(struct dat_reader *d)
{
	d->swaps = dat_swap_new(d->head.tep, &d->printks, d->head.long_bytes);
	for (size_t i = 0; i < d->nr_buffers; i++)
		d->buffers[i].layout.swaps = d->swaps;
	return d->swaps ? 0 : dat_no_memory(d);
}

/*
 * Facts that the file does not state. Its tracer follows from its events. As for the number of
 * records: the kernel's `entries` counts the records that were in the buffer after the recording;
 * only in our own files it counts the file's.
 */
static int survey(struct dat_reader *d)
{
	struct record *batch = malloc(SURVEY_BATCH * sizeof(*batch));
	bool *seen = calloc(NR_EVENT_IDS, sizeof(*seen));
	/* of several buffers the formats do not say which has calls */
	bool peek = d->ours && d->nr_stats >= d->head.nr_cpus &&
		    (d->nr_buffers == 1 || (d->layout.entry_id < 0 && d->layout.exit_id < 0));
	unsigned int cpu;
	uint64_t nr;
	int ret = 0;

	if (!batch || !seen)
		ret = dat_no_memory(d);
	for (cpu = 0; !ret && cpu < d->head.nr_cpus; cpu++) {
		nr = survey_cpu(&d->streams[cpu], batch, seen, peek);
		if (!peek)
			d->stats[cpu].entries = nr;
	}
	if (!ret) {
		take_options(d);
		set_tracer(d, &d->head, seen, peek);
		if (peek)
			memset(seen, true, NR_EVENT_IDS * sizeof(*seen));
		ret = open_further(d, batch, seen);
	}
	if (!ret)
		ret = formats_parse(&d->formats, d->head.tep, seen);
	if (!ret && d->layout.swap)
		ret = use_swaps(d);
	free(batch);
	free(seen);
	return ret;
}

/* Let a second thread load the streams' next windows, but not of many streams: memory. */
static int load_ahead(struct dat_reader *d)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < d->nr_buffers; i++)
		nr += d->buffers[i].nr_with_data;
	if (nr > MAX_AHEAD)
		return 0;
	d->jobs = job_thread_new();
	if (!d->jobs)
		return dat_no_memory(d);
	for (size_t i = 0; i < d->nr_buffers; i++)
		for (uint32_t cpu = 0; d->buffers[i].streams && cpu < d->buffers[i].nr_cpus; cpu++)
			d->buffers[i].streams[cpu].jobs = d->jobs;
	return 0;
}

static int finish(struct dat_reader *d)
{
	struct reader_cpu_stats *stats;
	unsigned int cpu;
	int ret;

	ret = load_ahead(d);
	if (!ret)
		ret = choose_top(d);
	if (ret)
		return ret;
	d->head.nr_cpus_online = d->head.nr_cpus;
	d->head.ts_is_ns = d->layout.mult || clock_is_ns(d->head.clock);
	if (!d->layout.type.bytes && !d->top->is_text)
		return dat_damaged(d, "it has no event formats");
	stats = calloc(d->head.nr_cpus + 1u, sizeof(*stats));
	if (!stats)
		return dat_no_memory(d);
	for (cpu = 0; cpu < d->head.nr_cpus; cpu++) {
		if (cpu < d->nr_stats)
			stats[cpu] = d->stats[cpu];
		if (stats[cpu].overrun)
			d->head.overwrite = true;
	}
	free(d->stats);
	d->stats = d->head.stats = stats;
	if (d->layout.as_is) {
		d->head.formats = &d->formats;
		return 0;
	}
	ret = survey(d);
	if (!d->formats.nr) {
		tep_free(d->head.tep);
		d->head.tep = NULL;
	}
	d->head.formats = &d->formats;
	for (size_t i = 0; i < d->head.nr_ends; i++)
		d->head.ends[i].ts += d->layout.ts_offset;
	/* libtraceevent prints the kernel's, which have symbols and more */
	if (d->ours)
		d->head.printks = &d->printks;
	return ret || !d->ours ? ret : use_native(d);
}

static int open_file(struct dat_reader *d)
{
	char magic[DAT_MAGIC_BYTES], version[4];
	unsigned char endian = 0, long_bytes = 0;
	struct cursor c;
	uint32_t page;
	int ret;

	cursor_on_file(&c, d->layout.fd, 0, d->file_bytes);
	cursor_get(&c, magic, sizeof(magic));
	if (!d->file_bytes)
		return fail(EINVAL, "'%s' is empty", d->path);
	if (!c.bad && !memcmp(magic, reader_format_spool.magic, reader_format_spool.magic_bytes))
		return fail(EINVAL,
			    "'%s' is the native form: `vestige convert %s FILE.dat` makes a "
			    "trace.dat of it",
			    d->path, d->path);
	if (c.bad || memcmp(magic, DAT_MAGIC, sizeof(magic)) != 0)
		return fail(EINVAL, "'%s' is not a trace.dat", d->path);
	if (!cursor_string(&c, version, sizeof(version)))
		return dat_damaged(d, "its head");
	if (strcmp(version, "6") != 0 && strcmp(version, "7") != 0)
		return fail(EPROTO, "'%s' is a trace.dat of version %s; this program reads 6 and 7",
			    d->path, version);
	d->version = version[0] - '0';
	cursor_get(&c, &endian, 1);
	cursor_get(&c, &long_bytes, 1);
	d->layout.swap = c.swap = endian != 0;
	page = cursor_u32(&c);
	if (c.bad || endian > 1 || (long_bytes != 4 && long_bytes != 8))
		return dat_damaged(d, "its head");
	d->head.long_bytes = long_bytes;
	d->layout.head_bytes = 8u + long_bytes;
	d->layout.page_bytes = d->page_bytes = page;
	ret = dat_check_page_bytes(d, page);
	if (ret)
		return ret;
	d->head.symbols = symbols_new();
	d->head.tasks = tasks_new();
	if (d->head.symbols)
		d->head.tep = formats_handle_new(d->head.symbols, long_bytes,
						 d->layout.swap && d->layout.as_is);
	if (!d->head.tep || !d->head.tasks)
		return dat_no_memory(d);
	tep_set_page_size(d->head.tep, (int)page);
	ret = d->version == 7 ? open_v7(d, &c) : open_v6(d, &c);
	return ret ? ret : finish(d);
}

int dat_open(const char *path, bool as_is, struct dat_reader **out)
{
	struct dat_reader *d = calloc(1, sizeof(*d));
	struct stat st;
	int ret;

	if (!d)
		return fail(ENOMEM, "out of memory while opening '%s'", path);
	d->head.ops = &dat_ops;
	d->layout.fd = -1;
	d->layout.as_is = as_is;
	d->layout.function_id = -1;
	d->layout.entry_id = d->layout.exit_id = -1;
	d->layout.print_id = -1;
	d->path = strdup(path);
	d->layout.path = d->path;
	if (!d->path) {
		dat_close(&d->head);
		return fail(ENOMEM, "out of memory while opening '%s'", path);
	}
	d->layout.fd = recording_open(path);
	if (d->layout.fd < 0)
		ret = d->layout.fd;
	else if (fstat(d->layout.fd, &st) < 0)
		ret = fail_errno(errno, "cannot read '%s'", path);
	else if (!S_ISREG(st.st_mode))
		ret = fail(EINVAL, "'%s' is not a regular file", path);
	else {
		d->file_bytes = (uint64_t)st.st_size;
		ret = open_file(d);
	}
	if (ret) {
		dat_close(&d->head);
		return ret;
	}
	*out = d;
	return 0;
}

int reader_open_dat(const char *path, struct reader **out)
{
	struct dat_reader *d;
	int ret = dat_open(path, false, &d);

	if (!ret)
		*out = &d->head;
	return ret;
}

const struct reader_format reader_format_dat = {
	.name = "a trace.dat",
	.magic = {0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g'},
	.magic_bytes = 10,
	.open = reader_open_dat,
};
