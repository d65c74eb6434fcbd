/* SPDX-License-Identifier: MIT */
/*
 * See oops.h. Nothing here allocates or takes a lock. Code that may touch damaged memory runs
 * guarded (sources/fatal.h); after a fault there, the oops shows what was found before it. The
 * numbers are written to the area first, so they are kept whatever happens next. A thread that may
 * make no system call leaves the text in the area, and the agent writes it out.
 *
 * The tools print the last records: after the text, `vestige crash` is started and waited for, if
 * it is beside the engine or at a usual path.
 *
 * fork: the child's oopses are in its own area. Tests: tests/engine/fire/crash.
 */
#include "engine/control/oops.h"

#include <errno.h>
#include <poll.h>
#include <sys/wait.h>

#include "arch_barrier.h"
#include "arch_context.h"
#include "arch_regs.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/base/seqcount.h"
#include "engine/core/altstack.h"
#include "engine/core/stack.h"
#include "engine/core/trace_array.h"
#include "engine/core/tracer.h"
#include "engine/hook/graph/graph_stack.h"
#include "engine/process/area.h"
#include "engine/process/object.h"
#include "engine/ring/ring.h"
#include "engine/sources/fatal.h"

#define FIRST_FRAMES 96u /* of a stack that is too deep; its outermost frames follow */
#define MAX_STEPS    2000000u
#define SCAN_WORDS   2048u /* words of a stack that cannot be unwound */
#define SCAN_FRAMES  32u
#define PATIENCE_MS  10000
#define STEP_MS	     5
#define PATH_BYTES   1024u
#define AGENT_WAITS  40000u /* in steps; some seconds, as the agent looks once a second */

static uint64_t dump; /* ftrace_dump_on_oops */
static char file[PATH_BYTES];
static char tool[PATH_BYTES];
static int reserved; /* there is memory for the area's struct */
static int busy;     /* one oops at a time */
static oops_callback *callback;
static void *callback_arg;

static struct oops_name names[AREA_OOPS_FRAMES + 1] BIG_ZEROS;

static int in_text(uint64_t ip)
{
	uint32_t i = oops_object(ip), k;
	const struct object *o;

	if (i == UINT32_MAX)
		return 0;
	o = object_at(i);
	for (k = 0; k < o->nr_phdr; k++) {
		const ElfW(Phdr) *ph = &o->phdr[k];

		if (ph->p_type == PT_LOAD && ph->p_flags & PF_X &&
		    ip - object_row(o)->bias - ph->p_vaddr < ph->p_memsz)
			return 1;
	}
	return 0;
}

static int in_engine(uint64_t ip)
{
	uint32_t i = oops_object(ip);

	return i != UINT32_MAX && object_row(object_at(i))->status == AREA_OBJECT_ENGINE;
}

/* State of reads from memory that may not be mapped. */
struct reading {
	void *to;
	uint64_t from;
	size_t n;
};

static void read_it(void *arg)
{
	const struct reading *r = arg;

	memcpy(r->to, (const void *)r->from, r->n);
}

static int safe_read(void *to, uint64_t from, size_t n)
{
	struct reading r = {to, from, n};

	return fatal_guarded(read_it, &r);
}

static int is_return_address(uint64_t ip)
{
	uint8_t code[8];

	return in_text(ip) && !safe_read(code, ip - sizeof(code), sizeof(code)) &&
	       arch_is_behind_call(code);
}

struct walking {
	struct area_oops *o;
	uint32_t skip; /* innermost frames to skip: they are the engine's */
	uint32_t steps;
	uint64_t sp; /* stack pointer of the innermost function */
};

static void add_frame(struct area_oops *o, uint64_t ip, uint32_t flags)
{
	struct area_oops_frame *f = o->frames;
	uint32_t i;

	if (o->nr_frames < AREA_OOPS_FRAMES) {
		f[o->nr_frames++] = (struct area_oops_frame){ip, flags, 0};
		return;
	}
	/* frame number FIRST_FRAMES stands for the frames left out, itself included */
	f[FIRST_FRAMES].reserved += f[FIRST_FRAMES].ip ? 2 : 1;
	f[FIRST_FRAMES].ip = 0;
	for (i = FIRST_FRAMES + 1; i + 1 < AREA_OOPS_FRAMES; i++)
		f[i] = f[i + 1];
	f[i] = (struct area_oops_frame){ip, flags, 0};
}

static int keep(void *arg, uint64_t ip, uint64_t sp)
{
	struct walking *w = arg;

	if (w->skip) {
		w->skip--;
		return 0;
	}
	if (!w->steps)
		w->sp = sp;
	add_frame(w->o, ip, 0);
	return ++w->steps >= MAX_STEPS;
}

