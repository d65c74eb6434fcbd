/* SPDX-License-Identifier: MIT */
/*
 * A program with the functions and the events that the kernel's ftracetest names, so that its cases
 * have something to trace. It does nothing of what the names say: a thread for each CPU goes
 * through them all some hundred times a second, as a kernel's idle machine does, each time that
 * another thread wakes it; each function calls the next of its list, so that there is a graph, too.
 * Prints `ready`, loads and unloads objects when its input says so, ends with it. Built and started
 * by tests/conformance/ftracetest.py.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <vestige/event.h>

struct kmem_cache;
struct task_struct;
DECLARE_TRACE(kmem_cache_alloc, TP_PROTO(const struct kmem_cache *s, const void *ptr),
	      TP_ARGS(s, ptr));
DECLARE_TRACE(sched_wakeup, TP_PROTO(const struct task_struct *p), TP_ARGS(p));

#define CREATE_TRACE_POINTS
#include "kmm.h"
#include "ksched.h"

#define FN	 __attribute__((noipa))
#define MAX_CPUS 64

VESTIGE_EVENT(sched, sched_stat_runtime, (const char *, comm), (int, pid),
	      (unsigned long, runtime));
VESTIGE_EVENT(signal, signal_generate, (int, sig), (int, errno_), (int, code), (const char *, comm),
	      (int, pid), (int, group), (int, result));
VESTIGE_EVENT(timer, timer_cancel, (const void *, timer));

static volatile long work;
static int quiet; /* no events */

/* A function that does no more than call others. */
#define CALLS(name, ...)                                                                           \
	FN void name(void)                                                                         \
	{                                                                                          \
		work++;                                                                            \
		__VA_ARGS__;                                                                       \
	}

void name_show_too(void);

CALLS(_raw_spin_lock)
/* as compilers name a copy of a function that they have changed */
void security_of_file(void) __asm__("security_file_permission.isra.0");
CALLS(security_of_file)
CALLS(_raw_spin_unlock)
CALLS(_raw_spin_trylock)
CALLS(rcu_note_context_switch)
CALLS(rcu_read_unlock_special)
CALLS(rcu_core, rcu_note_context_switch())
CALLS(mutex_lock, _raw_spin_lock())
CALLS(mutex_trylock, _raw_spin_trylock())
CALLS(mutex_unlock, _raw_spin_unlock())
CALLS(console_unlock, mutex_unlock())
CALLS(clock_was_set)
CALLS(locks_delete_block)
CALLS(pin_page_lock)
CALLS(sched_tick, _raw_spin_lock(); rcu_core(); _raw_spin_unlock())
CALLS(sched_clock)
CALLS(__schedule, rcu_note_context_switch(); sched_clock())
CALLS(preempt_schedule, __schedule())
CALLS(schedule, __schedule())
CALLS(schedule_timeout, schedule())
CALLS(security_file_permission)

struct path {
	const char *name;
};

struct file {
	unsigned int f_flags;
	const struct path *f_path;
};

static const struct path root = {"/"};
static struct file opened = {2, &root};

FN ssize_t vfs_read(struct file *file, char *buf, size_t count, loff_t *pos)
{
	security_file_permission();
	work += file->f_flags;
	*buf = 0;
	return *pos < 0 ? *pos : (ssize_t)count;
}

/* What the callers of vfs_read() read. */
static void read_some(void)
{
	loff_t pos = 0;
	char buf[1];

	work += vfs_read(&opened, buf, sizeof(buf), &pos);
}

CALLS(vfs_write, security_file_permission())
CALLS(proc_reg_write)
CALLS(Sys_sync)
CALLS(sys_getpid)
CALLS(SyS_read, read_some())
CALLS(inet_csk_accept, mutex_lock(); schedule_timeout(); mutex_unlock())
CALLS(copy_process, mutex_lock(); mutex_unlock())

FN int kernel_clone(void)
{
	work++;
	copy_process();
	return (int)work;
}

CALLS(do_execve, read_some())
CALLS(do_exit, schedule())

FN void kfree(const void *object)
{
	work += object != NULL;
}

struct filename {
	const char *name;
};

static struct filename opened_name = {"/"};

FN struct filename *getname_flags(const char *name, int flags)
{
	work += flags;
	opened_name.name = name;
	return &opened_name;
}

/* What tracepoints are called with. */
struct kmem_cache {
	unsigned int object_size;
};

