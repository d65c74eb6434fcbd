/* SPDX-License-Identifier: MIT */
/* The kernel's trace text, tools/text/. The expected lines are a Linux 6.12's own. */
#include "cm.h"

#include <errno.h>
#include <inttypes.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>
#include <unistd.h>

#include "scratch.h"
#include "synth.h"
#include "tools/code/symbols.h"
#include "tools/reader/tasks.h"
#include "tools/text/number.h"
#include "tools/text/trace_text.h"

static void check_number(uint64_t v)
{
	char got[64], want[64];

	*number_put(got, v) = '\0';
	snprintf(want, sizeof(want), "%" PRIu64, v);
	assert_string_equal(got, want);
	*number_right(got, v, 5) = '\0';
	snprintf(want, sizeof(want), "%5" PRIu64, v);
	assert_string_equal(got, want);
	*number_right(got, v, 12) = '\0';
	snprintf(want, sizeof(want), "%12" PRIu64, v);
	assert_string_equal(got, want);
	*number_six(got, (uint32_t)(v % 1000000)) = '\0';
	snprintf(want, sizeof(want), "%06" PRIu64, v % 1000000);
	assert_string_equal(got, want);
	*number_zeros(got, v % 1000, 3) = '\0';
	snprintf(want, sizeof(want), "%03" PRIu64, v % 1000);
	assert_string_equal(got, want);
}

static void test_numbers(void **state)
{
	uint64_t v = 1, i;

	check_number(0);
	check_number(UINT64_MAX);
	for (i = 0; i < 20; i++, v *= 10) {
		check_number(v - 1);
		check_number(v);
		check_number(v + 1);
	}
	for (i = 0; i < 100000; i++) {
		v = v * UINT64_C(6364136223846793005) + 1442695040888963407;
		check_number(v >> (v & 63));
	}
}

/* The text of @nr records, header first when asked for. */
static char *text_of(struct reader *r, const struct record *rec, unsigned int nr, bool header,
		     const bool *cpus)
{
	char *path = scratch_path("text"), *text;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct trace_text *t;
	struct out o;
	unsigned int i;

	assert_int_equal(out_init(&o, fd), 0);
	t = trace_text_new(r, &o, cpus);
	if (header)
		trace_text_header(t);
	for (i = 0; i < nr; i++)
		trace_text_record(t, &rec[i]);
	trace_text_free(t);
	assert_int_equal(out_end(&o), 0);
	close(fd);
	text = scratch_read(path, NULL);
	unlink(path);
	free(path);
	return text;
}

static void expect(struct reader *r, const struct record *rec, unsigned int nr, const char *want)
{
	char *text = text_of(r, rec, nr, false, NULL);

	assert_string_equal(text, want);
	free(text);
}

#define TITLES                                                                                     \
	"#\n"                                                                                      \
	"#                                _-----=> irqs-off/BH-disabled\n"                         \
	"#                               / _----=> need-resched\n"                                 \
	"#                              | / _---=> hardirq/softirq\n"                              \
	"#                              || / _--=> preempt-depth\n"                                \
	"#                              ||| / _-=> migrate-disable\n"                              \
	"#                              |||| /     delay\n"                                        \
	"#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"                              \
	"#              | |         |   |||||     |         |\n"

static void test_header(void **state)
{
	struct reader *r = synth_new(3, 1000, NULL);
	const bool cpus[3] = {false, true, false};
	char *text;

	r->stats[1].overrun = 20;
	r->nr_cpus_online = 2;
	text = text_of(r, NULL, 0, true, NULL);
	assert_string_equal(text, "# tracer: function\n#\n# entries-in-buffer/entries-written: "
				  "3000/3020   #P:2\n" TITLES);
	free(text);
	text = text_of(r, NULL, 0, true, cpus);
	assert_string_equal(text, "# tracer: function\n#\n# entries-in-buffer/entries-written: "
				  "1000/1020   #P:2\n" TITLES);
	free(text);
	reader_close(r);
	r = synth_new(2, 0, NULL);
	r->tracer[0] = '\0';
	free(r->stats);
	r->stats = NULL;
	text = text_of(r, NULL, 0, true, NULL);
	assert_string_equal(text, "# tracer: nop\n#\n# entries-in-buffer/entries-written: 0/0"
				  "   #P:2\n" TITLES);
	free(text);
	reader_close(r);
}

