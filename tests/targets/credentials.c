/* SPDX-License-Identifier: MIT */
/*
 * credentials - change the user with capabilities that the main thread alone was given.
 *
 *	credentials capset|syscall|raw|threads
 *
 * capset: by capset() and prctl(), as setpriv does; syscall: the same by syscall(); raw: setuid by
 * syscall(), which changes one thread; threads: by a thread that is not the main thread, which then
 * ends. Prints the lines of ids and capabilities of each thread at the end; exit status 0.
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
	if (!strcmp(how, "capset"))
		must(capset(&head, caps), "capset");
	else
		must(syscall(SYS_capset, &head, caps), "capset");
}

static void keep(int on)
{
	if (!strcmp(how, "capset"))
		must(prctl(PR_SET_KEEPCAPS, on, 0, 0, 0), "keepcaps");
	else
		must(syscall(SYS_prctl, PR_SET_KEEPCAPS, on, 0, 0, 0), "keepcaps");
}

static void on_signal(int sig)
{
	(void)sig;
	keep(1);
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
	pthread_t thread;
	DIR *d;

	if (argc != 2)
		return 2;
	how = argv[1];
	signal(SIGUSR1, on_signal);
	if (!strcmp(how, "raw")) {
		must(syscall(SYS_setresuid, OTHER, OTHER, OTHER), "setresuid");
		/* it has no capability any more, in any thread */
		if (!setgid(OTHER))
			puts("a refused setgid succeeded");
	} else if (!strcmp(how, "threads")) {
		must(pthread_create(&thread, NULL, other, NULL), "pthread_create");
		pthread_join(thread, NULL);
		must(setgid(OTHER) || setuid(OTHER), "setuid");
	} else {
		change();
	}
	d = opendir("/proc/self/task");
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			show(e->d_name);
	return 0;
}
