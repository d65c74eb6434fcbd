/* SPDX-License-Identifier: MIT */
/* Options change how a record is printed. The expected lines are a Linux 6.12's. */
#include "cm.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>
#include <unistd.h>

#include "scratch.h"
#include "synth.h"
#include "tools/code/symbols.h"
#include "tools/reader/tasks.h"
#include "tools/text/trace_text.h"

#define BIT(name) (UINT64_C(1) << AREA_OPTION_##name)

static char *text_of(struct reader *r, const struct record *rec, unsigned int nr, bool header,
		     size_t *bytes)
{
	char *path = scratch_path("forms"), *text;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct trace_text *t;
	struct out o;
	unsigned int i;

	assert_int_equal(out_init(&o, fd), 0);
	t = trace_text_new(r, &o, NULL);
	if (header)
		trace_text_header(t);
	for (i = 0; i < nr; i++)
		trace_text_record(t, &rec[i]);
	trace_text_flush(t);
	trace_text_free(t);
	assert_int_equal(out_end(&o), 0);
	close(fd);
	text = scratch_read(path, bytes);
	unlink(path);
	free(path);
	return text;
}

static void expect(struct reader *r, uint64_t options, const struct record *rec, unsigned int nr,
		   bool header, const char *want)
{
	char *text;

	r->options_flipped = options;
	text = text_of(r, rec, nr, header, NULL);
	assert_string_equal(text, want);
	free(text);
}

static struct reader *kernel_like(void)
{
	struct reader *r = synth_new(2, 0, NULL);

	tasks_set(r->tasks, 1767, 0, "work");
	tasks_set(r->tasks, 900, 0, "<...>");
	tasks_set(r->tasks, 1458, 0, "modprobe");
	symbols_add(r->symbols, 0xffffffff81265550, 'T', "vfs_open", NULL);
	symbols_add(r->symbols, 0xffffffff81265630, 'T', "next", NULL);
	symbols_add(r->symbols, 0xffffffff8127f4a0, 'T', "path_openat", NULL);
	symbols_add(r->symbols, 0xffffffff81280940, 'T', "behind", NULL);
	strcpy(r->tracer, "nop");
	strcpy(r->uname, "Linux host 6.12.117-oracle x86_64");
	r->nr_cpus_online = 2;
	return r;
}

static const struct record call = {.kind = RECORD_FUNCTION,
				   .ts = 230098347240,
				   .cpu = 1,
				   .pid = 1767,
				   .ip = 0xffffffff81265550,
				   .parent_ip = 0xffffffff8127ff3b};
static const struct record mark = {.kind = RECORD_PRINT,
				   .ts = 176302600847,
				   .cpu = 1,
				   .pid = 1458,
				   .ip = 0xffffffffa000401a,
				   .data = "(irq) a text",
				   .data_bytes = 12};

static void test_forms(void **state)
{
	static const uint8_t bin[] = {0xe7, 0x06, 0, 0, 1, 0, 0, 0};
	struct reader *r = kernel_like();
	size_t bytes;
	char *text;

	expect(r, BIT(SYM_OFFSET), &call, 1, false,
	       "            work-1767    [001] .....   230.098347: vfs_open+0x0/0xe0 "
	       "<-path_openat+0xa9b/0x14a0\n");
	expect(r, BIT(SYM_ADDR), &call, 1, false,
	       "            work-1767    [001] .....   230.098347: vfs_open <ffffffff81265550> "
	       "<-path_openat <ffffffff8127ff3b>\n");
	expect(r, BIT(PRINT_PARENT), &call, 1, false,
	       "            work-1767    [001] .....   230.098347: vfs_open\n");
	expect(r, BIT(RAW), &call, 1, false,
	       "1767 1 230098347240 ffffffff81265550 ffffffff8127ff3b\n");
	expect(r, BIT(RAW), &mark, 1, false,
	       "1458 1 176302600847 # ffffffffa000401a (irq) a text\n");
	expect(r, BIT(RAW) | BIT(CONTEXT_INFO), &call, 1, false,
	       "ffffffff81265550 ffffffff8127ff3b\n");
	/* hex goes before raw, bin before hex */
	expect(r, BIT(RAW) | BIT(HEX), &call, 1, false,
	       "000006e7 00000001 0000003592ee24e8 ffffffff81265550 ffffffff8127ff3b \n");
	expect(r, BIT(HEX), &mark, 1, false, "000005b2 00000001 000000290c74328f type: 5\n\n");
	r->options_flipped = BIT(BIN) | BIT(HEX);
	text = text_of(r, &call, 1, false, &bytes);
	assert_int_equal(bytes, 32);
	assert_memory_equal(text, bin, sizeof(bin));
	assert_memory_equal(text + 8, &call.ts, 8);
	assert_memory_equal(text + 16, &call.ip, 8);
	assert_memory_equal(text + 24, &call.parent_ip, 8);
	free(text);
	expect(r, BIT(PRINTK_MSG_ONLY), &mark, 1, false, "(irq) a text\n");
	expect(r, BIT(PRINTK_MSG_ONLY) | BIT(TRACE_PRINTK), &mark, 1, false,
	       "        modprobe-1458    [001] .....   176.302601: behind: (irq) a "
	       "text\n");
	expect(r, BIT(FIELDS), &mark, 1, false,
	       "        modprobe-1458    [001] .....   176.302601: UNKNOWN TYPE 5\n");
	expect(r, BIT(VERBOSE), &call, 1, true,
	       "# tracer: nop\n#\n            work-1767    [001] .....   230.098347: vfs_open "
	       "<-path_openat\n");
	reader_close(r);
}

