/* SPDX-License-Identifier: MIT */
/*
 * The text of tracers' records that this machine may never make: prepared records in the engine's
 * format.
 */
#include "cm.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>
#include <unistd.h>

#include "scratch.h"
#include "synth.h"
#include "tools/code/symbols.h"
#include "tools/text/ftrace_text.h"

#define COMMON                                                                                     \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static struct tep_event *parse(struct tep_handle *tep, const char *format)
{
	char name[32];

	assert_int_equal(tep_parse_event(tep, format, strlen(format), "ftrace"), 0);
	assert_int_equal(sscanf(format, "name: %31s", name), 1);
	return tep_find_event_by_name(tep, "ftrace", name);
}

static void expect(struct reader *r, const struct tep_event *ev, const void *data, const char *want)
{
	char *path = scratch_path("ftrace"), *text;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct out o;

	assert_int_equal(out_init(&o, fd), 0);
	assert_true(ftrace_text(r, &o, ev, data));
	assert_int_equal(out_end(&o), 0);
	close(fd);
	text = scratch_read(path, NULL);
	assert_string_equal(text, want);
	unlink(path);
	free(path);
	free(text);
}

static void power(void **state)
{
	static const char format[] =
		"name: power\nID: 29\nformat:\n" COMMON
		"\tfield:unsigned int kind;\toffset:8;\tsize:4;\tsigned:0;\n"
		"\tfield:unsigned int state;\toffset:12;\tsize:4;\tsigned:0;\n"
		"\tfield:unsigned int cpu_id;\toffset:16;\tsize:4;\tsigned:0;\n"
		"\tfield:unsigned int below;\toffset:20;\tsize:4;\tsigned:0;\n"
		"\nprint fmt: \"kind=%u\", REC->kind\n";
	struct tep_handle *tep = tep_alloc();
	struct tep_event *ev = parse(tep, format);
	struct reader *r = synth_new(2, 0, NULL);
	static const struct {
		uint32_t kind, state, cpu, below;
		const char *text;
	} rows[] = {
		{0, 1, 0, 0, "power_start: type=1 state=1 cpu_id=0"},
		{0, 0, 12, 0, "power_start: type=1 state=0 cpu_id=12"},
		{0, UINT32_MAX, 1, 0, "power_end: cpu_id=1"},
		{1, 2400000, 3, 0, "power_frequency: type=2 state=2400000 cpu_id=3"},
		{2, 4, 3, 0, "cpu_idle_miss: cpu_id=3 state=4 type=above"},
		{2, 1, 3, 1, "cpu_idle_miss: cpu_id=3 state=1 type=below"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const uint32_t data[] = {29,	       0, rows[i].kind, rows[i].state, rows[i].cpu,
					 rows[i].below};

		expect(r, ev, data, rows[i].text);
	}
	reader_close(r);
	tep_free(tep);
}

static void hw_branch(void **state)
{
	static const char format[] =
		"name: hw_branch\nID: 30\nformat:\n" COMMON
		"\tfield:unsigned long from;\toffset:8;\tsize:8;\tsigned:0;\n"
		"\tfield:unsigned long to;\toffset:16;\tsize:8;\tsigned:0;\n"
		"\tfield:unsigned int cpu_id;\toffset:24;\tsize:4;\tsigned:0;\n"
		"\nprint fmt: \"%u\", REC->cpu_id\n";
	struct tep_handle *tep = tep_alloc();
	struct tep_event *ev = parse(tep, format);
	struct reader *r = synth_new(2, 0, NULL);
	const uint64_t known[] = {30, 0x401010, 0x401050, 1}, strange[] = {30, 0, 1, 12};

	(void)state;
	symbols_add(r->symbols, 0x401000, 'T', "caller", NULL);
	symbols_add(r->symbols, 0x401050, 'T', "callee", NULL);
	symbols_add(r->symbols, 0x401060, 'T', "behind", NULL);
	expect(r, ev, known, "   1  caller+0x10/0x50 -> callee+0x0/0x10");
	expect(r, ev, strange, "  12  0x0 -> 0x1");
	reader_close(r);
	tep_free(tep);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(power),
		cmocka_unit_test(hw_branch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
