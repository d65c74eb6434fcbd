/* SPDX-License-Identifier: MIT */
/*
 * System calls that go through libc, the same ones each time: `work` does what its arguments name, once, and
 * says so; without, it waits for lines that name one.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void files(void)
{
	char text[64];
	FILE *f = fopen("/etc/passwd", "r");
	DIR *d = opendir("/etc");

	while (f && fgets(text, sizeof(text), f))
		;
	while (d && readdir(d))
		;
	if (f)
		fclose(f);
	if (d)
		closedir(d);
	fopen("/nonexistent", "r");
	syscall(SYS_getpriority, 0, 0);
	access("/etc", R_OK);
	chdir("/");
}

static void pipes(void)
{
	char byte = 'x';
	int p[2], i;

	if (pipe(p))
		abort();
	for (i = 0; i < 100; i++)
		if (write(p[1], &byte, 1) != 1 || read(p[0], &byte, 1) != 1 || byte != 'x')
			abort();
	close(p[0]);
	close(p[1]);
	read(-1, &byte, 1);
}

static void *thread(void *arg)
{
	int i;

	for (i = 0; i < 100; i++)
		getppid();
	return arg;
}

static void threads(void)
{
	pthread_t t[4];
	int i;

	for (i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, thread, NULL);
	for (i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

static void children(void)
{
	char *argv[] = {"true", NULL};
	pid_t pid = fork();

	if (!pid)
		_exit(3);
	waitpid(pid, NULL, 0);
	pid = vfork();
	if (!pid) {
		execve("/bin/true", argv, environ);
		_exit(4);
	}
	waitpid(pid, NULL, 0);
	if (!posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ))
		waitpid(pid, NULL, 0);
	posix_spawn(&pid, "/nonexistent", NULL, NULL, argv, environ);
}

static int do_one(const char *what)
{
	static const struct {
		const char *name;
		void (*go)(void);
	} all[] = {
		{"files", files}, {"pipes", pipes}, {"threads", threads}, {"children", children}};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		if (!strcmp(what, all[i].name)) {
			all[i].go();
			return 0;
		}
	}
	return 1;
}

int main(int argc, char **argv)
{
	char line[64];
	int i;

	for (i = 1; i < argc; i++)
		if (do_one(argv[i]))
			return 1;
	if (argc > 1)
		return 0;
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		if (do_one(line))
			return 1;
		puts("done 1");
		fflush(stdout);
	}
	return 0;
}
