/* SPDX-License-Identifier: MIT */
/*
 * The Common Trace Format 1.8 (diamon.org/ctf), in the folders of LTTng-UST:
 * OUT/ust/uid/UID/64-bit/ has `metadata` and a stream `channel0_N` for each CPU. The begin and the
 * end of a call are written as LTTng-UST's events of -finstrument-functions, so Trace Compass draws
 * its flame chart. A function's name is a label of an enumeration. The labels are in the metadata,
 * which is written at the end.
 *
 * All fields are aligned to bytes. The stamps of a stream never decrease: a stamp that would is
 * replaced by the stamp of the event before. There may be many CPUs, so the file of a stream is
 * open only while a packet is written. Memory: a packet for each CPU. Tests:
 * tests/cli/test_export_ctf.py, with babeltrace2.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <traceevent/event-parse.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/export/call_export.h"
#include "tools/export/ctf_events.h"
#include "tools/reader/tasks.h"
#include "tools/text/printk_text.h"

#define PACKET_BYTES (256u << 10)
#define METADATA     "/metadata"
#define CTF_MAGIC    0xC1FC1FC1u
#define HEAD_BYTES   (8u + 6u * 8u + 4u) /* packet.header and packet.context */
#define NR_EVENTS    65536u

/* Ids of our own events; the kernel's events have FIRST_EVENT and their number. */
enum { ENTRY_ID, EXIT_ID, FUNCTION_ID, PRINT_ID, UNKNOWN_ID, FIRST_EVENT = 16 };

/* How a call ended: the labels of `how`. */
enum { HOW_RETURNED, HOW_UNWOUND, HOW_LOST, HOW_OPEN };

struct stream {
	struct ctf_bytes packet; /* with room for its head at the front */
	uint64_t begin, last;	 /* stamps */
	uint64_t nr_packets, discarded;
};

struct ctf {
	char *folder; /* of the metadata */
	struct stream *streams;
	unsigned int nr_streams, cpu;
	uint64_t lost; /* the part of the view's lost records that packets have reported */
	bool seen[NR_EVENTS];
	char text[PRINTK_TEXT_BYTES];
};

static int stream_path(const struct ctf *own, unsigned int cpu, char **path)
{
	if (asprintf(path, "%s/channel0_%u", own->folder, cpu) >= 0)
		return 0;
	*path = NULL;
	return fail(ENOMEM, "out of memory");
}

/* Let this packet report the records that were lost since the last packet of any stream. */
static void count_discarded(struct call_export *x, struct stream *s)
{
	struct ctf *own = x->own;

	if (x->v->lost == RECORD_LOST_UNKNOWN)
		s->discarded = s->discarded ? s->discarded : 1;
	else
		s->discarded += x->v->lost - own->lost;
	own->lost = x->v->lost == RECORD_LOST_UNKNOWN ? own->lost : x->v->lost;
}

static int append(const char *path, const struct ctf_bytes *b)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
	size_t done = 0;
	ssize_t n = 0;

	if (fd < 0)
		return fail_errno(errno, "cannot create '%s'", path);
	while (done < b->nr && (n >= 0 || errno == EINTR)) {
		n = write(fd, b->bytes + done, b->nr - done);
		done += n > 0 ? (size_t)n : 0;
	}
	if (done < b->nr) {
		n = errno;
		close(fd);
		return fail_errno((int)n, "cannot write '%s'", path);
	}
	return close(fd) < 0 ? fail_errno(errno, "cannot write '%s'", path) : 0;
}

