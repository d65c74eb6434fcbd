/* SPDX-License-Identifier: MIT */
/*
 * Stand-ins for what headers of events of Linux 6.12 name: enough of each type to compile them, and
 * no more. The values of constants that formats show are the kernel's.
 */
#ifndef STANDIN_H
#define STANDIN_H

#define VESTIGE_NO_KERNEL_TYPES /* dev_t and loff_t are the kernel's here */
#include <stdint.h>
#include <stddef.h>
#include <string.h>
#include <stdbool.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef s32 __s32;
typedef s64 __s64;
typedef int pid_t;
typedef unsigned int uid_t;
typedef unsigned int gid_t;
typedef u32 dev_t; /* the kernel's, not libc's */
typedef unsigned long ino_t;
typedef long long loff_t;
typedef int clockid_t;
typedef unsigned int gfp_t;
typedef s64 ktime_t;
typedef u64 sector_t;
typedef unsigned int umode_t;
typedef u64 phys_addr_t;
typedef u64 dma_addr_t;
typedef u64 resource_size_t;
typedef u64 blkcnt_t_;
typedef unsigned int slab_flags_t;
typedef u16 blk_short_t;
#define TASK_COMM_LEN 16
#define __force
#define __user
#define __rcu
#define __init
#define BIT(n) (1UL << (n))

#define SI_USER	  0
#define SI_KERNEL 128
enum {
	HI_SOFTIRQ,
	TIMER_SOFTIRQ,
	NET_TX_SOFTIRQ,
	NET_RX_SOFTIRQ,
	BLOCK_SOFTIRQ,
	IRQ_POLL_SOFTIRQ,
	TASKLET_SOFTIRQ,
	SCHED_SOFTIRQ,
	HRTIMER_SOFTIRQ,
	RCU_SOFTIRQ,
	NR_SOFTIRQS
};
struct irqaction {
	const char *name;
};
typedef void (*work_func_t)(struct work_struct *);
struct work_struct {
	work_func_t func;
};
struct workqueue_struct {
	char name[32];
};
struct worker_pool {
	int cpu;
};
struct pool_workqueue {
	struct worker_pool *pool;
	struct workqueue_struct *wq;
};
struct signal_struct {
	short oom_score_adj;
};
struct task_struct {
	pid_t pid, tgid;
	char comm[TASK_COMM_LEN];
	int prio, normal_prio;
	struct mm_struct *mm;
	struct signal_struct *signal;
	unsigned int __state, exit_state;
};
struct kernel_siginfo {
	int si_errno, si_code;
};
struct k_sigaction {
	struct {
		void (*sa_handler)(int);
		unsigned long sa_flags;
	} sa;
};
#define SEND_SIG_NOINFO ((struct kernel_siginfo *)0)
#define SEND_SIG_PRIV	((struct kernel_siginfo *)1)
struct kthread_work;
struct kthread_worker;
typedef void (*kthread_work_func_t)(struct kthread_work *);
struct kthread_worker {
	int x;
};
struct kthread_work {
	kthread_work_func_t func;
	struct kthread_worker *worker;
};
struct linux_binprm {
	const char *filename, *interp;
};
struct pid;
struct mm_struct;
struct vm_area_struct {
	unsigned long vm_start, vm_end;
};
enum hrtimer_mode { HRTIMER_MODE_ABS };
#define TASK_RUNNING	     0x00000000
#define TASK_INTERRUPTIBLE   0x00000001
#define TASK_UNINTERRUPTIBLE 0x00000002
#define __TASK_STOPPED	     0x00000004
#define __TASK_TRACED	     0x00000008
#define EXIT_DEAD	     0x00000010
#define EXIT_ZOMBIE	     0x00000020
#define TASK_PARKED	     0x00000040
#define TASK_DEAD	     0x00000080
#define TASK_REPORT                                                                                \
	(TASK_RUNNING | TASK_INTERRUPTIBLE | TASK_UNINTERRUPTIBLE | __TASK_STOPPED |               \
	 __TASK_TRACED | EXIT_DEAD | EXIT_ZOMBIE | TASK_PARKED)
#define TASK_REPORT_MAX ((TASK_REPORT + 1) << 1)
#define NSEC_PER_USEC	1000L
/* formats show the blanks */
/* clang-format off */
#define MAJOR(dev) ((unsigned int) ((dev) >> 20))
#define MINOR(dev) ((unsigned int) ((dev) & ((1U << 20) - 1)))
/* clang-format on */
#define BUG_ON(x)
extern struct task_struct *current;
static inline unsigned int __task_state_index(unsigned int a, unsigned int b)
{
	return a | b;
}
static inline unsigned int task_state_index(struct task_struct *p)
{
	return p->__state;
}
static inline int task_cpu(struct task_struct *p)
{
	return p->prio;
}
static inline pid_t task_tgid_nr(struct task_struct *p)
{
	return p->tgid;
}
static inline pid_t task_numa_group_id(struct task_struct *p)
{
	return p->tgid;
}
static inline pid_t task_pid_nr(struct task_struct *p)
{
	return p->pid;
}
static inline pid_t pid_nr(struct pid *p)
{
	return p != 0;
}
static inline int rt_task(struct task_struct *p)
{
	return p->prio;
}
static inline int is_idle_task(struct task_struct *p)
{
	return p->prio;
}
static inline struct task_struct *pi_get(struct task_struct *p)
{
	return p;
}
static inline int cpu_to_node(int c)
{
	return c;
}
extern unsigned long jiffies;
struct timer_list {
	void (*function)(struct timer_list *);
	unsigned long expires;
	unsigned int flags;
};
struct hrtimer {
	void *function;
};
struct itimerspec64 {
	struct {
		s64 tv_sec;
		long tv_nsec;
	} it_value, it_interval;
};
static inline s64 hrtimer_get_expires(struct hrtimer *t)
{
	return t != 0;
}
static inline s64 hrtimer_get_softexpires(struct hrtimer *t)
{
	return t != 0;
}
#define TIMER_CPUMASK	     0x0003FFFF
#define TIMER_MIGRATING	     0x00040000
#define TIMER_BASEMASK	     (TIMER_CPUMASK | TIMER_MIGRATING)
#define TIMER_DEFERRABLE     0x00080000
#define TIMER_PINNED	     0x00100000
#define TIMER_IRQSAFE	     0x00200000
#define TIMER_TRACE_FLAGMASK (TIMER_MIGRATING | TIMER_DEFERRABLE | TIMER_PINNED | TIMER_IRQSAFE)
#define TIMER_ARRAYSHIFT     22
#define TIMER_ARRAYMASK	     0xFFC00000

#endif
