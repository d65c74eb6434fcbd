/* SPDX-License-Identifier: MIT */
/*
 * The agent: a thread that answers requests of the tools for control files (abi/agent.h).
 *
 * It blocks all signals, except the two with which glibc changes the ids of all threads, so that
 * setuid() applies to the agent too. It has a descriptor table of its own where the kernel allows
 * it, so it neither keeps the program's files open nor loses its own to close_range(). It makes no
 * call that may be traced. It serves one request at a time, each with a time limit (agent_serve.c).
 *
 * The process must be able to end without it. exit() ends it. But when main() left by
 * pthread_exit(), the process ends with its last thread, and the agent must not be that thread:
 * what exit() flushes would go to descriptors that the agent does not have. So the program's last
 * thread stops the agent first. Some threads end unseen (a seccomp filter kills them, or the
 * program makes the exit system call itself). For these the agent looks at /proc/self/task each
 * second. If it is alone, it ends by the system call alone, and the process has the exit status of
 * its main thread. fork: the child starts an agent of its own. Tests: tests/engine/fire/agent,
 * alone.
 */
#include "engine/control/agent.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "abi/agent.h"
#include "arch_barrier.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/base/seq_buf.h"
#include "engine/base/text.h"
#include "engine/control/agent_follow.h"
#include "engine/control/agent_serve.h"
#include "engine/control/boot.h"
#include "engine/control/guard.h"
#include "engine/control/oops.h"
#include "engine/control/tree.h"
#include "engine/process/area.h"
#include "engine/process/libc.h"
#include "engine/core/function.h"
#include "engine/core/interpose.h"
#include "engine/core/sandbox.h"
#include "engine/core/syscalls.h"
#include "engine/core/thread.h"
#include "engine/core/thread_unseen.h"
#include "engine/process/thread_list.h"
#include "engine/core/trace_array.h"
#include "engine/sources/sched_perf.h"
#include "engine/ring/ring.h"

#define STACK_BYTES (256u * 1024)
#define LOOK_MS	    1000
#define WAIT_MS	    50
#define NAMING_MS   100
#define SCAN_MS	    100	  /* after the start: objects are scanned, if no request was earlier */
#define REST_MS	    100	  /* until the next try, without a descriptor */
#define PATIENCE_MS 10000 /* longest wait for its end, on a busy machine */
#define WAKE	    32	  /* glibc's own, for pthread_cancel(): see settle() */
#define MAX_PERF    64u	  /* rings that may wake it; further CPUs' rings wait for its next turn */

static char socket_path[108];
static pthread_t agent;
static int agent_id;
static int agent_tid; /* the same, while a signal can wake it */

/*
 * RUNS changes to ENDS or GONE by compare-and-store, so only one thread waits for the agent's end.
 */
enum { GONE, RUNS, ENDS };
static uint32_t state;

/* The socket: not bound yet, being bound by the agent, bound, never to be bound. A futex. */
enum { UNNAMED, NAMING, NAMED, NEVER };
static uint32_t naming;

static uint64_t nr_filters; /* seccomp filters of the main thread at the first look, + 1 */

static long sock(long n, long a, long b, long c, long d, long e)
{
	return arch_syscall(n, a, b, c, d, e, 0);
}

/*
 * Leave the program's table of descriptors. Return: 0; -errno: the agent still shares the program's
 * table (a container may refuse unshare()), and must close nothing in it.
 */
static int leave_descriptors(void)
{
	int err = (int)arch_syscall(SYS_unshare, 0x400 /* CLONE_FILES */, 0, 0, 0, 0, 0), fd;

	if (err || arch_syscall(SYS_close_range, 0, ~0u, 0, 0, 0, 0) == 0)
		return err;
	for (fd = 0; fd < 65536; fd++)
		sys_close(fd);
	return 0;
}

#define HIGH_FD 1000 /* programs expect the lowest numbers for themselves */

/* Move a descriptor in the program's table to a number that programs do not expect. */
static int move_up(int fd)
{
	long high = arch_syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, HIGH_FD, 0, 0, 0);

	if (high < 0)
		return fd;
	sys_close(fd);
	return (int)high;
}

static uint64_t inode_of(int fd)
{
	struct stat st;

	return sys_fstat(fd, &st) ? 0 : st.st_ino;
}

static int listen_at(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	long fd = sock(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, 0, 0), err;

	if (fd < 0)
		return (int)fd;
	str_copy(addr.sun_path, sizeof(addr.sun_path), path);
	sys_unlink(path);
	err = sock(SYS_bind, fd, (long)&addr, sizeof(addr), 0, 0);
	if (!err)
		err = sock(SYS_listen, fd, 16, 0, 0, 0);
	if (err) {
		sys_close((int)fd);
		return (int)err;
	}
	return (int)fd;
}

