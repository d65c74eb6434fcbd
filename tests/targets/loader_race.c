/* SPDX-License-Identifier: MIT */
/*
 * A thread loads and unloads an object all the time, while main() does what needs the engine's or
 * the loader's locks.
 *
 *	unwind	main() has the engine look for an unwinder, which is in no object
 *	free	main() writes a control file; the thread may make no system call for the engine
 *
 *	loader_race HOW LIBRARY
 */
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "vestige/vestige.h"

#define LOADS 3000

typedef int each_fn(void *context, void *arg);
typedef int backtrace_fn(each_fn *each, void *arg);

static const char *how, *library;
static int done;

static int forbid(void)
{
	struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog filter = {1, code};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static void *load(void *arg)
{
	void *lib;
	int i;

	if (!strcmp(how, "free") && forbid())
		arg = &done;
	for (i = 0; i < LOADS && !arg; i++) {
		usleep(1);
		lib = dlopen(library, RTLD_NOW);
		if (!lib || dlclose(lib))
			arg = &done;
	}
	__atomic_store_n(&done, 1, __ATOMIC_RELEASE);
	return arg;
}

static int no_frame(void *context, void *arg)
{
	(void)context;
	(void)arg;
	return 0;
}

int main(int argc, char **argv)
{
	backtrace_fn *backtrace;
	pthread_t thread;
	int rounds = 0;
	void *ret;

	if (argc != 3)
		return 1;
	how = argv[1];
	library = argv[2];
	*(void **)&backtrace = dlsym(RTLD_DEFAULT, "_Unwind_Backtrace");
	if (pthread_create(&thread, NULL, load, NULL))
		return 1;
	while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {
		if (!strcmp(how, "unwind")) {
			rounds += backtrace && backtrace(no_frame, NULL) != 0;
			continue;
		}
		rounds += vestige_write("tracing_on", "1", 1) == 1;
		/* the other thread can wait for the lock only by trying again */
		usleep(100);
	}
	pthread_join(thread, &ret);
	if (ret) {
		puts("the object cannot be loaded");
		return 1;
	}
	printf("done %d\n", rounds);
	return 0;
}