static void walk(void *arg)
{
	stack_each_frame(keep, arg);
}

/* Add words on the stack that are return addresses: they may be callers. */
static void scan(struct area_oops *o, uint64_t sp)
{
	uint32_t i, k, found = 0;
	uint64_t word;

	for (i = 0; i < SCAN_WORDS && found < SCAN_FRAMES; i++) {
		if (safe_read(&word, (sp & ~UINT64_C(7)) + 8 * i, sizeof(word)))
			return;
		if (!is_return_address(word) || in_engine(word))
			continue;
		for (k = 0; k < o->nr_frames && o->frames[k].ip != word; k++)
			;
		if (k < o->nr_frames)
			continue;
		add_frame(o, word, AREA_OOPS_UNSURE);
		found++;
	}
}

/*
 * Collect the frames from @context outwards. After a call to an address that has no code, the
 * return address is on top of the stack, and unwinders start there.
 */
static void collect(struct area_oops *o, void *context, int copied)
{
	struct walking w = {.o = o, .skip = 1};
	uint64_t *ip = arch_context_ip(context), *sp = arch_context_sp(context), ret;
	int whole = 0, popped = 0;

	o->nr_frames = 0;
	if (copied && !in_text(*ip) && !safe_read(&ret, *sp, sizeof(ret)) &&
	    is_return_address(ret)) {
		*ip = ret;
		*sp += sizeof(ret);
		popped = 1;
	}
	if (copied)
		whole = !fatal_guarded(walk, &w);
	while (o->nr_frames && o->frames[o->nr_frames - 1].ip &&
	       !in_text(o->frames[o->nr_frames - 1].ip)) {
		o->nr_frames--;
		whole = 0;
	}
	if (!o->nr_frames && in_text(*ip))
		add_frame(o, *ip, 0);
	if (o->nr_frames && !popped && o->frames[0].ip == *ip)
		o->frames[0].flags |= AREA_OOPS_EXACT;
	if (!whole || o->nr_frames < 2)
		scan(o, *sp);
}

/* The text, which is built in the area. */
struct report {
	struct area_oops *o;
	uint64_t ip;
	const struct oops_warning *warning;
	const uint8_t *code;
};

static void find_names(void *arg)
{
	const struct report *t = arg;

	oops_names(names, t->o->nr_frames + 1);
}

static void put_text(void *arg)
{
	const struct report *t = arg;
	struct seq_buf s;

	seq_init(&s, t->o->text, sizeof(t->o->text));
	oops_text(&s, t->o, names, t->code, t->warning);
	t->o->text_bytes = (uint32_t)s.len;
}

static void write_report(struct area_oops *o, uint64_t ip, const struct oops_warning *warning)
{
	struct report t = {o, ip, warning, NULL};
	uint8_t code[OOPS_CODE_BYTES];
	uint32_t i;

	for (i = 0; i <= o->nr_frames; i++) {
		names[i].ip = i ? o->frames[i - 1].ip : ip;
		names[i].exact = i ? o->frames[i - 1].flags & AREA_OOPS_EXACT : !warning;
		names[i].object = oops_object(names[i].ip);
		names[i].name[0] = 0;
	}
	if (!warning && !safe_read(code, ip - OOPS_CODE_BEFORE, sizeof(code)))
		t.code = code;
	if (!sys_is_forbidden())
		fatal_guarded(find_names, &t);
	fatal_guarded(put_text, &t);
}

/*
 * Open the output. The agent's descriptors are not the program's: for it, the stderr of thread @tid
 * is opened anew. @tid: 0: the caller is not the agent.
 */
static int open_output(int tid)
{
	char path[PATH_BYTES + 16];
	const char *p;
	struct seq_buf s;
	int fd;

	if (!file[0] && !tid)
		return 2;
	seq_init(&s, path, sizeof(path) - 1);
	if (!file[0]) {
		seq_puts(&s, "/proc/self/task/");
		seq_putu(&s, (uint64_t)tid);
		seq_puts(&s, "/fd/2");
	}
	for (p = file; *p; p++) {
		if (p[0] == '%' && p[1] == 'p') {
			seq_putu(&s, (uint64_t)area->pid);
			p++;
		} else {
			seq_putc(&s, *p);
		}
	}
	path[s.len] = 0;
	fd = sys_open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
		      0600);
	return fd < 0 && !tid ? 2 : fd;
}

/* Whether a write sends no SIGXFSZ: a file that has reached RLIMIT_FSIZE does. */
static int is_within_limit(int fd)
{
	long at = arch_syscall(SYS_lseek, fd, 0, 1 /* SEEK_CUR */, 0, 0, 0);
	struct stat st;

	if (sys_fstat(fd, &st) || !S_ISREG(st.st_mode))
		return 1;
	return !area_check_file_limit((uint64_t)(at > st.st_size ? at : st.st_size) + 1);
}

