/* SPDX-License-Identifier: MIT */
/*
 * A spool that is read while it is written gives the records of the whole one, in the same order;
 * and the trace.dat that is encoded meanwhile is the same file, byte by byte. For random programs
 * with losses, throws, tail calls, coroutines and several processes, with both kinds of stamps.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/base/fail.h" /* before cmocka, which has a macro of that name */

#include <cmocka.h>

#include "abi/record.h"
#include "fake_area.h"
#include "tests/unit/graph_synth.h"
#include "tests/unit/synth.h"
#include "tools/analysis/runs.h"
#include "tools/area/pages.h"
#include "tools/area/spool_grow.h"
#include "tools/area/spool_write.h"
#include "tools/export/dat_live.h"
#include "tools/export/dat_write.h"

enum { FUNCTIONS = 40, THREADS = 4, PAGES = 90, TURNS = 12, CPUS = 2 };

/* A page as a thread has written it: which is there from `end` on. */
struct made {
	uint64_t page[PAGE_BYTES / 8];
	uint64_t begin, end;
	uint32_t member;
	bool put;
};

static struct made made[PAGES];
static uint32_t seed;
static bool deeper; /* some exits have no entry */

static uint32_t dice(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)(seed >> 4) * n >> 28);
}

/* Calls of a few threads that change their CPU, each page with a part of them. */
static void make_pages(unsigned int threads, bool losses)
{
	uint32_t stack[THREADS][64], depth[THREADS] = {0};
	uint64_t now[THREADS], lost[CPUS] = {0}, seq = 0;

	for (unsigned int t = 0; t < threads; t++)
		now[t] = 1000 + dice(500);
	for (unsigned int p = 0; p < PAGES; p++) {
		struct made *m = &made[p];
		struct page_head *head = (struct page_head *)m->page;
		unsigned int t = 0, at = PAGE_HEAD_BYTES / 8, nr = 50 + dice(400);
		/* most are of CPU 0 at any time: its place in the file is the first */
		unsigned int cpu = dice(5) == 0 && p > 20;

		/* the thread that is behind, so that pages are taken in order of time */
		for (unsigned int i = 1; i < threads; i++)
			if (now[i] < now[t])
				t = i;
		memset(m, 0, sizeof(*m));
		if (losses && !dice(9))
			lost[cpu] += 1 + dice(5);
		*head = (struct page_head){.base_stamp = now[t],
					   .tid = 100 + (int)t,
					   .cpu = cpu,
					   .task = t,
					   .dropped_events = lost[cpu],
					   .seq = ++seq};
		m->begin = now[t];
		m->member = t & 1;
		for (unsigned int i = 0; i < nr && at < PAGE_BYTES / 8; i++) {
			bool leave = depth[t] && (depth[t] == 60 || dice(2));
			bool bare = deeper && !depth[t] && !dice(3);
			uint32_t id = leave ? stack[t][--depth[t]] : dice(FUNCTIONS);

			if (!leave && !bare)
				stack[t][depth[t]++] = id;
			now[t] += 1 + dice(40);
			m->page[at++] = fake_record(leave || bare ? RECORD_EXIT : RECORD_ENTRY, id,
						    (uint32_t)(now[t] - m->begin));
		}
		head->commit = at * 8;
		m->end = now[t];
		now[t] += 1 + dice(60);
	}
}

static struct meta *tables(bool counter)
{
	struct fake *f = fake_new(CPUS, 1, FUNCTIONS);
	int fd = open(fake_write(f, 0), O_RDONLY);
	struct meta *m;

	assert_int_equal(meta_load(fd, 0, f->size, "fake", &m), 0);
	close(fd);
	fake_free(f);
	strcpy(m->buffers[0].tracer, "function_graph");
	m->head.clock = counter ? AREA_CLOCK_TSC : AREA_CLOCK_MONO;
	m->nr_clocks = 0;
	return m;
}

static struct spool_writer *begin(struct meta *m)
{
	struct spool_writer *w;

