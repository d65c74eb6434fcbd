/* SPDX-License-Identifier: MIT */
/*
 * inside FOLDER: a program that uses vestige.h, with the library and without it. Says what it saw.
 */
#include <string.h>

#include "target.h"
#include "vestige/vestige.h"

static NOINLINE void counted(int n)
{
	trace_printk("n is %d", n);
}

static NOTRACE void say(const char *what, long ret)
{
	printf("%s %s\n", what, ret < 0 ? strerror(errno) : "ok");
}

NOTRACE int main(int argc, char **argv)
{
	char path[4096], text[256];
	int i;

	say("write", vestige_write("current_tracer", "function", 8));
	say("read", vestige_read("current_tracer", text, sizeof(text)));
	say("bad", vestige_write("current_tracer", "none", 4));
	say("absent", vestige_read("no_such_file", text, sizeof(text)));
	say("rendered", vestige_read("trace", text, sizeof(text)));
	say("small", vestige_read("available_tracers", text, 3));
	vestige_mark("begin");
	for (i = 0; i < 1000; i++)
		counted(i);
	say("stop", vestige_stop());
	counted(-1);
	say("start", vestige_start());
	snprintf(path, sizeof(path), "%s/snapshot", argc > 1 ? argv[1] : ".");
	say("snapshot", vestige_snapshot(path));
	say("again", vestige_snapshot(path));
	for (i = 0; i < 500; i++)
		counted(i);
	return 0;
}
