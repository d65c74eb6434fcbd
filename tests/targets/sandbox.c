/* SPDX-License-Identifier: MIT */
/*
 * sandbox WAY FOLDER: sets a seccomp filter, then does all that a sandboxed program may do, each
 * with counted calls. The filter allows all system calls except those made by libvestige.so itself
 * (seccomp_data has the instruction's address): these give a SIGSYS, whose handler prints the
 * number and ends the program with status 42.
 *
 *	prctl	by prctl()			all	by syscall(SYS_seccomp), for all threads
 *	seccomp	by syscall(SYS_seccomp)		late	the same, in a thread of which others are
 *							free
 *	syscall	by syscall(SYS_prctl)		refused	asked for three times in vain, never set
 *	many	by prctl(); then MANY threads at once, with stacks of libc's and of their own
 *	strict	nothing is left but write() and exit()
 *	instruction	by one of its own; it goes on when the agent has ended, if there is one
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "target.h"
#include "vestige/vestige.h"

static unsigned long made;
static const char *door, *folder;

static __attribute__((noipa)) int counted(int n)
{
	__atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
	return n;
}

/* A stack deeper than what was used before. */
static __attribute__((noipa)) int deep(int n)
{
	volatile char here[200] = {0};

	__atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
	return n ? deep(n - 1) + here[n % 200] : 0;
}

static NOTRACE void calls(int n)
{
	while (n--)
		counted(n);
}

/* Where the library's text is; 0: it is not there. */
extern const char __start_vestige_text[] __attribute__((weak));
extern const char __stop_vestige_text[] __attribute__((weak));

static NOTRACE int find_library(uint64_t *lo, uint64_t *hi)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[4096];
	int found = __start_vestige_text != NULL;

	*lo = (uint64_t)__start_vestige_text;
	*hi = (uint64_t)__stop_vestige_text;
	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "r-xp") && strstr(line, "libvestige.so"))
			found = sscanf(line, "%lx-%lx", lo, hi) == 2;
	if (f)
		fclose(f);
	return found;
}

static NOTRACE void caught(int sig, siginfo_t *info, void *context)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "the engine makes system call %d\n", info->si_syscall);

	(void)sig;
	(void)context;
	if (write(1, line, (size_t)n) == n)
		_exit(42);
}

#define DATA(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(field))
#define IP	    offsetof(struct seccomp_data, instruction_pointer)

static NOTRACE int nr_threads(void)
{
	char line[256];
	FILE *f = fopen("/proc/self/status", "re");
	int n = 0;

	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, "Threads:", 8))
			n = atoi(line + 8);
	fclose(f);
	return n;
}

/* A thread that is joined is counted until the kernel has removed it: up to 10 s. */
static NOTRACE int threads_left(void)
{
	int n, i;

	for (i = 0; (n = nr_threads()) > 1 && i < 10000; i++)
		usleep(1000);
	return n;
}

static NOTRACE long by_itself(long nr, long a, long b, const void *c)
{
	__asm__ volatile("syscall" : "+a"(nr) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return nr;
}

/*
 * Until it is the only thread. By itself: libc's functions make records of events (malloc() of
 * fopen(), timers), for which the engine may ask for memory until its agent has seen the filter.
 */
static NOTRACE void wait_by_itself(void)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	char text[4096];
	const char *at;
	long fd, n;

	do {
		by_itself(SYS_nanosleep, (long)&pause, 0, NULL);
		fd = by_itself(SYS_open, (long)"/proc/self/status", O_RDONLY | O_CLOEXEC, NULL);
		n = by_itself(SYS_read, fd, (long)text, (void *)(sizeof(text) - 1));
		by_itself(SYS_close, fd, 0, NULL);
		text[n > 0 ? n : 0] = 0;
		at = strstr(text, "Threads:\t");
	} while (!at || at[9] != '1' || at[10] != '\n');
}

static NOTRACE int give_up(void)
{
	struct sigaction action = {.sa_sigaction = caught, .sa_flags = SA_SIGINFO};
	uint64_t lo = 0, hi = 0;
	struct sock_filter code[] = {
		/* 0 */ DATA(IP + 4),
		/* 1 */ BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3),
		/* 2 */ DATA(IP),
		/* 3 */ BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0, 0, 5),
		/* 4 */ BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0, 4, 3),
		/* 5: the rest of a text that goes on behind 4 GiB */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3),
		/* 6 */ DATA(IP),
		/* 7 */ BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0, 1, 0),
		/* 8 */ BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		/* 9 */ BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof(code) / sizeof(code[0]), code};

	if (find_library(&lo, &hi)) {
		code[1].k = (uint32_t)(lo >> 32);
		code[3].k = (uint32_t)lo;
		code[4].k = (uint32_t)hi;
		code[5].k = (uint32_t)(hi >> 32);
		code[7].k = (uint32_t)hi;
		if (lo >> 32 != hi >> 32)
			code[4].jt = code[4].jf; /* up to the end of the 4 GiB */
	}
	sigaction(SIGSYS, &action, NULL);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (!strcmp(door, "refused")) {
		filter.len = 0;
		return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) == -1 &&
		       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == -1 &&
		       syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
			       &filter) == -1;
	}
	if (!strcmp(door, "instruction")) {
		if (by_itself(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter))
			return 0;
		wait_by_itself();
		return 1;
	}
	if (!strcmp(door, "prctl") || !strcmp(door, "many"))
		return !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
	if (!strcmp(door, "syscall"))
		return !syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
	return !syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			strcmp(door, "all") ? 0 : SECCOMP_FILTER_FLAG_TSYNC, &filter);
}

