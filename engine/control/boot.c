/* SPDX-License-Identifier: MIT */
/*
 * How the engine wakes: its constructor, which runs before any other (-z initfirst), and
 * VESTIGE_BOOT, which replays writes to control files under the kernel's boot-parameter names.
 *
 *	VESTIGE=0	stay asleep
 *	VESTIGE_DIR	folder of the area
 *	VESTIGE_SESSION	tag of the area
 *	VESTIGE_AGENT=0	no agent: the process cannot be steered from outside
 *	VESTIGE_BOOT	"ftrace=function ftrace_filter=a*,b ftrace_notrace=c trace_buf_size=64k
 *			 trace_options=nooverwrite trace_clock=local"; a value may stand in "..."
 *
 * It never prints and never fails the program: what is refused stands in vestige_status, and
 * without an area the engine sleeps. Costs: bench "start-up".
 * Tests: tests/engine/test_boot.py.
 */
#include <errno.h>
#include <pthread.h>

#include "arch_regs.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/control/agent.h"
#include "engine/control/boot.h"
#include "engine/control/boot_params.h"
#include "engine/control/session_start.h"
#include "engine/control/tree.h"
#include "engine/core/area.h"
#include "engine/core/clock.h"
#include "engine/core/function.h"
#include "engine/core/heap.h"
#include "engine/core/libc.h"
#include "engine/core/ops.h"
#include "engine/core/stack_tracer.h"
#include "engine/core/thread.h"
#include "engine/core/tracer.h"
#include "engine/events/atrace.h"
#include "engine/events/event.h"
#include "engine/events/ftrace_event.h"
#include "engine/events/func_command.h"
#include "engine/events/guard.h"
#include "engine/events/hist.h"
#include "engine/events/kmem_event.h"
#include "engine/events/lock_event.h"
#include "engine/events/probe_event.h"
#include "engine/events/sched_event.h"
#include "engine/events/sched_leave.h"
#include "engine/events/sched_perf.h"
#include "engine/events/syscall_event.h"
#include "engine/events/timer_event.h"
#include "engine/events/tracepoint.h"
#include "engine/events/usdt.h"
#include "engine/hook/graph.h"
#include "engine/hook/graph_stack.h"
#include "engine/hook/graph_unwind.h"
#include "engine/hook/cyg.h"
#include "engine/hook/got.h"
#include "engine/hook/loader.h"
#include "engine/hook/sites.h"
#include "engine/hook/syscall_sites.h"
#include "engine/core/text_patch.h"
#include "engine/ring/ring.h"

#define DEFAULT_KB	 (16u * 1024) /* all CPUs together */
#define GROW_MB		 512u
#define MAX_TOTAL_PAGES	 (1u << 24) /* 64 GiB */
#define HIST_ROOM_PIECES (1u << 17) /* 512 MiB of addresses for histograms */
#define MAX_VALUE_BYTES	 65536u

static const char *const *environment;

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
 * Valgrind has neither rseq nor the instructions that tell the CPU (it ends the program at them), and keeps
 * to text as it was. It preloads objects of its own into whatever it runs.
 */
static int under_valgrind(void)
{
	const char *s = env("LD_PRELOAD");

	for (; s && *s; s++)
		if (str_starts(s, "vgpreload_"))
			return 1;
	return 0;
}

/* Possible CPUs: one more than the last number in /sys's list, or than any we may run on. */
static uint32_t count_cpus(void)
{
	char text[256];
	unsigned long mask[128] = {0};
	int fd = sys_open("/sys/devices/system/cpu/possible", O_RDONLY | O_CLOEXEC, 0);
	long n = fd < 0 ? fd : sys_read(fd, text, sizeof(text));
	uint32_t last = 0, i;

	if (fd >= 0)
		sys_close(fd);
	for (i = 0; n > 0 && i < (uint32_t)n; i++) {
		if (text[i] >= '0' && text[i] <= '9')
			last = last * 10 + (uint32_t)(text[i] - '0');
		else if (text[i] != '\n')
			last = 0;
	}
	if (n <= 0) {
		arch_syscall(SYS_sched_getaffinity, 0, sizeof(mask), (long)mask, 0, 0, 0);
		for (i = 0; i < sizeof(mask) * 8; i++)
			if (mask[i / 64] >> (i % 64) & 1)
				last = i;
	}
	return last < 8191 ? last + 1 : 8192;
}

/* trace_buf_size, the size for one CPU, must be known before the area is made. */
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

/* To how much buffer_size_kb may grow: 512 MiB, or four times what was asked for. Costs only names. */
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
	{"stacktrace_filter", "stack_trace_filter", 1},
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