static void put_packet(struct call_export *x, unsigned int cpu)
{
	struct ctf *own = x->own;
	struct stream *s = &own->streams[cpu];
	struct ctf_bytes head = {0};
	char *path;

	if (s->packet.nr <= HEAD_BYTES)
		return;
	count_discarded(x, s);
	ctf_put_number(&head, CTF_MAGIC, 4);
	ctf_put_number(&head, 0, 4); /* stream_id */
	ctf_put_number(&head, s->begin, 8);
	ctf_put_number(&head, s->last, 8);
	ctf_put_number(&head, 8 * s->packet.nr, 8); /* content_size, in bits */
	ctf_put_number(&head, 8 * s->packet.nr, 8); /* packet_size */
	ctf_put_number(&head, s->nr_packets++, 8);
	ctf_put_number(&head, s->discarded, 8);
	ctf_put_number(&head, cpu, 4);
	if (head.err || s->packet.err) {
		x->err = fail(ENOMEM, "out of memory");
	} else if (!stream_path(own, cpu, &path)) {
		memcpy(s->packet.bytes, head.bytes, HEAD_BYTES);
		x->err = append(path, &s->packet);
		free(path);
	} else {
		x->err = -ENOMEM;
	}
	free(head.bytes);
	s->packet.nr = 0;
}

/* The stream of the current record; after the last record, the stream of that one. */
static struct stream *current(struct call_export *x)
{
	struct ctf *own = x->own;

	if (x->rec)
		own->cpu = x->rec->cpu < own->nr_streams ? x->rec->cpu : 0;
	return &own->streams[own->cpu];
}

/* Whether each event has a field with the name of its buffer. */
static bool has_buffers(const struct call_export *x)
{
	return x->v->r->nr_further > 0;
}

/* Write an event's header and context. Return: the packet, to which the payload is appended. */
static struct ctf_bytes *begin_event(struct call_export *x, uint32_t id, uint64_t ts, int32_t tid,
				     const char *buffer)
{
	const struct tasks *tasks = x->v->r->tasks;
	int32_t pid = tasks_tgid(tasks, tid);
	struct ctf *own = x->own;
	struct stream *s = current(x);
	struct ctf_bytes *b = &s->packet;

	if (b->nr >= PACKET_BYTES)
		put_packet(x, own->cpu);
	if (ts < s->last)
		ts = s->last;
	if (!b->nr) {
		static const unsigned char zeros[HEAD_BYTES];

		ctf_put(b, zeros, sizeof(zeros));
		s->begin = ts;
	}
	s->last = ts;
	ctf_put_number(b, id, 4);
	ctf_put_number(b, ts, 8);
	ctf_put_number(b, (uint64_t)(pid ? pid : tid), 4);
	ctf_put_number(b, (uint64_t)tid, 4);
	ctf_put_string(b, tasks_comm(tasks, tid), SIZE_MAX / 2);
	if (has_buffers(x))
		ctf_put_string(b, buffer, SIZE_MAX / 2);
	return b;
}

static void end_event(struct call_export *x, const struct ctf_bytes *b)
{
	if (b->err && !x->err)
		x->err = fail(ENOMEM, "out of memory");
}

static void put_call(struct ctf_bytes *b, const struct call *call)
{
	ctf_put_number(b, call->ip, 8);
	ctf_put_number(b, (uint32_t)call->data, 4);
	ctf_put_number(b, call->stack, 4);
}

static void ctf_enter(struct call_export *x, const struct call *call,
		      const struct call_function *fn)
{
	struct ctf_bytes *b;

	(void)fn;
	if (call->flags & CALL_RETURN_ONLY) /* it began before events that are written already */
		return;
	b = begin_event(x, ENTRY_ID, call->start, call->pid, call_export_buffer(x, call));
	put_call(b, call);
	end_event(x, b);
}

static void ctf_call(struct call_export *x, const struct call *call, const struct call *parent,
		     const struct call_function *fn)
{
	struct ctf_bytes *b =
		begin_event(x, EXIT_ID, call->end, call->pid, call_export_buffer(x, call));
	unsigned int how = call->flags & CALL_UNWOUND	   ? HOW_UNWOUND
			   : call->flags & CALL_UNFINISHED ? HOW_OPEN
			   : call->flags & CALL_NO_EXIT	   ? HOW_LOST
							   : HOW_RETURNED;

	(void)parent;
	(void)fn;
	put_call(b, call);
	ctf_put_number(b, call->end - call->start, 8);
	ctf_put_number(b, how, 1);
	end_event(x, b);
}