#define LATENCY_TITLES                                                                             \
	"# tracer: nop\n"                                                                          \
	"#\n"                                                                                      \
	"# nop latency trace v1.1.5 on 6.12.117-oracle\n"                                          \
	"# --------------------------------------------------------------------\n"                 \
	"# latency: 0 us, #2/2, CPU#0 | (M:preempt VP:0, KP:0, SP:0 HP:0 #P:2)\n"                  \
	"#    -----------------\n"                                                                 \
	"#    | task: -0 (uid:0 nice:0 policy:0 rt_prio:0)\n"                                      \
	"#    -----------------\n"                                                                 \
	"#\n"

static void test_latency(void **state)
{
	struct reader *r = kernel_like();
	struct record rec[2] = {call, call};

	expect(r, BIT(LATENCY_FORMAT), NULL, 0, true, "# tracer: nop\n#\n");
	r->stats[0].entries = 2;
	rec[0].pid = 900;
	rec[0].cpu = 0;
	rec[1].ts += 12313000;
	expect(r, BIT(LATENCY_FORMAT), rec, 2, true,
	       LATENCY_TITLES "#                    _------=> CPU#            \n"
			      "#                   / _-----=> irqs-off/BH-disabled\n"
			      "#                  | / _----=> need-resched    \n"
			      "#                  || / _---=> hardirq/softirq \n"
			      "#                  ||| / _--=> preempt-depth   \n"
			      "#                  |||| / _-=> migrate-disable \n"
			      "#                  ||||| /     delay           \n"
			      "#  cmd     pid     |||||| time  |   caller     \n"
			      "#     \\   /        ||||||  \\    |    /       \n"
			      "   <...>-900       0.....    0us*: vfs_open <-path_openat\n"
			      "    work-1767      1..... 12313us : vfs_open <-path_openat\n");
	rec[1].flags = 1;
	rec[1].preempt_count = 1;
	expect(r, BIT(LATENCY_FORMAT) | BIT(VERBOSE), rec, 2, true,
	       LATENCY_TITLES
	       "           <...>     900   0 0 00000000 00000000 [0db705ab] 0.000ms (+12.313ms): "
	       "vfs_open <-path_openat\n"
	       "            work    1767   1 1 00000001 00000001 [0db735c4] 12.313ms (+0.000ms): "
	       "vfs_open <-path_openat\n");
	/* a line about losses comes before the record's own line */
	rec[1].lost = 7;
	r->stats[0].entries = 0;
	expect(r, BIT(LATENCY_FORMAT), rec, 2, false,
	       "   <...>-900       0.....    0us*: vfs_open <-path_openat\n"
	       "CPU:1 [LOST 7 EVENTS]\n"
	       "    work-1767      1d..1. 12313us : vfs_open <-path_openat\n");
	reader_close(r);
}

/* A record that is shorter than its format says: nothing beyond its end is read. */
static void test_fields(void **state)
{
	static const char format[] =
		"name: named\nID: 300\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
		"\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n"
		"\tfield:__data_loc char[] text;\toffset:12;\tsize:4;\tsigned:1;\n"
		"\tfield:char name[8];\toffset:16;\tsize:8;\tsigned:1;\n"
		"\tfield:u64 last;\toffset:24;\tsize:8;\tsigned:0;\n\n"
		"print fmt: \"a=%d\", REC->a\n";
	static const char head[] = "            work-1767    [001] .....   230.098347: named: ";
	struct {
		uint16_t type;
		uint16_t pad;
		int32_t pid, a;
		uint32_t text;
		char name[8];
		uint64_t last;
		char data[8];
	} d = {.type = 300, .a = -3, .name = "one two", .last = 17, .text = 6u << 16 | 32};
	struct record rec = call;
	struct reader *r = kernel_like();
	char want[256];

	memcpy(d.data, "hello", 6);
	r->tep = tep_alloc();
	assert_int_equal(tep_parse_event(r->tep, format, strlen(format), "sys"), 0);
	rec.kind = RECORD_EVENT;
	rec.event = 300;
	rec.data = &d;
	rec.data_bytes = sizeof(d);
	snprintf(want, sizeof(want), "%s%s", head,
		 "a=0xfffffffd (-3) text=hello name=one two last=0x11 (17)\n");
	expect(r, BIT(FIELDS), &rec, 1, false, want);
	rec.data_bytes = 20;
	snprintf(want, sizeof(want), "%s%s", head,
		 "a=0xfffffffd (-3) text= name=<OVERFLOW> last=<OVERFLOW>\n");
	expect(r, BIT(FIELDS), &rec, 1, false, want);
	reader_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_latency),
		cmocka_unit_test(test_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