static void replay(const struct boot_param *p)
{
	size_t start, i;
	uint32_t k;

	if (boot_param_is(p, "trace_buf_size") || boot_param_is(p, "stacktrace"))
		return;
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
 * Filters first, so that the tracer patches once; options behind it: some are the tracer's own.
 * tracing_off and stacktrace are words of their own.
 */
static void replay_boot(const char *boot)
{
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
			else if (when == pass)
				replay(&p);
		}
	}
	tracing_set(&global_trace, on);
}

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

/* Where address space or file size is limited, a small ring is better than none. */
static int make_area(struct area_config *config)
{
	int err = area_create(config);

	if (err != -ENOMEM && err != -EFBIG)
		return err;
	config->cpu_room = config->cpu_pages;
	config->snapshot = 0;
	config->hist_room = 0;
	err = area_create(config);
	if (err != -ENOMEM && err != -EFBIG)
		return err;
	config->cpu_room = RING_MIN_PAGES;
	config->cpu_pages = RING_MIN_PAGES;
	err = area_create(config);
	if (!err)
		area_status("the buffer has its smallest size: RLIMIT_AS or RLIMIT_FSIZE", NULL, 0);
	return err;
}

static int agent_wanted;

/*
 * dlopen() or dlclose(): see loader_follow(). Nobody writes to an object while it is unmapped. The
 * loader's lock is held, so one thread does this at a time.
 */
static int removing;

static void objects_going(void)
{
	if (!area || area->pid != sys_getpid() || removing)
		return;
	tree_lock_take();
	removing = 1;
}

static void objects_changed(void)
{
	if (!area || area->pid != sys_getpid())
		return;
	if (!removing)
		tree_lock_take();
	removing = 0;
	functions_update();
	got_objects_changed();
	tracepoints_forget();
	usdt_follow();
	probe_events_follow();
	tree_mirror(&global_trace);
	tree_lock_release();
}

/* A fork's child says why in its parent's area, where its calls are counted. */
static void stay_untraced(struct area_header *parent, const char *why, int err)
{
	area = parent;
	area_status(why, NULL, err);
	area = NULL;
}

/* An object with tracepoints says that it is relocated. Where the loader is not followed it is new. */
static void object_ready(const void *address)
{
	int known;

	if (!area || area->pid != sys_getpid())
		return;
	tree_lock_take();
	known = tracepoints_ready(address);
	if (known < 0) {
		functions_update();
		known = tracepoints_ready(address);
	}
	if (known)
		tree_mirror(&global_trace);
	tree_lock_release();
}

/*
 * The child's records go to an area of its own, when anybody waits for them: a session does, and so
 * does whoever set a tracer. Otherwise the engine sleeps in the child. A child made by vfork or raw
 * clone never comes here; what it records before exec is refused by the ring (or its parent's).
 */
static __thread enum ring_interrupted interrupted __attribute__((tls_model("initial-exec")));

static int forked_by;

static void fork_prepare(void)
{
	interrupted = ring_interrupted();
	forked_by = threads_before_fork();
}

static void fork_child(void)
{
	const struct area_buffer *buffer;
	struct area_header *parent;
	struct ring ring;
	int all, on, err;
	uint32_t i;

	ops_fork();
	if (!removing)
		got_fork();
	if (!area)
		return;
	removing = 0;
	all = area->session[0] && interrupted != RING_SLOW_PATH;
	if (!all)
		trace_arrays_fork(interrupted != RING_NOTHING);
	tree_fork();
	heap_fork();
	guard_fork();
	threads_fork();
	sched_perf_fork();
	buffer = area_entry(AREA_BUFFERS, 0);
	if (!area->session[0] && str_equal(buffer->tracer, "nop") &&
	    !events_any_on(&global_trace) && !atrace_any_on() && !stack_tracer_is_on()) {
		area = NULL;
		return;
	}
	on = (int)area->tracing_on;
	if (interrupted == RING_SLOW_PATH) {
		parent = area;
		stay_untraced(parent, "a handler forked amid the engine: the child has no area", 0);
		area_unmap(parent, 1);
		return;
	}
	err = area_fork(&parent);
	if (err && all)
		trace_arrays_fork(interrupted != RING_NOTHING);
	if (err) {
		stay_untraced(parent, "a child of fork has no area: its calls are not recorded",
			      err);
		return;
	}
	objects_fork();
	ring = trace_array_ring(area);
	ring_fork(&ring);
	clock_add_pair();
	err = all ? trace_arrays_fork_all() : 0;
	if (err) {
		area_status("a child of fork does not have its parent's instances", NULL, err);
		trace_arrays_fork(interrupted != RING_NOTHING);
	}
	hists_fork(parent);
	area_unmap(parent, interrupted != RING_NOTHING);
	trace_arrays_forked(interrupted != RING_NOTHING);
	ring_thread_start();
	trace_arrays_thread_start(forked_by, area->pid);
	ring_set_on(ring_top, on);
	stack_tracer_fork();
	ftrace_graph_update();
	for (i = 0; i < RING_MAX; i++)
		if (trace_array_at(i))
			tree_mirror(trace_array_at(i));
	if (agent_wanted) {
		agent_start();
		sched_perf_settle();
	}
}