/* Write all of the text, but do not wait for ever at a full pipe: the program must end. */
static void write_all(int fd, const char *text, size_t n)
{
	while (n) {
		struct pollfd p = {.fd = fd, .events = POLLOUT};
		size_t piece = n < 4096 ? n : 4096;
		long done;

		if (arch_syscall(SYS_poll, (long)&p, 1, 1000, 0, 0, 0) <= 0 ||
		    p.revents != POLLOUT || !is_within_limit(fd))
			return;
		done = arch_syscall(SYS_write, fd, (long)text, (long)piece, 0, 0, 0);
		if (done <= 0)
			return;
		text += done;
		n -= (size_t)done;
	}
}

/* In the child: run the tool. Its environment says where the areas are and starts no engine. */
static void exec_tool(int fd, int tid)
{
	static const char *const envp[] = {"VESTIGE=0", "PATH=/usr/local/bin:/usr/bin:/bin", NULL};
	char number[16];
	struct seq_buf s;
	const char *argv[] = {tool, "crash", "--records", "all", area_file(), NULL};

	if (tid) {
		seq_init(&s, number, sizeof(number) - 1);
		seq_putu(&s, (uint64_t)tid);
		number[s.len] = 0;
		argv[3] = number;
	}
	arch_syscall(SYS_dup2, fd, 1, 0, 0, 0, 0);
	sys_set_signals(0);
	arch_syscall(SYS_execve, (long)tool, (long)argv, (long)envp, 0, 0, 0);
	arch_syscall(SYS_exit_group, 127, 0, 0, 0, 0, 0);
}

/*
 * Have the tool print the last records. The child sends no signal at its end, and the program's
 * wait() does not see it.
 */
static void print_records(int fd, int tid)
{
	uint32_t waited;
	long pid;

	if (!tool[0])
		return;
	pid = arch_syscall(SYS_clone, 0, 0, 0, 0, 0, 0);
	if (!pid)
		exec_tool(fd, tid);
	if (pid < 0)
		return;
	for (waited = 0; waited < PATIENCE_MS; waited += STEP_MS) {
		if (arch_syscall(SYS_wait4, pid, 0, WNOHANG | __WALL, 0, 0, 0))
			return;
		sys_sleep_ns(STEP_MS * 1000000L);
	}
	arch_syscall(SYS_kill, pid, SIGKILL, 0, 0, 0, 0);
	arch_syscall(SYS_wait4, pid, 0, __WALL, 0, 0, 0);
}

static void give(struct area_oops *o, uint64_t records, int by_agent)
{
	int fd = open_output(by_agent ? o->tid : 0);

	if (fd >= 0) {
		write_all(fd, o->text, o->text_bytes);
		if (records)
			print_records(fd, records == 2 ? o->tid : 0);
		if (fd != 2)
			sys_close(fd);
	}
	store_release(&o->given, 1);
}

static void call_back(void *arg)
{
	const struct area_oops *o = arg;

	callback(o->text, o->text_bytes, area_file(), callback_arg);
}

static void begin(struct area_oops *o, enum area_oops_kind kind)
{
	write_seqcount_begin(&o->gen);
	o->kind = kind;
	o->dump = (uint32_t)dump;
	o->nr++;
	o->tid = sys_own_tid();
	o->cpu = (int32_t)arch_cpu();
	o->stamp = ring_clock();
	str_copy(o->comm, sizeof(o->comm), ring_thread_comm());
	if (!sys_is_forbidden())
		sys_get_comm(o->comm);
	o->nr_regs = o->nr_frames = o->text_bytes = o->given = 0;
}

static void hold_up(void)
{
	uint32_t i;

	if (!sys_is_forbidden())
		sys_sleep_ns(1000000);
	else
		for (i = 0; i < 100000; i++)
			arch_relax();
}

