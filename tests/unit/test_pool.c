/* SPDX-License-Identifier: MIT */
/* The pool behind the ring: order, losses, growth, and threads that take and publish at once. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "engine/ring/pool.h"
#include "step.h"

#define NR_PAGES 256

struct fixture {
	struct ring ring;
	struct area_header area;
	struct area_buffer buffer;
	struct area_cpu cpu;
	struct page_desc descs[NR_PAGES];
};

static void set_up(struct fixture *f, uint32_t nr_pages, int overwrite)
{
	memset(f, 0, sizeof(*f));
	f->cpu.nr_pages = nr_pages;
	f->buffer.flags = overwrite ? AREA_BUFFER_OVERWRITE : 0;
	f->ring = (struct ring){.area = &f->area,
				.buffer = &f->buffer,
				.cpus = &f->cpu,
				.descs = f->descs,
				.nr_cpus = 1};
	f->ring.pages = mmap(NULL, NR_PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(f->ring.pages, MAP_FAILED);
}

static void tear_down(struct fixture *f)
{
	munmap(f->ring.pages, NR_PAGES * PAGE_BYTES);
}

/* Take a page, write @n function records into it, publish it. */
static int fill(struct fixture *f, uint32_t n)
{
	int index = pool_take(&f->ring, &f->cpu);
	struct page_head *head;
	uint64_t *word;
	uint32_t i;

	if (index < 0)
		return index;
	head = pool_page(&f->ring, (uint32_t)index);
	pool_own(&f->ring, (uint32_t)index);
	word = (uint64_t *)(head + 1);
	for (i = 0; i < n; i++, word += 2) {
		assert_int_equal(word[0], 0);
		assert_int_equal(word[1], 0);
		word[1] = 1;
		word[0] = (uint64_t)RECORD_FUNCTION << RECORD_KIND_SHIFT | i;
		head->commit += RECORD_FUNCTION_BYTES;
	}
	pool_publish(&f->ring, (uint32_t)index);
	return index;
}

static void overwrite_takes_the_oldest(void **state)
{
	struct fixture f;
	uint64_t oldest;
	int i, index;

	(void)state;
	set_up(&f, 128, 1);
	for (i = 0; i < 128; i++)
		assert_int_equal(fill(&f, 10), i);
	assert_int_equal(f.cpu.overrun, 0);
	for (i = 0; i < 300; i++) {
		oldest = UINT64_MAX;
		for (index = 0; index < 128; index++)
			if (f.descs[index].seq < oldest)
				oldest = f.descs[index].seq;
		index = fill(&f, 7);
		assert_true(index >= 0);
		assert_int_equal(f.descs[index].seq, 128 + i + 1);
		for (int k = 0; k < 128; k++)
			assert_true(f.descs[k].seq > oldest || k == index);
	}
	assert_int_equal(f.cpu.overrun, 128 * 10 + (300 - 128) * 7);
	tear_down(&f);
}

/* Fill a page with runs of records of any kind. Return: how many there are. */
static uint32_t fill_mixed(struct fixture *f, uint32_t seed)
{
	static const uint8_t kinds[] = {
		RECORD_ENTRY,	RECORD_EXIT, RECORD_TAIL,   RECORD_UNWOUND,  RECORD_STACK,
		RECORD_CONTEXT, RECORD_VOID, RECORD_RETURN, RECORD_FUNCTION, RECORD_UNCOMMITTED};
	int index = pool_take(&f->ring, &f->cpu);
	struct page_head *head = pool_page(&f->ring, (uint32_t)index);
	uint64_t *word = (uint64_t *)(head + 1), *end = word + PAGE_DATA_BYTES / 8;
	uint32_t n = 0, left = 0, kind = 0;

	pool_own(&f->ring, (uint32_t)index);
	while (word < end - 1) {
		uint64_t id = RECORD_FUNCTION_BYTES;

		if (!left--) {
			seed = seed * 1103515245 + 12345;
			kind = kinds[(seed >> 16) % sizeof(kinds)];
			left = (seed >> 8) % 30;
		}
		*word = kind ? (uint64_t)kind << RECORD_KIND_SHIFT | id << RECORD_ID_SHIFT : 0;
		/* a context is none of its own */
		n += kind != RECORD_VOID && kind != RECORD_UNCOMMITTED && kind != RECORD_CONTEXT;
		if (record_word_bytes(*word) == 16)
			*++word = (uint64_t)RECORD_ENTRY << RECORD_KIND_SHIFT;
		word++;
	}
	head->commit = (uint64_t)((uint8_t *)word - (uint8_t *)head);
	pool_publish(&f->ring, (uint32_t)index);
	return n;
}

