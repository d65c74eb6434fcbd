/* SPDX-License-Identifier: MIT */
/*
 * mmio: two pages of a memfd, the first of which is `device`. For a word on a line it does the
 * accesses that the test of that name knows, each by a function of its name, and says `done N`:
 * a sum of what the memory has then.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vestige/vestige.h>

#define CALLED __attribute__((noipa, noinline))
#define BYTES  8192

uint8_t *device;

static CALLED void store_1(void)
{
	__asm__ volatile("movb $0x11, (%0)" : : "r"(device) : "memory");
}

static CALLED void store_2(void)
{
	__asm__ volatile("movw $0x2222, 2(%0)" : : "r"(device) : "memory");
}

static CALLED void store_4(void)
{
	__asm__ volatile("movl %1, 4(%0)" : : "r"(device), "r"(0x44444444) : "memory");
}

static CALLED void store_8(void)
{
	__asm__ volatile("movq %1, 8(%0,%2,8)"
			 :
			 : "r"(device), "r"(0x8888888888888888), "r"(0l)
			 : "memory");
}

static uint64_t check(uint64_t got, uint64_t want, const char *what)
{
	if (got != want)
		printf("%s: %lx, not %lx; ", what, got, want);
	return got;
}

static CALLED uint64_t load_8(void)
{
	uint64_t v;

	__asm__ volatile("movq 8(%1), %0" : "=r"(v) : "r"(device));
	return v;
}

static CALLED uint64_t load_4(void)
{
	uint64_t v;

	__asm__ volatile("movl 4(%1), %k0" : "=r"(v) : "r"(device));
	return v;
}

static CALLED uint64_t load_signed_2(void)
{
	uint64_t v;

	__asm__ volatile("movswq 2(%1), %0" : "=r"(v) : "r"(device));
	return v;
}

static CALLED uint64_t load_1(void)
{
	uint64_t v = -1;

	__asm__ volatile("movb (%1), %%ah\n\tmovzbl %%ah, %%eax" : "+a"(v) : "r"(device));
	return v;
}

static void moves(void)
{
	store_1();
	store_2();
	store_4();
	store_8();
	check(load_8(), 0x8888888888888888, "load_8");
	check(load_4(), 0x44444444, "load_4");
	check(load_signed_2(), 0x2222, "load_signed_2");
	check(load_1(), 0x11, "load_1");
}

/* Read, modify, write: what each finds and leaves is in the test. */
static CALLED void rmw_add(void)
{
	__asm__ volatile("addl $5, 16(%0)" : : "r"(device) : "memory", "cc");
}

static CALLED void rmw_inc(void)
{
	__asm__ volatile("lock incq 24(%0)" : : "r"(device) : "memory", "cc");
}

static CALLED uint64_t rmw_xchg(void)
{
	uint64_t v = 0x77;

	__asm__ volatile("xchgb %b0, 16(%1)" : "+q"(v) : "r"(device) : "memory");
	return v;
}

static CALLED uint64_t rmw_xadd(void)
{
	uint64_t v = 0x10;

	__asm__ volatile("lock xaddq %0, 24(%1)" : "+r"(v) : "r"(device) : "memory", "cc");
	return v;
}

static CALLED uint64_t rmw_cmpxchg(uint64_t expected)
{
	__asm__ volatile("lock cmpxchgq %2, 24(%1)"
			 : "+a"(expected)
			 : "r"(device), "r"(0x99l)
			 : "memory", "cc");
	return expected;
}

static CALLED uint64_t rmw_bts(void)
{
	uint8_t was;

	__asm__ volatile("btsq %2, 16(%1); setc %0"
			 : "=q"(was)
			 : "r"(device), "r"(128l + 3)
			 : "memory", "cc");
	return was;
}

static CALLED int compare(void)
{
	uint8_t less;

	__asm__ volatile("cmpw $0x1234, 34(%1); setb %0"
			 : "=q"(less)
			 : "r"(device)
			 : "memory", "cc");
	return less;
}

static CALLED uint64_t push_pop(void)
{
	uint64_t v;

	__asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushq 24(%1)\n\tpopq 40(%1)\n\tpushq 40(%1)\n\t"
			 "popq %0\n\tlea 128(%%rsp), %%rsp"
			 : "=&r"(v)
			 : "r"(device)
			 : "memory");
	return v;
}

