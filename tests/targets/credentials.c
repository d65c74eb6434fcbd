/* SPDX-License-Identifier: MIT */
/*
 * credentials - change the user with capabilities that the main thread alone was given.
 *
 *	credentials capset|syscall|raw|threads|child [TIMES]
 *
 * capset: by capset() and prctl(), as setpriv does; syscall: the same by syscall(); raw: setuid by
 * syscall(), which changes one thread; threads: by a thread that is not the main thread, which then
 * ends; child: as capset, in a fork's child and in a vfork's. First prints a line and waits for the
 * end of its input; at the end prints the ids and capabilities of each thread. Exit status 0.
 * @TIMES: of dropping a capability, and of changing the user, again.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define OTHER 65534

int capset(cap_user_header_t header, const cap_user_data_t data);

static const char *how;

static void must(long ret, const char *what)
{
	if (ret) {
		perror(what);
		exit(1);
	}
}

/* Make all permitted capabilities effective. */
static void raise_all(void)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct caps[2];

	must(syscall(SYS_capget, &head, caps), "capget");
	caps[0].effective = caps[0].permitted;
	caps[1].effective = caps[1].permitted;
	if (strcmp(how, "syscall") != 0)
		must(capset(&head, caps), "capset");
	else
		must(syscall(SYS_capset, &head, caps), "capset");
}

static void keep(int on)
{
	if (strcmp(how, "syscall") != 0)
		must(prctl(PR_SET_KEEPCAPS, on, 0, 0, 0), "keepcaps");
	else
		must(syscall(SYS_prctl, PR_SET_KEEPCAPS, on, 0, 0, 0), "keepcaps");
}

static void on_signal(int sig)
{
	(void)sig;
	keep(1);
}

/* setuid by a system call of the main thread alone. */
static void raw(int times)
{
	for (int i = 0; i < times; i++)
		must(syscall(SYS_setresuid, OTHER, OTHER, OTHER), "setresuid");
}

static void drop(int times)
{
	for (int i = 0; i < times; i++)
		must(strcmp(how, "syscall")
			     ? prctl(PR_CAPBSET_DROP, CAP_WAKE_ALARM, 0, 0, 0)
			     : syscall(SYS_prctl, PR_CAPBSET_DROP, CAP_WAKE_ALARM, 0, 0, 0),
		     "drop");
}

static void change(void)
{
	keep(1);
	must(setresuid(OTHER, OTHER, OTHER), "setresuid");
	raise_all();
	must(setresgid(OTHER, OTHER, OTHER), "setresgid");
	/* a call that is made in a handler */
	must(raise(SIGUSR1), "raise");
	keep(0);
}

static void *other(void *arg)
{
	keep(1);
	keep(0);
	return arg;
}

static void in_child(pid_t pid)
{
	int status;

	if (!pid) {
		change();
		_exit(0);
	}
	must(pid < 0 || waitpid(pid, &status, 0) != pid || status, "child");
}

static void show(const char *tid)
{
	char path[300], line[200];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%s/status", tid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "Uid:", 4) || !strncmp(line, "Gid:", 4) ||
		    !strncmp(line, "Cap", 3)) {
			line[strcspn(line, "\n")] = ' ';
			printf("%s", line);
		}
	printf("\n");
	if (f)
		fclose(f);
}

int main(int argc, char **argv)
{
	const struct dirent *e;
	int times = argc > 2 ? atoi(argv[2]) : 1;
	pthread_t thread;
	DIR *d;

	if (argc < 2)
		return 2;
	how = argv[1];
	signal(SIGUSR1, on_signal);
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	drop(times);
	if (!strcmp(how, "raw")) {
		raw(times);
		/* it has no capability any more, in any thread */
		if (!setgid(OTHER))
			puts("a refused setgid succeeded");
	} else if (!strcmp(how, "threads")) {
		must(pthread_create(&thread, NULL, other, NULL), "pthread_create");
		pthread_join(thread, NULL);
		must(setgid(OTHER) || setuid(OTHER), "setuid");
	} else if (!strcmp(how, "child")) {
		in_child(fork());
		in_child(vfork());
	} else {
		change();
	}
	d = opendir("/proc/self/task");
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			show(e->d_name);
	return 0;
}
