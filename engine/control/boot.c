/* SPDX-License-Identifier: MIT */
/*
 * Starts the engine: its constructor, which runs before any other (-z initfirst), and VESTIGE_BOOT,
 * which writes control files by the kernel's boot parameter names.
 *
 *	VESTIGE=0	the engine does nothing
 *	VESTIGE_DIR	folder of the area
 *	VESTIGE_SESSION	tag of the area
 *	VESTIGE_AGENT=0	no agent: the tools cannot control the process
 *	VESTIGE_CACHE	    0, or the folder of kept analyses, hook/ways_cache.h
 *	VESTIGE_UNMODIFIED  trace functions that were built without a flag, too: hook/redirect.h
 *	VESTIGE_BOOT	"ftrace=function ftrace_filter=a*,b ftrace_notrace=c trace_buf_size=64k
 *			 trace_options=nooverwrite trace_clock=local"; a value may be in "..."
 *
 * A program that runs with more rights than its caller has (AT_SECURE) does not obey the caller's
 * environment: no engine starts with it, and one that dlopen() loads has its defaults.
 *
 * The engine never prints and never makes the program fail: vestige_status says what was refused,
 * and without an area the engine does nothing. Costs: bench "start-up". Tests: tests/engine/fire,
 * tests/cli/test_record.py.
 */
#include <link.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

#include "abi/limits.h"
#include "arch_regs.h"
#include "engine/arch/sys.h"
#include "engine/base/bitmap.h"
#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/control/agent.h"
#include "engine/control/boot.h"
#include "engine/control/boot_events.h"
#include "engine/control/boot_params.h"
#include "engine/control/tree.h"
#include "engine/process/area.h"
#include "engine/process/area_dead.h"
#include "engine/process/clock.h"
#include "engine/process/libc.h"
#include "engine/core/stack_tracer.h"
#include "engine/core/tracer.h"
#include "engine/events/system/sched_event.h"
#include "engine/hook/graph/graph.h"
#include "engine/hook/graph/graph_stack.h"
#include "engine/hook/cyg.h"
#include "engine/hook/redirect.h"
#include "engine/hook/ways_cache.h"
#include "engine/hook/sites.h"
#include "engine/ring/ring.h"

#define DEFAULT_KB	 (16u * 1024) /* all CPUs together */
#define GROW_MB		 512u
#define MAX_TOTAL_PAGES	 ((uint32_t)(LIMIT_BUFFER_BYTES / PAGE_BYTES))
#define HIST_ROOM_PIECES (1u << 17) /* 512 MiB of addresses for histograms */

static const char *const *environment;
static const char *const nothing[] = {NULL};

static const char *env(const char *name)
{
	const char *const *e;
	size_t n = strlen(name);

	for (e = environment; e && *e; e++)
		if (!memcmp(*e, name, n) && (*e)[n] == '=')
			return *e + n + 1;
	return NULL;
}

/*
 * Valgrind supports neither rseq nor the instructions that read the CPU's number (it ends the
 * program at them), and does not see changes of text. It preloads objects of its own into each
 * program.
 */
static int under_valgrind(void)
{
	const char *s = env("LD_PRELOAD");

	for (; s && *s; s++)
		if (str_starts(s, "vgpreload_"))
			return 1;
	return 0;
}

/*
 * The number of possible CPUs: one more than the last number in /sys's list, or than any CPU on
 * which we may run.
 */
static uint32_t count_cpus(void)
{
	char text[256];
	uint64_t mask[128] = {0};
	int fd = sys_open("/sys/devices/system/cpu/possible", O_RDONLY | O_CLOEXEC, 0);
	long n = fd < 0 ? fd : sys_read(fd, text, sizeof(text));
	uint64_t last = 0, number;
	size_t at, digits;
	uint32_t i;

	if (fd >= 0)
		sys_close(fd);
	for (at = 0; n > 0 && at < (size_t)n; at += digits + 1) {
		digits = text_decimal(text + at, (size_t)n - at, &number);
		if (digits)
			last = number;
	}
	if (n <= 0) {
		arch_syscall(SYS_sched_getaffinity, 0, sizeof(mask), (long)mask, 0, 0, 0);
		for (i = 0; i < sizeof(mask) * 8; i++)
			if (bitmap_has(mask, i))
				last = i;
	}
	return last < 8191 ? (uint32_t)last + 1 : 8192;
}

