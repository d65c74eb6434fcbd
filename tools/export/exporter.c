/* SPDX-License-Identifier: MIT */
/* The table of exporter.h. Tests: tests/cli/test_convert.py. */
#include "tools/export/exporter.h"

#include <string.h>

const struct exporter exporters[] = {
	{"dat", "a trace.dat of version 7, compressed: trace-cmd, KernelShark, vestige",
	 dat_export},
	{"dat6", "a trace.dat of version 6, for older readers", dat6_export},
	{"native", "the native form of a recording, of an area or a spool: vestige", native_export},
	{NULL, NULL, NULL},
};

const struct exporter *exporter_find(const char *name)
{
	for (const struct exporter *e = exporters; e->name; e++)
		if (!strcmp(e->name, name))
			return e;
	return NULL;
}
