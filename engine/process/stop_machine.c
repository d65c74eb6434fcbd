/* SPDX-License-Identifier: MIT */
/*
 * See stop_machine.h. A thread cannot ptrace() its own process, so a child does it. clone() makes
 * the child with shared memory; the caller waits meanwhile (CLONE_VFORK), and the child uses the
 * caller's thread data. PTRACE_SEIZE and PTRACE_INTERRUPT interrupt no system call visibly: it
 * begins again, with the rest of its time (with its full time, where the kernel itself would end
 * it). A signal that a thread was about to take is given back with PTRACE_DETACH.
 *
 * While `record` starts a program, it holds the main thread at the program's entry point, by
 * ptrace() too, and has functions changed. That thread counts as stopped where it is.
 *
 * A seccomp filter may answer ptrace() by killing all processes that share the memory. So with a
 * filter nothing is tried.
 *
 * No state beyond the call. fork: nothing. Costs some 10 us for each thread. Tests:
 * tests/cli/test_attach_functions.py.
 */
#include "engine/process/stop_machine.h"

#include <errno.h>
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "abi/stopped_calls.h"
#include "arch_ptrace.h"
#include "engine/arch/sys.h"
#include "engine/base/mem.h"
#include "engine/base/sort.h"
#include "engine/base/text.h"
#include "engine/process/thread_list.h"

#define STACK_BYTES  65536u
#define MORE	     64u /* threads that may start meanwhile */
#define MAX_ROUNDS   64u /* of listing the threads */
#define PAUSE_NS     20000
#define STATUS_BYTES 4096u
#define LATE_NS	     UINT64_C(1000000000)

enum state {
	STATE_RUNS, /* seized, and requested to stop */
	STATE_STOPPED,
	STATE_GONE,
	STATE_HELD, /* stopped by `record`, which lets it go */
};

struct stop {
	void (*fn)(const struct stopped_thread *threads, uint32_t nr, void *arg);
	void *arg;
	uint64_t within_ns, began;
	int folder; /* /proc/self/task of the process */
	int main, caller, late;
	struct stopped_thread held; /* the main thread if `record` holds it; tid 0: it does not */
	int err;
	uint32_t nr, room;
	uint32_t nr_changes;		/* in this round: threads that were new, or had ended */
	struct stopped_thread *threads; /* sorted by id */
};

static long do_ptrace(long what, int tid, long data)
{
	return arch_raw_syscall(SYS_ptrace, what, tid, 0, data, 0, 0);
}

static int fail_at(struct stop *s, int tid, int err)
{
	s->late = tid;
	s->err = err;
	return err;
}

/* The index of a thread in the table, or where it belongs. */
static uint32_t place_of(const struct stop *s, int tid)
{
	return LOWER_BOUND(i, 0, s->nr, s->threads[i].tid < tid);
}

static int has_ended(const struct stop *s, int tid)
{
	char state = thread_list_state(s->folder, tid);

	return state == 'Z' || state == 'X';
}

/*
 * Seize a new thread. If a thread of the list ends while the kernel writes the list, the kernel may
 * leave out the next one. So the list may be short whenever a thread of it has ended. The main
 * thread's entry stays.
 */
static int take(int tid, void *data)
{
	struct stop *s = data;
	uint32_t at = place_of(s, tid), k;
	long err;

	if (tid == s->caller || (at < s->nr && s->threads[at].tid == tid))
		return 0;
	if (s->nr == s->room)
		return fail_at(s, tid, -EAGAIN);
	err = tid == s->held.tid ? 0 : do_ptrace(PTRACE_SEIZE, tid, 0);
	if (err == -ESRCH || (err == -EPERM && has_ended(s, tid))) {
		s->nr_changes += tid != s->main;
		return 0;
	}
	if (err)
		return fail_at(s, tid, (int)err);
	for (k = s->nr++; k > at; k--)
		s->threads[k] = s->threads[k - 1];
	if (tid == s->held.tid) {
		s->threads[at] = s->held;
	} else {
		do_ptrace(PTRACE_INTERRUPT, tid, 0);
		s->threads[at] = (struct stopped_thread){.tid = tid};
	}
	s->nr_changes++;
	return 0;
}

