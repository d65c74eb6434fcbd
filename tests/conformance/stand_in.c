/* SPDX-License-Identifier: MIT */
/*
 * A program with functions of the names that the kernel's own test cases look for, called all the
 * time by two threads: what stands in for a kernel that is busy. Ends with its standard input.
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define CREATE_TRACE_POINTS
#include "sched.h"

#define FN __attribute__((noipa))

static volatile long sum;

FN void mutex_lock(void)
{
	sum++;
}
FN void mutex_unlock(void)
{
	sum++;
}
FN void spin_lock(void)
{
	sum++;
}
FN void spin_unlock(void)
{
	sum++;
}
FN void pin_block(void)
{
	sum++;
}
FN void clock_unlock(void)
{
	sum++;
}
FN void try_lock(void)
{
	sum++;
}
FN void sys_read(void)
{
	sum++;
}
FN void Sys_write(void)
{
	sum++;
}
FN void vfs_read(void)
{
	sys_read();
	Sys_write();
}
FN void do_execve(void)
{
	vfs_read();
}
FN void kernel_clone(void)
{
	mutex_lock();
	mutex_unlock();
	do_execve();
}
FN void do_exit_late(void)
{
	sum++;
}
FN void scheduler_tick(void)
{
	spin_lock();
	try_lock();
	pin_block();
	clock_unlock();
	spin_unlock();
}
FN void rcu_read_lock(void)
{
	sum++;
}
FN void rcu_read_unlock(void)
{
	sum++;
}
FN void preempt_schedule(void)
{
	sum++;
}
FN void schedule_timeout(void)
{
	sum++;
}
FN void schedule(void)
{
	preempt_schedule();
	schedule_timeout();
	scheduler_tick();
	rcu_read_lock();
	rcu_read_unlock();
}

static void *busy(void *arg)
{
	for (;;) {
		schedule();
		kernel_clone();
		do_exit_late();
		trace_sched_waking("stand_in", getpid());
		trace_sched_switch("stand_in", getpid(), "swapper", 0);
		trace_sched_process_fork("stand_in", getpid(), "child", getpid() + 1);
		usleep(100);
	}
	return arg;
}

int main(void)
{
	pthread_t thread;
	char c;

	pthread_create(&thread, NULL, busy, NULL);
	pthread_create(&thread, NULL, busy, NULL);
	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	return 0;
}
