/* SPDX-License-Identifier: MIT */
/*
 * The object that `modprobe trace_printk` loads in the stand-in. Its functions have the names that
 * cases look for, and use each call that the kernel's sample module shows.
 */
#include <vestige/vestige.h>

#define FN __attribute__((noipa))

static volatile int calls;

/* Not constant to the compiler. */
static const char *volatile irq_text = "(irq) This is no constant, for trace_puts\n";
static const char *volatile irq_format = "(irq) This is no constant, for %s\n";
static const char *volatile text = "This is no constant, for trace_puts\n";
static const char *volatile format = "This is no constant, for %s\n";

FN void trace_printk_irq_work(void)
{
	calls++;
	trace_puts("(irq) This is a static string that will use trace_bputs\n");
	trace_puts(irq_text);
	trace_printk("(irq) This is a %s that will use trace_bprintk()\n", "static string");
	trace_printk(irq_format, "trace_printk");
}

FN void trace_printk_init(void)
{
	trace_printk_irq_work();
	trace_puts("This is a static string that will use trace_bputs\n");
	trace_puts(text);
	trace_printk("This is a %s that will use trace_bprintk()\n", "static string");
	trace_printk(format, "trace_printk");
}

__attribute__((constructor)) static void loaded(void)
{
	trace_printk_init();
}
