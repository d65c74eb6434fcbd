/* SPDX-License-Identifier: MIT */
/*
 * The source of the CPUs' power: the kernel's records, as perf gives them, into the calls of its
 * listeners.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/lifecycle.h"
#include "engine/process/area.h"
#include "engine/process/perf.h"
#include "engine/process/thread_list.h"
#include "engine/ring/proxy.h"
#include "engine/sources/kernel_event.h"
#include "engine/sources/power.h"
#include "engine/sources/sched_perf.h"

/* What the source asks of the engine. */
static const struct perf_user *user;
static struct source_link *switches;
static uint32_t opened, missing; /* kinds, a bit each, from the source's first one on */
static const char *stat_text;

struct area_header *area;
struct source sched_sources[NR_SCHED_KINDS];
__thread const struct ring_as *ring_as;

void sched_perf_add(const struct perf_user *u)
{
	user = u;
}

int sched_perf_ask(void)
{
	return 1;
}

void sched_perf_drain(void)
{
}

int source_listen(struct source *s, struct source_link *link)
{
	int err = s->want ? s->want(s, 1) : 0;

	if (err)
		return err;
	if (s == &sched_sources[SCHED_SWITCH])
		switches = link;
	s->first = link;
	return 0;
}

void source_ignore(struct source *s, struct source_link *link)
{
	(void)link;
	s->first = NULL;
	if (s == &sched_sources[SCHED_SWITCH])
		switches = NULL;
	if (s->want)
		s->want(s, 0);
}

uint64_t __wrap_kernel_event_find(const struct kernel_tracepoint *e,
				  struct kernel_event_places *places);

/* As Linux 6.12 has them: of a miss the CPU is first. */
uint64_t __wrap_kernel_event_find(const struct kernel_tracepoint *e,
				  struct kernel_event_places *places)
{
	int miss = !strcmp(e->name, "cpu_idle_miss");
	uint32_t kind =
		miss ? POWER_MISS : (!strcmp(e->name, "cpu_idle") ? POWER_IDLE : POWER_FREQUENCY);

	if (missing >> kind & 1)
		return 0;
	*places = (struct kernel_event_places){.at = {8, 12, 16}};
	if (miss) {
		places->at[0] = 12;
		places->at[1] = 8;
	}
	return 500 + kind;
}

int perf_open_cpus(uint32_t kind, const struct perf_event_attr *attr, const char *filter)
{
	assert_null(filter);
	assert_int_equal(attr->config, 500 + kind - user->first);
	opened |= 1u << (kind - user->first);
	return 0;
}

void perf_close(uint32_t kind)
{
	opened &= ~(1u << (kind - user->first));
}

void ring_proxy_flush(void)
{
}

void area_status(const char *what, const char *name, int err)
{
	(void)what;
	(void)name;
	(void)err;
}

int thread_list_each(int (*each)(int tid, void *data), void *data)
{
	return each(-7, data);
}

long thread_list_read(int tid, const char *file, char *text, size_t bytes)
{
	assert_int_equal(tid, -7);
	assert_string_equal(file, "stat");
	assert_true(strlen(stat_text) < bytes);
	memcpy(text, stat_text, strlen(stat_text) + 1);
	return (long)strlen(stat_text);
}

static struct power heard;
static uint32_t nr_heard;

static void hear(const struct power *p)
{
	heard = *p;
	nr_heard++;
}

static struct power_listener listener = {.call = hear};

/* Return: whether it was heard. @raw: a tracepoint's record behind its first 8 bytes. */
static uint32_t give(uint32_t kind, const uint32_t *raw, uint32_t bytes)
{
	uint8_t record[64] = {0};
	struct perf_record rec = {
		.kind = user->first + kind, .raw = record, .raw_bytes = 8 + bytes};
	uint32_t before = nr_heard;

	memcpy(record + 8, raw, bytes);
	user->record(&rec);
	return nr_heard - before;
}

static void run_on(uint32_t cpu)
{
	struct ring_as as = {.cpu = cpu};
	struct sched_call c = {.as = &as};

	((struct sched_listener *)switches)->call(&c);
}

