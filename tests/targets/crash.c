/* SPDX-License-Identifier: MIT */
/*
 * Dies, or warns, as its first argument says: one way of each kind of fatal signal. Its own
 * knowledge of what it set (sigaction(), sigaltstack()) is checked in the mode `shows`.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vestige/vestige.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#define NOINLINE __attribute__((noinline))

static volatile int sink;

NOINLINE static void work(int n)
{
	sink += n;
	__asm__ volatile("");
}

NOINLINE static void store_to(volatile int *p)
{
	work(1);
	*p = 42;
	work(2);
}

NOINLINE static void null_store(void)
{
	store_to(NULL);
	work(3);
}

NOINLINE static void bad_call(void)
{
	void (*volatile fn)(void) = (void (*)(void))0x10;

	fn();
	work(4);
}

NOINLINE static int divide(int a, int b)
{
	return a / b;
}

NOINLINE static int recurse(int n)
{
	volatile char room[512];

	room[0] = (char)n;
	return recurse(n + 1) + room[0];
}

/* Its frame and its caller's are overwritten; then it faults. */
NOINLINE static void smash(void)
{
	volatile uint64_t *p = __builtin_frame_address(0);

	/* its caller's return address stays */
	p[0] = p[1] = 0x4141414141414140;
	work(5);
	*(volatile int *)8 = 1;
	work(6);
}

static void *in_thread(void *arg)
{
	pthread_setname_np(pthread_self(), "worker");
	if (arg)
		recurse(0);
	null_store();
	return NULL;
}

static void own_handler(int sig)
{
	static const char text[] = "own handler\n";

	if (write(1, text, sizeof(text) - 1) < 0)
		_exit(3);
	signal(sig, SIG_DFL);
	raise(sig);
}

static void called_back(const char *text, size_t bytes, const char *area, void *arg)
{
	static const char head[] = "callback: ";

	if (write(1, head, sizeof(head) - 1) < 0 || write(1, area, strlen(area)) < 0 ||
	    write(1, "\n", 1) < 0 || bytes < 10 || !text || arg != (void *)&sink)
		_exit(3);
}

static sigjmp_buf jump;

static void jump_back(int sig)
{
	siglongjmp(jump, sig);
}

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			printf("line %d: %s\n", __LINE__, #x);                                     \
			exit(4);                                                                   \
		}                                                                                  \
	} while (0)

/* The program sees what it set, and what it sets works. */
static int shows(void)
{
	struct sigaction a = {.sa_handler = SIG_DFL}, old;
	static char stack[65536];
	stack_t st = {.ss_sp = stack, .ss_size = sizeof(stack)}, was;

	CHECK(!sigaction(SIGSEGV, NULL, &old) && old.sa_handler == SIG_DFL && !old.sa_flags);
	CHECK(sigismember(&old.sa_mask, SIGUSR1) == 0);
	CHECK(!sigaltstack(NULL, &was) && was.ss_flags == SS_DISABLE);
	CHECK(!sigaltstack(&st, &was) && was.ss_flags == SS_DISABLE);
	CHECK(!sigaltstack(NULL, &was) && was.ss_sp == stack && was.ss_flags == 0);
	sigemptyset(&a.sa_mask);
	sigaddset(&a.sa_mask, SIGUSR1);
	a.sa_flags = SA_RESTART;
	CHECK(!sigaction(SIGSEGV, &a, NULL) && !sigaction(SIGSEGV, NULL, &old));
	CHECK(old.sa_handler == SIG_DFL && old.sa_flags & SA_RESTART &&
	      sigismember(&old.sa_mask, SIGUSR1) == 1);
	a.sa_handler = jump_back;
	a.sa_flags = SA_ONSTACK;
	CHECK(!sigaction(SIGSEGV, &a, &old) && old.sa_handler == SIG_DFL);
	CHECK(!sigaction(SIGSEGV, NULL, &old) && old.sa_handler == jump_back);
	if (!sigsetjmp(jump, 1)) {
		null_store();
		CHECK(0);
	}
	CHECK(signal(SIGSEGV, SIG_DFL) == jump_back);
	CHECK(signal(SIGSEGV, SIG_DFL) == SIG_DFL);
	st.ss_flags = SS_DISABLE;
	CHECK(!sigaltstack(&st, NULL) && !sigaltstack(NULL, &was) && was.ss_flags == SS_DISABLE);
	puts("shows what was set");
	return 0;
}

/* Only what libc needs to end a process by itself; a write would be its end by SIGSYS. */
static void strict(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_THREAD),
	};
	struct sock_fprog prog = {4, code};

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog));
}

static void *in_sandbox(void *arg)
{
	(void)arg;
	strict();
	null_store();
	return NULL;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	pthread_t t;

	setvbuf(stdout, NULL, _IONBF, 0);
	trace_puts("about to end");
	work(0);
	if (!strcmp(how, "null"))
		null_store();
	if (!strcmp(how, "call"))
		bad_call();
	if (!strcmp(how, "divide"))
		sink = divide(argc, argc - 2);
	if (!strcmp(how, "overflow"))
		recurse(0);
	if (!strcmp(how, "smash"))
		smash();
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "trap"))
		__builtin_trap();
	if (!strcmp(how, "raise"))
		kill(getpid(), SIGSEGV);
	if (!strcmp(how, "bus")) {
		FILE *f = tmpfile();
		char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(f), 0);

		store_to((int *)p);
	}
	if (!strcmp(how, "malloc")) {
		size_t *volatile p = malloc(64);

		p[-1] = 0x4141414141414141;
		free(p);
	}
	if (!strncmp(how, "thread", 6)) {
		pthread_create(&t, NULL, in_thread, how[6] ? &t : NULL);
		pthread_join(t, NULL);
	}
	if (!strcmp(how, "sandbox")) {
		pthread_create(&t, NULL, in_sandbox, NULL);
		pthread_join(t, NULL);
	}
	if (!strcmp(how, "handler")) {
		signal(SIGSEGV, own_handler);
		null_store();
	}
	if (!strcmp(how, "callback")) {
		vestige_on_oops(called_back, (void *)&sink);
		null_store();
	}
	if (!strcmp(how, "fork")) {
		int status = 0;

		if (!fork())
			null_store();
		wait(&status);
		printf("child: %d\n", WTERMSIG(status));
	}
	if (!strcmp(how, "warn")) {
		for (int i = 0; i < 3; i++) {
			vestige_warn_on(i == 1);
			vestige_warn_on_once(i >= 0);
		}
		puts("went on");
	}
	if (!strcmp(how, "shows"))
		return shows();
	return 0;
}