static void overwritten_records_are_counted(void **state)
{
	uint64_t want = 0;
	struct fixture f;
	uint32_t i;

	(void)state;
	set_up(&f, NR_PAGES, 1);
	for (i = 0; i < NR_PAGES; i++)
		want += fill_mixed(&f, i);
	for (i = 0; i < NR_PAGES; i++)
		fill(&f, 1);
	assert_int_equal(f.cpu.overrun, want);
	/* of what was there when the buffer was cleared, nothing was lost */
	f.cpu.cleared_stamp = 1;
	for (i = 0; i < NR_PAGES; i++)
		fill(&f, 1);
	assert_int_equal(f.cpu.overrun, want);
	tear_down(&f);
}

static void discard_refuses_when_full(void **state)
{
	struct fixture f;
	int i;

	(void)state;
	set_up(&f, 100, 0);
	for (i = 0; i < 100; i++)
		assert_true(fill(&f, 1) >= 0);
	assert_int_equal(f.cpu.nr_backed, 100);
	assert_true(fill(&f, 1) < 0);
	/* what the reader gives back, wherever it is, is found */
	f.descs[57].state = PAGE_FREE;
	assert_int_equal(fill(&f, 1), 57);
	assert_true(fill(&f, 1) < 0);
	assert_int_equal(f.cpu.overrun, 0);
	tear_down(&f);
}

static void memory_comes_when_needed(void **state)
{
	struct fixture f;
	int i;

	(void)state;
	set_up(&f, 200, 0);
	assert_int_equal(f.cpu.nr_backed, 0);
	for (i = 0; i < 500; i++) {
		int index = fill(&f, 3);

		assert_true(index >= 0);
		f.descs[index].state = PAGE_FREE;
	}
	/* a reader that keeps up: one step of memory was enough */
	assert_int_equal(f.cpu.nr_backed, 64);
	tear_down(&f);
}

static void an_empty_page_is_given_back(void **state)
{
	struct fixture f;
	int index;

	(void)state;
	set_up(&f, 64, 0);
	index = pool_take(&f.ring, &f.cpu);
	pool_own(&f.ring, (uint32_t)index);
	pool_publish(&f.ring, (uint32_t)index);
	assert_int_equal(f.descs[index].state, PAGE_FREE);
	assert_int_equal(f.buffer.publish_seq, 0);
	tear_down(&f);
}

static void a_commit_beyond_the_page_is_cut(void **state)
{
	struct fixture f;
	int index;

	(void)state;
	set_up(&f, 64, 0);
	index = pool_take(&f.ring, &f.cpu);
	pool_own(&f.ring, (uint32_t)index);
	pool_page(&f.ring, (uint32_t)index)->commit = PAGE_BYTES + 48;
	pool_publish(&f.ring, (uint32_t)index);
	assert_int_equal(pool_page(&f.ring, (uint32_t)index)->commit, PAGE_BYTES);
	tear_down(&f);
}

static void *worker(void *arg)
{
	struct fixture *f = arg;
	uintptr_t records = 0;
	int i;

	for (i = 0; i < 20000; i++) {
		int index = pool_take(&f->ring, &f->cpu);
		struct page_head *head;
		uint64_t *word;

		if (index < 0)
			continue;
		head = pool_page(&f->ring, (uint32_t)index);
		pool_own(&f->ring, (uint32_t)index);
		/* no other thread may have it meanwhile */
		head->tid = (int32_t)(uintptr_t)&i;
		word = (uint64_t *)(head + 1);
		word[1] = 1;
		word[0] = (uint64_t)RECORD_FUNCTION << RECORD_KIND_SHIFT | 1;
		head->commit += RECORD_FUNCTION_BYTES;
		if (head->tid != (int32_t)(uintptr_t)&i)
			return (void *)UINTPTR_MAX;
		records++;
		pool_publish(&f->ring, (uint32_t)index);
	}
	return (void *)records;
}

static void threads_never_share_a_page(void **state)
{
	static struct fixture f;
	pthread_t threads[4];
	uint64_t made = 0, kept = 0;
	void *ret;
	int i;

	(void)state;
	set_up(&f, 64, 1);
	for (i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, worker, &f), 0);
	for (i = 0; i < 4; i++) {
		pthread_join(threads[i], &ret);
		assert_true((uintptr_t)ret != UINTPTR_MAX);
		made += (uintptr_t)ret;
	}
	for (i = 0; i < 64; i++)
		kept += f.descs[i].state == PAGE_PUBLISHED;
	/* exact: each record is either still there or was counted as overwritten */
	assert_int_equal(kept + f.cpu.overrun, made);
	tear_down(&f);
}

static void *short_worker(void *arg)
{
	struct fixture *f = arg;
	int i;

	for (i = 0; i < 60; i++)
		if (fill(f, 1) < 0)
			return (void *)1;
	return NULL;
}

