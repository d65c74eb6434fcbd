/* SPDX-License-Identifier: MIT */
/*
 * The parts of a trace.dat around the CPUs' data. Version 6 has them one after the other. Version 7
 * has a section with a head for each; the bodies are the same. Each function appends to a stream;
 * the caller checks the stream for errors.
 */
#ifndef VESTIGE_TOOLS_DAT_SECTIONS_H
#define VESTIGE_TOOLS_DAT_SECTIONS_H

#include <stdint.h>
#include <stdio.h>

#include "tools/dat/dat_format.h"
#include "tools/reader/reader.h"

void dat_put_u16(FILE *f, uint16_t v);
void dat_put_u32(FILE *f, uint32_t v);
void dat_put_u64(FILE *f, uint64_t v);

/* events/header_page and events/header_event as a kernel with 4 KiB sub-buffers has them. */
extern const char dat_header_page[], dat_header_event[];

/*
 * The bytes of a long in a file of the records of @r: 4 if they are of a 32-bit machine, else 8.
 * @r: NULL for the running kernel: 8.
 */
unsigned int dat_long_bytes(const struct reader *r);

/* header_page and header_event. */
void dat_section_header_info(FILE *f, struct reader *r);
struct dat_event;
/* Whether a file of @r has the format of @ev, a row of dat_events. */
bool dat_has_event(const struct reader *r, const struct dat_event *ev);
/* The formats of the system ftrace: the rows of dat_events, and the formats of @r. */
void dat_section_ftrace_events(FILE *f, struct reader *r);
/* The same if calls have the compact form. */
void dat_section_compact_events(FILE *f, struct reader *r);
/* The formats of all other systems, from @r. */
void dat_section_event_formats(FILE *f, struct reader *r);
void dat_section_kallsyms(FILE *f, struct reader *r);
/* The format strings to which the records ftrace:bprint and ftrace:bputs point. */
void dat_section_printk(FILE *f, struct reader *r);
void dat_section_cmdlines(FILE *f, struct reader *r);

/* One option: u16 id, u32 size, data. */
void dat_option_put(FILE *f, enum dat_option id, const void *data, size_t bytes);
/* The prototypes of functions with arguments or results. @p: NULL: no option is written. */
void dat_option_put_prototypes(FILE *f, struct prototypes *p);
/* How many records each CPU of @r lost after its last one. No option if none were lost. */
void dat_option_put_lost_at_end(FILE *f, const struct reader *r);
/* The times at which exec() ended the open calls of stacks. No option if @nr is 0. */
void dat_option_put_ends(FILE *f, const struct record_end *ends, size_t nr);
/*
 * A buffer, as an option of version 7. @name: "": the top one. @section_at: the offset of its
 * section in the file. @offset, @bytes: by CPU (nr_cpus of them): offset and size of its data in
 * the file.
 */
void dat_option_put_buffer(FILE *f, const struct reader *r, const char *name, uint64_t section_at,
			   const uint64_t *offset, const uint64_t *bytes);
/*
 * The options about the recording: TRACECLOCK, VERSION, TRACEID, CPUCOUNT; and if they are known,
 * UNAME, PROCMAPS, TRACED, DATE, OFFSET, CPUSTAT.
 */
void dat_options_put_common(FILE *f, struct reader *r);

#endif
