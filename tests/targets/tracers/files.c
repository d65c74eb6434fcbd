/* SPDX-License-Identifier: MIT */
/*
 * files: for each line `go` a fixed sequence of calls on the file that is its argument, in
 * `one()`'s order, and others that are no file I/O; `thread` 20 reads in each of 4 threads; `fork`
 * two reads in a child. The answer is `done N`: calls, or the child's status. `slow`: a flush of
 * much, and how long it took by its own clock, in us.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char data[65536];
static const char *path;
static int handler_fd;
static void *volatile nowhere = (void *)8;

static void on_signal(int sig)
{
	(void)sig;
	if (pread(handler_fd, data, 512, 512) != 512)
		_exit(1);
}

static int go(void)
{
	struct iovec two[2] = {{data, 1000}, {data + 1000, 1000}};
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), app, sync, p[2], n = 0;

	n += pwrite(fd, data, 4096, 8192) == 4096;
	n += pread(fd, data, 1024, 8192 + 512) == 1024;
	n += write(fd, data, 1536) == 1536;
	n += write(fd, data, 1) == 1;
	n += writev(fd, two, 2) == 2000;
	n += preadv(fd, two, 2, 512) == 2000;
	n += pread(fd, data, 4096, 1 << 20) == 0;
	n += pread(fd, nowhere, 512, 0) == -1;
	n += preadv(fd, (struct iovec *)nowhere, 2, 0) == -1;
	n += fsync(fd) == 0;
	n += fdatasync(fd) == 0;
	app = open(path, O_WRONLY | O_APPEND);
	n += write(app, data, 512) == 512;
	sync = open(path, O_RDWR | O_DSYNC);
	n += write(sync, data, 512) == 512;
	handler_fd = fd;
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	n++;
	/* no file */
	if (pipe(p) || write(p[1], "x", 1) != 1 || read(p[0], data, 1) != 1 ||
	    read(-1, data, 1) != -1)
		return -1;
	close(p[0]);
	close(p[1]);
	close(app);
	close(sync);
	close(fd);
	return n;
}

static void *reads(void *arg)
{
	int fd = open(path, O_RDONLY);

	for (int i = 0; i < 20; i++)
		if (pread(fd, data, 512, 512L * i) < 0)
			abort();
	close(fd);
	return arg;
}

static int threads(void)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, reads, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	return 80;
}

static long now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static long slow(void)
{
	int fd = open(path, O_RDWR);
	long us = -1;

	for (int i = 0; i < 200; i++)
		if (write(fd, data, sizeof(data)) != sizeof(data))
			return -1;
	us = now_us();
	fsync(fd);
	us = now_us() - us;
	close(fd);
	return us;
}

static int child(void)
{
	int status, fd = open(path, O_RDONLY);
	pid_t pid = fork();

	if (!pid)
		_exit(read(fd, data, 512) == 512 && read(fd, data, 512) == 512 ? 7 : 1);
	waitpid(pid, &status, 0);
	close(fd);
	return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	char line[64];
	long n;

	if (argc < 2)
		return 2;
	path = argv[1];
	while (fgets(line, sizeof(line), stdin)) {
		n = !strcmp(line, "go\n")	? go()
		    : !strcmp(line, "thread\n") ? threads()
		    : !strcmp(line, "slow\n")	? slow()
		    : !strcmp(line, "fork\n")	? child()
						: 0;
		printf("done %ld\n", n);
		fflush(stdout);
	}
	return 0;
}
