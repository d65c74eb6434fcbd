/* SPDX-License-Identifier: MIT */
/*
 * See attach_impl.h. We attach to a thread with seccomp filters only if they allow the system calls
 * of dlopen(), the engine and its agent. The filters are read by ptrace (needs CAP_SYS_ADMIN) and
 * interpreted for each of these calls. Each argument is a known value or not known; if a filter
 * branches on a value that is not known, both branches are followed. For a call that the engine can
 * do without, the filter may return an error. No call may kill the process, or wait for a
 * supervisor. BPF as in linux/filter.h, results of filters as in seccomp(2). Tests:
 * tests/cli/test_attach.py.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "tools/attach/attach_impl.h"

#ifndef PTRACE_SECCOMP_GET_FILTER
#define PTRACE_SECCOMP_GET_FILTER 0x420c
#endif

#define MAX_FILTERS 64u
#define MAX_STEPS   400000u /* for one call: a filter that needs more is refused */
#define MAX_DEPTH   4096u
#define MAX_KNOWN   3u

#define THREAD_FLAGS 0x3d0f00u /* glibc's pthread_create() */

/* A call, with the low words of its arguments that are known. */
struct call {
	int nr;
	const char *name;
	bool may_fail; /* the engine works without it */
	struct {
		uint8_t i; /* of the argument, + 1; 0: no more */
		uint32_t value;
	} known[MAX_KNOWN];
};