	unlink(fake_path("spool"));
	assert_int_equal(spool_create(fake_path("spool"), "fake args", 0, &w), 0);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(spool_put_meta(w, i, m), 0);
	return w;
}

/* What is complete at @now; in no order of their beginnings. */
static void put_until(struct spool_writer *w, uint64_t now)
{
	for (unsigned int i = 0; i < PAGES; i++) {
		struct made *m = &made[(i * 37) % PAGES];
		struct spool_page page = {m->page, 1};

		if (m->put || m->end > now)
			continue;
		m->put = true;
		assert_int_equal(
			spool_put_pages(w, m->member, ((struct page_head *)m->page)->cpu, &page, 1),
			0);
	}
}

/* No page comes any more that begins before this. */
static uint64_t oldest(uint64_t now)
{
	for (unsigned int i = 0; i < PAGES; i++)
		if (!made[i].put && made[i].begin < now)
			now = made[i].begin;
	return now;
}

/*
 * Copies of the pages that threads have at @now, less the last record where @cut: then no page
 * holds the turn back. Return: the stamp that a turn has.
 */
static uint64_t put_opens(struct spool_writer *w, uint64_t now, bool cut)
{
	uint64_t least = now;

	for (unsigned int i = 0; i < PAGES; i++) {
		struct made *m = &made[i];
		const struct page_head *head = (const struct page_head *)m->page;
		uint64_t copy[PAGE_BYTES / 8] = {0};
		size_t at = PAGE_HEAD_BYTES / 8;

		if (m->put || m->begin >= now)
			continue;
		while (at < head->commit / 8 && m->begin + record_word_stamp(m->page[at]) < now)
			at++;
		at -= cut && at > PAGE_HEAD_BYTES / 8;
		if (at == PAGE_HEAD_BYTES / 8) {
			least = m->begin < least ? m->begin : least;
			continue;
		}
		memcpy(copy, m->page, at * 8);
		((struct page_head *)copy)->commit = at * 8;
		assert_int_equal(spool_put_open(w, m->member, copy), 0);
	}
	return least;
}

static void put_pair(struct spool_writer *w, uint64_t stamp)
{
	/* a clock that is not quite straight */
	struct area_clock pair = {.stamp = stamp,
				  .mono_ns = stamp * 100000 + (stamp / 1000 % 7) * 3333,
				  .real_ns = stamp * 100000 + 1000000000000,
				  .bracket = 10};

	assert_int_equal(spool_put_clock(w, &pair), 0);
}

static uint64_t last_stamp(void)
{
	uint64_t last = 0;

	for (unsigned int i = 0; i < PAGES; i++)
		last = made[i].end > last ? made[i].end : last;
	return last;
}

static void print_runs(FILE *f, struct runs *runs)
{
	struct run run;
	int ret;

	while ((ret = runs_next(runs, &run)) > 0)
		for (unsigned int i = 0; i < run.nr; i++) {
			struct record rec = run_plain(&run, i);

			assert_null(run.recs);
			fprintf(f, "%" PRIu64 " %u %d %u %" PRIx64 " %" PRIu64 "\n", rec.ts,
				rec.cpu, rec.pid, rec.kind, rec.ip, rec.lost);
		}
	assert_int_equal(ret, 0);
}

/*
 * One recording, turn by turn. @each: after the pages of a turn are in the spool; @stamp as it is
 * passed.
 */
struct play {
	bool counter;
	struct spool_writer *w;
	void (*each)(void *arg, uint64_t end, uint64_t stamp);
	void *arg;
	enum { WITHOUT, COPIES, CUT } opens; /* put_opens() in each turn */
	struct made *late; /* comes last, though no turn waits for it; NULL: none does */
};