#define STAT(cpu)                                                                                  \
	"77 (a) b ( c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 " \
	"28 29 30 31 32 33 34 17 " cpu " 0 0\n"

static int begin(void **state)
{
	static const struct lifecycle_start how = {.with_agent = 1};

	(void)state;
	if (!user)
		lifecycle_start(&how);
	missing = 0;
	stat_text = STAT("3");
	return source_listen(&powers, &listener.link);
}

static int end(void **state)
{
	(void)state;
	source_ignore(&powers, &listener.link);
	return opened || switches;
}

static void fields(void **state)
{
	(void)state;
	assert_int_equal(opened, 7);
	assert_int_equal(give(POWER_IDLE, (uint32_t[]){1, 3}, 8), 1);
	assert_true(heard.kind == POWER_IDLE && heard.state == 1 && heard.cpu == 3);
	assert_int_equal(give(POWER_IDLE, (uint32_t[]){UINT32_MAX, 3}, 8), 1);
	assert_true(heard.state == POWER_IDLE_END);
	assert_int_equal(give(POWER_FREQUENCY, (uint32_t[]){2400000, 3}, 8), 1);
	assert_true(heard.kind == POWER_FREQUENCY && heard.state == 2400000);
	assert_int_equal(give(POWER_MISS, (uint32_t[]){3, 2, 1}, 9), 1);
	assert_true(heard.kind == POWER_MISS && heard.cpu == 3 && heard.state == 2 && heard.below);
}

/* A CPU is the program's from the first time that it runs there. */
static void cpus(void **state)
{
	(void)state;
	assert_int_equal(give(POWER_IDLE, (uint32_t[]){1, 0}, 8), 0);
	assert_int_equal(give(POWER_IDLE, (uint32_t[]){1, 8191}, 8), 0);
	run_on(0);
	run_on(8191);
	run_on(8192);
	run_on(UINT32_MAX);
	assert_int_equal(give(POWER_IDLE, (uint32_t[]){1, 0}, 8), 1);
	assert_int_equal(give(POWER_IDLE, (uint32_t[]){1, 8191}, 8), 1);
	assert_int_equal(give(POWER_IDLE, (uint32_t[]){1, 8192}, 8), 0);
	assert_int_equal(give(POWER_IDLE, (uint32_t[]){1, UINT32_MAX}, 8), 0);
	assert_int_equal(give(POWER_IDLE, (uint32_t[]){1, 1}, 8), 0);
}

static void cut(void **state)
{
	(void)state;
	for (uint32_t n = 0; n < 8; n++)
		assert_int_equal(give(POWER_IDLE, (uint32_t[]){1, 3}, n), 0);
	assert_int_equal(give(POWER_MISS, (uint32_t[]){3, 2, 1}, 8), 0);
}

/* Each time it begins with the CPUs of now. */
static void again(void **state)
{
	static const char *const wrong[] = {"", "77 (a) S 1 2", STAT("8192"), STAT("x")};

	(void)state;
	run_on(1);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		source_ignore(&powers, &listener.link);
		assert_int_equal(opened, 0);
		stat_text = wrong[i];
		assert_int_equal(source_listen(&powers, &listener.link), 0);
		assert_int_equal(give(POWER_IDLE, (uint32_t[]){1, 1}, 8), 0);
		assert_int_equal(give(POWER_IDLE, (uint32_t[]){1, 3}, 8), 0);
	}
}

/* A kernel without cpuidle has nothing to say; one without frequencies has. */
static void not_there(void **state)
{
	(void)state;
	source_ignore(&powers, &listener.link);
	missing = 1u << POWER_IDLE;
	assert_int_equal(source_listen(&powers, &listener.link), -ENOENT);
	assert_true(!opened && !switches);
	missing = 1u << POWER_FREQUENCY | 1u << POWER_MISS;
	assert_int_equal(source_listen(&powers, &listener.link), 0);
	assert_int_equal(opened, 1u << POWER_IDLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(fields, begin, end),
		cmocka_unit_test_setup_teardown(cpus, begin, end),
		cmocka_unit_test_setup_teardown(cut, begin, end),
		cmocka_unit_test_setup_teardown(again, begin, end),
		cmocka_unit_test_setup_teardown(not_there, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