static uint64_t now_ms(void)
{
	return ring_clock_mono() / 1000000;
}

int agent_is_to_end(void)
{
	return load_acquire(&state) != RUNS;
}

static int work(void)
{
	int timeout_ms;

	agent_follow_turn();
	tree_lock_take();
	timeout_ms = sched_perf_work();
	tree_lock_release();
	oops_serve();
	return guard_work(timeout_ms);
}

/*
 * Scan the functions of a process that has lived for some time, so that a tool that reads a stopped
 * or killed process finds them.
 */
static void scan(void)
{
	tree_lock_take();
	functions_need();
	tree_mirror(&global_trace);
	tree_lock_release();
}

/*
 * poll() of as many of @nr entries as the kernel takes: RLIMIT_NOFILE, which the program may lower
 * to 0, limits these, too. The others are looked at after REST_MS. Return: of poll().
 */
static long poll_some(struct pollfd *p, uint32_t nr, int timeout_ms)
{
	long ready = sock(SYS_poll, (long)p, nr, timeout_ms, 0, 0);

	while ((ready == -EINVAL || ready == -ENOMEM) && nr) {
		nr /= 2;
		ready = sock(SYS_poll, (long)p, nr, min_of(timeout_ms, REST_MS), 0, 0);
	}
	return ready;
}

/*
 * Wait for a client, and do the agent's other work meanwhile. @fd: -1: no client is waited for, but
 * the wait is short. Return: whether there is a client, or -errno.
 */
static int wait_client(int fd, int wake_fd)
{
	struct pollfd p[2 + MAX_PERF] = {{.fd = fd, .events = POLLIN},
					 {.fd = wake_fd, .events = POLLIN}};
	int perf[MAX_PERF], timeout_ms = work();
	struct signalfd_siginfo info;
	uint32_t i, n = sched_perf_descriptors(perf, MAX_PERF);
	int scans = functions_wait() && !sys_is_forbidden();
	int most_ms = scans ? SCAN_MS : fd < 0 ? REST_MS : LOOK_MS;
	long ready;

	if (timeout_ms < 0 || timeout_ms > most_ms)
		timeout_ms = most_ms;
	for (i = 0; i < n; i++)
		p[2 + i] = (struct pollfd){.fd = perf[i], .events = POLLIN};
	ready = poll_some(p, 2 + n, timeout_ms);
	if (!ready && scans && timeout_ms == SCAN_MS)
		scan();
	if (ready > 0 && p[1].revents)
		sys_read(wake_fd, &info, sizeof(info));
	return ready < 0 && ready != -EINTR ? (int)ready : ready > 0 && p[0].revents;
}

/*
 * Whether the main thread has ended: it stays as a zombie while the process has other threads.
 * @status: as from waitpid().
 */
static int main_has_ended(uint32_t *status)
{
	char text[1024], letter;
	const char *code;
	uint64_t v;

	if (thread_list_main("stat", text, sizeof(text)) <= 0)
		return 0;
	letter = *thread_list_stat(text, STAT_STATE);
	if (letter != 'Z' && letter != 'X')
		return 0;
	code = thread_list_stat(text, STAT_EXIT);
	text_decimal(code, strlen(code), &v);
	*status = (uint32_t)v;
	return 1;
}

static int count_one(int tid, void *data)
{
	(void)tid;
	++*(uint32_t *)data;
	return 0;
}

/* Whether the agent is the process's last thread. */
static int is_alone(uint32_t *status)
{
	uint32_t nr = 0;

	/* the agent, and the zombie of the main thread; ids may be another PID namespace's */
	return main_has_ended(status) && !thread_list_each(count_one, &nr) && nr == 2;
}

/* The number behind @name in the text of status; 0: it is not there. */
static uint64_t number_of(const char *text, const char *name)
{
	uint64_t v = 0;
	size_t n;

	for (; *text; text++) {
		if (*text != '\n' || !str_starts(text + 1, name))
			continue;
		for (text += 1 + strlen(name), n = 0; is_digit(text[n]); n++)
			;
		return str_to_u64(text, n, &v) ? 0 : v;
	}
	return 0;
}

/*
 * Whether the main thread has got a seccomp filter since we began, in a way that core/sandbox.c
 * does not see. The filters that it had at the beginning apply to the agent too.
 */
static int is_beside_sandbox(void)
{
	char text[4096];
	uint64_t mode, nr;
	int own;

	if (sys_nr_forbidden || thread_list_main("status", text, sizeof(text)) <= 0)
		return 0;
	own = (int)arch_syscall(SYS_prctl, 21 /* PR_GET_SECCOMP */, 0, 0, 0, 0, 0);
	mode = number_of(text, "Seccomp:\t");
	nr = number_of(text, "Seccomp_filters:\t");
	if (!nr_filters)
		nr_filters = nr + 1;
	if ((own || !mode) && nr + 1 <= nr_filters)
		return 0;
	sandbox_was_entered();
	area_status("no control from outside: the program has set a seccomp filter", NULL, 0);
	return 1;
}

