/* SPDX-License-Identifier: MIT */
/*
 * alone HOW: a program whose threads end behind libc's back: by an instruction of their own, or
 * killed by a seccomp filter that such an instruction has set.
 *
 *	exit	main() ends, status 3
 *	later	main() ends, a thread goes on and ends the same way
 *	kill	main() is killed by its filter
 *	forked	the same in a fork's child, whose status is printed
 *	chroot	as exit, after chroot(argv[2]), once the agent has its socket
 *	raw	a child that libc does not know ends by pthread_exit()
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "target.h"

static NOTRACE long by_itself(long nr, long a, long b, long c)
{
	__asm__ volatile("syscall" : "+a"(nr) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return nr;
}

static NOTRACE void *goes_on(void *arg)
{
	usleep(300000);
	COUNTED;
	by_itself(SYS_exit, 3, 0, 0);
	return arg;
}

static NOTRACE void be_killed(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_THREAD),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {4, code};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (by_itself(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&filter))
		_exit(9);
	by_itself(SYS_getppid, 0, 0, 0);
	_exit(8);
}

static NOTRACE int has_socket(const char *path)
{
	const struct dirent *e;
	DIR *folder = opendir(path);
	int found = 0;

	while (folder && !found && (e = readdir(folder)))
		found = strstr(e->d_name, ".sock") != NULL;
	if (folder)
		closedir(folder);
	return found;
}

NOINLINE int called(int n)
{
	COUNTED;
	return n;
}

/* The engine's own patience for its agent is 10 s. */
static NOTRACE int make_raw_child(void)
{
	time_t before = time(NULL);
	int status;

	if (!by_itself(SYS_fork, 0, 0, 0))
		pthread_exit(NULL);
	wait(&status);
	printf("child %x %s\n", status, time(NULL) - before < 7 ? "soon" : "late");
	return 0;
}

NOTRACE int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	pthread_t thread;
	int status;

	called(1);
	if (!strcmp(how, "kill"))
		be_killed();
	if (!strcmp(how, "forked")) {
		if (!fork()) {
			called(2);
			be_killed();
		}
		wait(&status);
		printf("child %x\n", status);
		return 0;
	}
	if (!strcmp(how, "raw"))
		return make_raw_child();
	if (!strcmp(how, "later"))
		pthread_create(&thread, NULL, goes_on, NULL);
	if (!strcmp(how, "chroot")) {
		while (*getenv("VESTIGE_DIR") && !has_socket(getenv("VESTIGE_DIR")))
			usleep(1000);
		if (chroot(argv[2]) || chdir("/"))
			return 77;
	}
	by_itself(SYS_exit, 3, 0, 0);
	return 9;
}
