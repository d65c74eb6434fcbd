/* SPDX-License-Identifier: MIT */
/*
 * A program with events, C and C++: each line of its input is a round. It answers each with `done
 * N`, N the events that it made if all were on; `text` has it print how they read, too; `fork` has
 * a child do it, `linger` one that does it twice, a tenth of a second apart.
 */
#define CREATE_TRACE_POINTS
#include "calc.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

DEFINE_TRACE(calc_bare, TP_PROTO(int n), TP_ARGS(n));

static int seen, seen_prio[8];

static void count(void *data, int n)
{
	*(int *)data += n;
}

static void first(void *data, int n)
{
	(void)n;
	seen_prio[seen++ % 8] = *(int *)data;
}

/* its name is the same in C++ */
static void place(void) __asm__("place");
static void place(void)
{
}

static int round_of(int i, int text)
{
	char s[32];

	snprintf(s, sizeof(s), "round %d", i);
	trace_calc_sum(i, -i);
	trace_calc_fields(i % 3 ? s : NULL, i & 1 ? CALC_MUL : CALC_ADD, (unsigned long)i & 7,
			  &seen);
	trace_calc_odd(i);
	trace_calc_one((unsigned long)&place, i);
	trace_calc_two((unsigned long)&place, i);
	trace_calc_bare(i);
	if (text) {
		static const char *const flags[] = {"",	    "ONE",	"TWO",	    "ONE|TWO",
						    "FOUR", "ONE|FOUR", "TWO|FOUR", "ONE|TWO|FOUR"};

		printf("calc_sum: a=%d b=%d\n", i, -i);
		printf("calc_fields: s=%s op=%s name=name shorts=1 2 3 yes=1 c=99 "
		       "flags=%s rel=%s part=%.2s numbers=0 5 10 size=12 bytes=8\n",
		       i % 3 ? s : "(null)", i & 1 ? "mul" : "add", flags[i & 7],
		       i % 3 ? s : "(null)", i % 3 ? s : "(null)");
		if (i & 1)
			printf("calc_odd: n=%d\n", i);
		printf("calc_one: at=place n=%d\ncalc_two: two n=%d\n", i, i);
	}
	return 4 + (i & 1);
}

/* Probes of the program's own: 0 or -errno of each, and what they saw. */
static void own_probes(void)
{
	static int sum, one = 1, two = 2;
	int a = register_trace_calc_bare(count, &sum), b = register_trace_calc_bare(count, &sum);
	int c = register_trace_prio_calc_bare(first, &one, 5);
	int d = register_trace_prio_calc_bare(first, &two, 20);
	int on = trace_calc_bare_enabled(), e, f, g;

	trace_calc_bare(42);
	e = unregister_trace_calc_bare(count, &sum);
	f = unregister_trace_calc_bare(count, &sum);
	g = unregister_trace_calc_bare(first, &one) | unregister_trace_calc_bare(first, &two);
	tracepoint_synchronize_unregister();
	trace_calc_bare(1000);
	printf("probes %d %d %d %d on %d sum %d order %d %d off %d %d %d %d\n", a, b, c, d, on, sum,
	       seen_prio[0], seen_prio[1], e, f, g, trace_calc_bare_enabled());
}

#ifdef CALC_LIBRARY
#ifdef __cplusplus
extern "C"
#endif
	int
	lib_round(int i);
int lib_round(int i)
{
	return round_of(i, 0);
}

__attribute__((constructor)) static void loaded(void)
{
	trace_calc_odd(9999);
	if (seen > 1) /* never: it keeps own_probes() */
		own_probes();
}
#else
int main(int argc, char **argv)
{
	char line[64];
	int i, events;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1 && !strcmp(argv[1], "fork")) {
		round_of(1, 0);
		if (!fork()) {
			round_of(2, 0);
			_exit(0);
		}
		wait(NULL);
		round_of(3, 0);
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "large")) {
		static char text[8000];

		memset(text, 'x', sizeof(text) - 1);
		trace_calc_fields(text, CALC_ADD, 0, NULL);
		text[1300] = 0; /* three copies of it fit, as do the other fields */
		trace_calc_fields(text, CALC_ADD, 0, NULL);
		return 0;
	}
	if (argc > 1) {
		for (i = 0; i < atoi(argv[1]); i++)
			round_of(i, 1);
		return 0;
	}
	for (i = 0; fgets(line, sizeof(line), stdin); i++) {
		if (!strcmp(line, "probes\n")) {
			own_probes();
			continue;
		}
		if (!strcmp(line, "fork\n") || !strcmp(line, "linger\n")) {
			pid_t child = fork();

			if (!child) {
				round_of(i, 0);
				if (*line == 'l') {
					usleep(100000);
					round_of(i, 0);
				}
				_exit(0);
			}
			wait(NULL);
			printf("child %d\n", child);
			continue;
		}
		events = round_of(i, !strcmp(line, "text\n"));
		printf("done %d\n", events);
	}
	return 0;
}
#endif