static void play(struct play *p)
{
	struct meta *m = tables(p->counter);
	uint64_t last = last_stamp();

	p->w = begin(m);
	put_pair(p->w, 500);
	if (p->late)
		p->late->put = true;
	for (unsigned int t = 1; t <= TURNS; t++) {
		uint64_t now = 1000 + (last - 1000) * t / (TURNS + 2);

		put_until(p->w, now);
		put_pair(p->w, now);
		now = p->opens ? put_opens(p->w, now, p->opens == CUT) : oldest(now);
		p->each(p->arg, spool_bytes(p->w), now);
	}
	if (p->late)
		p->late->put = false;
	put_until(p->w, UINT64_MAX);
	put_pair(p->w, last + 1000);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(spool_put_meta(p->w, i, m), 0);
	assert_int_equal(spool_end(p->w, 77777), 0);
	spool_close_writer(p->w);
	meta_free(m);
}

struct reading {
	struct spool_grow *g;
	struct runs *runs;
	FILE *f;
	unsigned int nr_turns;
};

static void read_turn(void *arg, uint64_t end, uint64_t stamp)
{
	struct reading *s = arg;
	int ret;

	if (!s->g)
		assert_int_equal(spool_grow_open(fake_path("spool"), &s->g), 0);
	ret = spool_grow_turn(s->g, end, stamp);
	if (ret < 0)
		fail_msg("%s", fail_text());
	if (!ret)
		return;
	s->nr_turns++;
	if (!s->runs)
		s->runs = runs_new(spool_grow_reader(s->g));
	runs_go_on(s->runs, spool_grow_reader(s->g));
	print_runs(s->f, s->runs);
}

static void test_reads_the_same(void **state)
{
	for (uint32_t n = 0; n < 24; n++) {
		struct reading s = {0};
		struct play p = {.counter = n & 1,
				 .each = read_turn,
				 .arg = &s,
				 .opens = n % 3 ? COPIES : WITHOUT};
		char *live, *whole;
		size_t bytes[2];
		struct runs *runs;
		struct reader *r;
		FILE *f;

		seed = n;
		make_pages(1 + n % THREADS, n & 2);
		s.f = open_memstream(&live, &bytes[0]);
		play(&p);
		/* no page holds it back; the last pair of clocks does */
		assert_true(s.nr_turns > (p.opens ? TURNS - 4 : TURNS / 3));
		assert_int_equal(reader_open(fake_path("spool"), &r), 0);
		assert_int_equal(pages_take_over(pages_of_reader(r),
						 pages_of_reader(spool_grow_reader(s.g))),
				 0);
		/* it has read a good part */
		fflush(s.f);
		assert_true(bytes[0] > 1000);
		runs_go_on(s.runs, r);
		print_runs(s.f, s.runs);
		fclose(s.f);
		runs_free(s.runs);
		spool_grow_close(s.g);
		assert_int_equal(r->ops->rewind(r), 0);
		f = open_memstream(&whole, &bytes[1]);
		runs = runs_new(r);
		print_runs(f, runs);
		fclose(f);
		runs_free(runs);
		reader_close(r);
		if (strcmp(live, whole) != 0)
			fail_msg("%u: the records differ", n);
		free(live);
		free(whole);
	}
	(void)state;
}

/* A page comes too late: the whole reader does not go on behind it. */
static void test_notices(void **state)
{
	for (uint32_t n = 0; n < 4; n++) {
		struct reading s = {0};
		struct play p = {.counter = n & 1, .each = read_turn, .arg = &s, .late = &made[5]};
		struct reader *r;
		char *live;
		size_t bytes;

		seed = n;
		make_pages(3, false);
		s.f = open_memstream(&live, &bytes);
		play(&p);
		assert_int_equal(reader_open(fake_path("spool"), &r), 0);
		assert_int_equal(pages_take_over(pages_of_reader(r),
						 pages_of_reader(spool_grow_reader(s.g))),
				 -ESTALE);
		fclose(s.f);
		runs_free(s.runs);
		spool_grow_close(s.g);
		reader_close(r);
		free(live);
	}
	(void)state;
}

