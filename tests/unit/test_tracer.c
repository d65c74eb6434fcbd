/* SPDX-License-Identifier: MIT */
/* The contract of tracers (engine/core/tracer.c), by tracers that only count their calls. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/core/tracer.h"

static struct area_header head;
static struct area_buffer buffer;
struct ring rings[RING_MAX] = {{.area = &head, .buffer = &buffer},
			       {.area = &head, .buffer = &buffer}};
struct trace_array global_trace = {.ring = ring_top};
static struct trace_array instance = {.ring = &rings[1]};

static int nr_snapshots, alloc_error, nr_allocs;
static char seen[64]; /* what was called, in its order */

static void note(char c)
{
	seen[strlen(seen)] = c;
}

/* What tracer.c needs of others. */
void ring_set_on(struct ring *r, int on)
{
	r->on = (uint32_t)on;
	note(on ? '1' : '0');
}

void ring_clear(struct ring *r, uint32_t cpu)
{
	(void)r, (void)cpu;
}

int ring_snapshot(struct ring *r, uint32_t cpu)
{
	(void)r, (void)cpu;
	nr_snapshots++;
	return 0;
}

int ring_snapshot_free(struct ring *r)
{
	(void)r;
	note('f');
	return 0;
}

int trace_array_alloc_snapshot(struct trace_array *tr)
{
	(void)tr;
	nr_allocs++;
	return alloc_error;
}

void area_status(const char *what, const char *name, int err)
{
	(void)what, (void)name, (void)err;
}

static int latency_init(struct trace_array *tr)
{
	(void)tr;
	note('i');
	return 0;
}

static void latency_reset(struct trace_array *tr)
{
	(void)tr;
	note('r');
}

static void latency_start(struct trace_array *tr)
{
	assert_false(ring_is_on(tr->ring));
	note('s');
}

static void latency_stop(struct trace_array *tr)
{
	assert_false(ring_is_on(tr->ring));
	note('e');
}

static int failing_init(struct trace_array *tr)
{
	(void)tr;
	return -EIO;
}

static const struct tracer nop = {.name = "nop", .allow_instances = 1};
TRACER_REGISTER(nop);
static const struct tracer latency = {
	.name = "latency",
	.init = latency_init,
	.reset = latency_reset,
	.start = latency_start,
	.stop = latency_stop,
	.options = TRACER_OPTION(5) | TRACER_OPTION(63),
	.use_max_tr = 1,
};
TRACER_REGISTER(latency);
static const struct tracer failing = {
	.name = "failing", .init = failing_init, .allow_instances = 1};
TRACER_REGISTER(failing);

static int set(struct trace_array *tr, const char *name)
{
	return tracer_set(tr, name, strlen(name));
}

static int setup(void **state)
{
	(void)state;
	set(&global_trace, "nop");
	memset(seen, 0, sizeof(seen));
	nr_snapshots = nr_allocs = alloc_error = 0;
	ring_top->on = 1;
	return 0;
}

static void tracers_are_in_the_order_of_their_names(void **state)
{
	(void)state;
	assert_ptr_equal(tracer_next(NULL), &failing);
	assert_ptr_equal(tracer_next(&failing), &latency);
	assert_ptr_equal(tracer_next(&latency), &nop);
	assert_null(tracer_next(&nop));
}

static void start_and_stop_frame_the_recording(void **state)
{
	(void)state;
	assert_int_equal(set(&global_trace, "latency"), 0);
	tracing_set(&global_trace, 1); /* it is on */
	tracing_set(&global_trace, 0);
	tracing_set(&global_trace, 0);
	tracing_set(&global_trace, 2);
	assert_int_equal(ring_top->on, 1);
	assert_int_equal(set(&global_trace, "nop"), 0);
	tracing_set(&global_trace, 0);
	assert_string_equal(seen, "i0es1rf0");
}

static void some_are_for_the_top_instance_alone(void **state)
{
	(void)state;
	assert_int_equal(set(&instance, "latency"), -EINVAL);
	assert_int_equal(set(&instance, "nop"), 0);
	assert_string_equal(seen, "");
	assert_true(tracer_is_allowed(&latency, &global_trace));
	assert_false(tracer_is_allowed(&latency, &instance));
}

static void the_snapshot_may_be_the_tracers_own(void **state)
{
	(void)state;
	assert_int_equal(tracer_snapshot(&global_trace, 0), 0);
	assert_int_equal(nr_snapshots, 1);
	assert_int_equal(nr_allocs, 0);
	assert_int_equal(set(&global_trace, "latency"), 0);
	assert_int_equal(nr_allocs, 1);
	assert_int_equal(tracer_snapshot(&global_trace, 0), -EBUSY);
	assert_int_equal(nr_snapshots, 1);
	set(&global_trace, "nop");
	assert_int_equal(tracer_snapshot(&global_trace, 0), 0);
	/* the one before stays where there is no memory */
	alloc_error = -ENOMEM;
	memset(seen, 0, sizeof(seen));
	assert_int_equal(set(&global_trace, "latency"), -ENOMEM);
	assert_ptr_equal(global_trace.current, &nop);
	assert_string_equal(seen, "");
}

static void a_tracer_that_fails_leaves_nop(void **state)
{
	(void)state;
	set(&global_trace, "latency");
	assert_string_equal(buffer.tracer, "latency");
	assert_int_equal(set(&global_trace, "failing"), -EIO);
	assert_ptr_equal(global_trace.current, &nop);
	assert_string_equal(buffer.tracer, "nop");
	assert_string_equal(seen, "irf");
	assert_int_equal(set(&global_trace, "none"), -EINVAL);
}

static void an_option_is_found_with_its_tracer(void **state)
{
	(void)state;
	assert_ptr_equal(tracer_with_option(63), &latency);
	assert_ptr_equal(tracer_with_option(5), &latency);
	assert_null(tracer_with_option(6));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(tracers_are_in_the_order_of_their_names, setup),
		cmocka_unit_test_setup(start_and_stop_frame_the_recording, setup),
		cmocka_unit_test_setup(some_are_for_the_top_instance_alone, setup),
		cmocka_unit_test_setup(the_snapshot_may_be_the_tracers_own, setup),
		cmocka_unit_test_setup(a_tracer_that_fails_leaves_nop, setup),
		cmocka_unit_test_setup(an_option_is_found_with_its_tracer, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