/* Lines of captures of a Linux 6.12. */
static void test_function(void **state)
{
	struct reader *r = synth_new(2, 0, NULL);
	struct record rec[3] = {
		{.kind = RECORD_FUNCTION,
		 .ts = 216864126000,
		 .ip = 0x200000001000,
		 .parent_ip = 0x200000002033,
		 .pid = 1687},
		{.kind = RECORD_FUNCTION,
		 .ts = 216864166500, /* rounds up */
		 .ip = 0x200000003000,
		 .parent_ip = 0x200000004001,
		 .flags = 0x01,
		 .pid = 1687},
		{.kind = RECORD_FUNCTION,
		 .ts = 222882715999,
		 .ip = 0x200000005000,
		 .parent_ip = 0x200000006001,
		 .cpu = 1,
		 .pid = 1728},
	};

	tasks_set(r->tasks, 1687, 0, "bash");
	tasks_set(r->tasks, 1728, 0, "wthread-2");
	symbols_add(r->symbols, 0x200000001000, 'T', "mutex_unlock", NULL);
	symbols_add(r->symbols, 0x200000002000, 'T', "tracing_set_tracer", NULL);
	symbols_add(r->symbols, 0x200000003000, 'T', "preempt_count_add", "ext4");
	symbols_add(r->symbols, 0x200000004000, 'T', "_raw_spin_lock_irq", NULL);
	symbols_add(r->symbols, 0x200000005000, 'T', "vfs_open", NULL);
	symbols_add(r->symbols, 0x200000006000, 'T', "path_openat", NULL);
	expect(r, rec, 3,
	       "            bash-1687    [000] .....   216.864126: mutex_unlock "
	       "<-tracing_set_tracer\n"
	       "            bash-1687    [000] d....   216.864167: preempt_count_add "
	       "<-_raw_spin_lock_irq\n"
	       "       wthread-2-1728    [001] .....   222.882716: vfs_open <-path_openat\n");
	reader_close(r);
}

static void test_columns(void **state)
{
	struct reader *r = synth_new(2, 0, NULL);
	struct record rec = {.kind = RECORD_FUNCTION, .ip = 0x10, .pid = 12345678};

	/* wide pid, unknown task, no symbols, the first second */
	expect(r, &rec, 1,
	       "           <...>-12345678 [000] .....     0.000000: 0x00000010 <-0x00000000\n");
	rec.pid = 0;
	rec.cpu = 1;
	rec.ts = 999999999500; /* the rounding carries into the seconds */
	rec.parent_ip = 0xabcdef012345;
	expect(r, &rec, 1,
	       "          <idle>-0       [001] .....  1000.000000: 0x00000010 <-foo_499\n");
	rec.ts = 123456789000000000;
	rec.parent_ip = 0xfff;
	expect(r, &rec, 1,
	       "          <idle>-0       [001] ..... 123456789.000000: 0x00000010 <-0x00000fff\n");
	r->ts_is_ns = false;
	rec.ts = 4711;
	expect(r, &rec, 1,
	       "          <idle>-0       [001] .....         4711: 0x00000010 <-0x00000fff\n");
	reader_close(r);
}

static void test_notes(void **state)
{
	struct reader *r = synth_new(3, 0, NULL);
	struct record rec[4];
	unsigned int i;

	memset(rec, 0, sizeof(rec));
	for (i = 0; i < 4; i++) {
		rec[i].kind = RECORD_FUNCTION;
		rec[i].ts = 1000000;
		rec[i].pid = SYNTH_PID;
	}
	rec[0].lost = 12;
	rec[1].cpu = 1;
	rec[1].lost = RECORD_LOST_UNKNOWN;
	rec[2].cpu = 1;
#define LINE(cpu)                                                                                  \
	"        worker 0-4000    [00" cpu "] .....     0.001000: 0x00000000 <-0x00000000\n"
	expect(r, rec, 4,
	       "CPU:0 [LOST 12 EVENTS]\n" LINE("0") "CPU:1 [LOST EVENTS]\n" LINE("1") LINE("1")
		       LINE("0"));
	/*
	 * the line about a CPU's first record comes only after overwritten records, and not at the
	 * top
	 */
	r->stats[2].overrun = 1;
	expect(r, rec, 4,
	       "CPU:0 [LOST 12 EVENTS]\n" LINE("0") "CPU:1 [LOST EVENTS]\n"
						    "##### CPU 1 buffer started ####\n" LINE("1")
							    LINE("1") LINE("0"));
#undef LINE
	reader_close(r);
}