struct encoding {
	struct dat_live *l;
	uint64_t done;
};

static void encode_turn(void *arg, uint64_t end, uint64_t stamp)
{
	struct encoding *e = arg;

	if (!e->l)
		e->l = dat_live_new(fake_path("live.dat"), fake_path("spool"), false);
	assert_non_null(e->l);
	dat_live_turn(e->l, end, stamp);
	while (dat_live_turns(e->l) == e->done && e->done != UINT64_MAX)
		usleep(100);
	e->done = dat_live_turns(e->l);
}

static char *bytes_of(const char *path, size_t *bytes)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	char *all;

	assert_true(fd >= 0 && !fstat(fd, &st));
	*bytes = (size_t)st.st_size;
	all = malloc(*bytes + 1);
	assert_int_equal(read(fd, all, *bytes), st.st_size);
	close(fd);
	return all;
}

static char *written(struct dat_live *l, const char *name, size_t *bytes)
{
	struct dat_options how = {
		.version = 7, .zstd_level = DAT_LIVE_LEVEL, .native = true, .live = l};
	struct reader *r;

	assert_int_equal(reader_open(fake_path("spool"), &r), 0);
	if (dat_write(fake_path(name), r, &how))
		fail_msg("%s", fail_text());
	reader_close(r);
	return bytes_of(fake_path(name), bytes);
}

/* The same file, but for the option TRACEID, a number of 8 bytes by chance. */
static void assert_same(const char *a, const char *b, size_t bytes)
{
	size_t at = 0;

	while (at < bytes && a[at] == b[at])
		at++;
	if (at + 8 < bytes)
		assert_memory_equal(a + at + 8, b + at + 8, bytes - at - 8);
}

static void test_writes_the_same(void **state)
{
	for (uint32_t n = 0; n < 12; n++) {
		struct encoding e = {0};
		struct play p = {.counter = n & 1,
				 .each = encode_turn,
				 .arg = &e,
				 .opens = n % 3 ? COPIES : WITHOUT};
		char *live, *whole;
		size_t bytes[2];

		seed = 1000 + n;
		make_pages(1 + n % THREADS, n & 2);
		play(&p);
		live = written(e.l, "live.dat", &bytes[0]);
		dat_live_free(e.l);
		whole = written(NULL, "whole.dat", &bytes[1]);
		assert_int_equal(bytes[0], bytes[1]);
		assert_same(live, whole, bytes[0]);
		free(live);
		free(whole);
	}
	(void)state;
}

/* What was encoded in vain is written again. */
static void test_late(void **state)
{
	struct encoding e = {0};
	struct play p = {.each = encode_turn, .arg = &e, .late = &made[7]};
	size_t bytes[2];
	char *live, *whole;

	seed = 4;
	make_pages(3, true);
	play(&p);
	live = written(e.l, "live.dat", &bytes[0]);
	dat_live_free(e.l);
	whole = written(NULL, "whole.dat", &bytes[1]);
	assert_int_equal(bytes[0], bytes[1]);
	assert_same(live, whole, bytes[0]);
	free(live);
	free(whole);
	(void)state;
}

/* It ends at any moment, and leaves nothing. */
static void test_drop(void **state)
{
	struct encoding e = {0};
	struct play p = {.each = encode_turn, .arg = &e};
	size_t bytes[2];
	char *live, *whole;

	seed = 5;
	make_pages(3, false);
	play(&p);
	dat_live_drop(e.l);
	live = written(e.l, "live.dat", &bytes[0]);
	dat_live_free(e.l);
	whole = written(NULL, "whole.dat", &bytes[1]);
	assert_int_equal(bytes[0], bytes[1]);
	assert_same(live, whole, bytes[0]);
	free(live);
	free(whole);
	(void)state;
}