static void put_function(struct call_export *x, const struct record *rec)
{
	const char *buffer = call_export_record_buffer(x, rec);
	uint32_t function = 0;
	struct ctf_bytes *b;

	x->err = call_filter_number(x->v->filter, rec->ip, &function);
	b = begin_event(x, FUNCTION_ID, rec->ts, rec->pid, buffer);
	ctf_put_number(b, rec->ip, 8);
	ctf_put_number(b, function, 4);
	ctf_put_number(b, rec->parent_ip, 8);
	end_event(x, b);
}

static void ctf_other(struct call_export *x, const struct record *rec)
{
	struct tep_event *ev = NULL;
	struct ctf *own = x->own;
	const char *buffer = call_export_record_buffer(x, rec);
	struct record print = *rec;
	struct ctf_bytes *b;

	if (rec->kind == RECORD_FUNCTION) {
		put_function(x, rec);
		return;
	}
	if (rec->kind == RECORD_EVENT && printk_text_take(x->v->r, &print, own->text))
		rec = &print;
	if (rec->kind == RECORD_PRINT) {
		b = begin_event(x, PRINT_ID, rec->ts, rec->pid, buffer);
		ctf_put_number(b, rec->ip, 8);
		ctf_put_string(b, rec->data, rec->data_bytes);
		end_event(x, b);
		return;
	}
	if (x->v->r->tep)
		ev = tep_find_event(x->v->r->tep, rec->event);
	if (!ev) {
		b = begin_event(x, UNKNOWN_ID, rec->ts, rec->pid, buffer);
		ctf_put_number(b, rec->event, 2);
	} else {
		own->seen[rec->event] = true;
		b = begin_event(x, FIRST_EVENT + rec->event, rec->ts, rec->pid, buffer);
		ctf_event_put(b, ev, rec);
	}
	end_event(x, b);
}

static int ctf_begin(struct call_export *x)
{
	struct ctf *own = x->own;

	if (x->v->wish.min_ns)
		return fail(EINVAL, "this format has each call's beginning before its length is "
				    "known: --time-filter goes with chrome, csv and jsonl");
	own->folder = strndup(x->file.path, strlen(x->file.path) - strlen(METADATA));
	own->nr_streams = x->v->r->nr_cpus ? x->v->r->nr_cpus : 1;
	own->streams = calloc(own->nr_streams, sizeof(*own->streams));
	return own->folder && own->streams ? 0 : fail(ENOMEM, "out of memory");
}

/* Write @text in quotes: `\` before quotes and backslashes; control characters in octal. */
static void put_quoted(struct out *o, const char *text)
{
	out_text(o, "\"");
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			out_printf(o, "\\%c", c);
		else if (c < ' ' || c == 0x7f)
			out_printf(o, "\\%03o", c);
		else
			out_write(o, text, 1);
	}
	out_text(o, "\"");
}

static void put_types(struct out *o)
{
	static const int bits[] = {8, 16, 32, 64};

	out_text(o, "/* CTF 1.8 */\n\n");
	for (unsigned int i = 0; i < 4; i++)
		out_printf(
			o,
			"typealias integer { size = %d; align = 8; signed = false; } := "
			"uint%d_t;\n"
			"typealias integer { size = %d; align = 8; signed = false; base = 16; } "
			":= xint%d_t;\n"
			"typealias integer { size = %d; align = 8; signed = true; } := int%d_t;\n",
			bits[i], bits[i], bits[i], bits[i], bits[i], bits[i]);
}

