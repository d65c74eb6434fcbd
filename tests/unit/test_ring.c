/* SPDX-License-Identifier: MIT */
/* Rings that come and go while threads write into them (engine/ring/ring.c). */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/membarrier.h>

#include <cmocka.h>

#include "engine/ring/ring_write.h"

#define NR_PAGES 64
#define NR_TASKS 64

/* The memory of a ring that needs no area. */
struct room {
	struct area_header head;
	struct area_buffer buffer;
	struct area_cpu cpu;
	struct page_desc descs[NR_PAGES];
	struct area_task tasks[NR_TASKS] __attribute__((aligned(4096)));
	uint8_t pages[NR_PAGES][PAGE_BYTES] __attribute__((aligned(4096)));
};

static struct ring make_ring(void)
{
	struct room *room = mmap(NULL, sizeof(*room), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(room, MAP_FAILED);
	room->cpu.nr_pages = NR_PAGES;
	room->buffer.flags = AREA_BUFFER_OVERWRITE;
	room->head.tables[AREA_TASKS].capacity = NR_TASKS;
	return (struct ring){
		.area = &room->head,
		.buffer = &room->buffer,
		.cpus = &room->cpu,
		.descs = room->descs,
		.pages = room->pages[0],
		.task_table = &room->head.tables[AREA_TASKS],
		.tasks = room->tasks,
		.nr_cpus = 1,
	};
}

static void free_ring(struct room *room)
{
	munmap(room, sizeof(*room));
}

static struct ring *an_instance;
static int step;

static void wait_for(int what)
{
	while (__atomic_load_n(&step, __ATOMIC_ACQUIRE) < what)
		sched_yield();
}

static void go_to(int what)
{
	__atomic_store_n(&step, what, __ATOMIC_RELEASE);
}

/* Has found the instance, and writes to it for the first time when it is about to go. */
static void *late_writer(void *arg)
{
	struct srcu_thread *inside = ring_enter();
	struct ring_ctl **block = arg;
	struct ring_slot slot;

	assert_non_null(inside);
	go_to(1);
	/* the instance is off: the thread that closes it waits for us, or is about to */
	while (load_relaxed(&an_instance->running))
		sched_yield();
	usleep(20000);
	ring_reserve(an_instance, &slot, 16);
	*block = ring_block(an_instance);
	ring_leave(inside);
	wait_for(2);
	ring_thread_end();
	return NULL;
}

static void a_block_that_comes_late_goes_with_its_ring(void **state)
{
	struct ring top = make_ring(), other = make_ring();
	struct room *room = (struct room *)other.area;
	struct ring_ctl *block = NULL;
	pthread_t thread;

	(void)state;
	assert_int_equal(ring_start(&top, 0), 0);
	ring_set_on(ring_top, 1);
	an_instance = ring_open(&other);
	assert_non_null(an_instance);
	ring_set_on(an_instance, 1);
	assert_int_equal(pthread_create(&thread, NULL, late_writer, &block), 0);
	wait_for(1);
	assert_int_equal(ring_close(an_instance), 0);
	assert_non_null(block);
	assert_int_equal(block->tid, 0);
	go_to(2);
	pthread_join(thread, NULL);
	free_ring(room);
}

static int records_call(void)
{
	struct ring_slot slot;

	if (!ring_reserve_call(ring_top, &slot, 16))
		return 0;
	slot.words[1] = 0;
	ring_commit(&slot, RECORD_FUNCTION, 1);
	return 1;
}

static int records_event(void)
{
	struct ring_slot slot;

	if (!ring_reserve(ring_top, &slot, 16))
		return 0;
	slot.words[1] = 0;
	ring_commit(&slot, RECORD_FUNCTION, 1);
	return 1;
}

static void *other_thread(void *arg)
{
	int *got = arg;

	*got = records_call() | records_event() << 1;
	ring_thread_end();
	return NULL;
}

static void a_gate_lets_through_the_threads_that_opened_it(void **state)
{
	pthread_t thread;
	int got;

	(void)state;
	assert_true(records_call());
	ring_set_gate(ring_top, 1);
	assert_false(records_call());
	assert_true(records_event());
	assert_false(records_call());
	ring_gate_open(ring_top);
	assert_true(records_call());
	assert_true(records_event());
	assert_int_equal(pthread_create(&thread, NULL, other_thread, &got), 0);
	pthread_join(thread, NULL);
	assert_int_equal(got, 2);
	assert_true(records_call());
	ring_gate_close(ring_top);
	assert_false(records_call());
	assert_true(records_event());
	/* another one is closed */
	ring_gate_open(ring_top);
	ring_set_gate(ring_top, 0);
	assert_true(records_call());
	ring_set_gate(ring_top, 1);
	assert_false(records_call());
	ring_set_gate(ring_top, 0);
	assert_true(records_call());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_block_that_comes_late_goes_with_its_ring),
		cmocka_unit_test(a_gate_lets_through_the_threads_that_opened_it),
	};

	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0)) {
		puts("no membarrier() here");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
