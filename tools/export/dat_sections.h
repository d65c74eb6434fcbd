/* SPDX-License-Identifier: MIT */
/*
 * The pieces of a trace.dat around the CPUs' data. Version 6 has them one after the other, version
 * 7 as sections with a head each; the bodies are the same. Each function appends to a stream;
 * errors are the stream's.
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

/* The bytes of a long in a file of these records: 4 of a machine of 32 bits, else 8. @r: NULL for this kernel. */
unsigned int dat_long_bytes(const struct reader *r);

/* header_page and header_event. */
void dat_section_header_info(FILE *f, struct reader *r);
struct dat_event;
/* Whether an event of dat_events is among those of a file of @r. */
bool dat_has_event(const struct reader *r, const struct dat_event *ev);
/* The formats of dat_events. */
void dat_section_ftrace_events(FILE *f, struct reader *r);
/* The same where calls have the compact form. */
void dat_section_compact_events(FILE *f, struct reader *r);
/* No other events. */
void dat_section_event_formats(FILE *f, struct reader *r);
void dat_section_kallsyms(FILE *f, struct reader *r);
/* The texts that its records ftrace:bprint and ftrace:bputs name. */
void dat_section_printk(FILE *f, struct reader *r);
void dat_section_cmdlines(FILE *f, struct reader *r);

/* One option: u16 id, u32 size, data. */
void dat_option_put(FILE *f, enum dat_option id, const void *data, size_t bytes);
/* The functions' types that a file with values has: an option, unless there are none. @p: NULL for none. */
void dat_option_put_prototypes(FILE *f, struct prototypes *p);
/* The records that each CPU of @r lost after its last one: an option, unless none were lost. */
void dat_option_put_lost_at_end(FILE *f, const struct reader *r);
/* When the calls end that exec() ends: an option, unless there are none. */
void dat_option_put_ends(FILE *f, const struct record_end *ends, size_t nr);
/*
 * A buffer, as an option of version 7. @name: "" the first one's. @section_at: its section's offset in
 * the file. @offset, @bytes: where the data of each of the nr_cpus CPUs is, and how much.
 */
void dat_option_put_buffer(FILE *f, const struct reader *r, const char *name, uint64_t section_at,
			   const uint64_t *offset, const uint64_t *bytes);
/* The options about the recording: CPUSTAT, TRACECLOCK, UNAME, VERSION, TRACEID, CPUCOUNT. */
void dat_options_put_common(FILE *f, struct reader *r);

#endif
