/* SPDX-License-Identifier: MIT */
/*
 * See task.h. A small cache, in which the data of ended threads stays. fork: the child has its
 * parent's rows, which expire. Tests: tests/engine/events/sched.
 */
#include "engine/sources/task.h"

#include <sched.h>
#include <sys/resource.h>

#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/base/seq_buf.h"
#include "engine/process/area.h"
#include "engine/ring/ring.h"

#define NR_ROWS	 256u
#define STALE_NS 100000000u

static struct sched_task cache[NR_ROWS] BIG_ZEROS;

/*
 * A thread's priority in the kernel's numbers: 0 to 98 are real-time, 120 is nice 0, -1 is a
 * deadline thread. Makes three system calls.
 */
static int32_t prio_of(int tid)
{
	struct sched_param param = {0};
	long policy = arch_syscall(SYS_sched_getscheduler, tid, 0, 0, 0, 0, 0);
	long nice = arch_syscall(SYS_getpriority, PRIO_PROCESS, tid, 0, 0, 0, 0);

	arch_syscall(SYS_sched_getparam, tid, (long)&param, 0, 0, 0, 0);
	if (policy == SCHED_FIFO || policy == SCHED_RR)
		return 99 - param.sched_priority;
	if (policy == 6 /* SCHED_DEADLINE */)
		return -1;
	/* the system call's result is 20 - nice */
	return nice > 0 ? 140 - (int32_t)nice : 120;
}

static int may_ask(void)
{
	return ring_ctl[0]->tid >= 0 && !sys_is_forbidden();
}

int sched_task_own_tid(void)
{
	if (may_ask())
		return sys_own_tid();
	return ring_ctl[0]->tid > 0 ? ring_ctl[0]->tid : 0;
}

void sched_task_own(char *comm, int32_t *prio)
{
	if (!may_ask()) {
		str_copy(comm, TASK_COMM_BYTES, ring_thread_comm());
		*prio = 120;
		return;
	}
	sys_get_comm(comm);
	*prio = prio_of(0);
}

/* Read the name of a thread. Return: whether the thread exists. */
static int read_comm(int tid, char *comm)
{
	char path[64];
	struct seq_buf s;
	long n;
	int fd;

	seq_init(&s, path, sizeof(path) - 1);
	seq_puts(&s, "/proc/");
	seq_putu(&s, (uint64_t)tid);
	seq_puts(&s, "/comm");
	path[s.len] = 0;
	fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	n = sys_read(fd, comm, TASK_COMM_BYTES);
	sys_close(fd);
	memset(comm + (n > 0 ? n - 1 : 0), 0, TASK_COMM_BYTES - (size_t)(n > 0 ? n - 1 : 0));
	return n > 0;
}

void sched_task_comm(int tid, char *comm)
{
	/* a fork's child may have no area */
	const struct area_task *tasks = area ? area_entry(AREA_TASKS, 0) : NULL;
	uint32_t i = area ? area->tables[AREA_TASKS].count : 0;

	for (; i > 0; i--)
		if (tasks[i - 1].tid == tid) {
			memcpy(comm, tasks[i - 1].comm, TASK_COMM_BYTES);
			return;
		}
	memcpy(comm, "<...>", 6);
}

const struct sched_task *sched_task_find(int tid, uint64_t now_ns)
{
	struct sched_task *t = &cache[(uint32_t)tid % NR_ROWS];

	if (t->tid == tid && t->read_ns && now_ns - t->read_ns < STALE_NS)
		return t;
	if (t->tid != tid || !t->read_ns)
		*t = (struct sched_task){.tid = tid, .prio = 120};
	t->read_ns = now_ns;
	if (tid <= 0)
		memcpy(t->comm, tid ? "<...>" : "<idle>", 7);
	else if (read_comm(tid, t->comm))
		t->prio = prio_of(tid);
	else if (!t->comm[0])
		sched_task_comm(tid, t->comm);
	return t;
}
