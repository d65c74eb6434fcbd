/* SPDX-License-Identifier: MIT */
/*
 * System calls without libc: no errno, no cancellation point, nothing that the program may have
 * interposed. Any context. A function returns the kernel's result, -errno on failure, unless its
 * comment says otherwise. In a thread that may make no system call for the engine
 * (sys_is_forbidden()), no call is made, and the result is -EPERM.
 */
#ifndef VESTIGE_ARCH_SYS_H
#define VESTIGE_ARCH_SYS_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "arch_barrier.h"
#include "arch_syscall.h"
#include "engine/base/compiler.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/*
 * Whether a thread may make system calls for the engine. Once the program has set a seccomp filter,
 * a system call of the engine in a thread under that filter could end the program. core/sandbox.c
 * learns of a filter from the program's own calls; the kernel is not asked.
 */
enum sys_rights {
	SYS_UNKNOWN,   /* its start was not seen: no calls once any thread is forbidden */
	SYS_FREE,      /* no calls once all threads are forbidden (SYS_ALL) */
	SYS_FORBIDDEN, /* it, or the thread that made it, has set a filter: no calls */
	SYS_OURS,      /* the agent: calls always */
};
extern __thread enum sys_rights sys_rights __attribute__((tls_model("initial-exec")));

#define SYS_ALL 0x80000000u
/* The number of forbidden threads; with the bit SYS_ALL: a filter holds for all threads. */
extern uint32_t sys_nr_forbidden;

/* Whether the calling thread may make no system call for the engine. Any context. */
static inline int sys_is_forbidden(void)
{
	uint32_t nr = load_relaxed(&sys_nr_forbidden);

	return unlikely(nr) && sys_rights != SYS_OURS && (sys_rights != SYS_FREE || (nr & SYS_ALL));
}

static inline long arch_syscall(long n, long a, long b, long c, long d, long e, long f)
{
	return sys_is_forbidden() ? -EPERM : arch_raw_syscall(n, a, b, c, d, e, f);
}

static inline int sys_failed(long r)
{
	return (unsigned long)r >= (unsigned long)-4095L;
}

static inline int sys_open(const char *path, int flags, int mode)
{
	return (int)arch_syscall(SYS_openat, AT_FDCWD, (long)path, flags, mode, 0, 0);
}

static inline int sys_close(int fd)
{
	return (int)arch_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
}

/* One entry in the buffer of sys_getdents() (the kernel's struct linux_dirent64). */
struct sys_dirent {
	uint64_t ino;
	int64_t off;
	uint16_t bytes; /* of this entry */
	uint8_t type;
	char name[];
};

static inline long sys_getdents(int fd, void *buf, size_t n)
{
	return arch_syscall(SYS_getdents64, fd, (long)buf, (long)n, 0, 0, 0);
}

/* Set the offset to the beginning of a file or folder. */
static inline void sys_rewind(int fd)
{
	arch_syscall(SYS_lseek, fd, 0, 0 /* SEEK_SET */, 0, 0, 0);
}

static inline long sys_read(int fd, void *buf, size_t n)
{
	return arch_syscall(SYS_read, fd, (long)buf, (long)n, 0, 0, 0);
}

static inline long sys_pwrite(int fd, const void *buf, size_t n, uint64_t offset)
{
	return arch_syscall(SYS_pwrite64, fd, (long)buf, (long)n, (long)offset, 0, 0);
}

static inline long sys_pread(int fd, void *buf, size_t n, uint64_t offset)
{
	return arch_syscall(SYS_pread64, fd, (long)buf, (long)n, (long)offset, 0, 0);
}

/* Rename; -EEXIST: a file @to exists, and nothing is changed. */
static inline int sys_rename_new(const char *from, const char *to)
{
	return (int)arch_syscall(SYS_renameat2, AT_FDCWD, (long)from, AT_FDCWD, (long)to,
				 1 /* RENAME_NOREPLACE */, 0);
}

static inline int sys_fstat(int fd, struct stat *st)
{
	return (int)arch_syscall(SYS_fstat, fd, (long)st, 0, 0, 0, 0);
}

static inline int sys_ftruncate(int fd, uint64_t bytes)
{
	return (int)arch_syscall(SYS_ftruncate, fd, (long)bytes, 0, 0, 0, 0);
}

