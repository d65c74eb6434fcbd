/* SPDX-License-Identifier: MIT */
/*
 * Sends itself signals and counts what its handlers get. A line of input is
 *	kinds N		N times: by each call that sends one, to handlers of each kind
 *	storm N		four threads send N each to each other while a timer sends, too
 *	child N		a child sends itself N, and ends well
 *	once N		N times: a handler that is installed anew for each signal (SA_RESETHAND)
 * answered by `done SENT HANDLED`. It ends with `wrong` when it does not find its handlers as it
 * installed them, or a handler's arguments or stack are not what they have to be.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static long handled, sent;
static char other_stack[65536];

static void fail(const char *why)
{
	printf("wrong: %s\n", why);
	fflush(stdout);
	_exit(1);
}

static void count(void)
{
	__atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
}

static void plain(int sig)
{
	if (sig != SIGUSR1)
		fail("the number");
	count();
}

static void informed(int sig, siginfo_t *info, void *context)
{
	char here;

	if (sig != SIGUSR2 || info->si_signo != sig || info->si_pid != getpid() || !context)
		fail("what the signal is");
	if (info->si_code == SI_QUEUE && info->si_value.sival_int != 42)
		fail("its value");
	if (&here < other_stack || &here >= other_stack + sizeof(other_stack))
		fail("its stack");
	count();
}

static void timer(int sig)
{
	(void)sig;
	count();
	__atomic_fetch_add(&sent, 1, __ATOMIC_RELAXED);
}

static void install(void)
{
	stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof(other_stack)};
	struct sigaction act = {.sa_sigaction = informed, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	sigaltstack(&stack, NULL);
	if (signal(SIGUSR1, plain) == SIG_ERR || sigaction(SIGUSR2, &act, NULL))
		fail("to install");
}

static void check(void)
{
	struct sigaction act;

	if (sigaction(SIGUSR1, NULL, &act) || act.sa_handler != plain || act.sa_flags & SA_SIGINFO)
		fail("sigaction of what signal() installed");
	if (sigaction(SIGUSR2, NULL, &act) || act.sa_sigaction != informed ||
	    (act.sa_flags & (SA_SIGINFO | SA_ONSTACK | SA_RESTART)) != (SA_SIGINFO | SA_ONSTACK))
		fail("sigaction of what it installed");
	if (signal(SIGUSR1, SIG_IGN) != plain || signal(SIGUSR1, SIG_DFL) != SIG_IGN ||
	    signal(SIGUSR1, plain) != SIG_DFL)
		fail("signal");
}

static void kinds(int n)
{
	union sigval value = {.sival_int = 42};

	for (int i = 0; i < n; i++) {
		raise(SIGUSR1);
		kill(getpid(), SIGUSR1);
		pthread_kill(pthread_self(), SIGUSR2);
		sigqueue(getpid(), SIGUSR2, value);
		tgkill(getpid(), gettid(), SIGUSR1);
		pthread_sigqueue(pthread_self(), SIGUSR2, value);
		if (kill(getpid(), 0) || kill(getpid(), 65) != -1)
			fail("kill");
		sent += 6;
		if (i % 10 == 0)
			check();
	}
}

static void once(int n)
{
	for (int i = 0; i < n; i++) {
		struct sigaction act = {.sa_handler = plain, .sa_flags = SA_RESETHAND}, was;

		sigaction(SIGUSR1, &act, NULL);
		raise(SIGUSR1);
		sent++;
		if (sigaction(SIGUSR1, NULL, &was) || was.sa_handler != SIG_DFL)
			fail("SA_RESETHAND");
	}
	install();
}

static void child(int n)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		for (int i = 0; i < n; i++) {
			kill(getpid(), SIGUSR1);
			raise(SIGUSR2);
		}
		check();
		_exit(handled == 2 * n ? 0 : 1);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		fail("the child");
}

#define THREADS 4
static pthread_t threads[THREADS];
static int storm_count;
static pthread_barrier_t all;

static void *sender(void *arg)
{
	int self = (int)(long)arg;
	sigset_t usr1;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &usr1, NULL);
	pthread_barrier_wait(&all);
	for (int i = 0; i < storm_count; i++) {
		union sigval value = {.sival_int = 1};

		/* queued, so that none is merged with one that waits */
		while (pthread_sigqueue(threads[(self + i) % THREADS], SIGRTMIN, value))
			;
		__atomic_fetch_add(&sent, 1, __ATOMIC_RELAXED);
	}
	pthread_barrier_wait(&all);
	return NULL;
}

static void real_time(int sig)
{
	(void)sig;
	count();
}

static void storm(int n)
{
	struct itimerval every = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};

	storm_count = n;
	signal(SIGRTMIN, real_time);
	signal(SIGALRM, timer);
	pthread_barrier_init(&all, NULL, THREADS + 1);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, sender, (void *)i);
	setitimer(ITIMER_REAL, &every, NULL);
	pthread_barrier_wait(&all);
	pthread_barrier_wait(&all);
	setitimer(ITIMER_REAL, &never, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&all);
}

int main(void)
{
	char line[64], what[16];
	int n;

	install();
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "%15s %d", what, &n) != 2)
			continue;
		handled = sent = 0;
		if (!strcmp(what, "kinds"))
			kinds(n);
		else if (!strcmp(what, "storm"))
			storm(n);
		else if (!strcmp(what, "child"))
			child(n);
		else if (!strcmp(what, "once"))
			once(n);
		check();
		printf("done %ld %ld\n", sent, handled);
		fflush(stdout);
	}
	return 0;
}