static NOTRACE void *thread(void *arg)
{
	calls(1000);
	pthread_setname_np(pthread_self(), arg);
	deep(100);
	prctl(PR_SET_NAME, "again");
	calls(1000);
	return NULL;
}

static NOTRACE void *waits(void *arg)
{
	for (;;) {
		counted(1);
		usleep(1000);
	}
	return arg;
}

static NOTRACE void threads(void)
{
	pthread_t t[4];
	int i;

	for (i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, i < 3 ? thread : waits, "renamed");
	pthread_cancel(t[3]);
	for (i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

#define MANY	  30
#define OWN_STACK 131072

static pthread_barrier_t meeting;

static __thread ucontext_t outside, inside;

/* Leaves its stack amid a large frame, and calls from there when it comes back. */
static __attribute__((noipa)) int wide(void)
{
	volatile char here_is_room[8192] = {0};

	__atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
	swapcontext(&inside, &outside);
	return counted(1) + here_is_room[made % 8192];
}

static NOTRACE void wide_coroutine(void)
{
	deep(20);
	wide();
}

/* A thread of many, and a coroutine of its own: all are there before one goes on. */
static NOTRACE void *one_of_many(void *arg)
{
	char *stack = malloc(OWN_STACK);

	deep(20);
	pthread_barrier_wait(&meeting);
	getcontext(&inside);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = OWN_STACK;
	inside.uc_link = &outside;
	makecontext(&inside, wide_coroutine, 0);
	swapcontext(&outside, &inside);
	calls(20);
	swapcontext(&outside, &inside);
	pthread_barrier_wait(&meeting);
	free(stack);
	return arg;
}

static NOTRACE void many(void)
{
	pthread_t t[MANY];
	void *stacks[MANY];
	pthread_attr_t attr;
	int i;

	pthread_barrier_init(&meeting, NULL, MANY);
	for (i = 0; i < MANY; i++) {
		stacks[i] = i % 4 ? NULL : malloc(OWN_STACK);
		pthread_attr_init(&attr);
		if (stacks[i])
			pthread_attr_setstack(&attr, stacks[i], OWN_STACK);
		if (pthread_create(&t[i], &attr, one_of_many, NULL))
			abort();
	}
	for (i = 0; i < MANY; i++) {
		pthread_join(t[i], NULL);
		free(stacks[i]);
	}
}

static NOTRACE void handler(int sig)
{
	(void)sig;
	calls(100);
}

static NOTRACE void signals(void)
{
	stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
}

static ucontext_t here, there;

static NOTRACE void coroutine(void)
{
	deep(20);
	swapcontext(&there, &here);
	calls(100);
}

static NOTRACE void contexts(void)
{
	getcontext(&there);
	there.uc_stack.ss_sp = malloc(262144);
	there.uc_stack.ss_size = 262144;
	there.uc_link = &here;
	makecontext(&there, coroutine, 0);
	swapcontext(&here, &there);
	calls(10);
	swapcontext(&here, &there);
}

static jmp_buf env;

static __attribute__((noipa)) void jumps(int n)
{
	__atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
	if (!n)
		longjmp(env, 1);
	jumps(n - 1);
	counted(n);
}

static NOTRACE void children(void)
{
	int status, i;

	for (i = 0; i < 2; i++) {
		pid_t pid;

		fflush(stdout);
		pid = fork();
		if (!pid) {
			made = 0;
			calls(1000);
			threads();
			if (i)
				_exit(5);
			exit(5);
		}
		waitpid(pid, &status, 0);
		printf("child %x\n", status);
	}
}

static NOTRACE void objects(void)
{
	int i, sum = 0;

	for (i = 0; i < 3; i++) {
		char path[4096];
		int (*work)(int);
		void *lib;

		snprintf(path, sizeof(path), "%s/libone.so", folder);
		lib = dlopen(path, RTLD_NOW);
		if (!lib)
			return;
		*(void **)&work = dlsym(lib, "work_one");
		sum += work(10);
		dlclose(lib);
	}
	printf("objects %d\n", sum);
}

static NOTRACE void control(void)
{
	void *frames[10];
	int n = backtrace(frames, 10);

	if (getenv("VESTIGE_BOOT")[0] && strcmp(door, "refused") &&
	    (vestige_write("tracing_on", "0", 1) != -1 || errno != EPERM))
		printf("control files are not refused: %s\n", strerror(errno));
	tracing_off();
	tracing_on();
	vestige_mark("a mark");
	trace_printk("printed %d\n", n);
}

static NOTRACE void *all(void *arg)
{
	if (!strcmp(door, "strict")) {
		printf("made %lu\n", made + 1010);
		fflush(stdout);
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
		calls(1010);
		syscall(SYS_exit, 4);
	}
	if (!give_up()) {
		printf("the filter is not set: %s\n", strerror(errno));
		exit(3);
	}
	if (strcmp(door, "late") && strcmp(door, "refused"))
		printf("threads %d\n", threads_left());
	if (!strcmp(door, "many")) {
		many();
		return arg;
	}
	calls(50000);
	deep(1000);
	threads();
	signals();
	contexts();
	if (!setjmp(env))
		jumps(10);
	objects();
	control();
	children();
	return arg;
}

NOTRACE int main(int argc, char **argv)
{
	pthread_t t;

	if (argc < 3)
		return 2;
	door = argv[1];
	folder = argv[2];
	if (strcmp(door, "many")) {
		calls(1000);
		threads();
	}
	if (!strcmp(door, "late")) {
		pthread_create(&t, NULL, all, NULL);
		pthread_join(t, NULL);
		threads();
		calls(100000);
	} else {
		all(NULL);
	}
	printf("made %lu\n", made);
	return 4;
}
