/* SPDX-License-Identifier: MIT */
#include "fake_area.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[160];

static void remove_folder(void)
{
	char cmd[200];

	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", folder);
	if (system(cmd))
		perror(folder);
}

const char *fake_path(const char *name)
{
	static char path[4][200];
	static unsigned int turn;
	char *p = path[turn++ % 4];

	if (!folder[0]) {
		const char *tmp = getenv("TMPDIR");

		snprintf(folder, sizeof(folder), "%s/vestige-unit-XXXXXX", tmp ? tmp : "/tmp");
		assert_non_null(mkdtemp(folder));
		atexit(remove_folder);
	}
	snprintf(p, sizeof(*path), "%s/%s", folder, name);
	return p;
}

static size_t up(size_t n)
{
	return (n + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
}

struct fake *fake_new(unsigned int nr_cpus, unsigned int cpu_pages, unsigned int nr_functions)
{
	const struct {
		uint32_t bytes, count;
	} layout[AREA_NR_TABLES] = {
		[AREA_OBJECTS] = {sizeof(struct area_object), 1},
		[AREA_FUNCTIONS] = {sizeof(struct area_function), nr_functions},
		[AREA_REFUSED] = {sizeof(struct area_refused), 0},
		[AREA_TASKS] = {sizeof(struct area_task), 1},
		[AREA_CLOCKS] = {sizeof(struct area_clock), 1},
		[AREA_BUFFERS] = {sizeof(struct area_buffer), 1},
		[AREA_CPUS] = {sizeof(struct area_cpu), nr_cpus},
		[AREA_STRINGS] = {1, 64},
		[AREA_STATUS] = {1, 64},
		[AREA_PAGES] = {sizeof(struct page_desc), nr_cpus * cpu_pages},
		[AREA_FILES] = {1, 0},
		[AREA_EVENTS] = {sizeof(struct area_event), 4},
		[AREA_FORMATS] = {1, 4096},
		[AREA_PROBES] = {sizeof(struct area_probe), 0},
		[AREA_SNAPSHOTS] = {sizeof(struct area_snapshot), 0},
		[AREA_PENDING] = {sizeof(struct area_pending), 0},
		[AREA_HISTS] = {sizeof(struct area_hist), 0},
		[AREA_PRINTKS] = {sizeof(struct area_printk), 4},
		[AREA_LATENCIES] = {sizeof(struct area_latency), 0},
		[AREA_PROFILE] = {sizeof(struct area_profile), 4},
		[AREA_TIMES] = {sizeof(struct area_times), 4},
		[AREA_HIST_ROOM] = {AREA_HIST_PIECE, 0},
	};
	struct fake *f = calloc(1, sizeof(*f));
	size_t at = PAGE_BYTES, pages;
	struct area_buffer *b;

	for (int i = 0; i < AREA_NR_TABLES; i++)
		at = up(at + (size_t)layout[i].bytes * (layout[i].count + 1));
	pages = at;
	f->size = pages + (size_t)nr_cpus * cpu_pages * PAGE_BYTES;
	f->bytes = calloc(1, f->size);
	f->cpu_pages = cpu_pages;
	f->head = (struct area_header *)f->bytes;
	*f->head = (struct area_header){
		.magic = AREA_MAGIC,
		.major = AREA_MAJOR,
		.minor = AREA_MINOR,
		.header_bytes = sizeof(*f->head),
		.page_bytes = PAGE_BYTES,
		.nr_tables = AREA_NR_FIRST_TABLES,
		.nr_more_tables = AREA_NR_MORE_TABLES,
		.file_bytes = f->size,
		.pages_offset = pages,
		.pid = 100,
		.state = AREA_LIVE,
		.clock = AREA_CLOCK_MONO,
		.nr_cpus = nr_cpus,
		.exe = "fake",
	};
	at = PAGE_BYTES;
	for (int i = 0; i < AREA_NR_TABLES; i++) {
		*AREA_TABLE(f->head, i) = (struct area_table){
			.offset = at,
			.entry_bytes = layout[i].bytes,
			.capacity = layout[i].count + 1,
			.count = layout[i].count,
		};
		at = up(at + (size_t)layout[i].bytes * (layout[i].count + 1));
	}
	*(struct area_object *)fake_row(f, AREA_OBJECTS, 0) = (struct area_object){
		.bias = FAKE_BIAS,
		.lo = FAKE_BIAS,
		.hi = FAKE_BIAS + 0x100000,
		.nr_functions = nr_functions,
		.build_id_bytes = 4,
		.build_id = {1, 2, 3, 4},
	};
	for (uint32_t i = 0; i < nr_functions; i++)
		*(struct area_function *)fake_row(f, AREA_FUNCTIONS, i) =
			(struct area_function){.offset = 0x1000 + 16 * i};
	*(struct area_task *)fake_row(f, AREA_TASKS, 0) =
		(struct area_task){.tid = 100, .tgid = 100, .comm = "fake"};
	b = fake_row(f, AREA_BUFFERS, 0);
	strcpy(b->tracer, "function");
	b->nr_cpus = nr_cpus;
	for (uint32_t i = 0; i < nr_cpus; i++)
		*(struct area_cpu *)fake_row(f, AREA_CPUS, i) =
			(struct area_cpu){.cpu = i,
					  .first_page = i * cpu_pages,
					  .nr_pages = cpu_pages,
					  .nr_backed = cpu_pages};
	return f;
}

void fake_free(struct fake *f)
{
	free(f->bytes);
	free(f);
}

void *fake_row(struct fake *f, enum area_table_id id, uint32_t i)
{
	const struct area_table *t = AREA_TABLE(f->head, id);

	return f->bytes + t->offset + (size_t)i * t->entry_bytes;
}

static struct page_head *page(struct fake *f, unsigned int cpu, unsigned int i)
{
	return (struct page_head *)(f->bytes + f->head->pages_offset +
				    (size_t)(cpu * f->cpu_pages + i) * PAGE_BYTES);
}

struct page_head *fake_take(struct fake *f, unsigned int cpu, unsigned int i, int32_t tid,
			    uint64_t base)
{
	struct area_buffer *b = fake_row(f, AREA_BUFFERS, 0);
	struct page_desc *d = fake_row(f, AREA_PAGES, cpu * f->cpu_pages + i);
	struct page_head *p = page(f, cpu, i);

	memset(p, 0, PAGE_BYTES);
	*p = (struct page_head){.commit = PAGE_HEAD_BYTES,
				.base_stamp = base,
				.tid = tid,
				.cpu = cpu,
				.seq = ++b->take_seq};
	d->state = PAGE_OWNED;
	return p;
}

void fake_word(struct fake *f, unsigned int cpu, unsigned int i, uint64_t word)
{
	struct page_head *p = page(f, cpu, i);

	assert_true(p->commit + 8 <= PAGE_BYTES);
	memcpy((char *)p + p->commit, &word, 8);
	p->commit += 8;
}

uint64_t fake_record(unsigned int kind, uint32_t id, uint32_t stamp)
{
	return (uint64_t)kind << RECORD_KIND_SHIFT | (uint64_t)id << RECORD_ID_SHIFT | stamp;
}

void fake_call(struct fake *f, unsigned int cpu, unsigned int i, uint32_t stamp, uint32_t id,
	       uint64_t parent)
{
	fake_word(f, cpu, i, fake_record(RECORD_FUNCTION, id, stamp));
	fake_word(f, cpu, i, parent);
}

void fake_publish(struct fake *f, unsigned int cpu, unsigned int i)
{
	struct area_buffer *b = fake_row(f, AREA_BUFFERS, 0);
	struct page_desc *d = fake_row(f, AREA_PAGES, cpu * f->cpu_pages + i);

	d->state = PAGE_PUBLISHED;
	d->seq = ++b->publish_seq;
}

const char *fake_write(struct fake *f, size_t bytes)
{
	const char *path = fake_path("area");
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	size_t done = 0;

	assert_true(fd >= 0);
	bytes = bytes ? bytes : f->size;
	while (done < bytes) {
		ssize_t n = write(fd, f->bytes + done, bytes - done);

		assert_true(n > 0);
		done += (size_t)n;
	}
	close(fd);
	return path;
}

uint64_t fake_read_all(struct reader *r, uint64_t *lost)
{
	struct record recs[7];
	uint64_t nr = 0;

	*lost = 0;
	for (unsigned int c = 0; c < r->nr_cpus; c++) {
		uint64_t last = 0;
		int n;

		while ((n = reader_read(r, c, recs, 7)) > 0) {
			for (int i = 0; i < n; i++) {
				assert_true(recs[i].ts >= last);
				assert_int_equal(recs[i].cpu, c);
				last = recs[i].ts;
				*lost += recs[i].lost;
			}
			nr += (uint64_t)n;
		}
		assert_true(n == 0);
	}
	return nr;
}