static void look(struct stopped_thread *t)
{
	int status = 0;
	long got = arch_raw_syscall(SYS_wait4, t->tid, (long)&status, __WALL | WNOHANG, 0, 0, 0);

	if (!got)
		return;
	if (got < 0 || !WIFSTOPPED(status)) {
		t->state = STATE_GONE;
		return;
	}
	t->state = STATE_STOPPED;
	t->signal = status >> 16 ? 0 : WSTOPSIG(status);
	if (arch_ptrace_regs(t->tid, &t->ip, &t->before, &t->sp))
		t->state = STATE_GONE;
}

static int wait_all(struct stop *s)
{
	uint32_t i = 0;

	while (i < s->nr) {
		if (s->threads[i].state != STATE_RUNS) {
			i++;
			continue;
		}
		look(&s->threads[i]);
		if (s->threads[i].state != STATE_RUNS)
			continue;
		if (sys_now_ns() - s->began > s->within_ns)
			return fail_at(s, s->threads[i].tid, -EAGAIN);
		sys_sleep_ns(PAUSE_NS);
	}
	return 0;
}

/*
 * Stop all threads. The list is read again, because a thread may make others until it is stopped.
 */
static int stop_all(struct stop *s)
{
	uint32_t round;

	for (round = 0; round < MAX_ROUNDS; round++) {
		int err;

		s->nr_changes = 0;
		err = thread_list_each_in(s->folder, take, s);
		if (!err && s->nr_changes)
			err = wait_all(s);
		if (err || !s->nr_changes)
			return err;
	}
	return fail_at(s, 0, -EAGAIN);
}

/* The text behind @name in a status file; NULL: none. */
static const char *status_text(const char *text, const char *name)
{
	size_t n = strlen(name);

	while (memcmp(text, name, n)) {
		while (*text && *text != '\n')
			text++;
		if (!*text || strlen(++text) < n)
			return NULL;
	}
	for (text += n; *text == '\t'; text++)
		;
	return text;
}

/* Read hexadecimal digits. Return: behind them. */
static const char *read_hex(const char *text, uint64_t *value)
{
	for (*value = 0; hex_digit(*text) < 16; text++)
		*value = *value << 4 | hex_digit(*text);
	return text;
}

/* The number behind @name in the text of a status file; ~0: none. */
static uint64_t status_field(const char *text, const char *name)
{
	uint64_t value = UINT64_MAX;

	text = status_text(text, name);
	if (text)
		read_hex(text, &value);
	return value;
}

/* Read ` 0xNUMBER`. Return: behind it; NULL: there is none. */
static const char *read_address(const char *text, uint64_t *value)
{
	return text && !memcmp(text, " 0x", 3) ? read_hex(text + 3, value) : NULL;
}

/*
 * Find out whether the main thread is held: it is stopped at the program's entry point, before
 * main(), and its parent process traces it. Read in the process itself, which may always do so.
 */
static void find_held(struct stop *s)
{
	char text[STATUS_BYTES];
	struct stopped_thread t = {.tid = s->main, .state = STATE_HELD};
	const char *tracer = NULL;
	uint64_t id = 0;

	if (s->main == s->caller || thread_list_state(s->folder, s->main) != 't')
		return;
	if (thread_list_read_in(s->folder, s->main, "status", text, sizeof(text)) > 0)
		tracer = status_text(text, "TracerPid:");
	if (!tracer || !text_decimal(tracer, SIZE_MAX, &id) ||
	    id != (uint64_t)arch_syscall(SYS_getppid, 0, 0, 0, 0, 0, 0))
		return;
	/* `-1 STACK INSTRUCTION`: it is in no system call */
	if (thread_list_read_in(s->folder, s->main, "syscall", text, sizeof(text)) < 3 ||
	    memcmp(text, "-1", 2) || !read_address(read_address(text + 2, &t.sp), &t.ip) ||
	    t.ip != getauxval(AT_ENTRY))
		return;
	t.before = t.ip;
	s->held = t;
}

