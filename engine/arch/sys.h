/* SPDX-License-Identifier: MIT */
/*
 * System calls without libc: no errno, no cancellation point, nothing that the program may have
 * interposed. Each returns the kernel's result, -errno on failure. A thread that may make none of
 * ours (sys_is_forbidden()) gets -EPERM, without a call.
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
 * The system calls that a thread may make for the engine. Once the program has set a seccomp
 * filter, a system call of ours in a thread under that filter could end the program. The kernel is
 * not asked: core/sandbox.c sees the program's calls.
 */
enum sys_rights {
	SYS_UNKNOWN,   /* a thread whose start we have not seen: forbidden when any thread is */
	SYS_FREE,      /* forbidden when all are */
	SYS_FORBIDDEN, /* it, or the thread that made it, has set a filter */
	SYS_OURS,      /* the agent */
};
extern __thread enum sys_rights sys_rights __attribute__((tls_model("initial-exec")));

#define SYS_ALL 0x80000000u
extern uint32_t sys_nr_forbidden; /* threads; or with SYS_ALL: a filter holds for all */

/* Whether the calling thread may make no system call of ours. Any context. */
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

/* An entry that sys_getdents() puts into a buffer; it is `bytes` long. */
struct sys_dirent {
	uint64_t ino;
	int64_t off;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

static inline long sys_getdents(int fd, void *buf, size_t n)
{
	return arch_syscall(SYS_getdents64, fd, (long)buf, (long)n, 0, 0, 0);
}

/* To the beginning of a file or folder. */
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

/* -EEXIST: there is a file of the new name. */
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

/* Memory of this process alone, zero, whole pages. Return: NULL: there is none. */
static inline void *sys_map_anon(size_t bytes)
{
	long p = sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return sys_failed(p) ? NULL : (void *)p;
}

/* The same for a table with room for more than will be used: memory comes with the first store. */
static inline void *sys_map_table(size_t bytes)
{
	long p = sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return sys_failed(p) ? NULL : (void *)p;
}

/*
 * sys_map_table_once() - map the table of @bytes to which the pointer *@table leads, unless it is
 * mapped. One thread at a time; other threads may read the pointer meanwhile.
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
 * sys_empty_table() - a table of @bytes, all zero: @table, emptied, or a new one if @table is NULL.
 * Return: the table; NULL: there is no memory for a new one.
 */
static inline void *sys_empty_table(void *table, size_t bytes)
{
	if (!table)
		return sys_map_table(bytes);
	sys_madvise(table, bytes, MADV_DONTNEED);
	return table;
}

/* @state: one byte a page. Return: 0; -ENOMEM where nothing is mapped. */
static inline int sys_mincore(void *addr, size_t n, uint8_t *state)
{
	return (int)arch_syscall(SYS_mincore, (long)addr, (long)n, (long)state, 0, 0, 0);
}

/*
 * Block the signals of @mask and no others; UINT64_MAX: all. Return: the signals that were blocked
 * before.
 */
static inline uint64_t sys_set_signals(uint64_t mask)
{
	uint64_t before = 0;

	arch_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, (long)&before, sizeof(mask), 0,
		     0);
	return before;
}

/* Less than a second. */
static inline void sys_sleep_ns(long ns)
{
	const long time[2] = {0, ns};

	arch_syscall(SYS_nanosleep, (long)time, 0, 0, 0, 0, 0);
}

/*
 * Block the signals of @mask, too. Return: the signals that were blocked before, for
 * sys_set_signals().
 */
static inline uint64_t sys_put_off_signals(uint64_t mask)
{
	uint64_t before = 0;

	arch_syscall(SYS_rt_sigprocmask, SIG_BLOCK, (long)&mask, (long)&before, sizeof(mask), 0, 0);
	return before;
}

/* CLOCK_MONOTONIC; 0 where the thread may not ask. */
static inline uint64_t sys_now_ns(void)
{
	int64_t time[2] = {0, 0};

	arch_syscall(SYS_clock_gettime, 1 /* CLOCK_MONOTONIC */, (long)time, 0, 0, 0, 0);
	return (uint64_t)time[0] * 1000000000 + (uint64_t)time[1];
}

/*
 * sys_thread_clock() - the number of the CPU clock of the process's thread @tid, for
 * clock_gettime() and timer_create(): the kernel's CPUCLOCK_PERTHREAD | CPUCLOCK_SCHED.
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
 * sys_own_tid() - the calling thread's id. A thread that may make no system call takes it from
 * libc's memory. Any context.
 * Return: the id; 0: not known.
 */
int sys_own_tid(void);

/* Where libc keeps the id: bytes from the thread pointer. Not before this is known. 0: nowhere. */
extern ptrdiff_t sys_tid_at;

static inline int sys_getpid(void)
{
	return (int)arch_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

static inline unsigned int sys_geteuid(void)
{
	return (unsigned int)arch_syscall(SYS_geteuid, 0, 0, 0, 0, 0, 0);
}

/* @comm: 16 bytes. */
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
 * sys_back() - make sure that a mapped range has memory behind it, so that no store can raise
 * SIGBUS. Return: 0; -EFAULT when the file system is full; -EINVAL before Linux 5.14.
 */
static inline int sys_back(void *addr, size_t n)
{
	uintptr_t lo = (uintptr_t)addr & ~(uintptr_t)4095;
	uintptr_t hi = ((uintptr_t)addr + n + 4095) & ~(uintptr_t)4095;

	return sys_madvise((void *)lo, hi - lo, MADV_POPULATE_WRITE);
}

#endif