static int is_time_to_look(void)
{
	static uint64_t looked;
	uint64_t now = now_ms();

	if (now - looked < LOOK_MS)
		return 0;
	looked = now;
	return 1;
}

/*
 * The process ends with its last thread, and gets the exit status of that thread; but the status
 * must be the main thread's. If a signal killed the main thread, the same signal ends all threads.
 */
static void end_as(uint32_t status)
{
	const uint64_t by_default[4] = {0};
	uint32_t sig = status & 0x7f;

	control_end();
	if (sig) {
		arch_syscall(SYS_rt_sigaction, sig, (long)by_default, 0, 8, 0, 0);
		sys_set_signals(~(UINT64_C(1) << (sig - 1)));
		arch_syscall(SYS_tgkill, sys_getpid(), sys_gettid(), sig, 0, 0, 0);
	}
	arch_syscall(SYS_exit, status >> 8 & 0xff, 0, 0, 0, 0, 0);
}

/* The agent's descriptors. */
struct mine {
	int shared;    /* they are in the program's table */
	int socket_fd; /* -errno: there is no socket */
	int wake_fd;   /* -1: none; a client wakes the agent */
};

/*
 * If a signal is sent to the process, the thread that reads it first from a signalfd gets it. So
 * the agent must not read a signal that the program may wait for. WAKE is glibc's own: a program
 * cannot block it or wait for it with glibc's functions, and glibc sends it to single threads
 * alone, never to the agent.
 */
static struct mine settle(void)
{
	const uint64_t wake = UINT64_C(1) << (WAKE - 1);
	struct mine m = {.shared = leave_descriptors(), .wake_fd = -1};