static void let_go(const struct stopped_thread *t)
{
	if (stop_ends_call(arch_ptrace_interrupted(t->tid)))
		arch_ptrace_again(t->tid);
	do_ptrace(PTRACE_DETACH, t->tid, t->signal);
}

/*
 * Return: 0; -EACCES: there is a filter, or it is not known that there is none; -EMFILE, -ENFILE.
 */
static int check_filter(int folder)
{
	char text[STATUS_BYTES];
	long n = thread_list_read_in(folder, sys_gettid(), "status", text, sizeof(text));
	uint64_t how;

	if (n == -EMFILE || n == -ENFILE)
		return (int)n;
	if (n <= 0)
		return -EACCES;
	how = status_field(text, "Seccomp:");
	return how && how != UINT64_MAX ? -EACCES : 0;
}

/*
 * A thread did not stop in time; its system call may be interrupted all the same. Wait for it only
 * if it is in a call that a stop ends.
 */
static void let_late_go(const struct stop *s, struct stopped_thread *t, uint64_t until)
{
	while (t->state == STATE_RUNS && sys_now_ns() < until &&
	       thread_list_state(s->folder, t->tid) != 'D') {
		sys_sleep_ns(PAUSE_NS);
		look(t);
	}
	if (t->state == STATE_STOPPED)
		let_go(t);
}

/* Runs in the child. The kernel detaches the remaining threads when the child ends. */
static void run(void *arg)
{
	struct stop *s = arg;
	uint64_t until;
	uint32_t i;
	int err;

	s->began = sys_now_ns();
	err = stop_all(s);
	if (!err)
		s->fn(s->threads, s->nr, s->arg);
	/* not earlier: the child may be killed in @fn */
	s->err = err;
	for (i = 0; i < s->nr; i++)
		if (s->threads[i].state == STATE_STOPPED)
			let_go(&s->threads[i]);
	until = sys_now_ns() + LATE_NS;
	for (i = 0; i < s->nr; i++)
		if (s->threads[i].state == STATE_RUNS)
			let_late_go(s, &s->threads[i], until);
}

static int count_one(int tid, void *data)
{
	(void)tid;
	++*(uint32_t *)data;
	return 0;
}

int stop_machine(void (*fn)(const struct stopped_thread *threads, uint32_t nr, void *arg),
		 void *arg, uint64_t within_ns, int *tid)
{
	struct stop s = {.fn = fn,
			 .arg = arg,
			 .within_ns = within_ns,
			 .main = sys_getpid(),
			 .caller = sys_gettid()};
	size_t bytes = 0;
	uint8_t *memory;
	uint64_t signals;
	long child;
	int err;

	*tid = 0;
	s.folder = thread_list_open();
	if (s.folder < 0)
		return s.folder;
	err = check_filter(s.folder);
	if (!err)
		err = thread_list_each_in(s.folder, count_one, &s.room);
	s.room += MORE;
	bytes = STACK_BYTES + (size_t)s.room * sizeof(*s.threads);
	memory = err ? NULL : sys_map_anon(bytes);
	if (!memory) {
		sys_close(s.folder);
		return err ? err : -ENOMEM;
	}
	s.threads = (struct stopped_thread *)(memory + STACK_BYTES);
	s.err = -ECHILD; /* the child was killed */
	find_held(&s);
	signals = sys_set_signals(UINT64_MAX);
	child = arch_vfork_call(run, &s, memory + STACK_BYTES);
	if (child > 0)
		arch_syscall(SYS_wait4, child, 0, __WALL, 0, 0, 0);
	sys_set_signals(signals);
	sys_munmap(memory, bytes);
	sys_close(s.folder);
	*tid = s.late;
	return child < 0 ? (int)child : s.err;
}

long stopped_read(uint64_t at, void *to, size_t bytes)
{
	const uint64_t here[2] = {(uint64_t)to, bytes}, there[2] = {at, bytes};

	return arch_raw_syscall(SYS_process_vm_readv, sys_getpid(), (long)here, 1, (long)there, 1,
				0);
}
