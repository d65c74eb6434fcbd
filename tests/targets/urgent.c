/* SPDX-License-Identifier: MIT */
/*
 * Sends itself each signal that a program can block, and must find it in a descriptor of signals:
 * no other thread of the process may take it. Prints "ready", waits for the end of its input,
 * prints those that were lost. Exit status: 1 if there were any.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define ROUNDS 5

int main(void)
{
	struct signalfd_siginfo info;
	int fd, sig, i, lost = 0;
	sigset_t all;
	char c;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	fd = signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC);
	printf("ready\n");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	for (i = 0; i < ROUNDS; i++) {
		for (sig = 1; sig < NSIG; sig++) {
			if (sig == SIGKILL || sig == SIGSTOP || (sig >= 32 && sig < SIGRTMIN))
				continue;
			kill(getpid(), sig);
			/* time for a thief */
			usleep(2000);
			if (read(fd, &info, sizeof(info)) == sizeof(info) &&
			    info.ssi_signo == (uint32_t)sig)
				continue;
			printf("lost: %d\n", sig);
			lost = 1;
		}
	}
	return lost;
}
