/* SPDX-License-Identifier: MIT */
/*
 * See event_text.h. The kernel prints `name: text` for most events. Each event of the system ftrace
 * has a form of its own: a stack has a line for each frame, the others have no name.
 *
 * libtraceevent trusts a record to match its format. So it gets a copy of the record with zeros
 * behind it, and only if all fields, also fields of variable length, lie inside the record.
 * Tests: tests/unit/test_text.c, test_dat_clients.c (the kernel's files against trace-cmd).
 */
#include "tools/text/event_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>
#include <traceevent/trace-seq.h>

#include "tools/code/symbols.h"
#include "tools/reader/formats.h"
#include "tools/text/ftrace_text.h"
#include "tools/text/probe_text.h"
#include "tools/text/synth_text.h"
#include "tools/text/syscall_text.h"

#define ZEROS_BEHIND 512u

struct event_text {
	struct reader *r;
	struct trace_seq seq;
	char *copy;
	size_t room;
};

struct event_text *event_text_new(struct reader *r)
{
	struct event_text *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->r = r;
	trace_seq_init(&e->seq);
	return e;
}

void event_text_free(struct event_text *e)
{
	if (!e)
		return;
	trace_seq_destroy(&e->seq);
	free(e->copy);
	free(e);
}

static bool copy_data(struct event_text *e, const struct record *rec)
{
	size_t need = rec->data_bytes + (size_t)ZEROS_BEHIND;

	if (e->room < need) {
		char *copy = realloc(e->copy, need);

		if (!copy)
			return false;
		e->copy = copy;
		e->room = need;
	}
	memcpy(e->copy, rec->data, rec->data_bytes);
	memset(e->copy + rec->data_bytes, 0, ZEROS_BEHIND);
	return true;
}

static uint64_t load(const char *data, const struct tep_format_field *f)
{
	uint64_t v = 0;

	memcpy(&v, data + f->offset, f->size < 8 ? (size_t)f->size : 8);
	return v;
}

/* Whether field @f of the copied record lies inside its @bytes. */
static bool field_fits(const char *data, uint32_t bytes, const struct tep_format_field *f)
{
	uint64_t word, start;

	if (f->offset < 0 || f->size < 0 || (uint64_t)f->offset + (uint64_t)f->size > bytes)
		return false;
	if (!(f->flags & TEP_FIELD_IS_DYNAMIC))
		return true;
	word = load(data, f);
	start = word & 0xffff;
	if (f->flags & TEP_FIELD_IS_RELATIVE)
		start += (uint64_t)f->offset + (uint64_t)f->size;
	return start + (word >> 16 & 0xffff) <= bytes;
}

static bool record_fits(const char *data, uint32_t bytes, const struct tep_event *ev)
{
	const struct tep_format_field *f;

	for (f = ev->format.common_fields; f; f = f->next) {
		if (!field_fits(data, bytes, f))
			return false;
	}
	for (f = ev->format.fields; f; f = f->next) {
		/* a stack's array is declared longer than most stacks are */
		if (f->flags & TEP_FIELD_IS_ARRAY && !(f->flags & TEP_FIELD_IS_DYNAMIC) &&
		    f->offset >= 0 && (uint32_t)f->offset <= bytes && f->size >= 0 &&
		    (uint32_t)f->size <= ZEROS_BEHIND)
			continue;
		if (!field_fits(data, bytes, f))
			return false;
	}
	return true;
}

void place_put(const struct reader *r, struct out *o, uint64_t addr)
{
	const struct symbol *sym = symbols_find(r->symbols, addr);

	if (!sym) {
		out_printf(o, "0x%08" PRIx64, addr);
	} else {
		out_text(o, sym->name);
		if (reader_option(r, AREA_OPTION_SYM_OFFSET))
			out_printf(o, "+0x%" PRIx64 "/0x%" PRIx64, addr - sym->addr,
				   symbols_size(r->symbols, sym));
	}
	if (reader_option(r, AREA_OPTION_SYM_ADDR))
		out_printf(o, " <%016" PRIx64 ">", addr);
}

/* The option sym-userobj: the object's file and the offset in it. Otherwise the address. */
static void put_user_place(const struct reader *r, struct out *o, uint64_t ip)
{
	const struct symbols_object *found = NULL;

	for (size_t i = 0;
	     reader_option(r, AREA_OPTION_SYM_USEROBJ) && i < symbols_nr_objects(r->symbols); i++) {
		const struct symbols_object *object = symbols_object_at(r->symbols, i);

		if (ip >= object->base && ip - object->base <= UINT32_MAX)
			found = object;
	}
	if (found)
		out_printf(o, "%s[+0x%" PRIx64 "]", found->path, ip - found->base);
	if (!found || reader_option(r, AREA_OPTION_SYM_ADDR))
		out_printf(o, " <%016" PRIx64 ">", ip);
}

/* kernel_stack and user_stack: the frames up to the record's end, a zero or a -1. */
static void put_stack(struct event_text *e, struct out *o, const struct record *rec,
		      const struct tep_event *ev, bool user)
{
	struct tep_format_field *f = tep_find_field((struct tep_event *)(uintptr_t)ev, "caller");
	uint32_t at, bytes = f && f->elementsize == 4 ? 4 : 8;

	out_text(o, user ? "<user stack trace>\n" : "<stack trace>\n");
	if (!f || f->offset < 0)
		return;
	for (at = (uint32_t)f->offset; at <= rec->data_bytes && rec->data_bytes - at >= bytes;
	     at += bytes) {
		uint64_t ip = 0;

		memcpy(&ip, e->copy + at, bytes);
		if (!ip || ip == UINT64_MAX || (bytes == 4 && ip == UINT32_MAX))
			break;
		out_text(o, " => ");
		if (user)
			put_user_place(e->r, o, ip);
		else
			place_put(e->r, o, ip);
		out_text(o, "\n");
	}
}