static void report(int sig, siginfo_t *info, void *context, int copied)
{
	const uint64_t *regs = arch_context_regs(context), ip = *arch_context_ip(context);
	struct area_oops *o;
	uint32_t i;

	if (!area || !reserved)
		return;
	/*
	 * another thread is writing a warning; wait for a limited time, as that thread may be the
	 * one that died
	 */
	for (i = 0; i < 200 && __atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE); i++)
		hold_up();
	if (dump)
		tracing_set(&global_trace, 0);
	o = area_oops();
	begin(o, AREA_OOPS_SIGNAL);
	o->sig = sig;
	o->code = info->si_code;
	o->address = (uint64_t)info->si_addr;
	o->sender = info->si_code <= 0 ? info->si_pid : 0;
	o->sender_uid = info->si_code <= 0 ? info->si_uid : 0;
	if (info->si_code <= 0)
		o->address = 0;
	for (i = 0; i < ARCH_CONTEXT_REGS; i++)
		o->regs[i] = regs[i];
	o->nr_regs = ARCH_CONTEXT_REGS;
	collect(o, context, copied);
	write_report(o, ip, NULL);
	write_seqcount_end(&o->gen);
	if (!sys_is_forbidden())
		give(o, dump, 0);
	else
		for (i = 0; i < AGENT_WAITS && !load_acquire(&o->given); i++)
			hold_up();
	if (load_acquire(&callback))
		fatal_guarded(call_back, o);
}

int oops_warn(const char *condition, const char *where, int line, const void *ip)
{
	const struct oops_warning warning = {condition, where, line};
	struct walking w = {0};
	struct area_oops *o;
	uint32_t i;

	if (!area)
		return -ENODEV;
	if (!load_acquire(&reserved)) {
		if (sys_is_forbidden() || area_reserve_oops())
			return -EPERM;
		store_release(&reserved, 1);
	}
	if (!sys_is_forbidden())
		stack_prepare();
	for (i = 0; __atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE); i++) {
		if (i == 50)
			return -EBUSY; /* this thread may have been writing it when a signal came */
		hold_up();
	}
	o = area_oops();
	begin(o, AREA_OOPS_WARNING);
	w.o = o;
	stack_each_frame(keep, &w);
	write_report(o, (uint64_t)ip, &warning);
	write_seqcount_end(&o->gen);
	if (!sys_is_forbidden())
		give(o, 0, 0);
	if (load_acquire(&callback))
		call_back(o);
	store_release(&busy, 0);
	return 0;
}

int oops_on(oops_callback *call, void *arg)
{
	store_release(&callback, NULL);
	callback_arg = arg;
	store_release(&callback, call);
	return 0;
}

void oops_serve(void)
{
	struct area_oops *o;

	if (!area || !load_acquire(&reserved))
		return;
	o = area_oops();
	if (o->kind == AREA_OOPS_SIGNAL && !(load_acquire(&o->gen) & 1) && o->text_bytes &&
	    !load_acquire(&o->given))
		give(o, o->dump, 1);
}

/* Find `vestige`: beside the engine, as in a build, or where it is installed. */
static void find_tool(void)
{
	static const char *const places[] = {"/vestige", "/../bin/vestige", "/../../bin/vestige"};
	const char *own = "", *end = NULL, *p;
	struct seq_buf s;
	uint32_t i;

	for (i = 0; i < object_count(); i++)
		if (object_row(object_at(i))->status == AREA_OBJECT_ENGINE)
			own = area_string_at(object_row(object_at(i))->path);
	for (p = own; *p; p++)
		if (*p == '/')
			end = p;
	for (i = 0; end && i < ARRAY_SIZE(places); i++) {
		seq_init(&s, tool, sizeof(tool) - 1);
		for (p = own; p < end; p++)
			seq_putc(&s, *p);
		seq_puts(&s, places[i]);
		tool[s.len] = 0;
		if (!s.lost &&
		    !arch_syscall(SYS_faccessat, AT_FDCWD, (long)tool, 1 /* X_OK */, 0, 0, 0))
			return;
	}
	tool[0] = 0;
}

static int arm(void)
{
	int err = reserved ? 0 : area_reserve_oops();

	if (err)
		return err;
	store_release(&reserved, 1);
	if (!tool[0])
		find_tool();
	altstack_start(graph_stack_signals);
	return fatal_start(report);
}

int oops_set(uint64_t v)
{
	int err = 0;

	if (v > 2)
		return -EINVAL;
	if (v && !dump)
		err = arm();
	else if (!v && dump)
		fatal_stop();
	if (!err)
		dump = v;
	return err;
}

uint64_t oops_get(void)
{
	return dump;
}

int oops_file_set(const char *path, size_t n)
{
	if (n >= sizeof(file))
		return -ENAMETOOLONG;
	if (n && path[0] != '/')
		return -EINVAL;
	memcpy(file, path, n);
	file[n] = 0;
	return 0;
}

const char *oops_file_get(void)
{
	return file;
}

static void fork_oops(const struct lifecycle_fork *f)
{
	if (f->when == LIFECYCLE_FORK_LEAVE) {
		busy = 0;
		reserved = 0;
	} else if (f->when == LIFECYCLE_FORK_RESUME && dump && !area_reserve_oops()) {
		store_release(&reserved, 1);
	}
}

LIFECYCLE(LIFECYCLE_CORE, NULL, fork_oops, NULL);
