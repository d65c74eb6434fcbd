/* SPDX-License-Identifier: MIT */
/*
 * The records of an import: added in any order, read by CPU in order of time. Calls get their
 * depths and lengths, texts become events (import_events.h) or marks. If there are many records,
 * they are sorted and kept in temporary files (sorter.h, spill.h). Memory: 150 MB for sorting; for
 * reading 20 MB, and 64 KiB a CPU, 24 bytes an open call, 16 bytes for 256 records.
 * Tests: tests/cli/test_import.py, tests/cli/test_import_memory.py, tests/fuzz/import.c.
 */
#ifndef VESTIGE_TOOLS_IMPORT_RECORDS_H
#define VESTIGE_TOOLS_IMPORT_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/base/sorter.h"
#include "tools/base/spill.h"
#include "tools/import/import_events.h"
#include "tools/reader/reader.h"

struct import_stream;

/* Made by import_records_init(). */
struct import_records {
	struct sorter spans, recs; /* calls of known length; all records */
	struct spill texts;	   /* of records; recs has their offsets */
	struct spill kept;	   /* pieces of one CPU's records, and their texts */
	struct import_stream *streams;
	unsigned int nr_streams;
	size_t pending; /* bytes of pieces that are not in kept */
	bool has_calls;
};

void import_records_init(struct import_records *s);
void import_records_clear(struct import_records *s);

/*
 * import_records_add() - add a record. @text: of a RECORD_PRINT, @rec->data_bytes long; NULL for
 * others.
 * import_records_call() - add a call of known length @ns.
 * Return: 0 or -errno with fail() set.
 */
int import_records_add(struct import_records *s, const struct record *rec, const char *text);
int import_records_call(struct import_records *s, int32_t thread, uint64_t ts, uint64_t ns,
			uint64_t ip);

/* Convert the calls of known length to records. Afterwards has_calls is valid. */
int import_records_open_calls(struct import_records *s);

/*
 * import_records_end() - no more records come: prepare the reading.
 * @r: gets nr_cpus; its symbols have all functions. @e: begun. @stats: gets a malloced array of
 * r->nr_cpus.
 * @mark: the function of texts between calls. Return: 0 or -errno with fail() set: ENODATA: there
 * is no record.
 */
int import_records_end(struct import_records *s, struct reader *r, struct import_events *e,
		       uint64_t mark, struct reader_cpu_stats **stats);

/* As struct reader_ops has them. */
int import_records_read(struct import_records *s, unsigned int cpu, struct record *out,
			unsigned int max);
void import_records_rewind(struct import_records *s);

#endif