#define CALL(name, ...)                                                                            \
	{                                                                                          \
		SYS_##name, #name, false,                                                          \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define MAY_FAIL(name, ...)                                                                        \
	{                                                                                          \
		SYS_##name, #name, true,                                                           \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define ARG(i, value)                                                                              \
	{                                                                                          \
		(i) + 1, (uint32_t)(value)                                                         \
	}

static const struct call calls[] = {
	/* dlopen() */
	CALL(openat),
	CALL(read),
	CALL(pread64),
	CALL(newfstatat),
	CALL(fstat),
	CALL(close),
	CALL(munmap),
	CALL(mmap, ARG(2, PROT_READ)),
	CALL(mmap, ARG(2, PROT_READ | PROT_WRITE)),
	CALL(mmap, ARG(2, PROT_READ | PROT_EXEC)),
	CALL(mprotect, ARG(2, PROT_READ)),
	CALL(mprotect, ARG(2, PROT_READ | PROT_WRITE)),
	CALL(brk),
	CALL(getcwd),
	CALL(readlinkat),
	CALL(madvise),
	MAY_FAIL(getrandom),
	/* the agent's thread */
	CALL(rt_sigprocmask),
	CALL(clone, ARG(0, THREAD_FLAGS)),
	MAY_FAIL(clone3),
	CALL(set_robust_list),
	MAY_FAIL(rseq),
	CALL(futex),
	CALL(exit),
	CALL(gettid),
	CALL(sched_yield),
	CALL(sched_getaffinity),
	CALL(prctl, ARG(0, 15)),
	CALL(prctl, ARG(0, 21)),
	MAY_FAIL(prctl, ARG(0, 25)),
	MAY_FAIL(unshare),
	MAY_FAIL(close_range),
	CALL(fcntl),
	CALL(signalfd4),
	CALL(socket, ARG(0, AF_UNIX), ARG(1, SOCK_STREAM | SOCK_CLOEXEC), ARG(2, 0)),
	CALL(bind),
	CALL(listen),
	CALL(accept4),
	CALL(connect),
	CALL(sendto),
	CALL(getsockopt),
	CALL(poll),
	CALL(write),
	CALL(unlinkat),
	CALL(tgkill),
	CALL(nanosleep),
	CALL(getdents64),
	/* the area, and the clock */
	CALL(ftruncate),
	CALL(fallocate),
	CALL(flock),
	CALL(mkdirat),
	CALL(fchmod),
	CALL(statfs),
	CALL(fstatfs),
	CALL(lseek),
	CALL(clock_gettime),
	CALL(getpid),
	CALL(getuid),
	CALL(geteuid),
	CALL(kill),
	CALL(uname),
	MAY_FAIL(perf_event_open),
	CALL(ioctl),
	CALL(capget),
	/* text that changes, see text_calls, too */
	MAY_FAIL(mprotect, ARG(2, PROT_READ | PROT_EXEC)),
	MAY_FAIL(mprotect, ARG(2, PROT_READ | PROT_WRITE | PROT_EXEC)),
	MAY_FAIL(membarrier),
	CALL(rt_sigaction),
	CALL(sigaltstack),
	MAY_FAIL(process_vm_readv),
	MAY_FAIL(process_vm_writev),
	MAY_FAIL(get_robust_list),
	MAY_FAIL(mincore),
};

/* To change text the engine makes it writable, or else replaces it by a memfd. */
static const struct call text_calls[] = {
	CALL(mprotect, ARG(2, PROT_READ | PROT_EXEC)),
	CALL(mprotect, ARG(2, PROT_READ | PROT_WRITE | PROT_EXEC)),
};
static const struct call copy_call = CALL(memfd_create);

struct filter {
	struct sock_filter *code;
	long n;
};

/* A word of the interpreter: a value, or not known. */
struct word {
	uint32_t value;
	bool known;
};

struct state {
	struct word a, x, m[BPF_MEMWORDS];
};

struct run {
	const struct filter *f;
	const struct call *call;
	unsigned int steps;
};

static struct word load(const struct call *c, uint32_t at)
{
	const uint32_t args = offsetof(struct seccomp_data, args);

	if (at == offsetof(struct seccomp_data, nr))
		return (struct word){(uint32_t)c->nr, true};
	if (at == offsetof(struct seccomp_data, arch))
		return (struct word){AUDIT_ARCH_X86_64, true};
	for (unsigned int k = 0; k < MAX_KNOWN && c->known[k].i && at >= args; k++) {
		if (at == args + 8u * (c->known[k].i - 1u))
			return (struct word){c->known[k].value, true};
		if (at == args + 8u * (c->known[k].i - 1u) + 4)
			return (struct word){0, true};
	}
	return (struct word){0, false};
}

static struct word compute(uint16_t op, struct word a, struct word b)
{
	uint32_t x = a.value, y = b.value;
	struct word r = {0, a.known && b.known};

	/* a value that is not known does not matter if all its bits are masked out */
	if (op == BPF_AND && ((a.known && !x) || (b.known && !y)))
		return (struct word){0, true};
	switch (op) {
	case BPF_ADD:
		r.value = x + y;
		break;
	case BPF_SUB:
		r.value = x - y;
		break;
	case BPF_MUL:
		r.value = x * y;
		break;
	case BPF_DIV:
		r.known &= y != 0;
		r.value = y ? x / y : 0;
		break;
	case BPF_MOD:
		r.known &= y != 0;
		r.value = y ? x % y : 0;
		break;
	case BPF_AND:
		r.value = x & y;
		break;
	case BPF_OR:
		r.value = x | y;
		break;
	case BPF_XOR:
		r.value = x ^ y;
		break;
	case BPF_LSH:
		r.value = y < 32 ? x << y : 0;
		break;
	case BPF_RSH:
		r.value = y < 32 ? x >> y : 0;
		break;
	case BPF_NEG:
		r = (struct word){-x, a.known};
		break;
	default:
		r.known = false;
	}
	return r;
}

static bool holds(uint16_t op, uint32_t a, uint32_t b)
{
	return op == BPF_JEQ   ? a == b
	       : op == BPF_JGT ? a > b
	       : op == BPF_JGE ? a >= b
			       : (a & b) != 0;
}

/* Whether @ret is an acceptable result of a filter for the call. */
static bool is_good(const struct call *c, struct word ret)
{
	uint32_t action = ret.value & SECCOMP_RET_ACTION_FULL;

	return ret.known && (action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG ||
			     (c->may_fail && action == SECCOMP_RET_ERRNO));
}

/* Interpret from instruction @pc on. Jumps only go forward. Return: whether all paths end well. */
static bool follow(struct run *r, long pc, struct state s, unsigned int depth)
{
	for (; pc >= 0 && pc < r->f->n && depth < MAX_DEPTH; pc++) {
		const struct sock_filter *i = &r->f->code[pc];
		const uint16_t op = BPF_OP(i->code);
		struct word k = {i->k, true};

		if (++r->steps > MAX_STEPS)
			return false;
		switch (BPF_CLASS(i->code)) {
		case BPF_LD:
		case BPF_LDX: {
			struct word got = BPF_MODE(i->code) == BPF_IMM	 ? k
					  : BPF_MODE(i->code) == BPF_MEM ? s.m[i->k % BPF_MEMWORDS]
					  : BPF_MODE(i->code) == BPF_ABS ? load(r->call, i->k)
									 : (struct word){0, false};

			/* BPF_LEN: the size of struct seccomp_data */
			if (BPF_MODE(i->code) == BPF_LEN)
				got = (struct word){sizeof(struct seccomp_data), true};
			*(BPF_CLASS(i->code) == BPF_LD ? &s.a : &s.x) = got;
			break;
		}
		case BPF_ST:
			s.m[i->k % BPF_MEMWORDS] = s.a;
			break;
		case BPF_STX:
			s.m[i->k % BPF_MEMWORDS] = s.x;
			break;
		case BPF_ALU:
			s.a = compute(op, s.a, BPF_SRC(i->code) == BPF_X ? s.x : k);
			break;
		case BPF_MISC:
			if (BPF_MISCOP(i->code) == BPF_TAX)
				s.x = s.a;
			else
				s.a = s.x;
			break;
		case BPF_RET:
			return is_good(r->call, BPF_RVAL(i->code) == BPF_A ? s.a : k);
		case BPF_JMP: {
			struct word b = BPF_SRC(i->code) == BPF_X ? s.x : k;

			if (op == BPF_JA) {
				pc += i->k;
			} else if (s.a.known && b.known) {
				pc += holds(op, s.a.value, b.value) ? i->jt : i->jf;
			} else {
				if (!follow(r, pc + 1 + i->jt, s, depth + 1))
					return false;
				pc += i->jf;
			}
			break;
		}
		default:
			return false;
		}
	}
	return false;
}

static bool lets(const struct filter *f, const struct call *c)
{
	struct run r = {f, c, 0};

	return follow(&r, 0, (struct state){0}, 0);
}

static const char *refused_by(const struct filter *f)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (!lets(f, &calls[i]))
			return calls[i].name;
	return NULL;
}

/* How text can change under all filters of a thread. */
struct text_ways {
	const char *refused; /* the call that cannot make it writable */
	bool no_copy;
};

static void find_ways(const struct filter *f, struct text_ways *ways)
{
	for (size_t i = 0; i < sizeof(text_calls) / sizeof(*text_calls); i++)
		if (!lets(f, &text_calls[i]))
			ways->refused = text_calls[i].name;
	ways->no_copy |= !lets(f, &copy_call);
}

int attach_seccomp(int tid, const char **call)
{
	struct text_ways ways = {0};

	for (unsigned int i = 0; i < MAX_FILTERS; i++) {
		struct filter f = {0};

		errno = 0;
		f.n = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, (long)i, 0);
		if (f.n < 0 && errno == ENOENT && i) {
			*call = ways.no_copy ? ways.refused : NULL;
			return *call ? -EPERM : 0;
		}
		if (f.n < 0)
			return -errno;
		f.code = calloc((size_t)f.n, sizeof(*f.code));
		if (!f.code)
			return -ENOMEM;
		f.n = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, (long)i, f.code);
		*call = f.n < 0 ? "ptrace" : refused_by(&f);
		if (!*call)
			find_ways(&f, &ways);
		free(f.code);
		if (*call)
			return -EPERM;
	}
	return -E2BIG;
}
