/* SPDX-License-Identifier: MIT */
/*
 * A trace.dat of the files FILE.cpuN that a killed recorder of the kernel left, trace-cmd's or its
 * listener. All else in it is this machine's, as it is now, or comes from a partial file.
 */
#ifndef VESTIGE_TOOLS_RECORD_RESTORE_H
#define VESTIGE_TOOLS_RECORD_RESTORE_H

struct restore_options {
	const char *output;
	const char *partial; /* what restore_partial() wrote; NULL: this machine's */
	const char *tracing,
		*kallsyms; /* a copy of the tracefs, of /proc/kallsyms; NULL: the machine's */
};

/*
 * restore_partial() - a trace.dat without records, as `trace-cmd restore -c` writes it, too.
 * Return: 0 or -errno with fail() set; nothing is left then.
 */
int restore_partial(const struct restore_options *o);

/*
 * restore() - the whole file. @files: @nr of them, of the CPUs that their names' ends say, or where one has
 * no such end, in their order. Pages that are cut are left out, and note() says so. Return: as above.
 */
int restore(const struct restore_options *o, char *const *files, int nr);

#endif