/* The pages of one CPU: trace_buf_size must be known before the area is made. */
static uint32_t cpu_pages(const char *boot, uint32_t nr_cpus)
{
	uint64_t pages = (uint64_t)DEFAULT_KB * 1024 / PAGE_BYTES / nr_cpus;
	struct boot_param p;

	while (boot && (boot = boot_param_next(boot, &p))) {
		if (boot_param_is(&p, "trace_buf_size")) {
			uint64_t bytes = boot_param_bytes(p.value, p.value_bytes);

			if (bytes)
				pages = bytes / PAGE_BYTES;
		}
	}
	if (pages > MAX_TOTAL_PAGES / nr_cpus)
		pages = MAX_TOTAL_PAGES / nr_cpus;
	return pages < RING_MIN_PAGES ? RING_MIN_PAGES : (uint32_t)pages;
}

/*
 * The limit to which buffer_size_kb may grow: 512 MiB, or four times the requested size. It costs
 * address space, not memory.
 */
static uint32_t cpu_room(uint32_t pages, uint32_t nr_cpus)
{
	uint32_t room = (uint32_t)((uint64_t)GROW_MB * 1024 * 1024 / PAGE_BYTES / nr_cpus);

	if (room < 4 * pages)
		room = 4 * pages;
	if (room > MAX_TOTAL_PAGES / nr_cpus)
		room = MAX_TOTAL_PAGES / nr_cpus;
	return room < pages ? pages : room;
}

/* The kernel's boot parameters and the files that they write. */
static const struct {
	const char *param;
	const char *file;
	int list; /* commas separate words */
} boot_params[] = {
	{"trace_options", "trace_options", 1},
	{"trace_clock", "trace_clock", 0},
	{"ftrace_filter", "set_ftrace_filter", 1},
	{"ftrace_notrace", "set_ftrace_notrace", 1},
	{"ftrace_graph_filter", "set_graph_function", 1},
	{"ftrace_graph_notrace", "set_graph_notrace", 1},
	{"ftrace_graph_max_depth", "max_graph_depth", 0},
	{"tracing_thresh", "tracing_thresh", 0},
	{"trace_event", "set_event", 1},
	{"atrace_tags", "atrace_tags", 1},
	{"oops_file", "oops_file", 0},
	{"stacktrace_filter", "stack_trace_filter", 1},
	{"kmemtrace_allocators", "kmemtrace_allocators", 0},
	{"kmemtrace_stacks", "kmemtrace_stacks", 0},
	{"ksym_trace_filter", "ksym_trace_filter", 1},
	{"mmiotrace_filter", "mmiotrace_filter", 1},
	{"lockdep_lockers", "lockdep_lockers", 0},
	{"prove_locking", "prove_locking", 0},
	{"guard_budget", "guard_budget", 0},
	{"ftrace", "current_tracer", 0},
};

static void write_word(const char *file, const char *param, const char *word, size_t n)
{
	char text[512];
	int err = tree_write(file, word, n, 0);

	if (!err)
		return;
	str_copy(text, n + 1 < sizeof(text) ? n + 1 : sizeof(text), word);
	area_status(param, text, err);
}

/* Write commands to dynamic_events: `;` separates commands, and a comma stands for a blank. */
static void write_probes(const struct boot_param *p)
{
	size_t start, i, k;
	char text[512];

	for (i = start = 0; i <= p->value_bytes; i++) {
		if (i < p->value_bytes && p->value[i] != ';')
			continue;
		if (i - start < sizeof(text)) {
			for (k = start; k < i; k++)
				text[k - start] = p->value[k] == ',' ? ' ' : p->value[k];
			if (i > start)
				write_word("dynamic_events", "kprobe_event", text, i - start);
		} else {
			write_word("", "kprobe_event", p->value + start, i - start);
		}
		start = i + 1;
	}
}

static void replay(const struct boot_param *p)
{
	size_t start, i;
	uint32_t k;

	if (boot_param_is(p, "trace_buf_size") || boot_param_is(p, "stacktrace") ||
	    boot_param_is(p, "ftrace_dump_on_oops") || boot_events(p))
		return;
	if (boot_param_is(p, "kprobe_event")) {
		write_probes(p);
		return;
	}
	for (k = 0; k < ARRAY_SIZE(boot_params); k++) {
		if (!boot_param_is(p, boot_params[k].param))
			continue;
		for (i = start = 0; i <= p->value_bytes; i++) {
			if (i < p->value_bytes && !(boot_params[k].list && p->value[i] == ','))
				continue;
			if (i > start)
				write_word(boot_params[k].file, boot_params[k].param,
					   p->value + start, i - start);
			start = i + 1;
		}
		return;
	}
	write_word("", "VESTIGE_BOOT", p->name, p->name_bytes);
}

