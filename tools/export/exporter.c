/* SPDX-License-Identifier: MIT */
/* The table of exporter.h. Tests: tests/cli/test_convert.py, test_export.py. */
#include "tools/export/exporter.h"

#include <stdio.h>
#include <string.h>

const struct exporter exporters[] = {
	{"dat",
	 "a trace.dat of version 7, compressed: trace-cmd, KernelShark, vestige",
	 {".dat"},
	 false,
	 dat_export,
	 .is_dat = true},
	{"dat6",
	 "a trace.dat of version 6, for older readers",
	 {NULL},
	 false,
	 dat6_export,
	 .is_dat = true},
	{"native",
	 "the native form of a recording, of an area or a spool: vestige",
	 {".vst"},
	 false,
	 native_export},
	{"chrome",
	 "Chrome's JSON: chrome://tracing, Perfetto's viewer",
	 {".json"},
	 true,
	 chrome_export,
	 .splits = true},
	{"perfetto",
	 "Perfetto's protobuf: its viewer and trace_processor",
	 {".pftrace", ".perfetto-trace"},
	 true,
	 perfetto_export,
	 .splits = true},
	{"folded", "folded stacks: flamegraph.pl, inferno", {".folded"}, true, folded_export},
	{"flame", "a flame graph (SVG): a browser", {".svg"}, true, flame_export},
	{"speedscope", "speedscope's JSON", {".speedscope.json"}, true, speedscope_export},
	{"firefox",
	 "the Firefox profiler's JSON: profiler.firefox.com",
	 {".firefox.json"},
	 true,
	 firefox_export},
	{"callgrind",
	 "callgrind's profile: KCachegrind, callgrind_annotate",
	 {".callgrind"},
	 true,
	 callgrind_export},
	{"pprof",
	 "pprof's protobuf, gzipped: go tool pprof",
	 {".pb.gz", ".pprof"},
	 true,
	 pprof_export},
	{"dot", "the graph of calls: Graphviz", {".dot", ".gv"}, true, dot_export},
	{"csv",
	 "a line for each call and event, with a header",
	 {".csv"},
	 true,
	 csv_export,
	 .splits = true},
	{"jsonl", "the same as lines of JSON", {".jsonl"}, true, jsonl_export, .splits = true},
	{"order",
	 "the program's functions by first call: a linker's symbol order file",
	 {".order"},
	 true,
	 order_export},
	{"systrace",
	 "the text of systrace and atrace: Perfetto's viewer, catapult",
	 {".systrace", ".ftrace"},
	 true,
	 systrace_export,
	 .splits = true},
	{"lcov",
	 "which functions were called, how often: lcov, genhtml",
	 {".info", ".lcov"},
	 true,
	 lcov_export},
	{"strace",
	 "system calls as strace -f -ttt -T prints them",
	 {".strace"},
	 true,
	 strace_export},
	{"ctf",
	 "a folder in the Common Trace Format 1.8, as LTTng-UST makes it: babeltrace2, Trace "
	 "Compass",
	 {".ctf"},
	 true,
	 ctf_export,
	 .is_folder = true},
	{0},
};

const struct exporter *exporter_find(const char *name)
{
	char path[64];

	for (const struct exporter *e = exporters; e->name; e++)
		if (!strcmp(e->name, name))
			return e;
	snprintf(path, sizeof(path), "of.%s", name);
	return exporter_of_path(path);
}

const char *exporter_suffix(const struct exporter *e, const char *path)
{
	size_t bytes = strlen(path), longest = 0;

	for (unsigned int i = 0; i < 3 && e->suffixes[i]; i++) {
		size_t n = strlen(e->suffixes[i]);

		if (n > longest && n < bytes && !strcmp(path + bytes - n, e->suffixes[i]))
			longest = n;
	}
	return path + bytes - longest;
}

const struct exporter *exporter_of_path(const char *path)
{
	const struct exporter *found = NULL;
	size_t longest = 0;

	for (const struct exporter *e = exporters; e->name; e++) {
		size_t n = strlen(exporter_suffix(e, path));

		if (n <= longest)
			continue;
		found = e;
		longest = n;
	}
	return found;
}