static void rmw(void)
{
	rmw_add();
	rmw_inc();
	check(rmw_xchg(), 5, "xchg");
	check(rmw_xadd(), 1, "xadd");
	check(rmw_cmpxchg(5), 0x11, "cmpxchg that fails");
	check(rmw_cmpxchg(0x11), 0x11, "cmpxchg");
	check(rmw_bts(), 0, "bts");
	check((uint64_t)compare(), 1, "cmp");
	check(push_pop(), 0x99, "push and pop");
}

static CALLED void rep_stos(void)
{
	void *to = device + 64;
	long n = 5;

	__asm__ volatile("rep stosl" : "+D"(to), "+c"(n) : "a"(0x01020304) : "memory");
	check((uint64_t)to, (uint64_t)device + 84, "stos");
	check((uint64_t)n, 0, "stos' count");
}

static CALLED void rep_movs(void)
{
	void *from = device + 64, *to = device + 128;
	long n = 3;

	__asm__ volatile("rep movsq" : "+S"(from), "+D"(to), "+c"(n) : : "memory");
	check((uint64_t)from, (uint64_t)device + 88, "movs");
}

/* From the second page, which is not watched, into the first, backwards. */
static CALLED void movs_into(void)
{
	uint8_t *from = device + 4096 + 3, *to = device + 4096 - 1;
	long n = 4;

	memcpy(device + 4096, "abcd", 4);
	__asm__ volatile("std; rep movsb; cld" : "+S"(from), "+D"(to), "+c"(n) : : "memory");
	check((uint64_t)to, (uint64_t)device + 4091, "backwards");
}

static CALLED void scas(void)
{
	void *at = device + 64;
	long n = 100;

	__asm__ volatile("repne scasb" : "+D"(at), "+c"(n) : "a"(1) : "memory", "cc");
	check((uint64_t)at, (uint64_t)device + 68, "scas");
	check((uint64_t)n, 96, "scas' count");
}

static void strings(void)
{
	rep_stos();
	rep_movs();
	movs_into();
	scas();
}

static CALLED void sse_store(void)
{
	static const uint64_t v[2] __attribute__((aligned(16))) = {0x1111111111111111, 0x2222};

	__asm__ volatile("movdqa %1, %%xmm9\n\tmovdqa %%xmm9, 256(%0)\n\tmovss %%xmm9, 272(%0)"
			 :
			 : "r"(device), "m"(v)
			 : "xmm9", "memory");
}

static CALLED uint64_t sse_load(void)
{
	uint64_t v;

	__asm__ volatile("movups 256(%1), %%xmm3\n\tpsrldq $8, %%xmm3\n\tmovq %%xmm3, %0"
			 : "=r"(v)
			 : "r"(device)
			 : "xmm3");
	return v;
}

static CALLED double x87(void)
{
	double d;

	__asm__ volatile("fld1\n\tfstl 280(%1)\n\tfaddl 280(%1)\n\tfstpl %0"
			 : "=m"(d)
			 : "r"(device)
			 : "memory");
	return d;
}

static CALLED uint64_t avx(void)
{
	uint64_t v;

	__asm__ volatile("vpcmpeqd %%ymm8, %%ymm8, %%ymm8\n\tvmovdqu %%ymm8, 320(%1)\n\t"
			 "vpaddq 320(%1), %%ymm8, %%ymm11\n\tvextracti128 $1, %%ymm11, %%xmm11\n\t"
			 "vmovq %%xmm11, %0\n\tvzeroupper"
			 : "=r"(v)
			 : "r"(device)
			 : "xmm8", "xmm11", "memory");
	return v;
}

/* 64 bytes, an offset that is counted in them, registers above the 16th, one word for all eight. */
__attribute__((target("avx512f,avx512vl,avx512dq"))) static CALLED uint64_t evex(void)
{
	uint64_t v;

	__asm__ volatile(
		"vpternlogd $0xff, %%zmm20, %%zmm20, %%zmm20\n\t"
		"vmovdqu64 %%zmm20, 512(%1)\n\tvpaddq 512(%1)%{1to8%}, %%zmm20, %%zmm21\n\t"
		"vpaddq 512(%1), %%zmm21, %%zmm21\n\tvmovdqu32 %%ymm21, 576(%1)\n\t"
		"vextracti64x4 $1, %%zmm21, %%ymm21\n\tvextracti64x2 $1, %%ymm21, %%xmm21\n\t"
		"vmovq %%xmm21, %0"
		: "=r"(v)
		: "r"(device)
		: "xmm20", "xmm21", "memory");
	return v;
}

static void evexes(void)
{
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
	    __builtin_cpu_supports("avx512dq"))
		check(evex(), (uint64_t)-3, "evex");
}