/*
 * Filters come first, so that the tracer patches once; options come after the tracer, since some
 * are the tracer's own. tracing_off, stacktrace and ftrace_dump_on_oops are words without a value.
 */
static void replay_boot(const struct lifecycle_start *how)
{
	const char *boot = how->boot;
	struct boot_param p;
	const char *at;
	int on = 1, pass;

	for (pass = 0; pass < 3; pass++) {
		for (at = boot; at && (at = boot_param_next(at, &p));) {
			int when = boot_param_is(&p, "ftrace")		? 1
				   : boot_param_is(&p, "trace_options") ? 2
									: 0;

			if (boot_param_is(&p, "tracing_off"))
				on = 0;
			else if (boot_param_is(&p, "stacktrace") && pass == 2)
				write_word("stack_tracer_enabled", "stacktrace", "1", 1);
			else if (boot_param_is(&p, "ftrace_dump_on_oops") && pass == 2)
				write_word("ftrace_dump_on_oops", "ftrace_dump_on_oops",
					   p.value_bytes ? p.value : "1",
					   p.value_bytes ? p.value_bytes : 1);
			else if (when == pass)
				replay(&p);
		}
	}
	tracing_set(&global_trace, on);
}

LIFECYCLE(LIFECYCLE_BOOT, replay_boot, NULL, NULL);

static void entry_choose(ptrdiff_t rseq, enum ring_stamps kind)
{
	int tsc = area->clock == AREA_CLOCK_TSC && kind != RING_STAMPS_COUNTER;
	int stamps = kind != RING_STAMPS_NONE;

	sites_choose_entry(rseq != 0, tsc, stamps);
	graph_choose_entry(rseq != 0, tsc, stamps);
}

void control_use_stamps(enum ring_stamps stamps)
{
	entry_choose(ring_rseq_offset, stamps);
}

static int start_ring(void)
{
	const ptrdiff_t *offset = libc_symbol("__rseq_offset");
	const unsigned int *size = libc_symbol("__rseq_size");
	ptrdiff_t rseq = offset && size && *size ? *offset : 0;
	struct ring ring = trace_array_ring(area);

	if (rseq && arch_rseq_cpu(rseq) < 0)
		rseq = 0;
	entry_choose(rseq, RING_STAMPS_CLOCK);
	return ring_start(&ring, rseq);
}

/* Report that a grace period did not end: the writer does not free what it wanted to free. */
static void report_inside(enum srcu_domain d, int tid)
{
	static const char *const where[] = {
		[SRCU_RING] = "a thread stays inside the engine; memory is kept for it: thread",
		[SRCU_OPS] = "a thread stays in a callback; memory is kept for it: thread",
		[SRCU_PROBES] = "a thread stays in a probe function that is to go: thread",
	};
	static int reported[SRCU_NR];
	char text[16];
	struct seq_buf s;

	if (!area || __atomic_exchange_n(&reported[d], tid, __ATOMIC_RELAXED) == tid)
		return;
	seq_init(&s, text, sizeof(text) - 1);
	seq_putu(&s, (uint64_t)(tid > 0 ? tid : 0));
	text[s.len] = 0;
	area_status(where[d], text, 0);
}

static void start_thread(const struct lifecycle_start *how)
{
	(void)how;
	srcu_on_timeout(report_inside);
	/* the thread that loads a late engine will end in a moment */
	if (!libc_is_late())
		ring_thread_start("<...>");
}

LIFECYCLE(LIFECYCLE_THREAD, start_thread, NULL, NULL);

static void start_sweep(const struct lifecycle_start *how)
{
	(void)how;
	areas_sweep();
}

LIFECYCLE(LIFECYCLE_PROCESS, start_sweep, NULL, NULL);

/*
 * Whether the TSC is forbidden, so that each stamp would end the program. The thread that loads a
 * late engine has the setting of the thread that created it. (At a normal start libc's loader has
 * read the counter before us.)
 */
static int is_counter_denied(void)
{
	int state = 0;

	return libc_is_late() && !arch_syscall(SYS_prctl, PR_GET_TSC, (long)&state, 0, 0, 0, 0) &&
	       state == PR_TSC_SIGSEGV;
}

/*
 * Whether the program is set-user-ID, or got rights from its file or a security module in another
 * way. The loader drops LD_PRELOAD there, but not an engine that is linked with the program.
 */
static int is_secure(void)
{
	return getauxval(AT_SECURE) != 0;
}

