/* SPDX-License-Identifier: MIT */
/*
 * prints: for each line it does what the kernel's own code does inside itself, by vestige.h. C and
 * C++. `go`: prints of all sorts; `stack`, `alloc`, `snapshot`, `stop`, `is_on`. Answers `done N`.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <vestige/vestige.h>

static const char *volatile no_constant = "no constant %d\n";

static inline __attribute__((always_inline)) void in_line(int n)
{
	trace_printk("in line %d\t\"quoted\" \\ \n", n);
}

static __attribute__((noinline)) void handler(int sig)
{
	trace_printk("signal %d", sig);
	tracing_off();
}

static __attribute__((noinline)) void inner(void)
{
	trace_dump_stack(0);
	trace_dump_stack(1);
	__asm__ volatile("");
}

static __attribute__((noinline)) void outer(void)
{
	inner();
	__asm__ volatile("");
}

int main(void)
{
	char line[64];
	int ret = 0;

	signal(SIGUSR1, handler);
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strcmp(line, "go")) {
			trace_printk("constant\n");
			trace_printk("%s and %d\n", "constant", 2);
			in_line(1);
			in_line(2);
			trace_printk(no_constant, 3);
			trace_puts("text\n");
			trace_puts(no_constant);
		} else if (!strcmp(line, "stack")) {
			outer();
		} else if (!strcmp(line, "alloc")) {
			ret = tracing_alloc_snapshot();
		} else if (!strcmp(line, "snapshot")) {
			tracing_snapshot();
		} else if (!strcmp(line, "snapshot_alloc")) {
			tracing_snapshot_alloc();
		} else if (!strcmp(line, "stop")) {
			raise(SIGUSR1);
		} else if (!strcmp(line, "on")) {
			tracing_on();
		} else {
			ret = tracing_is_on();
		}
		printf("done %d\n", ret);
		fflush(stdout);
	}
	return 0;
}