static void vectors(void)
{
	sse_store();
	check(sse_load(), 0x2222, "sse");
	check(x87() == 2.0, 1, "x87");
	if (__builtin_cpu_supports("avx2"))
		check(avx(), (uint64_t)-2, "avx");
}

/* Four threads: each adds to a counter of all and stores to a word of its own. */
#define TURNS 2000
static CALLED void *hammer(void *arg)
{
	volatile uint32_t *own = (volatile uint32_t *)(device + 512) + (long)arg;
	uint64_t *all = (uint64_t *)(device + 640);

	for (uint32_t i = 0; i < TURNS; i++) {
		__atomic_fetch_add(all, 1, __ATOMIC_RELAXED);
		*own = i;
	}
	return NULL;
}

static void threads(void)
{
	pthread_t t[4];

	*(uint64_t *)(device + 640) = 0;
	for (long i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, hammer, (void *)i);
	for (long i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	check(*(uint64_t *)(device + 640), 4 * TURNS, "the counter of all");
}

static sigjmp_buf back;
static void *faulted;
static int handled;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	faulted = info->si_addr;
	handled++;
	device[700] = (uint8_t)handled; /* watched, in the handler */
	siglongjmp(back, 1);
}

/* Faults of its own, by an address that is not mapped, from watched memory, too. */
static CALLED void own_fault(void)
{
	struct sigaction a = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO}, was;
	uint8_t *bad = (uint8_t *)4096;

	handled = 0;
	sigaction(SIGSEGV, &a, &was);
	check(was.sa_handler == SIG_DFL, 1, "the handler before");
	if (!sigsetjmp(back, 1))
		*(volatile uint8_t *)bad = 1;
	check((uint64_t)faulted, 4096, "where it faulted");
	if (!sigsetjmp(back, 1))
		__asm__ volatile("movsb" : : "S"(device), "D"(bad + 8) : "memory");
	check((uint64_t)faulted, 4104, "where movs faulted");
	check((uint64_t)handled, 2, "faults");
	sigaction(SIGSEGV, &was, &a);
	check(a.sa_sigaction == on_fault, 1, "the handler");
}

static CALLED void child_store(uint32_t v)
{
	*(volatile uint32_t *)(device + 800) = v;
}

