/* SPDX-License-Identifier: MIT */
/*
 * transcript [SECTION]... - runs the sections named, or all, and prints what they saw.
 */
#include "transcript.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

#define MAX_FRAMES 200

void say(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	putchar('\n');
}

void say_flush(void)
{
	fflush(stdout);
}

static NOINLINE void say_frame(const char *how, int i, void *address)
{
	Dl_info info;
	const char *slash;

	if (!dladdr(address, &info)) {
		say("  %s %d nowhere", how, i);
		return;
	}
	slash = strrchr(info.dli_fname, '/');
	say("  %s %d %s+%#zx %s", how, i, slash ? slash + 1 : info.dli_fname,
	    (size_t)((char *)address - (char *)info.dli_fbase),
	    info.dli_sname ? info.dli_sname : "");
}

void say_address(const char *what, const void *address)
{
	say_frame(what, 0, (void *)(uintptr_t)address);
}

struct walk {
	int n;
	void *frame[MAX_FRAMES];
};

static _Unwind_Reason_Code walk_one(struct _Unwind_Context *context, void *arg)
{
	struct walk *w = arg;

	if (w->n >= MAX_FRAMES)
		return _URC_END_OF_STACK;
	w->frame[w->n++] = (void *)_Unwind_GetIP(context);
	return _URC_NO_REASON;
}

NOINLINE void say_stack(const char *what)
{
	struct walk w = {0};
	int i;

	say("%s", what);
	w.n = backtrace(w.frame, MAX_FRAMES);
	for (i = 0; i < w.n; i++)
		say_frame("backtrace", i, w.frame[i]);
	w.n = 0;
	_Unwind_Backtrace(walk_one, &w);
	for (i = 0; i < w.n; i++)
		say_frame("unwind", i, w.frame[i]);
}

static const struct {
	const char *name;
	void (*run)(void);
} sections[] = {
	{"values", section_values},	    {"throws", section_throws}, {"forced", section_forced},
	{"walks", section_walks},	    {"jumps", section_jumps},	{"stacks", section_stacks},
	{"coroutines", section_coroutines}, {"tails", section_tails},
};

int main(int argc, char **argv)
{
	size_t i;
	int a;

	for (i = 0; i < sizeof(sections) / sizeof(*sections); i++) {
		int wanted = argc < 2;

		for (a = 1; a < argc; a++)
			wanted |= !strcmp(argv[a], sections[i].name);
		if (!wanted)
			continue;
		say("== %s", sections[i].name);
		/* a section that dies is seen where it died */
		say_flush();
		sections[i].run();
		say_flush();
	}
	return 0;
}