static void put_trace(struct call_export *x)
{
	const struct reader *r = x->v->r;
	struct out *o = &x->o;

	out_text(o, "\ntrace {\n\tmajor = 1;\n\tminor = 8;\n\tbyte_order = le;\n"
		    "\tpacket.header := struct {\n\t\tuint32_t magic;\n\t\tuint32_t stream_id;\n"
		    "\t};\n};\n\nenv {\n\tdomain = \"ust\";\n\ttracer_name = \"vestige\";\n");
	out_text(o, "\tcommand = ");
	put_quoted(o, r->cmdline);
	out_text(o, ";\n\tmachine = ");
	put_quoted(o, r->uname);
	out_text(o, ";\n};\n\nclock {\n\tname = \"monotonic\";\n\tdescription = ");
	put_quoted(o, r->clock);
	out_printf(o, ";\n\tfreq = 1000000000;\n\toffset = %" PRIu64 ";\n};\n\n",
		   r->ts_is_ns ? r->realtime_offset_ns : 0);
	out_text(o, "typealias integer { size = 64; align = 8; signed = false; "
		    "map = clock.monotonic.value; } := stamp_t;\n\n"
		    "stream {\n\tid = 0;\n\tevent.header := struct {\n\t\tuint32_t id;\n"
		    "\t\tstamp_t timestamp;\n\t};\n"
		    "\tpacket.context := struct {\n\t\tstamp_t timestamp_begin;\n"
		    "\t\tstamp_t timestamp_end;\n\t\tuint64_t content_size;\n"
		    "\t\tuint64_t packet_size;\n\t\tuint64_t packet_seq_num;\n"
		    "\t\tuint64_t events_discarded;\n"
		    "\t\tuint32_t cpu_id;\n\t};\n"
		    "\tevent.context := struct {\n\t\tint32_t _vpid;\n\t\tint32_t _vtid;\n"
		    "\t\tstring _procname;\n");
	if (has_buffers(x))
		out_text(o, "\t\tstring _buffer;\n");
	out_text(o, "\t};\n};\n\n");
}

/* The names of functions by number. The label `?` is for an enumeration with no other label. */
static void put_functions(struct call_export *x)
{
	uint32_t nr = call_filter_nr(x->v->filter);
	char buf[CALL_NAME_BYTES];

	out_text(&x->o, "enum function : uint32_t {\n");
	for (uint32_t i = 0; i < nr; i++) {
		out_text(&x->o, "\t");
		put_quoted(&x->o, call_export_name(call_filter_function(x->v->filter, i), buf));
		out_printf(&x->o, " = %" PRIu32 ",\n", i);
	}
	out_printf(&x->o, "\t\"?\" = %" PRIu32 "\n};\n\n", UINT32_MAX);
}

static void begin_class(struct out *o, uint32_t id, const char *system, const char *name)
{
	out_text(o, "event {\n\tname = ");
	if (system) {
		char whole[512];

		snprintf(whole, sizeof(whole), "%s:%s", system, name);
		put_quoted(o, whole);
	} else {
		put_quoted(o, name);
	}
	out_printf(o, ";\n\tid = %" PRIu32 ";\n\tstream_id = 0;\n\tfields := struct {\n", id);
}

static void put_classes(struct call_export *x)
{
	struct ctf *own = x->own;
	struct out *o = &x->o;

	begin_class(o, ENTRY_ID, "lttng_ust_cyg_profile", "func_entry");
	out_text(o, "\t\txint64_t _addr;\n\t\tenum function _name;\n\t\tuint32_t "
		    "_stack;\n\t};\n};\n\n");
	begin_class(o, EXIT_ID, "lttng_ust_cyg_profile", "func_exit");
	out_text(o, "\t\txint64_t _addr;\n\t\tenum function _name;\n\t\tuint32_t _stack;\n"
		    "\t\tuint64_t _duration;\n\t\tenum : uint8_t { \"returned\", \"unwound\", "
		    "\"lost\", \"unfinished\" } _how;\n\t};\n};\n\n");
	begin_class(o, FUNCTION_ID, "vestige", "function");
	out_text(o, "\t\txint64_t _addr;\n\t\tenum function _name;\n\t\txint64_t _call_site;\n"
		    "\t};\n};\n\n");
	begin_class(o, PRINT_ID, "vestige", "print");
	out_text(o, "\t\txint64_t _ip;\n\t\tstring _text;\n\t};\n};\n\n");
	begin_class(o, UNKNOWN_ID, "vestige", "unknown");
	out_text(o, "\t\tuint16_t _event;\n\t};\n};\n\n");
	for (uint32_t i = 0; i < NR_EVENTS; i++) {
		struct tep_event *ev = own->seen[i] ? tep_find_event(x->v->r->tep, (int)i) : NULL;

		if (!ev)
			continue;
		begin_class(o, FIRST_EVENT + i, ev->system, ev->name);
		ctf_event_declare(o, ev);
		out_text(o, "\t};\n};\n\n");
	}
}