static void test_flags(void **state)
{
	static const struct {
		uint8_t flags, preempt;
		const char *want;
	} rows[] = {
		{0x00, 0x00, "....."},
		{0x01, 0x01, "d..1."},
		{0x81, 0x00, "D...."},
		{0x80, 0x00, "b...."},
		{0x04, 0x00, ".n..."},
		{0x24, 0x02, ".N.2."},
		{0x20, 0x00, ".p..."},
		{0x02, 0x00, ".l..."},
		{0x22, 0x00, ".L..."},
		{0x06, 0x00, ".b..."},
		{0x26, 0x00, ".B..."},
		{0x08, 0x0f, "..hf."},
		{0x10, 0x10, "..s.1"},
		{0x18, 0xf0, "..H.f"},
		{0x40, 0x00, "..z.."},
		{0x48, 0xa9, "..Z9a"},
		{0x01 | 0x04 | 0x08, 0x11, "dnh11"},
	};
	char got[6] = "";
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		trace_text_flags(got, rows[i].flags, rows[i].preempt);
		assert_string_equal(got, rows[i].want);
	}
}

#define COMMON                                                                                     \
	"format:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"            \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

struct event_data {
	uint16_t type;
	uint8_t flags, preempt_count;
	int32_t pid;
	uint64_t words[5];
};

static void expect_event(struct reader *r, const struct event_data *data, uint32_t bytes,
			 const char *want)
{
	struct record rec = {.kind = RECORD_EVENT,
			     .ts = 208693980000,
			     .cpu = 1,
			     .pid = data->pid,
			     .event = data->type,
			     .data = data,
			     .data_bytes = bytes};
	char line[256];

	snprintf(line, sizeof(line), "            bash-1609    [001] .....   208.693980: %s\n",
		 want);
	expect(r, &rec, 1, line);
}

/* Events in the shapes that the kernel's own output has. */
static void test_events(void **state)
{
	static const char *const formats[][2] = {
		{"ftrace", "name: print\nID: 5\n" COMMON
			   "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
			   "\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;\n\n"
			   "print fmt: \"%ps: %s\", (void *)REC->ip, REC->buf\n"},
		{"ftrace", "name: kernel_stack\nID: 4\n" COMMON
			   "\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n"
			   "\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n\n"
			   "print fmt: \"\\t=> %ps\\n\", (void *)REC->caller[0]\n"},
		{"ftrace", "name: user_stack\nID: 12\n" COMMON
			   "\tfield:unsigned int tgid;\toffset:8;\tsize:4;\tsigned:0;\n"
			   "\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n\n"
			   "print fmt: \"\\t=> %ps\\n\", (void *)REC->caller[0]\n"},
		{"sched",
		 "name: named\nID: 300\n" COMMON "\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n"
		 "\tfield:__data_loc char[] text;\toffset:12;\tsize:4;\tsigned:1;\n\n"
		 "print fmt: \"a=%d text=%s\", REC->a, __get_str(text)\n"},
	};
	struct reader *r = synth_new(2, 0, NULL);
	struct tep_handle *tep = tep_alloc();
	char writer[] = "tracing_mark_write", end[] = "end";
	struct event_data d = {.type = 5, .pid = 1609, .words = {0x200000001000}};
	size_t i;

	tep_set_long_size(tep, 8);
	for (i = 0; i < 4; i++)
		assert_int_equal(
			tep_parse_event(tep, formats[i][1], strlen(formats[i][1]), formats[i][0]),
			0);
	tep_register_function(tep, writer, 0x200000001000, NULL);
	tep_register_function(tep, end, 0x200000002000, NULL);
	r->tep = tep;
	tasks_set(r->tasks, 1609, 0, "bash");
	symbols_add(r->symbols, 0x200000001000, 'T', "kernel_clone", NULL);
	symbols_add(r->symbols, 0x200000002000, 'T', "do_syscall_64", "mod");
	memcpy(&d.words[1], "hello world\n\0", 14);
	expect_event(r, &d, 32, "tracing_mark_write: hello world");
	d.type = 4;
	d.words[1] = 0x200000001495;
	d.words[2] = 0x200000002076;
	d.words[3] = 0x10;
	expect_event(r, &d, 32, "<stack trace>\n => kernel_clone\n => do_syscall_64");
	expect_event(r, &d, 35,
		     "<stack trace>\n => kernel_clone\n => do_syscall_64"); /* no whole word more */
	expect_event(r, &d, 40,
		     "<stack trace>\n => kernel_clone\n => do_syscall_64\n => 0x00000010");
	d.type = 12;
	d.words[2] = 0;
	expect_event(r, &d, 48, "<user stack trace>\n =>  <0000200000001495>");
	d.type = 300;
	d.words[0] = 7 | (uint64_t)(6 << 16 | 16) << 32;
	memcpy(&d.words[1], "short", 6);
	expect_event(r, &d, 24, "named: a=7 text=short");
	/* a field that does not lie in the record is not printed */
	d.words[0] = 7 | (uint64_t)(60 << 16 | 16) << 32;
	expect_event(r, &d, 24, "named: [CORRUPTED]");
	expect_event(r, &d, 12, "named: [CORRUPTED]");
	d.type = 301;
	expect_event(r, &d, 24, "Unknown type 301");
	tep_free(tep);
	reader_close(r);
}

