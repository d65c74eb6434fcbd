/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into the shell that runs the kernel's ftracetest and into all that it starts: kernel
 * functions that cases expect the shell itself to call lie between it and libc.
 * With them the shell is a member of the traced session, as the kernel's callers are its tasks.
 * vfork() is a fork() here: a function that returns once cannot call one that returns twice. Built
 * and loaded by tests/conformance/ftracetest.py.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FN	__attribute__((noipa))
#define NOTRACE __attribute__((patchable_function_entry(0)))

typedef int execve_t(const char *, char *const[], char *const[]);

FN pid_t kernel_clone(void)
{
	pid_t (*real)(void) = (pid_t(*)(void))dlsym(RTLD_NEXT, "fork");

	return real();
}

FN int do_execve(const char *path, char *const argv[], char *const envp[])
{
	execve_t *real = (execve_t *)dlsym(RTLD_NEXT, "execve");

	return real(path, argv, envp);
}

FN ssize_t proc_reg_write(int fd, const void *buf, size_t n)
{
	ssize_t ret = syscall(SYS_write, fd, buf, n);

	return ret < 0 ? -errno : ret;
}

/* What the kernel calls for a new event, with its name. */
FN void tracefs_create_dir(const char *name)
{
	__asm__ volatile("" ::"r"(name) : "memory");
}

/* `p:NAME PLACE` has been written. */
NOTRACE static void told_event(const char *text, size_t n)
{
	char name[64];
	size_t i;

	if (n < 3 || memcmp(text, "p:", 2))
		return;
	for (i = 0; i + 2 < n && i + 1 < sizeof(name) && text[i + 2] != ' '; i++)
		name[i] = text[i + 2];
	name[i] = 0;
	tracefs_create_dir(name);
}

NOTRACE pid_t fork(void)
{
	return kernel_clone();
}

NOTRACE pid_t vfork(void)
{
	return kernel_clone();
}

NOTRACE int execve(const char *path, char *const argv[], char *const envp[])
{
	return do_execve(path, argv, envp);
}

NOTRACE ssize_t write(int fd, const void *buf, size_t n)
{
	ssize_t ret = proc_reg_write(fd, buf, n);

	if (ret > 0)
		told_event(buf, n);
	if (ret >= 0)
		return ret;
	errno = (int)-ret;
	return -1;
}