static void start(void)
{
	struct area_config config = {0};
	struct lifecycle_start how;

	/* what dlopen() loads may be wanted by root, who attaches to it */
	if (is_secure() && !libc_is_late())
		return;
	if ((env("VESTIGE") && str_equal(env("VESTIGE"), "0")) || is_counter_denied())
		return;
	how.boot = env("VESTIGE_BOOT");
	how.with_agent = !env("VESTIGE_AGENT") || !str_equal(env("VESTIGE_AGENT"), "0");
	config.dir = env("VESTIGE_DIR") && *env("VESTIGE_DIR") ? env("VESTIGE_DIR") : NULL;
	config.session = env("VESTIGE_SESSION");
	config.nr_cpus = count_cpus();
	config.cpu_pages = cpu_pages(how.boot, config.nr_cpus);
	config.cpu_room = cpu_room(config.cpu_pages, config.nr_cpus);
	config.snapshot = 1;
	config.hist_room = HIST_ROOM_PIECES;
	config.clock = clock_choose();
	/*
	 * without the engine at its start, a program was not built to be traced: its functions have
	 * no sites
	 */
	redirect_choose(env("VESTIGE_UNMODIFIED") || !libc_is_late() ? env("VESTIGE_UNMODIFIED")
								     : "1");
	ways_cache_choose(env("VESTIGE_CACHE"), env("XDG_CACHE_HOME"), env("HOME"));
	if (area_create(&config, NULL))
		return;
	if (under_valgrind()) {
		area_status("nothing is traced: the program runs under valgrind", NULL, 0);
		__atomic_store_n(&area->state, AREA_LIVE, __ATOMIC_RELEASE);
		if (!config.session)
			area_remove();
		area = NULL;
		return;
	}
	if (start_ring() || objects_load()) {
		area_remove();
		area = NULL;
		return;
	}
	lifecycle_start(&how);
	tree_mirror(&global_trace);
	__atomic_store_n(&area->state, AREA_LIVE, __ATOMIC_RELEASE);
}

/*
 * A sanitizer's run-time library in the program defines functions in front of libc's, malloc()
 * among them, that crash before the library has started. It starts from preinit_array, and the
 * engine starts earlier.
 */
void __tsan_init(void) __attribute__((weak, visibility("default")));
void __msan_init(void) __attribute__((weak, visibility("default")));

static void start_sanitizers(void)
{
	if (__tsan_init)
		__tsan_init();
	if (__msan_init)
		__msan_init();
}

__attribute__((noinline)) void engine_ready(void)
{
	__asm__ volatile("");
}

/*
 * libc starts after the engine. If the engine loads an object first (the unwinder, for stacks that
 * VESTIGE_BOOT wants), libc starts at that moment, and takes its arguments and environment from
 * these variables, once.
 */
static void lend_environment(char **envp)
{
	char ***env = libc_symbol("environ");

	if (env && !*env)
		*env = envp;
}

static void lend_name(char *name)
{
	char **whole = libc_symbol("program_invocation_name");
	char **last = libc_symbol("program_invocation_short_name");
	char *p;

	if (!name || !whole || !last || (*whole && **whole))
		return;
	*whole = *last = name;
	for (p = name; *p; p++)
		if (*p == '/')
			*last = p + 1;
}

/* The priorities put both outside the constructors and destructors of a static program. */
__attribute__((constructor(101))) void engine_start(int argc, char **argv, char **envp)
{
	if (environment)
		return;
	environment = is_secure() ? nothing : (const char *const *)envp;
	lend_environment(envp);
	start_sanitizers();
	/* find libc's tables now: unwinders may need them in signal handlers */
	libc_find_rows(NULL);
	cyg_start();
	start();
	lend_name(argc > 0 ? argv[0] : NULL);
	engine_ready();
}

static int is_wanted(void)
{
	return area->session[0] || area_holds(area) || stack_tracer_found();
}

/*
 * The program calls _exit(); any context. Removes an area that no command asked for and that has no
 * record. All else that exit() does here is about records.
 */
void control_leave(void)
{
	if (!area || sys_is_forbidden() || !area_is_own())
		return;
	agent_remove();
	if (!area->nr_instances && !is_wanted())
		area_remove();
}

/*
 * Other areas stay for their readers, and so do the areas of instances that have records. If this
 * one stays, an older one may have to go.
 */
void control_end(void)
{
	uint32_t kept;

	lifecycle_exit();
	__atomic_store_n(&area->state, AREA_EXITED, __ATOMIC_RELEASE);
	kept = trace_arrays_exit();
	if (!kept && !is_wanted())
		area_remove();
	else if (!sys_is_forbidden())
		areas_sweep();
}

__attribute__((destructor(101))) static void engine_exit(void)
{
	if (!area || !area_is_own())
		return;
	graph_thread_left();
	sched_event_exit();
	ring_thread_rename(NULL);
	control_end();
}
