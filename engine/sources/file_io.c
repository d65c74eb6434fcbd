/* SPDX-License-Identifier: MIT */
/*
 * See file_io.h. Each call reads from the kernel the kind of the descriptor, the file's offset and
 * the flags with which it was opened, as the program may change all of these unseen. Threads that
 * may make no system call are left out. A handler's call inside another call has its own offset. A
 * call that longjmp() leaves is forgotten at the thread's next call.
 *
 * fork: the child has the same listeners. Costs: two to four system calls for each. Tests:
 * tests/engine/tracers/blk.
 */
#include "engine/sources/file_io.h"

#include <errno.h>
#include <sys/uio.h>

#include "engine/arch/read_memory.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/sources/syscall.h"

#define NESTED	   2u
#define VECTORS	   32u	 /* vectors that are read from the program at a time */
#define MAX_VECTOR 1024u /* the kernel's limit */

/* Where a call has its offset and length. */
static const struct call {
	uint16_t nr;
	uint8_t op;
	uint8_t has_offset; /* it is the fourth argument */
	uint8_t is_vector;
} calls[] = {
	{SYS_read, FILE_IO_READ, 0, 0},	   {SYS_write, FILE_IO_WRITE, 0, 0},
	{SYS_pread64, FILE_IO_READ, 1, 0}, {SYS_pwrite64, FILE_IO_WRITE, 1, 0},
	{SYS_readv, FILE_IO_READ, 0, 1},   {SYS_writev, FILE_IO_WRITE, 0, 1},
	{SYS_preadv, FILE_IO_READ, 1, 1},  {SYS_pwritev, FILE_IO_WRITE, 1, 1},
	{SYS_preadv2, FILE_IO_READ, 1, 1}, {SYS_pwritev2, FILE_IO_WRITE, 1, 1},
	{SYS_fsync, FILE_IO_FLUSH, 0, 0},  {SYS_fdatasync, FILE_IO_FLUSH, 0, 0},
};
static const struct syscall_table table = SYSCALL_TABLE(calls);

static __thread struct {
	uint32_t nr;
	struct {
		uint32_t call;
		int is_ours; /* 0: the call is not about a file */
		struct file_io io;
	} at[NESTED];
} under_way __attribute__((tls_model("initial-exec")));

/* The sum of the lengths of vectors in the program's memory. */
static uint64_t bytes_of(uint64_t vectors, uint64_t nr)
{
	struct iovec copy[VECTORS];
	uint64_t sum = 0, i, k;
	long bytes;

	if (nr > MAX_VECTOR)
		return 0;
	for (i = 0; i < nr; i += VECTORS) {
		k = min_of(nr - i, (uint64_t)VECTORS);
		bytes = (long)(k * sizeof(*copy));
		if (sys_read_memory(sys_getpid(), vectors + i * sizeof(*copy), copy,
				    (size_t)bytes) != bytes)
			break;
		while (k--)
			sum += copy[k].iov_len;
	}
	return sum;
}

static int is_of_file(int fd, struct stat *st)
{
	return !sys_fstat(fd, st) && (S_ISREG(st->st_mode) || S_ISBLK(st->st_mode));
}

static int look(const struct call *c, const uint64_t *args, struct file_io *io)
{
	const int fd = (int)args[0];
	struct stat st;
	long flags, at;

	if (!is_of_file(fd, &st))
		return 0;
	*io = (struct file_io){.op = (enum file_io_op)c->op,
			       .device = S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev};
	if (c->op == FILE_IO_FLUSH) {
		io->sync = 1;
		return 1;
	}
	flags = arch_syscall(SYS_fcntl, fd, F_GETFL, 0, 0, 0, 0);
	io->sync = flags > 0 && flags & (O_SYNC | O_DSYNC | O_DIRECT);
	io->bytes = c->is_vector ? bytes_of(args[1], args[2]) : args[2];
	if (c->has_offset && args[3] != UINT64_MAX) {
		io->offset = args[3];
	} else if (c->op == FILE_IO_WRITE && flags > 0 && flags & O_APPEND) {
		io->offset = (uint64_t)st.st_size;
	} else {
		at = arch_syscall(SYS_lseek, fd, 0, 1 /* SEEK_CUR */, 0, 0, 0);
		io->offset = at > 0 ? (uint64_t)at : 0;
	}
	return 1;
}

static void report(const struct file_io *io)
{
	SOURCE_NOTIFY(struct file_io_listener, load_acquire(&file_ios.first), io);
}

static void enter(uint64_t nr, const uint64_t *args)
{
	const struct call *c = syscall_table_find(&table, nr);
	struct file_io io = {.done = 0};
	uint32_t n;
	int is_ours;

	if (!c || !load_acquire(&file_ios.first))
		return;
	is_ours = look(c, args, &io);
	n = under_way.nr < NESTED ? under_way.nr : 0;
	under_way.at[n].call = c->nr;
	under_way.at[n].is_ours = is_ours;
	under_way.at[n].io = io;
	barrier();
	under_way.nr = n + 1;
	if (is_ours)
		report(&io);
}

static void leave(uint64_t nr, uint64_t ret)
{
	struct file_io io;
	uint32_t n = under_way.nr;
	int is_ours;

	if (!n || under_way.at[n - 1].call != nr)
		return;
	io = under_way.at[n - 1].io;
	is_ours = under_way.at[n - 1].is_ours;
	/* a handler may use `now` from here on */
	barrier();
	under_way.nr = n - 1;
	if (!is_ours)
		return;
	io.done = 1;
	if (sys_failed((long)ret)) {
		io.error = (int)ret;
		io.bytes = 0;
	} else if (io.op != FILE_IO_FLUSH) {
		io.bytes = ret;
	}
	report(&io);
}

static struct syscall_listener listener = {.enter.call = enter, .exit.call = leave};

static int want(struct source *s, int on)
{
	(void)s;
	return syscall_table_listen(&table, &listener, on);
}

struct source file_ios = {.want = want};
