/* SPDX-License-Identifier: MIT */
/* What `modprobe trace_printk` loads in the stand-in: an object with the functions that cases look for. */
#define FN __attribute__((noipa))

static volatile int calls;

FN void trace_printk_irq_work(void)
{
	calls++;
}

FN void trace_printk_init(void)
{
	trace_printk_irq_work();
}