static inline int sys_fallocate(int fd, uint64_t offset, uint64_t bytes)
{
	return (int)arch_syscall(SYS_fallocate, fd, 0, (long)offset, (long)bytes, 0, 0);
}

/* Anonymous memory with a descriptor. */
static inline int sys_memfd_create(const char *name, unsigned int flags)
{
	return (int)arch_syscall(SYS_memfd_create, (long)name, flags, 0, 0, 0, 0);
}

static inline int sys_mkdir(const char *path, int mode)
{
	return (int)arch_syscall(SYS_mkdirat, AT_FDCWD, (long)path, mode, 0, 0, 0);
}

static inline int sys_unlink(const char *path)
{
	return (int)arch_syscall(SYS_unlinkat, AT_FDCWD, (long)path, 0, 0, 0, 0);
}

static inline int sys_unlink_at(int folder, const char *name)
{
	return (int)arch_syscall(SYS_unlinkat, folder, (long)name, 0, 0, 0, 0);
}

static inline long sys_readlink(const char *path, char *buf, size_t n)
{
	return arch_syscall(SYS_readlinkat, AT_FDCWD, (long)path, (long)buf, (long)n, 0, 0);
}

/* The address, or -errno: test with sys_failed(). */
static inline long sys_mmap(void *addr, size_t n, int prot, int flags, int fd, uint64_t offset)
{
	return arch_syscall(SYS_mmap, (long)addr, (long)n, prot, flags, fd, (long)offset);
}

/* Private memory, zero, rounded up to whole pages. Return: its address; NULL: out of memory. */
static inline void *sys_map_anon(size_t bytes)
{
	long p = sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return sys_failed(p) ? NULL : (void *)p;
}

/*
 * The same for a table of which most may never be used: the kernel reserves no swap for it
 * (MAP_NORESERVE).
 */
static inline void *sys_map_table(size_t bytes)
{
	long p = sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return sys_failed(p) ? NULL : (void *)p;
}

/*
 * sys_map_table_once() - if the pointer *@table is NULL, set it to a new table of @bytes. Only one
 * thread at a time may call this; other threads may read the pointer meanwhile.
 * Return: 0; -ENOMEM.
 */
#define sys_map_table_once(table, bytes)                                                           \
	({                                                                                         \
		if (!*(table))                                                                     \
			store_release((table), (__typeof__(*(table)))sys_map_table(bytes));        \
		*(table) ? 0 : -ENOMEM;                                                            \
	})

static inline int sys_munmap(void *addr, size_t n)
{
	return (int)arch_syscall(SYS_munmap, (long)addr, (long)n, 0, 0, 0, 0);
}

static inline int sys_mprotect(void *addr, size_t n, int prot)
{
	return (int)arch_syscall(SYS_mprotect, (long)addr, (long)n, prot, 0, 0, 0);
}

static inline int sys_madvise(void *addr, size_t n, int advice)
{
	return (int)arch_syscall(SYS_madvise, (long)addr, (long)n, advice, 0, 0, 0);
}

/*
 * sys_empty_table() - clear @table, @bytes long, or map a new one if @table is NULL.
 * Return: the table; NULL: out of memory.
 */
static inline void *sys_empty_table(void *table, size_t bytes)
{
	if (!table)
		return sys_map_table(bytes);
	sys_madvise(table, bytes, MADV_DONTNEED);
	return table;
}

/* @state: gets one byte for each page. Return: 0; -ENOMEM: some page is not mapped. */
static inline int sys_mincore(void *addr, size_t n, uint8_t *state)
{
	return (int)arch_syscall(SYS_mincore, (long)addr, (long)n, (long)state, 0, 0, 0);
}

/*
 * Block the signals of @mask and no others; UINT64_MAX: all. Return: the signals that were blocked
 * before; 0 if the call failed.
 */
static inline uint64_t sys_set_signals(uint64_t mask)
{
	uint64_t before = 0;

	arch_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, (long)&before, sizeof(mask), 0,
		     0);
	return before;
}

/* The kernel's struct for rt_sigaction(). */
struct sys_action {
	uint64_t handler;
	uint64_t flags;
	uint64_t restorer;
	uint64_t mask;
};

/* A signal's handler. Return: 0 or -errno. */
static inline int sys_get_action(int sig, struct sys_action *a)
{
	return (int)arch_syscall(SYS_rt_sigaction, sig, 0, (long)a, sizeof(a->mask), 0, 0);
}

