/* SPDX-License-Identifier: MIT */
/*
 * See descriptors.h. A descriptor is seen when a system call through libc returns it. What it leads
 * to is then read from /proc, and from the socket. A thread that may make no system call reports
 * none.
 *
 * Any context. fork: the child has the same listeners. Costs: one to three system calls for each
 * descriptor. Tests: tests/cli/test_sched.py.
 */
#include "engine/sources/descriptors.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "engine/arch/read_memory.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/base/seq_buf.h"
#include "engine/process/thread_list.h"
#include "engine/sources/syscall.h"

/* Where a system call returns the descriptor. */
enum place { RESULT, FIRST_ARGUMENT, PAIR_AT_FIRST, PAIR_AT_FOURTH };

static const struct call {
	uint16_t nr;
	uint8_t place;
} calls[] = {
	{SYS_open, RESULT},
	{SYS_openat, RESULT},
	{SYS_creat, RESULT},
	{SYS_socket, RESULT},
	{SYS_accept, RESULT},
	{SYS_accept4, RESULT},
	{SYS_dup, RESULT},
	{SYS_dup2, RESULT},
	{SYS_dup3, RESULT},
	{SYS_epoll_create, RESULT},
	{SYS_epoll_create1, RESULT},
	{SYS_eventfd2, RESULT},
	{SYS_timerfd_create, RESULT},
	{SYS_signalfd4, RESULT},
	{SYS_inotify_init1, RESULT},
	{SYS_memfd_create, RESULT},
	{SYS_connect, FIRST_ARGUMENT},
	{SYS_bind, FIRST_ARGUMENT},
	{SYS_pipe, PAIR_AT_FIRST},
	{SYS_pipe2, PAIR_AT_FIRST},
	{SYS_socketpair, PAIR_AT_FOURTH},
};
static const struct syscall_table table = SYSCALL_TABLE(calls);

/* The system call that the thread is in; a call of a handler replaces it. */
static __thread struct {
	uint64_t nr, args[4];
} now __attribute__((tls_model("initial-exec")));

static void put_address(struct seq_buf *s, const uint8_t *ip, uint32_t nr, uint16_t port)
{
	uint32_t i;

	if (nr == 4) {
		for (i = 0; i < nr; i++) {
			seq_puts(s, i ? "." : "");
			seq_putu(s, ip[i]);
		}
	} else {
		seq_puts(s, "[");
		for (i = 0; i < nr; i += 2) {
			seq_puts(s, i ? ":" : "");
			seq_putx(s, (uint64_t)ip[i] << 8 | ip[i + 1]);
		}
		seq_puts(s, "]");
	}
	seq_putc(s, ':');
	seq_putu(s, ntohs(port));
}

/* Put a socket's path or address. Return: 0: it is no socket, or has none. */
static int put_socket(struct seq_buf *s, int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_un un;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} a = {.any.sa_family = AF_UNSPEC};
	const uint32_t path = (uint32_t) __builtin_offsetof(struct sockaddr_un, sun_path);
	static const long ways[] = {SYS_getpeername, SYS_getsockname};
	uint32_t i, bytes = 0;

	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		bytes = sizeof(a) - 1; /* a path may have no NUL */
		if (!arch_syscall(ways[i], fd, (long)&a, (long)&bytes, 0, 0, 0) &&
		    (a.any.sa_family != AF_UNIX || bytes > path))
			break;
		a.any.sa_family = AF_UNSPEC;
	}
	if (a.any.sa_family == AF_UNIX) {
		seq_puts(s, "unix:");
		if (!a.un.sun_path[0]) {
			seq_putc(s, '@');
			a.un.sun_path[bytes < sizeof(a) ? bytes - path : 0] = 0;
			seq_puts(s, a.un.sun_path + 1);
		} else {
			seq_puts(s, a.un.sun_path);
		}
	} else if (a.any.sa_family == AF_INET && a.in.sin_port) {
		put_address(s, (const uint8_t *)&a.in.sin_addr, 4, a.in.sin_port);
	} else if (a.any.sa_family == AF_INET6 && a.in6.sin6_port) {
		put_address(s, (const uint8_t *)&a.in6.sin6_addr, 16, a.in6.sin6_port);
	} else {
		return 0;
	}
	return 1;
}

static void report(int fd)
{
	const struct source_link *first = source_heard(&descriptors);
	char path[64], name[DESCRIPTOR_NAME_BYTES];
	struct seq_buf s;
	long n;

	if (!first || fd < 0 || sys_is_forbidden())
		return;
	seq_init(&s, path, sizeof(path) - 1);
	seq_puts(&s, "/proc/thread-self/fd/");
	seq_putu(&s, (uint64_t)fd);
	path[s.len] = 0;
	n = sys_readlink(path, name, sizeof(name) - 1);
	if (n <= 0)
		return;
	name[n] = 0;
	if (str_starts(name, "socket:[")) {
		seq_init(&s, name, sizeof(name) - 1);
		if (put_socket(&s, fd))
			name[s.len] = 0;
	}
	SOURCE_NOTIFY(struct descriptor_listener, first, fd, name);
}

/*
 * Report the two descriptors at @at. The kernel reads them: a handler may have left the address of
 * another call here.
 */
static void report_pair(uint64_t at)
{
	int fds[2];

	if (sys_read_memory(sys_getpid(), at, fds, sizeof(fds)) != sizeof(fds))
		return;
	report(fds[0]);
	report(fds[1]);
}

static void enter(uint64_t nr, const uint64_t *args)
{
	if (!syscall_table_find(&table, nr))
		return;
	now.nr = nr;
	memcpy(now.args, args, sizeof(now.args));
}

static void leave(uint64_t nr, uint64_t ret)
{
	const struct call *c = syscall_table_find(&table, nr);

	if (!c || sys_failed((long)ret) || sys_is_forbidden())
		return;
	if (c->place == RESULT)
		report((int)ret);
	else if (now.nr != nr)
		return;
	else if (c->place == FIRST_ARGUMENT)
		report((int)now.args[0]);
	else
		report_pair(now.args[c->place == PAIR_AT_FIRST ? 0 : 3]);
}

static struct syscall_listener listener = {.enter.call = enter, .exit.call = leave};

static int want(struct source *s, int on)
{
	(void)s;
	return syscall_table_listen(&table, &listener, on);
}

struct source descriptors = {.want = want};

static int report_one(int fd, void *folder)
{
	if (fd != *(const int *)folder)
		report(fd);
	return 0;
}

void descriptors_report_all(void)
{
	int folder;

	if (!load_acquire(&descriptors.first) || sys_is_forbidden())
		return;
	folder = sys_open("/proc/thread-self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (folder < 0)
		return;
	thread_list_each_in(folder, report_one, &folder);
	sys_close(folder);
}
