/* SPDX-License-Identifier: MIT */
/*
 * Makes a trace.dat of the files FILE.cpuN of a killed recorder of the kernel: trace-cmd, or its
 * listener. All other data is read from this machine now, or from a partial file.
 */
#ifndef VESTIGE_TOOLS_RECORD_RESTORE_H
#define VESTIGE_TOOLS_RECORD_RESTORE_H

struct restore_options {
	const char *output;
	const char *partial; /* a file of restore_partial(); NULL: use this machine's data */
	const char *tracing,
		*kallsyms; /* a copy of the tracefs, of /proc/kallsyms; NULL: the machine's */
};

/*
 * restore_partial() - write a trace.dat without records, as `trace-cmd restore -c` does.
 * Return: 0 or -errno with fail() set, and no file is left.
 */
int restore_partial(const struct restore_options *o);

/*
 * restore() - write the whole file. @files: @nr of them; the CPU is the number at the end of each
 * name. If a name has none, CPUs are counted in their order. Incomplete pages are left out, with a
 * note. Return: as above.
 */
int restore(const struct restore_options *o, char *const *files, int nr);

#endif
