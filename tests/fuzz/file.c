/* SPDX-License-Identifier: MIT */
/*
 * The file of a reader, changed between two of its reads: tools/ reads only by pread(), which the
 * linker redirects here (--wrap). One file, in a folder of its own under $TMPDIR, is written anew
 * for each input. A memfd would not do: an area is not opened through a link, such as a memfd's
 * name.
 */
#include "fuzz.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "tools/reader/reader.h"

#define MAX_RECORDS (1u << 24)

unsigned long fuzz_file_changes, fuzz_file_records;

#define MAX_HOLE (UINT64_C(1) << 36)

static volatile uint8_t sink;

static char folder[300], path[320];
static int file = -1;
static struct fuzz_file plan;
static size_t file_bytes;
static unsigned int nr_reads;

ssize_t __real_pread64(int fd, void *to, size_t n, off_t at);
ssize_t __wrap_pread64(int fd, void *to, size_t n, off_t at);

ssize_t __wrap_pread64(int fd, void *to, size_t n, off_t at)
{
	if (++nr_reads == plan.reads && file_bytes) {
		off_t where = (off_t)(plan.where % file_bytes);

		if (plan.change % 4 == 1)
			PROMISE(!ftruncate(file, where));
		if (plan.change % 4 == 2)
			PROMISE(pwrite(file, &plan.value, sizeof(plan.value), where) > 0);
		fuzz_file_changes++;
	}
	return __real_pread64(fd, to, n, at);
}

static void remove_file(void)
{
	unlink(path);
	rmdir(folder);
}

static void make_file(const uint8_t *bytes, size_t n)
{
	const char *tmp = getenv("TMPDIR");

	if (file < 0) {
		snprintf(folder, sizeof(folder), "%s/vestige-fuzz-XXXXXX", tmp ? tmp : "/tmp");
		PROMISE(mkdtemp(folder));
		snprintf(path, sizeof(path), "%s/input", folder);
		file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		PROMISE(file >= 0);
		atexit(remove_file);
	}
	PROMISE(!ftruncate(file, 0));
	PROMISE(pwrite(file, bytes, n, 0) == (ssize_t)n);
}

static bool lends(const struct record *rec)
{
	return (rec->kind == RECORD_EVENT || rec->kind == RECORD_PRINT) && rec->data;
}

/* Read one CPU to its end, and touch all memory that a record refers to. */
static void read_cpu(struct reader *r, unsigned int cpu, int ordered)
{
	struct record recs[32];
	uint64_t last = 0, nr = 0;
	int n;

	while ((n = reader_read(r, cpu, recs, 32)) > 0) {
		PROMISE(n <= 32);
		for (int i = 0; i < n; i++) {
			PROMISE(recs[i].cpu == cpu);
			PROMISE(!ordered || recs[i].ts >= last);
			last = recs[i].ts;
		}
		for (int i = 0; i < n; i++)
			for (unsigned int k = 0;
			     recs[i].graph & RECORD_GRAPH_ARGS && k < RECORD_NR_ARGS; k++)
				sink ^= (uint8_t)record_arg(recs[i].args, k);
		/* data is borrowed until the next read: all of the batch may be looked at */
		for (int i = 0; i < n; i++)
			for (uint32_t k = 0; lends(&recs[i]) && k < recs[i].data_bytes; k++)
				sink ^= ((const uint8_t *)recs[i].data)[k];
		nr += (uint64_t)n;
		fuzz_file_records += (unsigned long)n;
		PROMISE(nr < MAX_RECORDS);
	}
}

void fuzz_file_use(const uint8_t *data, size_t n, void (*use)(const char *path))
{
	if (n < sizeof(plan))
		return;
	memcpy(&plan, data, sizeof(plan));
	file_bytes = n - sizeof(plan);
	make_file(data + sizeof(plan), file_bytes);
	if (plan.change % 4 == 3) /* large, and holds no more than before */
		PROMISE(!ftruncate(file, (off_t)(file_bytes + plan.value % MAX_HOLE)));
	nr_reads = 0;
	use(path);
	plan.reads = 0;
}

static int (*open_reader)(const char *, struct reader **);
static int is_ordered;

static void read_all(const char *name)
{
	struct reader *r;

	if (open_reader(name, &r))
		return;
	for (unsigned int cpu = 0; cpu < r->nr_cpus; cpu++)
		read_cpu(r, cpu, is_ordered);
	reader_close(r);
}

void fuzz_path_read(const char *name, int (*open)(const char *, struct reader **), int ordered)
{
	open_reader = open;
	is_ordered = ordered;
	read_all(name);
}

void fuzz_file_read(const uint8_t *data, size_t n, int (*open)(const char *, struct reader **),
		    int ordered)
{
	open_reader = open;
	is_ordered = ordered;
	fuzz_file_use(data, n, read_all);
}

void mangle_change(struct mangle *m)
{
	mangle_set(m, offsetof(struct fuzz_file, change), 1, mangle_random(m, 3));
	mangle_set(m, offsetof(struct fuzz_file, reads), 2, 1 + mangle_random(m, 60));
	mangle_set(m, offsetof(struct fuzz_file, where), 4,
		   mangle_random(m, 2) ? mangle_random(m, 700) & ~7u : mangle_random(m, 0));
	mangle_set(m, offsetof(struct fuzz_file, value), 8, mangle_value(m));
}