static inline int sys_set_action(int sig, const struct sys_action *a)
{
	return (int)arch_syscall(SYS_rt_sigaction, sig, (long)a, 0, sizeof(a->mask), 0, 0);
}

/* @ns: 0 .. 999999999. */
static inline void sys_sleep_ns(long ns)
{
	const long time[2] = {0, ns};

	arch_syscall(SYS_nanosleep, (long)time, 0, 0, 0, 0, 0);
}

/*
 * Block the signals of @mask in addition to those already blocked. Return: the signals that were
 * blocked before, for sys_set_signals(); 0 if the call failed.
 */
static inline uint64_t sys_put_off_signals(uint64_t mask)
{
	uint64_t before = 0;

	arch_syscall(SYS_rt_sigprocmask, SIG_BLOCK, (long)&mask, (long)&before, sizeof(mask), 0, 0);
	return before;
}

/*
 * sys_clock - reads a clock as clock_gettime() does: the vDSO's function once sys_use_clock() has
 * set it, and the system call before. Never libc's name, which the program or a library like
 * libfaketime may define. Any context.
 */
extern int (*sys_clock)(clockid_t clock, struct timespec *time);

/* @read: the vDSO's function; NULL: there is none, as under valgrind. Constructor context. */
void sys_use_clock(int (*read)(clockid_t clock, struct timespec *time));

/*
 * sys_clock_ns() - the time of @clock in ns; 0: there is no vDSO, and this thread may make no
 * system call. The vDSO makes one itself for a clock that it cannot read (clock_makes_calls()).
 * Any context.
 */
static inline uint64_t sys_clock_ns(clockid_t clock)
{
	struct timespec t = {0, 0};

	sys_clock(clock, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* CLOCK_MONOTONIC in ns; 0 in a thread that may make no system call. */
static inline uint64_t sys_now_ns(void)
{
	int64_t time[2] = {0, 0};

	arch_syscall(SYS_clock_gettime, 1 /* CLOCK_MONOTONIC */, (long)time, 0, 0, 0, 0);
	return (uint64_t)time[0] * 1000000000 + (uint64_t)time[1];
}

/*
 * sys_thread_clock() - the clockid_t of the CPU time of thread @tid, for clock_gettime() and
 * timer_create(): the kernel's CPUCLOCK_PERTHREAD | CPUCLOCK_SCHED. @tid: of this process.
 */
static inline int sys_thread_clock(int tid)
{
	return (int)(~(uint32_t)tid << 3 | 6);
}

static inline int sys_gettid(void)
{
	return (int)arch_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

/*
 * sys_own_tid() - the calling thread's id: by gettid(), or from libc's memory in a thread that may
 * make no system call. Any context.
 * Return: the id; 0: it may make no system call, and sys_tid_at is not known.
 */
int sys_own_tid(void);

/* Where libc keeps a thread's id: offset in bytes from the thread pointer. 0: not known (yet). */
extern ptrdiff_t sys_tid_at;

static inline int sys_getpid(void)
{
	return (int)arch_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

static inline unsigned int sys_geteuid(void)
{
	return (unsigned int)arch_syscall(SYS_geteuid, 0, 0, 0, 0, 0, 0);
}

/* @comm: gets the calling thread's name; 16 bytes. */
static inline void sys_get_comm(char *comm)
{
	arch_syscall(SYS_prctl, 16 /* PR_GET_NAME */, (long)comm, 0, 0, 0, 0);
}

/* @cmd: MEMBARRIER_CMD_*. */
static inline int sys_membarrier(int cmd)
{
	return (int)arch_syscall(SYS_membarrier, cmd, 0, 0, 0, 0, 0);
}

/*
 * sys_back() - allocate the memory of a mapped range now, so that no later store raises SIGBUS.
 * Return: 0; -EFAULT: the file system is full; -EINVAL before Linux 5.14.
 */
static inline int sys_back(void *addr, size_t n)
{
	uintptr_t lo = (uintptr_t)addr & ~(uintptr_t)4095;
	uintptr_t hi = ((uintptr_t)addr + n + 4095) & ~(uintptr_t)4095;

	return sys_madvise((void *)lo, hi - lo, MADV_POPULATE_WRITE);
}

#endif