/* raw_data: the number, and bytes up to the end of the record. */
static void put_raw_data(struct out *o, const struct record *rec)
{
	const unsigned char *data = rec->data;
	uint32_t id = 0, at;

	if (rec->data_bytes >= 12)
		memcpy(&id, data + 8, sizeof(id));
	out_printf(o, "# %x buf:", id);
	for (at = 12; at < rec->data_bytes; at++)
		out_printf(o, " %02x", data[at]);
}

/* func_repeats: how often a call was repeated, and the time of the last repetition. */
static void put_repeats(struct event_text *e, struct out *o, const struct record *rec)
{
	uint64_t ip, parent, word, last;

	if (rec->data_bytes < 32) {
		out_text(o, "[CORRUPTED]");
		return;
	}
	memcpy(&ip, e->copy + 8, 8);
	memcpy(&parent, e->copy + 16, 8);
	memcpy(&word, e->copy + 24, 8);
	place_put(e->r, o, ip);
	if (reader_option(e->r, AREA_OPTION_PRINT_PARENT)) {
		out_text(o, " <-");
		place_put(e->r, o, parent);
	}
	/* count in 16 bits, then the upper 16 of how long, then the lower 32 */
	last = rec->ts - ((word >> 16 & 0xffff) << 32 | word >> 32);
	out_printf(o, " (repeats: %u, last_ts:", (unsigned int)(word & 0xffff));
	if (e->r->ts_is_ns)
		out_printf(o, " %5" PRIu64 ".%06" PRIu64 ")", (last + 500) / 1000 / 1000000,
			   (last + 500) / 1000 % 1000000);
	else
		out_printf(o, " %12" PRIu64 ")", last);
}

void event_text_record(struct event_text *e, struct out *o, const struct record *rec)
{
	if (event_text_body(e, o, rec))
		out_text(o, "\n");
}

bool event_text_is_stack(struct event_text *e, const struct record *rec)
{
	const struct tep_event *ev;

	if (rec->kind != RECORD_EVENT || !e->r->tep)
		return false;
	ev = tep_find_event(e->r->tep, rec->event);
	return ev && strcmp(ev->system, "ftrace") == 0 &&
	       (strcmp(ev->name, "kernel_stack") == 0 || strcmp(ev->name, "user_stack") == 0);
}

const char *event_text_bare_name(struct event_text *e, const struct record *rec)
{
	const struct tep_event *ev = e->r->tep ? tep_find_event(e->r->tep, rec->event) : NULL;
	bool bare = ev && !strcmp(ev->system, FORMATS_IMPORTED) &&
		    rec->data_bytes > FORMATS_IMPORTED_TEXT &&
		    !((const char *)rec->data)[FORMATS_IMPORTED_TEXT];

	return bare ? ev->name : NULL;
}

bool event_text_body(struct event_text *e, struct out *o, const struct record *rec)
{
	struct tep_event *ev = e->r->tep ? tep_find_event(e->r->tep, rec->event) : NULL;
	struct tep_record tr = {0};
	bool fits;
	size_t n;

	if (!ev || !copy_data(e, rec)) {
		out_printf(o, "Unknown type %u", rec->event);
		return true;
	}
	fits = record_fits(e->copy, rec->data_bytes, ev);
	if (fits && syscall_text(o, ev, e->copy, reader_option(e->r, AREA_OPTION_VERBOSE)))
		return true;
	if (strcmp(ev->system, "ftrace") != 0) {
		out_text(o, ev->name);
		out_text(o, ": ");
	} else if (strcmp(ev->name, "kernel_stack") == 0 || strcmp(ev->name, "user_stack") == 0) {
		put_stack(e, o, rec, ev, ev->name[0] == 'u');
		return false;
	}
	if (!strcmp(ev->system, "ftrace") && !strcmp(ev->name, "raw_data")) {
		put_raw_data(o, rec);
		return true;
	}
	if (!strcmp(ev->system, "ftrace") && !strcmp(ev->name, "func_repeats")) {
		put_repeats(e, o, rec);
		return true;
	}
	if (!fits) {
		out_text(o, "[CORRUPTED]");
		return true;
	}
	if (!strcmp(ev->system, "ftrace") && ftrace_text(e->r, o, ev, e->copy))
		return true;
	if (probe_text(o, ev, e->copy, e->r->symbols) ||
	    synth_text(o, ev, e->copy, e->r->symbols, reader_option(e->r, AREA_OPTION_VERBOSE)))
		return true;
	tr.ts = rec->ts;
	tr.cpu = rec->cpu;
	tr.data = e->copy;
	tr.size = tr.record_size = (int)rec->data_bytes;
	trace_seq_reset(&e->seq);
	tep_print_event(e->r->tep, &e->seq, &tr, "%s", TEP_PRINT_INFO);
	trace_seq_terminate(&e->seq);
	n = e->seq.len;
	while (n && e->seq.buffer[n - 1] == '\n')
		n--;
	out_string(o, e->seq.buffer, n);
	return true;
}