/* Names of any length come out whole, across the buffer's end too. */
static void test_long_names(void **state)
{
	struct reader *r = synth_new(1, 0, NULL);
	size_t bytes = OUT_BYTES + 1000, i;
	char *name = malloc(bytes + 1), *text;
	struct record rec[300];

	memset(name, 'n', bytes);
	name[bytes] = '\0';
	symbols_add(r->symbols, 0x300000000000, 'T', name, NULL);
	name[3000] = '\0';
	symbols_add(r->symbols, 0x300000001000, 'T', name, NULL);
	memset(rec, 0, sizeof(rec));
	for (i = 0; i < 300; i++) {
		rec[i].kind = RECORD_FUNCTION;
		rec[i].ip = i == 150 ? 0x300000000000 : 0x300000001000;
		rec[i].parent_ip = 0x300000001001;
	}
	text = text_of(r, rec, 300, false, NULL);
	assert_int_equal(strlen(text), 300 * (strlen("          <idle>-0       [000] .....     "
						     "0.000000:  <-\n") +
					      6000) +
					       bytes - 3000);
	free(text);
	free(name);
	reader_close(r);
}

/* A text of any length is whole, with what stands behind a long name. */
static void test_long_formats(void **state)
{
	char *path = scratch_path("text"), *text, *name = calloc(1, 400000);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct out o;

	assert_int_equal(out_init(&o, fd), 0);
	for (size_t n = 1000; n <= 300000; n *= 300) {
		memset(name, 'a', n);
		out_printf(&o, "%s %d\n", name, 7);
	}
	assert_int_equal(out_end(&o), 0);
	close(fd);
	text = scratch_read(path, NULL);
	assert_int_equal(strlen(text), 1000 + 300000 + 6);
	assert_memory_equal(text + 1000, " 7\na", 4);
	assert_string_equal(text + 1003 + 300000, " 7\n");
	free(text);
	free(name);
	unlink(path);
	free(path);
}

static void test_broken_pipe(void **state)
{
	struct out o;
	int fds[2], i;

	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(fds), 0);
	close(fds[0]);
	assert_int_equal(out_init(&o, fds[1]), 0);
	for (i = 0; i < 100000; i++)
		out_text(&o, "a line of text\n");
	assert_int_equal(o.err, -EPIPE);
	assert_int_equal(out_end(&o), -EPIPE);
	close(fds[1]);
}

/* A thread writes: a few buffers or many, pieces larger than one, and the first error is kept. */
static void test_beside(void **state)
{
	static const unsigned int sizes[] = {0, 10, OUT_BYTES, 5 * OUT_BYTES + 3, 40 * OUT_BYTES};
	char *path = scratch_path("beside"), *text = malloc(40 * OUT_BYTES);
	struct out o;
	int fds[2];

	for (unsigned int i = 0; i < 40 * OUT_BYTES; i++)
		text[i] = (char)('a' + i % 23 + i / OUT_BYTES % 3);
	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		for (unsigned int piece = 1000; piece <= 1000000; piece *= 1000) {
			int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
			size_t bytes;
			char *got;

			assert_int_equal(out_init(&o, fd), 0);
			out_beside(&o);
			for (unsigned int at = 0; at < sizes[i]; at += piece)
				out_write(&o, text + at,
					  sizes[i] - at < piece ? sizes[i] - at : piece);
			assert_int_equal(out_end(&o), 0);
			close(fd);
			got = scratch_read(path, &bytes);
			assert_int_equal(bytes, sizes[i]);
			assert_memory_equal(got, text, bytes);
			free(got);
		}
	}
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(fds), 0);
	close(fds[0]);
	assert_int_equal(out_init(&o, fds[1]), 0);
	out_beside(&o);
	for (unsigned int i = 0; i < 40 && !o.err; i++)
		out_write(&o, text, OUT_BYTES);
	assert_int_equal(o.err, -EPIPE);
	assert_int_equal(out_end(&o), -EPIPE);
	close(fds[1]);
	unlink(path);
	free(text);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),	     cmocka_unit_test(test_header),
		cmocka_unit_test(test_beside),	     cmocka_unit_test(test_function),
		cmocka_unit_test(test_columns),	     cmocka_unit_test(test_notes),
		cmocka_unit_test(test_flags),	     cmocka_unit_test(test_events),
		cmocka_unit_test(test_long_names),   cmocka_unit_test(test_broken_pipe),
		cmocka_unit_test(test_long_formats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
