/* SPDX-License-Identifier: MIT */
/*
 * Version 6 of a trace.dat: formats, options and tables of CPUs come before the records. An option
 * points to the table of each further buffer. Tests: tests/cli/test_report_kernels.py.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/dat/dat_format.h"
#include "tools/export/dat_sections.h"
#include "tools/export/dat_writer.h"

#define DAT_FLYRECORD	    "flyrecord"
#define DAT_FLYRECORD_BYTES 10u

static void fill_options_v6(FILE *f, struct reader *r)
{
	fwrite("options  ", 10, 1, f);
	dat_options_put_common(f, r);
}

/* Version 6 has one number of CPUs for all buffers. */
static uint32_t nr_cpus_v6(const struct writer *w)
{
	uint32_t nr = w->r->nr_cpus;

	for (unsigned int i = 0; i < w->opt->nr_more; i++)
		if (w->opt->more[i].r->nr_cpus > nr)
			nr = w->opt->more[i].r->nr_cpus;
	return nr;
}

/*
 * Write the options of the further buffers and the end of the options, and leave room for the
 * tables: the first buffer's, then the tables to which the options point.
 */
static int write_tables_v6(struct writer *w)
{
	uint64_t table = nr_cpus_v6(w) * sizeof(uint64_t[2]), at = w->offset + 2;
	const uint16_t id = DAT_BUFFER, done = DAT_DONE;
	int ret = 0;

	for (unsigned int i = 0; i < w->opt->nr_more; i++)
		at += 2 + 4 + 8 + strlen(w->more[i].name) + 1;
	at += DAT_FLYRECORD_BYTES;
	w->table_at = at;
	at += table;
	for (unsigned int i = 0; !ret && i < w->opt->nr_more; i++) {
		struct more *m = &w->more[i];
		uint32_t bytes = (uint32_t)(8 + strlen(m->name) + 1);

		m->at = at + DAT_FLYRECORD_BYTES;
		ret = dat_writer_put_at(w, DAT_FLYRECORD, DAT_FLYRECORD_BYTES, at);
		if (!ret)
			ret = dat_writer_append(w, &id, sizeof(id));
		if (!ret)
			ret = dat_writer_append(w, &bytes, sizeof(bytes));
		if (!ret)
			ret = dat_writer_append(w, &at, sizeof(at));
		if (!ret)
			ret = dat_writer_append(w, m->name, strlen(m->name) + 1);
		at = m->at + table;
	}
	if (!ret)
		ret = dat_writer_append(w, &done, sizeof(done));
	if (!ret)
		ret = dat_writer_append(w, DAT_FLYRECORD, DAT_FLYRECORD_BYTES);
	w->offset = at;
	return ret;
}

int dat_writer_front6(struct writer *w)
{
	uint32_t nr_cpus = nr_cpus_v6(w);
	size_t bytes;
	char *text;
	int ret;

	ret = dat_writer_initial(w);
	if (!ret)
		ret = dat_writer_sections(w);
	if (!ret)
		ret = dat_writer_append(w, &nr_cpus, sizeof(nr_cpus));
	if (!ret)
		ret = dat_writer_in_memory(w, fill_options_v6, &text, &bytes);
	if (ret)
		return ret;
	ret = dat_writer_append(w, text, bytes);
	free(text);
	return ret ? ret : write_tables_v6(w);
}

/* Write a buffer's table: offset and size of each CPU's data, 0 for a CPU that it does not have. */
static int write_table_v6(struct writer *w, uint64_t at, unsigned int nr_cpus,
			  const uint64_t *offset, const uint64_t *bytes)
{
	int ret = 0;

	for (unsigned int cpu = 0; !ret && cpu < nr_cpus_v6(w); cpu++) {
		const uint64_t place[2] = {cpu < nr_cpus ? offset[cpu] : 0,
					   cpu < nr_cpus ? bytes[cpu] : 0};

		ret = dat_writer_put_at(w, place, sizeof(place), at + cpu * sizeof(place));
	}
	return ret;
}

int dat_writer_back6(struct writer *w)
{
	int ret = write_table_v6(w, w->table_at, w->r->nr_cpus, w->cpu_offset, w->cpu_bytes);

	for (unsigned int i = 0; !ret && i < w->opt->nr_more; i++) {
		struct more *m = &w->more[i];

		ret = dat_writer_more(w, m);
		if (!ret)
			ret = write_table_v6(w, m->at, w->opt->more[i].r->nr_cpus, m->offset,
					     m->bytes);
	}
	return ret || !w->opt->native ? ret : dat_writer_native(w, 0);
}