static void forks(void)
{
	int status, pid = fork();

	if (!pid) {
		child_store(0xc1);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	check((uint64_t)status, 0, "the child's end");
	check(*(volatile uint32_t *)(device + 800), 0xc1, "the child's store");
}

/* System calls with pointers to watched memory: what they do there is not seen. */
static CALLED void calls(void)
{
	struct iovec v[2] = {{device + 900, 3}, {device + 4096 + 8, 3}};
	struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
	char text[8] = {0};
	int p[2], s[2];

	check((uint64_t)pipe(p), 0, "pipe");
	check((uint64_t)socketpair(AF_UNIX, SOCK_DGRAM, 0, s), 0, "socketpair");
	check((uint64_t)write(p[1], "abcdef", 6), 6, "write");
	check((uint64_t)read(p[0], device + 904, 6), 6, "read");
	check((uint64_t)write(p[1], device + 904, 6), 6, "write from it");
	check((uint64_t)readv(p[0], v, 2), 6, "readv");
	check((uint64_t)sendmsg(s[0], &m, 0), 6, "sendmsg");
	check((uint64_t)recv(s[1], text, sizeof(text), 0), 6, "recv");
	check((uint64_t)strcmp(text, "abcdef"), 0, "what was sent");
	check((uint64_t)send(s[1], "uvwxyz", 6, 0), 6, "send");
	check((uint64_t)recvmsg(s[0], &m, 0), 6, "recvmsg");
	close(p[0]);
	close(p[1]);
	close(s[0]);
	close(s[1]);
}

static CALLED void calls_check(void)
{
	check((uint64_t)memcmp(device + 4096 + 8, "xyz", 3), 0, "the second vector");
	check(device[900] == 'u' && device[902] == 'w' && device[909] == 'f', 1, "the first");
}

static void calls_all(void)
{
	calls();
	calls_check();
}

static CALLED void in_handler(int sig)
{
	device[701] = (uint8_t)sig;
}

/* SIGSEGV is blocked, as far as the program sees. */
static CALLED void masks(void)
{
	struct sigaction a = {.sa_handler = in_handler}, was;
	sigset_t all, old;

	sigfillset(&all);
	sigfillset(&a.sa_mask);
	sigaction(SIGUSR1, &a, NULL);
	sigaction(SIGUSR1, NULL, &was);
	check((uint64_t)sigismember(&was.sa_mask, SIGSEGV), 1, "the handler's mask");
	sigprocmask(SIG_SETMASK, &all, &old);
	check((uint64_t)sigismember(&old, SIGSEGV), 0, "the mask before");
	device[702] = 1;
	sigprocmask(SIG_SETMASK, NULL, &all);
	check((uint64_t)sigismember(&all, SIGSEGV), 1, "the mask");
	sigprocmask(SIG_SETMASK, &old, NULL);
	sigprocmask(SIG_SETMASK, NULL, &all);
	check((uint64_t)sigismember(&all, SIGSEGV), 0, "the mask again");
	raise(SIGUSR1);
}

static CALLED void wait_there(pthread_mutex_t *m)
{
	pthread_mutex_lock(m);
	pthread_mutex_unlock(m);
}

static CALLED void *waiter(void *arg)
{
	for (int i = 0; i < 200; i++)
		wait_there(arg);
	return NULL;
}

/* Threads that wait for a lock that is in watched memory. */
static void locks(void)
{
	pthread_mutex_t *m = (pthread_mutex_t *)(device + 1024);
	pthread_t t[4];

	pthread_mutex_init(m, NULL);
	pthread_mutex_lock(m);
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, waiter, m);
	usleep(1000);
	pthread_mutex_unlock(m);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

static void unmap(void)
{
	store_4();
	munmap(device, 4096);
	device = mmap(device, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_ANONYMOUS,
		      -1, 0);
	store_4();
}

/* An instruction that mmiotrace does not know. */
static CALLED void unknown(void)
{
	__asm__ volatile("fxsave 2048(%0)" : : "r"(device) : "memory");
	store_4();
}

/* SIGSEGV is blocked until the next line. */
static void block(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void unblock(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static CALLED void die(void)
{
	store_4();
	*(volatile int *)4096 = 1;
}

static int stop;

static CALLED void *until_stopped(void *arg)
{
	uint64_t *all = (uint64_t *)(device + 640), *own = all + 1 + (long)arg, n = 0;
	pthread_mutex_t *m = (pthread_mutex_t *)(device + 1024);

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		__atomic_fetch_add(all, 1, __ATOMIC_RELAXED);
		++*(volatile uint64_t *)own;
		pthread_mutex_lock(m);
		++*(volatile uint64_t *)(all + 8);
		pthread_mutex_unlock(m);
		n++;
	}
	check(*own, n, "a thread's own");
	return (void *)n;
}

/* The tracer comes and goes while threads work there. */
static void toggle(void)
{
	pthread_mutex_t *m = (pthread_mutex_t *)(device + 1024);
	uint64_t all = 0;
	pthread_t t[4];
	void *n;

	memset(device + 640, 0, 80);
	pthread_mutex_init(m, NULL);
	stop = 0;
	for (long i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, until_stopped, (void *)i);
	for (int i = 0; i < 20; i++) {
		if (vestige_write("current_tracer", i & 1 ? "nop" : "mmiotrace", i & 1 ? 3 : 9) < 0)
			printf("current_tracer: %s; ", strerror(errno));
		usleep(2000);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &n);
		all += (uint64_t)n;
	}
	check(*(uint64_t *)(device + 640), all, "the counter of all");
	check(*(uint64_t *)(device + 704), all, "the one with a lock");
}

static uint64_t sum(void)
{
	uint64_t s = 0;

	for (int i = 0; i < BYTES; i++)
		s = s * 31 + device[i];
	return s;
}

static const struct {
	const char *word;
	void (*work)(void);
} works[] = {
	{"moves", moves},     {"rmw", rmw},	    {"strings", strings},
	{"vectors", vectors}, {"threads", threads}, {"own_fault", own_fault},
	{"forks", forks},     {"calls", calls_all}, {"masks", masks},
	{"locks", locks},     {"unmap", unmap},	    {"toggle", toggle},
	{"unknown", unknown}, {"die", die},	    {"evex", evexes},
	{"block", block},     {"unblock", unblock},
};

int main(int argc, char **argv)
{
	char line[64];
	int fd = memfd_create("device", 0);

	if (fd < 0 || ftruncate(fd, BYTES))
		return 1;
	device = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (argc > 1 && vestige_watch(device, 4096, argv[1]))
		printf("vestige_watch: %s; ", strerror(errno));
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		for (size_t i = 0; i < sizeof(works) / sizeof(*works); i++)
			if (!strcmp(line, works[i].word))
				works[i].work();
		printf("done %lu\n", !strcmp(line, "sum") ? sum() : (uint64_t)device);
		fflush(stdout);
	}
	return 0;
}