/* Two threads reach the end of the backed pages at once: nothing is overwritten yet. */
static void threads_grow_before_they_overwrite(void **state)
{
	static struct fixture f;
	pthread_t threads[4];
	void *ret;
	int i, round;

	(void)state;
	for (round = 0; round < 500; round++) {
		set_up(&f, 250, 1);
		for (i = 0; i < 4; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, short_worker, &f), 0);
		for (i = 0; i < 4; i++) {
			pthread_join(threads[i], &ret);
			assert_null(ret);
		}
		assert_int_equal(f.cpu.overrun, 0);
		tear_down(&f);
	}
}

/*
 * Two CPUs with half of the pages each; the first one's page is published, and at once taken anew.
 */
struct taken_at_once {
	struct fixture f;
	struct area_cpu cpus[2];
	uint32_t index;
	int done;
};

static void publish_it(void *arg)
{
	struct taken_at_once *t = arg;

	pool_publish(&t->f.ring, t->index);
}

/* Another thread, as soon as it may: the page is its own, and says so. */
static void take_it(void *arg, uint64_t n)
{
	struct taken_at_once *t = arg;
	int index;

	(void)n;
	if (t->done ||
	    __atomic_load_n(&t->f.descs[t->index].state, __ATOMIC_ACQUIRE) != PAGE_PUBLISHED)
		return;
	t->done = 1;
	/* the hand goes round: the second look takes what was published lately */
	index = pool_take(&t->f.ring, &t->cpus[1]);
	if (index != (int)t->index)
		t->done = -1;
	else
		pool_publish(&t->f.ring, t->index);
}

static void a_page_that_was_published_is_not_looked_at(void **state)
{
	static struct taken_at_once t;
	struct page_head *head;
	int i;

	(void)state;
	memset(&t, 0, sizeof(t));
	set_up(&t.f, 0, 1);
	for (i = 0; i < 2; i++)
		t.cpus[i] = (struct area_cpu){
			.cpu = (uint32_t)i, .first_page = (uint32_t)i * 64, .nr_pages = 64};
	t.f.ring.cpus = t.cpus;
	t.f.ring.nr_cpus = 2;
	/* all pages of the second CPU but one are in use */
	for (i = 64; i < 128; i++)
		assert_int_equal(pool_take(&t.f.ring, &t.cpus[1]), i);
	t.index = 100;
	head = pool_page(&t.f.ring, t.index);
	head->cpu = 1;
	head->commit += RECORD_FUNCTION_BYTES;
	pool_own(&t.f.ring, t.index);
	assert_true(step_through(publish_it, &t, take_it, &t) > 10);
	assert_int_equal(t.done, 1);
	/* the page is no other CPU's, so it has a place where it is */
	assert_int_equal(t.f.descs[t.index].state, PAGE_FREE);
	tear_down(&t.f);
}

/*
 * A thread takes a page. At one instruction of that the buffer is cleared, as ring_clear() does:
 * before the page's records are counted.
 */
struct cleared_at {
	struct fixture f;
	uint64_t n;
	int before;
};

static void take_one(void *arg)
{
	struct cleared_at *t = arg;

	assert_true(pool_take(&t->f.ring, &t->f.cpu) >= 0);
}

static void clear_there(void *arg, uint64_t n)
{
	struct cleared_at *t = arg;

	if (n != t->n)
		return;
	t->before = !t->f.cpu.overrun;
	t->f.cpu.cleared_overrun = t->f.cpu.overrun;
	t->f.cpu.cleared_stamp = 1000; /* later than each record */
	step_end();
}

static void records_that_were_cleared_are_not_overwritten(void **state)
{
	static struct cleared_at t;
	uint32_t counted = 0;

	(void)state;
	t.before = 1;
	for (t.n = 0; t.before; t.n++) {
		set_up(&t.f, 1, 1);
		assert_int_equal(fill(&t.f, 20), 0);
		t.before = 0;
		step_through(take_one, &t, clear_there, &t);
		counted += t.f.cpu.overrun != t.f.cpu.cleared_overrun;
		tear_down(&t.f);
	}
	assert_true(t.n > 50);
	/* at the few between the check and the addition */
	assert_in_range(counted, 0, 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(overwrite_takes_the_oldest),
		cmocka_unit_test(overwritten_records_are_counted),
		cmocka_unit_test(discard_refuses_when_full),
		cmocka_unit_test(memory_comes_when_needed),
		cmocka_unit_test(an_empty_page_is_given_back),
		cmocka_unit_test(a_commit_beyond_the_page_is_cut),
		cmocka_unit_test(threads_never_share_a_page),
		cmocka_unit_test(threads_grow_before_they_overwrite),
		cmocka_unit_test(a_page_that_was_published_is_not_looked_at),
		cmocka_unit_test(records_that_were_cleared_are_not_overwritten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