/* What @e has encoded so far makes no difference to the file. */
static void assert_no_difference(struct encoding *e)
{
	size_t bytes[2];
	char *live = written(e->l, "live.dat", &bytes[0]), *whole;

	whole = written(NULL, "whole.dat", &bytes[1]);
	assert_int_equal(bytes[0], bytes[1]);
	assert_same(live, whole, bytes[0]);
	free(live);
	free(whole);
}

/* A record that was not in the copy of its page though its time was over. */
static void test_late_record(void **state)
{
	for (uint32_t n = 0; n < 6; n++) {
		struct encoding e = {0};
		struct play p = {.counter = n & 1, .each = encode_turn, .arg = &e, .opens = CUT};

		seed = 3000 + n;
		make_pages(1 + n % THREADS, n & 2);
		play(&p);
		assert_no_difference(&e);
		dat_live_free(e.l);
	}
	(void)state;
}

/*
 * Stacks were deeper than what was recorded of them: that is found out at the beginning or later.
 */
static void test_deeper(void **state)
{
	for (uint32_t n = 0; n < 6; n++) {
		struct encoding e = {0};
		struct play p = {.counter = n & 1, .each = encode_turn, .arg = &e};

		seed = 2000 + n;
		deeper = true;
		make_pages(1 + n % THREADS, n & 2);
		deeper = false;
		play(&p);
		assert_no_difference(&e);
		dat_live_free(e.l);
	}
	(void)state;
}

static bool sleeps(pid_t of, pid_t tid)
{
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", of, tid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	if (f)
		fclose(f);
	return state == 'S';
}

/*
 * Do all threads of the parent but its main one wait for something? Then none has a lock, of
 * malloc() say.
 */
static bool all_sleep(pid_t of)
{
	char path[64];
	struct dirent *d;
	bool all = true;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", of);
	dir = opendir(path);
	while (dir && (d = readdir(dir))) {
		pid_t tid = atoi(d->d_name);

		all &= tid <= 0 || tid == of || sleeps(of, tid);
	}
	if (dir)
		closedir(dir);
	return dir && all;
}

/* Stop all threads of the parent but its main one. Return: 0 or -1. */
static int stop_threads(pid_t of)
{
	char path[64];
	struct dirent *d;
	DIR *dir;
	int nr = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", of);
	while (!all_sleep(of))
		usleep(1000);
	dir = opendir(path);
	while (dir && (d = readdir(dir))) {
		pid_t tid = atoi(d->d_name);

		if (tid <= 0 || tid == of)
			continue;
		if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) ||
		    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) || waitpid(tid, NULL, __WALL) != tid)
			return -1;
		nr++;
	}
	return nr ? 0 : -1;
}

/* A thread that gets no CPU time at all is not waited for. */
static void test_starved(void **state)
{
	static struct encoding e; /* the thread has it for ever */
	struct play p = {.each = encode_turn, .arg = &e};
	int stopped[2], over[2];
	char ok = 0;
	pid_t pid;

	seed = 6;
	make_pages(3, false);
	play(&p);
	assert_int_equal(pipe2(stopped, O_CLOEXEC) | pipe2(over, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		close(over[1]);
		ok = read(over[0], &ok, 1) == 1 && !stop_threads(getppid()) ? 'y' : 'n';
		/* the threads go on when it ends */
		_exit(write(stopped[1], &ok, 1) != 1 || read(over[0], &ok, 1) != 0);
	}
	close(over[0]);
	prctl(PR_SET_PTRACER, pid, 0, 0, 0);
	assert_int_equal(write(over[1], "", 1), 1);
	assert_int_equal(read(stopped[0], &ok, 1), 1);
	if (ok == 'y')
		assert_no_difference(&e);
	close(over[1]);
	close(stopped[0]);
	close(stopped[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	dat_live_free(e.l);
	if (ok != 'y')
		skip();
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_the_same),
		cmocka_unit_test(test_notices),
		cmocka_unit_test(test_writes_the_same),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_drop),
		cmocka_unit_test(test_late_record),
		cmocka_unit_test(test_deeper),
		cmocka_unit_test(test_starved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
