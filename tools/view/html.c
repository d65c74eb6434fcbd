/* SPDX-License-Identifier: MIT */
/*
 * See html.h. The page has one script, and the Content-Security-Policy names its hash. The
 * recording is JSON data without any literal `<`, so no name in it can end the element. The shapes
 * of the JSON are defined in tools/view/web/src/local.ts. Tests: tests/cli/test_view.py.
 */
#include "tools/view/html.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/export/dat_file.h"
#include "tools/text/json.h"
#include "tools/text/out.h"
#include "tools/view/answers.h"
#include "tools/view/bundle.h"

#define NR_CLASSES 64u
#define PAGE_ROOM  (1u << 20) /* for the page itself, its tracks and other small parts */

static unsigned int digits(uint64_t n)
{
	unsigned int nr = 1;

	for (; n > 9; n /= 10)
		nr++;
	return nr;
}

static unsigned int class_of(uint64_t length)
{
	return length ? 63u - (unsigned int)__builtin_clzll(length) : 0;
}

/* The bytes of a span in JSON, with its commas. */
static uint64_t span_bytes(const struct span_row *row, size_t i)
{
	uint64_t before = i ? row->start[i - 1] : 0;

	return digits(i ? row->start[i] - before : row->start[i]) + digits(row->length[i]) +
	       digits(row->name[i]) + 4u + (row->has_extra ? digits(row->extra[i]) + 1u : 0);
}

/*
 * The number of texts that the events up to number @i use: texts are numbered by their first use.
 */
static size_t texts_to(const struct column_events *e, size_t i)
{
	return (e->text[i] > e->latency[i] ? e->text[i] : e->latency[i]) + 1u;
}

/* Choose the calls and events that fit into the file. */
static void choose(const struct columns *c, struct answer_cut *cut)
{
	uint64_t bytes = PAGE_ROOM, classes[NR_CLASSES] = {0}, calls[NR_CLASSES] = {0};
	const struct column_events *e = &c->events;
	unsigned int class = NR_CLASSES;
	size_t kept = 0, texts = 0;

	for (size_t i = 0; i < c->nr_names; i++)
		bytes += 2 * strlen(c->names[i].text) + 16;
	for (size_t i = 0; i < c->nr_tracks; i++)
		for (uint32_t row = 0; row < c->tracks[i].nr_rows; row++) {
			const struct span_row *r = &c->tracks[i].rows[row];

			if (c->tracks[i].kind == TRACK_EVENTS ||
			    c->tracks[i].kind == TRACK_CPU_EVENTS)
				continue;
			for (size_t k = 0; k < r->nr; k++) {
				unsigned int of = class_of(r->length[k]);

				if (c->tracks[i].kind == TRACK_CALLS) {
					classes[of] += span_bytes(r, k);
					calls[of]++;
				} else {
					bytes += span_bytes(r, k);
				}
			}
		}
	for (; kept < e->nr && bytes < HTML_MAX_BYTES / 2; kept++) {
		bytes += digits(kept ? e->ts[kept] - e->ts[kept - 1] : 0) + digits(e->cpu[kept]) +
			 digits(e->track[kept]) + digits(e->name[kept]) + digits(e->latency[kept]) +
			 digits(e->text[kept]) + 7;
		for (; texts < texts_to(e, kept); texts++)
			bytes += 5 * strlen(c->texts[texts]) / 4 + 4;
	}
	cut->events = e->nr - kept;
	while (class && bytes + classes[class - 1] < HTML_MAX_BYTES)
		bytes += classes[--class];
	for (unsigned int i = 0; i < class; i++)
		cut->calls += calls[i];
	/* if the rest alone is too large, no call is kept */
	cut->shortest = cut->calls ? UINT64_C(1) << (class < 63 ? class : 63) : 0;
}

/* The output of `struct out` without any `<`: in JSON that is only within strings. */
static int put_safe(void *arg, const char *text, size_t bytes)
{
	struct out *o = arg;
	const char *end = text + bytes;

	while (text < end) {
		const char *at = memchr(text, '<', (size_t)(end - text));

		out_write(o, text, (size_t)((at ? at : end) - text));
		if (at)
			out_text(o, "\\u003c");
		text = at ? at + 1 : end;
	}
	return o->err;
}

enum column { DIFFERENCES, LENGTHS, NAMES, EXTRAS };

static void put_column(const struct span_row *row, struct out *o, uint64_t first, uint64_t shortest,
		       enum column which)
{
	uint64_t before = first;
	bool any = false;

	out_text(o, "[");
	for (size_t i = 0; i < row->nr; i++) {
		uint64_t value;

		if (row->length[i] < shortest)
			continue;
		value = which == DIFFERENCES ? row->start[i] - before
			: which == LENGTHS   ? row->length[i]
			: which == NAMES     ? row->name[i]
					     : row->extra[i];
		out_printf(o, any ? ",%" PRIu64 : "%" PRIu64, value);
		before = row->start[i];
		any = true;
	}
	out_text(o, "]");
}