struct list_head {
	struct list_head *next, *prev;
};

struct task_struct {
	struct {
		struct list_head group_node;
	} se;
};

DEFINE_TRACE(kmem_cache_alloc);
DEFINE_TRACE(sched_wakeup);

static void call_tracepoints(void)
{
	static const struct kmem_cache names = {4096};
	static struct task_struct task = {{{&task.se.group_node, &task.se.group_node}}};

	trace_kmem_cache_alloc(&names, getname_flags("/", 0));
	trace_sched_wakeup(&task);
}

FN int vfs_open(const struct path *path)
{
	work += *path->name;
	return 0;
}

FN void tracefs_create_dir(const char *name)
{
	work += *name;
}

/* standin_too.c has another one of this name */
FN static void name_show(void)
{
	work++;
}

static __thread void *volatile kept;

static void events(const void *set)
{
	unsigned long site = (unsigned long)&copy_process + 4;
	int pid = gettid();

	trace_sched_stat_runtime("standin", pid, 1000);
	trace_timer_cancel(set);
	close(open("/etc/passwd", O_RDONLY));
	kept = malloc(20);
	free(kept);
	trace_kmem_cache_free(site, set, "names_cache");
	/* as the cases' shell does */
	work += chdir("/sys/kernel/tracing");
	work += chdir("/");
	trace_sched_process_fork("standin", pid, "child", pid + 1);
	trace_sched_process_exec("/bin/true", pid + 1, pid + 1);
	trace_sched_process_exit("child", pid + 1);
	trace_signal_generate(17, 0, 0, "standin", pid, 1, 0);
}

/* What `ls` does: cases look for its records by its name. */
static void *list(void *arg)
{
	pthread_setname_np(pthread_self(), "ls");
	for (;; usleep(500)) {
		close(open("/etc", O_RDONLY | O_DIRECTORY));
		trace_kmem_cache_free((unsigned long)&copy_process + 4, arg, "names_cache");
	}
	return arg;
}

static sem_t turn[MAX_CPUS]; /* posted for each turn of a CPU's thread */

static void *wake(void *arg)
{
	const struct sched_param first = {.sched_priority = 1};
	int waiting;

	pthread_setschedparam(pthread_self(), SCHED_RR, &first);
	for (;; usleep(1000))
		for (int cpu = 0; cpu < MAX_CPUS; cpu++)
			if (!sem_getvalue(&turn[cpu], &waiting) && !waiting)
				sem_post(&turn[cpu]);
	return arg;
}

static void *busy(void *arg)
{
	int cpu = (int)(long)arg;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	for (;; sem_wait(&turn[cpu])) {
		sched_tick();
		schedule_timeout();
		preempt_schedule();
		mutex_trylock();
		console_unlock();
		rcu_read_unlock_special();
		pin_page_lock();
		clock_was_set();
		locks_delete_block();
		Sys_sync();
		sys_getpid();
		SyS_read();
		vfs_write();
		vfs_open(&root);
		kfree(&root);
		call_tracepoints();
		inet_csk_accept();
		kernel_clone();
		do_execve();
		do_exit();
		name_show();
		name_show_too();
		if (!quiet)
			events(&set);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	char line[256];
	pthread_t waker, lister;
	cpu_set_t set;
	void *lib = NULL;

	/*
	 * cases look for an event a millisecond after they have asked for it, on a busy machine too
	 */
	setpriority(PRIO_PROCESS, 0, -20);
	quiet = argc > 1 && !strcmp(argv[1], "quiet");
	sched_getaffinity(0, sizeof(set), &set);
	if (!pthread_create(&waker, NULL, wake, NULL))
		pthread_detach(waker);
	if (!quiet && !pthread_create(&lister, NULL, list, NULL))
		pthread_detach(lister);
	for (int cpu = 0; cpu < MAX_CPUS; cpu++) {
		pthread_t t;

		if (CPU_ISSET(cpu, &set) && !pthread_create(&t, NULL, busy, (void *)(long)cpu))
			pthread_detach(t);
	}
	puts("ready");
	fflush(stdout);
	/* `load PATH` and `unload`: requests of the tests' modprobe and rmmod */
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "load ", 5)) {
			lib = dlopen(line + 5, RTLD_NOW);
		} else if (lib) {
			dlclose(lib);
			lib = NULL;
		}
	}
	return 0;
}
