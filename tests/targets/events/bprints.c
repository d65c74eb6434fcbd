/* SPDX-License-Identifier: MIT */
/*
 * bprints: each line is printed by trace_printk() and by printf(), which says how it has to be
 * recorded: `bprint`, `bputs`, `print`. C and C++. With an argument: `fork`, also in a child;
 * `one`, once by what the objects that follow have; `read`, line by line for each line that it
 * reads.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vestige/vestige.h>

#define OF(kind, ...)                                                                              \
	do {                                                                                       \
		trace_printk(__VA_ARGS__);                                                         \
		printf(kind " " __VA_ARGS__);                                                      \
		putchar('\n');                                                                     \
	} while (0)
#define B(...) OF("bprint", __VA_ARGS__)
#define S(...) OF("bputs", __VA_ARGS__)
#define T(...) OF("print", __VA_ARGS__)

static const char *volatile null;
static char not_ended[4] = {'a', 'b', 'c', 'd'};
static char longer[1100];
static volatile long double ld = 2.5L;

static __attribute__((noinline)) void numbers(int i, unsigned int u, long l, unsigned long ul,
					      long long ll)
{
	B("d %d i %i u %u x %x X %X o %o", i, i, u, u, u, u);
	B("ld %ld lu %lu lx %lx lX %lX lo %lo", l, ul, ul, ul, ul);
	B("lld %lld llu %llu llx %llx", ll, (unsigned long long)ll, (unsigned long long)ll);
	B("zu %zu zd %zd zx %zx", (size_t)ul, (ssize_t)l, (size_t)ul);
	B("width %8d|%08d|%3u|%012lx|%.5d|%8.3d|", i, i, u, ul, i, i);
	B("star %*d|%0*x|%.*d|", 9, i, 8, u, 4, i);
	B("one int, one long, one int: %d %ld %d", i, l, i);
	T("left %-8d|%-12ld|", i, l);
	T("sign %+d|% d|%+ld|", i, i, l);
	T("other %#x %#o", u, u);
	T("short %hd %hhd %hu %hhx", (short)i, (signed char)i, (unsigned short)u, (unsigned char)u);
	T("max %jd %ju %td", (intmax_t)l, (uintmax_t)ul, (ptrdiff_t)l);
}

static __attribute__((noinline)) void strings(const char *s, int n)
{
	B("string %s|%10s|%.2s|%10.1s|", s, s, s, s);
	B("stars %*s|%.*s|", 7, s, 2, s);
	T("stars %*.*s|", 9, 1, s);
	T("stars %*.2s|", 9, s);
	T("stars %6.*s|", 1, s);
	T("left by its star %*s|", -7, s);
	B("between %d %s %ld %s %d", n, s, (long)n, "", n);
	B("several %s%s%s %d", s, s, s, n);
	T("left %-10s|", s);
}

static void table(void)
{
	numbers(0, 0, 0, 0, 0);
	numbers(-1, 1, -1, 1, -1);
	numbers(INT_MIN, UINT_MAX, LONG_MIN, ULONG_MAX, LLONG_MIN);
	numbers(INT_MAX, 12345, LONG_MAX, 1234567890123, LLONG_MAX);
	strings("", 1);
	strings("abc", -2);
	strings("a text of more words", 3);
	S("constant");
	S("a newline, and no more\n");
	B("per cent %% of %d", 3);
	B("per cent %%");
	B("tab\tquote \" backslash \\ %s", "\t\"\\");
	B("no argument\tbut a tab");
	B("null %s|%10s|", null, null);
	B("null %.6s|", null);
	T("null %.3s|", null);
	B("not ended %.4s|%.*s", not_ended, 3, not_ended);
	T("%s", "nothing else");
	T("%d", 7);
	B("pointer %p", (void *)&null);
	T("pointer %20p %-20p|", (void *)&null, (void *)&null);
	T("pointer that letters follow %ps", (void *)&null);
	B("nil %p", (void *)NULL);
	T("char %c|%5c|", 'x', 'y');
	T("double %f %g %.2e %a %5.1f", 1.5, 2.25, 1e10, 1.0, 3.25);
	T("long double %Lf", ld);
	T("number %2$d %1$d", 1, 2);
	B("sixteen %d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
	  15, 16);
	T("seventeen %d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13,
	  14, 15, 16, 17);
	T("wide %600d", 3);
	T("wide %*d", 600, 3);
	longer[900] = '\0';
	B("long %s", longer);
	longer[900] = 'x';
	longer[1010] = '\0';
	T("longer %d %s", 3, longer);
	longer[1010] = 'x';
}

static void in_objects(char **path)
{
	for (; *path; path++) {
		void *h = dlopen(*path, RTLD_NOW);
		void (*print)(int);

		if (!h)
			exit(3);
		*(void **)&print = dlsym(h, "print");
		print(7);
		fflush(stdout);
		printf("at %p\n", (void *)print);
		dlclose(h);
	}
}

static void in_child(void)
{
	int status = 1;
	pid_t pid;

	B("before %d", 1);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		B("before %d", 2);
		B("in the child %s", "alone");
		fflush(stdout);
		exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		exit(4);
	B("behind %d", 3);
}

int main(int argc, char **argv)
{
	char line[64];

	setvbuf(stdout, NULL, _IOLBF, 0);
	memset(longer, 'x', sizeof(longer) - 1);
	if (argc < 2) {
		table();
	} else if (!strcmp(argv[1], "fork")) {
		in_child();
	} else if (!strcmp(argv[1], "objects")) {
		in_objects(argv + 2);
	} else {
		while (fgets(line, sizeof(line), stdin)) {
			line[strcspn(line, "\n")] = '\0';
			if (!strcmp(line, "other"))
				trace_printk("first seen %s later", line);
			else
				trace_printk("read %s\n", line);
			printf("done 0\n");
		}
	}
	return 0;
}