static void put_rows(const struct columns *c, struct out *o, uint64_t shortest)
{
	out_text(o, "\"rows\":[");
	for (size_t i = 0; i < c->nr_tracks; i++) {
		const struct track *t = &c->tracks[i];

		out_text(o, i ? ",\n" : "");
		if (t->kind == TRACK_EVENTS || t->kind == TRACK_CPU_EVENTS) {
			out_text(o, "null");
			continue;
		}
		out_text(o, "[");
		for (uint32_t row = 0; row < t->nr_rows; row++) {
			out_text(o, row ? ",\n[" : "[");
			for (int which = DIFFERENCES;
			     which <= (t->rows[row].has_extra ? EXTRAS : NAMES); which++) {
				out_text(o, which ? "," : "");
				put_column(&t->rows[row], o, c->first,
					   t->kind == TRACK_CALLS ? shortest : 0,
					   (enum column)which);
			}
			out_text(o, "]");
		}
		out_text(o, "]");
	}
	out_text(o, "],\n");
}

static void put_events(const struct columns *c, struct out *o, size_t nr)
{
	static const char *const names[] = {"ts", "cpu", "track", "name", "latency", "text"};
	const struct column_events *e = &c->events;
	const uint32_t *const columns[] = {NULL, e->cpu, e->track, e->name, e->latency, e->text};
	size_t texts = 0;

	out_text(o, "\"events\":{");
	for (int column = 0; column < 6; column++) {
		out_printf(o, "%s\"%s\":[", column ? ",\n" : "", names[column]);
		for (size_t i = 0; i < nr; i++) {
			uint64_t value = column ? columns[column][i]
						: e->ts[i] - (i ? e->ts[i - 1] : c->first);

			out_printf(o, i ? ",%" PRIu64 : "%" PRIu64, value);
			if (texts_to(e, i) > texts)
				texts = texts_to(e, i);
		}
		out_text(o, "]");
	}
	out_text(o, "},\n\"texts\":[");
	for (size_t i = 0; i < texts; i++) {
		out_text(o, i ? ",\n" : "");
		json_put(o, c->texts[i]);
	}
	out_text(o, "]");
}

static void put_recording(const struct columns *c, struct out *o, const struct answer_cut *cut)
{
	out_text(o, "{\"info\":");
	answer_info(c, o, &(const struct answer_about){.cut = *cut});
	out_text(o, ",\n");
	put_rows(c, o, cut->shortest);
	put_events(c, o, c->events.nr - cut->events);
	out_text(o, "}");
}

static void put_page(const struct columns *c, struct out *o, struct out *safe,
		     const struct answer_cut *cut)
{
	out_write(o, (const char *)page_begin, page_begin_bytes);
	out_printf(o,
		   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		   "script-src '%s'; style-src '%s'; base-uri 'none'; form-action 'none'\">",
		   bundle_script_hash, bundle_style_hash);
	out_write(o, (const char *)page_style, page_style_bytes);
	out_text(o, "<style>");
	out_write(o, (const char *)bundle_style, bundle_style_bytes);
	out_text(o, "</style>");
	out_write(o, (const char *)page_script, page_script_bytes);
	out_text(o, "<script type=\"application/json\" id=\"recording\">");
	put_recording(c, safe, cut);
	out_flush(safe);
	out_text(o, "</script>\n<script>");
	out_write(o, (const char *)bundle_script, bundle_script_bytes);
	out_text(o, "</script>");
	out_write(o, (const char *)page_end, page_end_bytes);
}

/* Only a page may be replaced: the user may have given the name of a recording by mistake. */
static int may_replace(const char *path)
{
	static const char begin[] = "<!doctype html";
	char there[sizeof(begin) - 1];
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, there, sizeof(there));

	if (fd >= 0)
		close(fd);
	/* dat_file_create() reports other errors */
	if (n <= 0 || ((size_t)n == sizeof(there) && !strncasecmp(there, begin, sizeof(there))))
		return 0;
	return fail(EEXIST, "'%s' exists and is no page: name another file for --html", path);
}

int html_write(const char *path, const struct columns *c, struct answer_cut *cut)
{
	struct dat_file file;
	struct out o, safe;
	int err, failed;

	*cut = (struct answer_cut){0};
	err = may_replace(path);
	if (err)
		return err;
	choose(c, cut);
	err = dat_file_create(&file, path);
	if (err)
		return err;
	err = out_init(&o, file.fd);
	if (!err && out_init_sink(&safe, put_safe, &o)) {
		out_end(&o);
		err = -ENOMEM;
	}
	if (err) {
		dat_file_abort(&file);
		return fail(ENOMEM, "out of memory");
	}
	put_page(c, &o, &safe, cut);
	out_end(&safe);
	failed = out_end(&o);
	if (!failed)
		return dat_file_commit(&file);
	err = dat_file_failed(&file, failed);
	dat_file_abort(&file);
	return err;
}
