/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into the shell that runs the kernel's ftracetest and into all that it starts: functions
 * of the kernel's that cases expect to be called by the shell itself stand between it and libc. With
 * them the shell is a member of the traced session, as the kernel's callers are its tasks.
 * vfork() is a fork here: who returns twice cannot be called by a function that returns once.
 * Built and loaded by tests/conformance/ftracetest.py.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
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

	if (ret >= 0)
		return ret;
	errno = (int)-ret;
	return -1;
}