static void start(void)
{
	struct area_config config = {0};
	const char *boot;

	if (env("VESTIGE") && str_equal(env("VESTIGE"), "0"))
		return;
	agent_wanted = !env("VESTIGE_AGENT") || !str_equal(env("VESTIGE_AGENT"), "0");
	boot = env("VESTIGE_BOOT");
	config.dir = env("VESTIGE_DIR");
	config.session = env("VESTIGE_SESSION");
	config.nr_cpus = count_cpus();
	config.cpu_pages = cpu_pages(boot, config.nr_cpus);
	config.cpu_room = cpu_room(config.cpu_pages, config.nr_cpus);
	config.snapshot = 1;
	config.hist_room = HIST_ROOM_PIECES;
	config.clock = clock_choose();
	if (make_area(&config))
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
	clock_add_pair();
	threads_start();
	ring_thread_start();
	graph_unwind_start();
	patchable_register();
	cyg_register();
	if (text_start())
		area_status("no membarrier: functions cannot be switched while threads run", NULL,
			    0);
	functions_scan();
	guard_use_lock(tree_lock_take, tree_lock_release, object_ready);
	trace_array_on_destroy(events_forget_instance);
	hists_set_clock_by(trace_clock_set);
	probe_kinds_register(event_probe_kinds);
	got_register(tree_lock_take, tree_lock_release);
	if (sched_events_start() || sched_perf_start(agent_wake) || kmem_events_start() ||
	    lock_events_start() || timer_events_start())
		area_status("there is no room for the engine's own events", NULL, 0);
	if (!agent_wanted)
		sched_perf_no_agent();
	sched_leave_use_lock(tree_lock_try, tree_lock_release);
	ftrace_events_start();
	events_on_demand(usdt_settle);
	syscall_sites_register();
	syscall_events_start();
	tracepoints_start();
	replay_boot(boot);
	session_start();
	sched_event_exec();
	text_go_live();
	if (!libc_is_static && loader_follow(objects_going, objects_changed))
		area_status("objects that dlopen() loads are not traced", NULL, 0);
	pthread_atfork(fork_prepare, NULL, fork_child);
	tree_mirror(&global_trace);
	if (agent_wanted) {
		agent_start();
		sched_perf_settle();
	}
	__atomic_store_n(&area->state, AREA_LIVE, __ATOMIC_RELEASE);
}

/*
 * A sanitizer's run-time library in the program has functions in front of libc's, malloc() among
 * them, that crash before it has started: from preinit_array, and we come earlier.
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
 * libc starts after us, unless we load an object (the unwinder, for stacks that VESTIGE_BOOT wants): then
 * it starts with what it finds in these, which is nothing yet, and never again.
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

/* The numbers put both outside the constructors and destructors of a static program. */
__attribute__((constructor(101))) void engine_start(int argc, char **argv, char **envp)
{
	if (environment)
		return;
	environment = (const char *const *)envp;
	lend_environment(envp);
	start_sanitizers();
	libc_find_rows(NULL); /* find libc's now: unwinders may ask from signal handlers */
	cyg_start();
	start();
	lend_name(argc > 0 ? argv[0] : NULL);
	engine_ready();
}

/* Whether anybody could want to know: a record, or the count of one that was lost. */
static int was_recorded(void)
{
	const struct area_table *buffers = &area->tables[AREA_BUFFERS];
	const struct area_cpu *cpus = area_entry(AREA_CPUS, 0);
	uint32_t i;

	for (i = 0; i < buffers->count; i++)
		if (((const struct area_buffer *)area_entry(AREA_BUFFERS, i))->take_seq)
			return 1;
	for (i = 0; i < area->nr_cpus; i++)
		if (cpus[i].dropped_events || cpus[i].commit_overrun)
			return 1;
	return area->untraced_calls || stack_tracer_found() || area_has_hists(area);
}

/*
 * exit(): what the recorder or a reader needs last. An area that nobody asked for and that holds
 * no record goes; any other stays for its readers, and so does that of instances which have some.
 */
__attribute__((destructor(101))) static void engine_exit(void)
{
	uint32_t kept;

	if (!area || area->pid != sys_getpid())
		return;
	agent_remove();
	sched_event_exit();
	if (tree_lock_try()) {
		sched_perf_drain();
		tree_lock_release();
	}
	graph_stacks_tell();
	ring_thread_rename();
	clock_add_pair();
	__atomic_store_n(&area->state, AREA_EXITED, __ATOMIC_RELEASE);
	kept = trace_arrays_exit();
	if (!area->session[0] && !was_recorded() && !kept)
		area_remove();
}
