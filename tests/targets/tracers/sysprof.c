/* SPDX-License-Identifier: MIT */
/*
 * sysprof: spends CPU time that it measures by its own clock, and answers each line with `done N`.
 *
 *	split		the first thread: 90 ms in heavy(), 30 ms in light(), 20 calls deep
 *	threads		8 threads at once, each 30 ms in heavy(), then they end
 *	bare		30 ms in heavy(), called by a function that no table describes
 *	blocked		30 ms in heavy() with all signals blocked; N: signals that sigtimedwait()
 *			got
 *	waits		calls that wait, beside a thread that spends time; N: how many got EINTR
 *	handler		its own handler of SIGURG, raised three times; N: how often it was called
 *	fork		a child does `split`; N: its exit status
 *	exec		a child becomes /bin/true with all signals blocked; N: its status
 *	library		30 ms in a function of a library that is loaded and unloaded for it
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CALLED __attribute__((noipa, noinline))

static long cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static volatile unsigned long sink;

#define SPIN(ms)                                                                                   \
	do {                                                                                       \
		for (long end = cpu_us() + (ms)*1000L; cpu_us() < end;)                            \
			for (int i = 0; i < 20000; i++)                                            \
				sink += (unsigned long)i;                                          \
	} while (0)

#ifdef LIBRARY
CALLED void of_library(void);
CALLED void of_library(void)
{
	SPIN(30);
}
#else
CALLED void heavy(int ms)
{
	SPIN(ms);
	sink++;
}

CALLED void light(int ms)
{
	SPIN(ms);
	sink++;
}

CALLED void deep(int n, void (*what)(int), int ms)
{
	if (n)
		deep(n - 1, what, ms);
	else
		what(ms);
	sink++;
}

/* bare(what, ms): with a frame pointer and no table. */
void bare(void (*what)(int), int ms);
__asm__(".text\n.globl bare\n.type bare, @function\nbare:\n"
	"push %rbp\nmov %rsp, %rbp\nmov %rdi, %rax\nmov %esi, %edi\ncall *%rax\npop %rbp\nret\n"
	".size bare, . - bare\n");

static void *thread(void *arg)
{
	deep(20, heavy, 30);
	return arg;
}

static CALLED int threads(void)
{
	pthread_t t[8];

	for (int i = 0; i < 8; i++)
		if (pthread_create(&t[i], NULL, thread, NULL))
			return 1;
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	return 0;
}

static int blocked(void)
{
	const struct timespec none = {0, 0};
	sigset_t all, old;
	int n = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	heavy(30);
	while (sigtimedwait(&all, NULL, &none) > 0)
		n++;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return n;
}

static int waits(void)
{
	struct timespec nap = {0, 2000000};
	struct timeval limit = {0, 2000};
	struct pollfd none = {.fd = -1};
	pthread_t t;
	int n = 0;

	if (pthread_create(&t, NULL, thread, NULL))
		return -1;
	for (int i = 0; i < 20; i++) {
		SPIN(1);
		n += poll(&none, 1, 2) && errno == EINTR;
		SPIN(1);
		n += nanosleep(&nap, NULL) && errno == EINTR;
		SPIN(1);
		n += select(0, NULL, NULL, NULL, &limit) && errno == EINTR;
	}
	pthread_join(t, NULL);
	return n;
}

static volatile int caught;

static void on_urg(int sig)
{
	caught += sig == SIGURG;
}

static int handler(void)
{
	struct sigaction mine = {.sa_handler = on_urg}, old, now, was, plain;

	caught = 0;
	sigaction(SIGURG, &mine, &old);
	sigaction(SIGURG, NULL, &now);
	/* no tracer uses this signal: its flags are the program's */
	sigaction(SIGUSR2, &mine, &was);
	sigaction(SIGUSR2, &was, &plain);
	if (now.sa_flags != plain.sa_flags)
		return -1;
	for (int i = 0; i < 3; i++)
		raise(SIGURG);
	heavy(10);
	if (old.sa_handler != SIG_DFL || now.sa_handler != on_urg ||
	    signal(SIGURG, SIG_DFL) != on_urg)
		return -1;
	raise(SIGURG);
	return caught;
}

static int child(int exec)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		sigset_t all;

		if (!exec) {
			deep(20, heavy, 90);
			_exit(7);
		}
		sigfillset(&all);
		sigprocmask(SIG_SETMASK, &all, NULL);
		heavy(20);
		execl("/bin/sh", "sh", "-c", "exit 5", (char *)NULL);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int library(void)
{
	void *h = dlopen(getenv("OF_LIBRARY"), RTLD_NOW);
	void (*f)(void) = h ? (void (*)(void))dlsym(h, "of_library") : NULL;

	if (!f)
		return -1;
	f();
	return dlclose(h);
}

int main(void)
{
	char line[64];
	int n;

	while (fgets(line, sizeof(line), stdin)) {
		n = 0;
		if (!strcmp(line, "split\n")) {
			deep(20, heavy, 90);
			deep(20, light, 30);
		} else if (!strcmp(line, "threads\n")) {
			n = threads();
		} else if (!strcmp(line, "bare\n")) {
			bare(heavy, 30);
		} else if (!strcmp(line, "blocked\n")) {
			n = blocked();
		} else if (!strcmp(line, "waits\n")) {
			n = waits();
		} else if (!strcmp(line, "handler\n")) {
			n = handler();
		} else if (!strcmp(line, "fork\n")) {
			n = child(0);
		} else if (!strcmp(line, "go on\n")) {
			int status = 0;

			n = fork();
			if (n) {
				waitpid(n, &status, 0);
				return status != 0;
			}
			n = getpid();
		} else if (!strcmp(line, "exec\n")) {
			n = child(1);
		} else if (!strcmp(line, "library\n")) {
			n = library();
		}
		printf("done %d\n", n);
		fflush(stdout);
	}
	return 0;
}
#endif