static void ctf_end(struct call_export *x)
{
	struct ctf *own = x->own;

	for (unsigned int i = 0; i < own->nr_streams && !x->err; i++)
		put_packet(x, i);
	put_types(&x->o);
	put_trace(x);
	put_functions(x);
	put_classes(x);
}

static void ctf_free(struct call_export *x)
{
	struct ctf *own = x->own;

	for (unsigned int i = 0; own->streams && i < own->nr_streams; i++)
		free(own->streams[i].packet.bytes);
	free(own->streams);
	free(own->folder);
}

static int make_folders(const char *top, char *inner)
{
	for (char *slash = inner + strlen(top) + 1; (slash = strchr(slash, '/')); slash++) {
		int failed;

		*slash = '\0';
		failed = mkdir(inner, 0777) < 0 ? errno : 0;
		*slash = '/';
		if (failed)
			return fail_errno(failed, "cannot create a folder in '%s'", top);
	}
	return mkdir(inner, 0777) < 0 ? fail_errno(errno, "cannot create a folder in '%s'", top)
				      : 0;
}

/* Remove an unfinished trace: the files of the innermost folder, then the folders. */
static void remove_folders(const char *top, char *inner)
{
	DIR *d = opendir(inner);

	for (struct dirent *e; d && (e = readdir(d));)
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	for (size_t n = strlen(inner); n >= strlen(top); n--) {
		if (inner[n] && inner[n] != '/')
			continue;
		inner[n] = '\0';
		rmdir(inner);
	}
}

/* Whether a folder can be created at @path: nothing is there, or an empty folder. */
static bool is_free(const char *path)
{
	DIR *d = opendir(path);
	unsigned int nr = 0;

	if (!d)
		return errno != ENOTDIR;
	while (readdir(d))
		nr++;
	closedir(d);
	return nr <= 2;
}

static int write_folder(const char *tmp, char *inner, const struct export_options *opt)
{
	static const struct call_format format = {.own_bytes = sizeof(struct ctf),
						  .begin = ctf_begin,
						  .enter = ctf_enter,
						  .call = ctf_call,
						  .other = ctf_other,
						  .end = ctf_end,
						  .free = ctf_free};
	char *metadata;
	int err = make_folders(tmp, inner);

	if (err)
		return err;
	if (asprintf(&metadata, "%s" METADATA, inner) < 0)
		return fail(ENOMEM, "out of memory");
	err = call_export_each(metadata, opt, &format);
	free(metadata);
	return err;
}

int ctf_export(const char *path, struct reader *r, const struct export_options *opt)
{
	char *tmp = NULL, *inner = NULL;
	size_t bytes = strlen(path);
	int err;

	(void)r;
	while (bytes > 1 && path[bytes - 1] == '/')
		bytes--;
	if (!is_free(path))
		return fail(EEXIST, "'%s' exists: this format makes a new folder", path);
	if (asprintf(&tmp, "%.*s.tmp-%d", (int)bytes, path, (int)getpid()) < 0)
		return fail(ENOMEM, "out of memory");
	if (asprintf(&inner, "%s/ust/uid/%u/64-bit", tmp, (unsigned int)getuid()) < 0) {
		free(tmp);
		return fail(ENOMEM, "out of memory");
	}
	if (mkdir(tmp, 0777) < 0) {
		err = fail_errno(errno, "cannot create '%s'", path);
	} else {
		err = write_folder(tmp, inner, opt);
		if (!err && rename(tmp, path) < 0)
			err = fail_errno(errno, "cannot put the finished folder at '%s'", path);
		if (err)
			remove_folders(tmp, inner);
	}
	free(inner);
	free(tmp);
	return err;
}
