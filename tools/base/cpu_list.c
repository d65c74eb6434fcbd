/* SPDX-License-Identifier: MIT */
/* See cpu_list.h. Tests: tests/unit/test_cpu_list.c. */
#include "tools/base/cpu_list.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "tools/base/fail.h"

/* A number at *@p, stepped over; -1 if there is none. */
static long number(const char **p)
{
	char *end;
	long n;

	if (!isdigit((unsigned char)**p))
		return -1;
	errno = 0;
	n = strtol(*p, &end, 10);
	*p = end;
	return errno ? -1 : n;
}

int cpu_list_parse(const char *list, unsigned int nr_cpus, bool **out)
{
	bool *cpus = calloc(nr_cpus + 1u, sizeof(*cpus));
	const char *p = list;
	long first, last;

	if (!cpus)
		return fail(ENOMEM, "out of memory");
	for (;; p++) {
		first = last = number(&p);
		if (first >= 0 && *p == '-') {
			p++;
			last = number(&p);
		}
		if (first < 0 || last < first || (*p && *p != ',')) {
			free(cpus);
			return fail(EINVAL, "'%s' is not a list of CPUs such as 0,2-3", list);
		}
		if (last >= (long)nr_cpus) {
			free(cpus);
			return fail(ERANGE, "the trace has no CPU %ld; its CPUs are 0 to %d", last,
				    (int)nr_cpus - 1);
		}
		for (; first <= last; first++)
			cpus[first] = true;
		if (!*p)
			break;
	}
	*out = cpus;
	return 0;
}

const char *cpu_mask_all(char to[CPU_MASK_BYTES], unsigned int nr)
{
	char *p = to;

	for (unsigned int i = (nr + 3) / 4; i-- > 0;) {
		/* the first digit may be of fewer than four CPUs */
		*p = p == to && nr % 4 ? "137"[nr % 4 - 1] : 'f';
		p++;
		if (i && i % 8 == 0)
			*p++ = ',';
	}
	*p = '\0';
	return to;
}