	sys_put_off_signals(wake);
	if (m.shared) {
		area_status("the agent's descriptors are among the program's: unshare()", NULL,
			    m.shared);
	} else {
		thread_list_keep();
		area_keep_folder(1);
		m.wake_fd = (int)arch_syscall(SYS_signalfd4, -1, (long)&wake, 8,
					      SFD_CLOEXEC | SFD_NONBLOCK, 0, 0);
	}
	m.socket_fd =
		compare_and_store(&naming, UNNAMED, NAMING) ? listen_at(socket_path) : -ECANCELED;
	compare_and_store(&naming, NAMING, NAMED);
	arch_syscall(SYS_futex, (long)&naming, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
	if (m.socket_fd == -ECANCELED) {
		sched_perf_no_agent();
	} else if (m.socket_fd < 0) {
		sched_perf_no_agent();
		area_status("no control from outside: its socket", socket_path, m.socket_fd);
	} else if (m.shared) {
		m.socket_fd = move_up(m.socket_fd);
		sched_perf_no_agent(); /* only the agent may have perf's descriptors */
	} else {
		sched_perf_agent();
	}
	if (m.wake_fd >= 0)
		store_release(&agent_tid, agent_id);
	return m;
}

static void serve_clients(const struct mine *m)
{
	const uint64_t inode = inode_of(m->socket_fd);
	int client, rests = 0, told = 0;
	uint32_t status;

	while (!agent_is_to_end()) {
		int ready = wait_client(rests ? -1 : m->socket_fd, m->wake_fd);

		rests = 0;
		if (ready < 0) {
			area_status("no control from outside: poll()", NULL, ready);
			return;
		}
		if (is_time_to_look()) {
			if (is_alone(&status))
				end_as(status);
			if (is_beside_sandbox())
				return;
		}
		if (!ready)
			continue;
		/*
		 * the program may have closed it, and may have opened another file with the same
		 * number
		 */
		if (m->shared && inode_of(m->socket_fd) != inode) {
			area_status("no control from outside: the program closed its socket", NULL,
				    0);
			return;
		}
		client = (int)sock(SYS_accept4, m->socket_fd, 0, 0, SOCK_CLOEXEC, 0);
		if (client < 0) {
			/* it stays in the socket's queue, which is ready all the time */
			rests = client != -EINTR;
			if (rests && !told++)
				area_status("requests from outside wait: accept()", NULL, client);
			continue;
		}
		threads_unseen_look();
		agent_serve(client);
		sys_close(client);
	}
}

static void *agent_main(void *arg)
{
	struct mine m;

	(void)arg;
	sys_rights = SYS_OURS;
	agent_id = sys_gettid();
	agent_follow_begin();
	interpose_mute();
	syscalls_own_thread();
	arch_syscall(SYS_prctl, 15 /* PR_SET_NAME */, (long)"vestige-agent", 0, 0, 0, 0);
	m = settle();
	if (m.socket_fd >= 0) {
		serve_clients(&m);
		area_unlink(socket_path);
	}
	if (m.socket_fd >= 0 && !m.shared) {
		tree_lock_take();
		sched_perf_stop();
		tree_lock_release();
	}
	store_release(&agent_tid, 0);
	agent_follow_end();
	area_keep_folder(0);
	return NULL;
}

/* Wake an agent that has no descriptor for signals: connect as a client that sends nothing. */
static void knock(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	long fd = sock(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, 0, 0);

	if (fd < 0)
		return;
	str_copy(addr.sun_path, sizeof(addr.sun_path), socket_path);
	sock(SYS_connect, fd, (long)&addr, sizeof(addr), 0, 0);
	sys_close((int)fd);
}

/* Make the agent do its other work (sched_perf_work()). Normal context. */
static void agent_wake(void)
{
	int tid = load_acquire(&agent_tid);

	if (tid)
		arch_syscall(SYS_tgkill, sys_getpid(), tid, WAKE, 0, 0, 0);
	else
		knock();
}

/*
 * The program's last free thread ends, or gives up system calls: wake the agent, which then ends,
 * or finds that it is alone. An agent that cannot be woken finds out at its next look. Return:
 * whether the agent has ended.
 */
static int agent_stop(void)
{
	uint64_t until = now_ms() + PATIENCE_MS;

	if (!compare_and_store(&state, RUNS, ENDS))
		return 0;
	agent_wake();
	do {
		thread_wait_end(agent, WAIT_MS);
		if (!thread_join(agent)) {
			agent_follow_gone(until);
			store_release(&state, GONE);
			return 1;
		}
	} while (now_ms() < until);
	return 0;
}

/* The agent's stack. libc puts the thread-local variables of all objects into it. */
static size_t stack_bytes(const pthread_attr_t *attr)
{
	static size_t (*least)(const pthread_attr_t *attr);
	size_t n;

	if (!least)
		least = (size_t(*)(const pthread_attr_t *))libc_symbol("__pthread_get_minstack");
	n = least ? least(attr) : 0;
	/* in most programs they are few, and the mappings are as they always were */
	return STACK_BYTES + (n > STACK_BYTES / 4 ? n : 0);
}

/*
 * Start the agent. A failure is a line in vestige_status; the process is then traced as it was set
 * up at the start, and the tools cannot control it.
 */
static void agent_start(void)
{
	pthread_attr_t attr;
	sigset_t all, old;
	struct seq_buf s;
	int err;

	seq_init(&s, socket_path, sizeof(socket_path) - 1);
	seq_puts(&s, area_file());
	seq_puts(&s, AGENT_SUFFIX);
	socket_path[s.len] = 0;
	if (s.lost) {
		area_status("no control from outside: the socket's path is too long", area_file(),
			    0);
		return;
	}
	err = agent_serve_start();
	if (err) {
		area_status("no control from outside: no memory", NULL, err);
		return;
	}
	syscalls_own_begin();
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	interpose_mute();
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, stack_bytes(&attr));
	state = RUNS;
	naming = UNNAMED;
	nr_filters = 0;
	agent_follow_start();
	err = thread_create_untraced(&agent, &attr, agent_main);
	pthread_attr_destroy(&attr);
	interpose_unmute();
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	syscalls_own_end(!err);
	if (err) {
		state = GONE;
		agent_follow_gone(0);
		area_status("no control from outside: no thread for it", NULL, -err);
	} else {
		sandbox_use_agent(agent_stop, agent_start);
	}
}

void agent_remove(void)
{
	const long slice[2] = {0, 1000000};
	int tries;

	store_release(&state, GONE);
	/* an agent that is making its socket would leave it behind if the process ended now */
	if (!socket_path[0] || compare_and_store(&naming, UNNAMED, NEVER))
		return;
	for (tries = 0; load_acquire(&naming) == NAMING && tries < NAMING_MS; tries++)
		arch_syscall(SYS_futex, (long)&naming, FUTEX_WAIT_PRIVATE, NAMING, (long)slice, 0,
			     0);
	area_unlink(socket_path);
}

static void start_wake(const struct lifecycle_start *how)
{
	(void)how;
	sched_perf_wake_by(agent_wake);
}

static void start(const struct lifecycle_start *how)
{
	if (how->with_agent)
		agent_start();
}

static void fork_agent(const struct lifecycle_fork *f)
{
	if (f->when == LIFECYCLE_FORK_LEAVE) {
		state = GONE;
		agent_tid = 0;
	} else if (f->when == LIFECYCLE_FORK_UNLOCKED && f->with_agent) {
		agent_start();
	}
}

LIFECYCLE(LIFECYCLE_CORE, start_wake, NULL, NULL);
LIFECYCLE(LIFECYCLE_AGENT, start, fork_agent, agent_remove);
