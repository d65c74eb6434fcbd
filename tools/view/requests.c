/* SPDX-License-Identifier: MIT */
/* See requests.h. Tests: tests/cli/test_view.py. */
#include "tools/view/requests.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/spill_array.h"
#include "tools/text/json.h"
#include "tools/view/match.h"
#include "tools/view/mhd.h"
#include "tools/view/source_text.h"
#include "tools/view/sql.h"

#define MAX_ROWS    4096u /* of one request */
#define MAX_ENTRIES 20000u
#define MAX_ANSWER  (256u << 20)
#define TRIM_EACH   16u /* requests */
#define SQL_ROWS    1000u
#define SQL_SECONDS 10u

int body_add(void *body, const char *text, size_t bytes)
{
	struct body *b = body;

	while (b->room - b->nr < bytes) {
		size_t room = b->room ? 2 * b->room : 64u << 10;
		char *more = room <= MAX_ANSWER ? realloc(b->at, room) : NULL;

		if (!more)
			return -ENOMEM;
		b->at = more;
		b->room = room;
	}
	memcpy(b->at + b->nr, text, bytes);
	b->nr += bytes;
	return 0;
}

/* A request: the arguments of its address. */
struct request {
	uint64_t from, to, pixel, at, nr;
	bool off_cpu;
	const char *text;
	const struct columns *c; /* what its filter leaves */
	uint32_t (*rows)[2];
	size_t nr_rows, room_rows;
	uint32_t *tracks;
	size_t nr_tracks, room_tracks;
};

static bool take_number(const char **p, uint64_t *n)
{
	char *end;

	if (**p < '0' || **p > '9')
		return false;
	errno = 0;
	*n = strtoull(*p, &end, 10);
	*p = end;
	return !errno;
}

static bool take_track(const char **p, uint32_t *n)
{
	uint64_t v;

	if (!take_number(p, &v) || v > UINT32_MAX)
		return false;
	*n = (uint32_t)v;
	return true;
}

/* TRACK.ROW,TRACK.ROW,... */
static bool take_rows(struct request *req, const char *p)
{
	while (*p) {
		if (req->nr_rows == MAX_ROWS ||
		    ARRAY_ROOM(req->rows, req->nr_rows, req->room_rows, 64))
			return false;
		if (!take_track(&p, &req->rows[req->nr_rows][0]) || *p++ != '.' ||
		    !take_track(&p, &req->rows[req->nr_rows][1]))
			return false;
		req->nr_rows++;
		if (*p && (*p++ != ',' || !*p))
			return false;
	}
	return true;
}

static bool take_tracks(struct request *req, const char *p)
{
	while (*p) {
		if (req->nr_tracks == MAX_ROWS ||
		    ARRAY_ROOM(req->tracks, req->nr_tracks, req->room_tracks, 64) ||
		    !take_track(&p, &req->tracks[req->nr_tracks]))
			return false;
		req->nr_tracks++;
		if (*p && (*p++ != ',' || !*p))
			return false;
	}
	return true;
}

static bool take_request(struct request *req, struct MHD_Connection *con)
{
	static const char *const names[] = {"from", "to", "pixel", "at", "nr", "off"};
	uint64_t off = 0;
	uint64_t *const to[] = {&req->from, &req->to, &req->pixel, &req->at, &req->nr, &off};
	const char *rows, *tracks;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *value =
			mhd.lookup_connection_value(con, MHD_GET_ARGUMENT_KIND, names[i]);

		if (value && (!take_number(&value, to[i]) || *value))
			return false;
	}
	req->off_cpu = off;
	req->text = mhd.lookup_connection_value(con, MHD_GET_ARGUMENT_KIND, "text");
	rows = mhd.lookup_connection_value(con, MHD_GET_ARGUMENT_KIND, "rows");
	tracks = mhd.lookup_connection_value(con, MHD_GET_ARGUMENT_KIND, "tracks");
	return (!rows || take_rows(req, rows)) && (!tracks || take_tracks(req, tracks));
}

static int ask_info(struct served *s, struct out *o, const struct request *req)
{
	(void)req;
	answer_info(s->c, o, &s->about);
	return 0;
}

static int ask_spans(struct served *s, struct out *o, const struct request *req)
{
	(void)s;
	answer_spans(req->c, o, (const uint32_t(*)[2])req->rows, req->nr_rows, req->from, req->to,
		     req->pixel);
	return 0;
}

static int ask_list(struct served *s, struct out *o, const struct request *req)
{
	(void)s;
	return answer_list(req->c, o, req->at,
			   req->nr < MAX_ENTRIES ? (unsigned int)req->nr : MAX_ENTRIES);
}

static int ask_number(struct served *s, struct out *o, const struct request *req)
{
	(void)s;
	return answer_number(req->c, o, req->from);
}

static int ask_find(struct served *s, struct out *o, const struct request *req)
{
	struct match *m = NULL;
	int err = match_new(req->c, req->text ? req->text : "", &m);

	(void)s;
	if (!err)
		err = answer_find(req->c, o, m, req->from, req->to);
	match_free(m);
	return err;
}

static int ask_table(struct served *s, struct out *o, const struct request *req)
{
	(void)s;
	return answer_table(req->c, o, req->tracks, req->nr_tracks, req->from, req->to);
}

static int ask_flame(struct served *s, struct out *o, const struct request *req)
{
	(void)s;
	return answer_flame(req->c, o, req->tracks, req->nr_tracks, req->from, req->to,
			    req->off_cpu);
}

static int ask_function(struct served *s, struct out *o, const struct request *req)
{
	(void)s;
	return answer_function(req->c, o, req->nr, req->from, req->to);
}

static int ask_generation(struct served *s, struct out *o, const struct request *req)
{
	(void)req;
	out_printf(o, "%" PRIu64, s->generation);
	return 0;
}

static int ask_source(struct served *s, struct out *o, const struct request *req)
{
	if (!s->source && source_text_new(s->c, s->source_dir, &s->source))
		return -ENOMEM;
	return source_text_answer(s->source, o, req->nr);
}

/* The rows of an SQL result while they are written. */
struct sql_rows {
	struct out *o;
	bool any;
};

static int sql_head(void *arg, const char *const *names, unsigned int nr)
{
	struct sql_rows *r = arg;

	out_text(r->o, "{\"names\":[");
	for (unsigned int i = 0; i < nr; i++) {
		out_text(r->o, i ? "," : "");
		json_put(r->o, names[i]);
	}
	out_text(r->o, "],\"rows\":[");
	return 0;
}

/* Numbers are sent as texts: a number of JavaScript cannot hold every time of a clock. */
static int sql_row(void *arg, const struct sql_cell *cells, unsigned int nr)
{
	struct sql_rows *r = arg;

	out_text(r->o, r->any ? ",\n[" : "[");
	r->any = true;
	for (unsigned int i = 0; i < nr; i++) {
		out_text(r->o, i ? "," : "");
		json_put(r->o, cells[i].type == SQL_NULL ? NULL : cells[i].text);
	}
	out_text(r->o, "]");
	return r->o->err;
}

/* An error of the query is an answer, too: {"error": ...}. */
static int ask_sql(struct served *s, struct out *o, const struct request *req)
{
	const struct sql_limits limits = {
		.rows = SQL_ROWS, .seconds = SQL_SECONDS, .stop = &s->stop};
	struct body body = {0};
	struct out rows;
	struct sql_rows to = {.o = &rows};
	bool cut = false;
	int err = s->sql ? 0 : sql_open(s->c, &s->sql);

	if (err || out_init_sink(&rows, body_add, &body))
		return -ENOMEM;
	err = sql_select(s->sql, req->text ? req->text : "", &limits, sql_head, sql_row, &to, &cut);
	if (out_end(&rows))
		err = fail(ENOMEM, "sql: the answer is too large");
	if (err) {
		out_text(o, "{\"error\":");
		json_put(o, fail_text());
		out_text(o, "}");
	} else {
		out_write(o, body.at, body.nr);
		out_printf(o, "],\"cut\":%s}", cut ? "true" : "false");
	}
	free(body.at);
	return 0;
}

static const struct {
	const char *path;
	int (*answer)(struct served *s, struct out *o, const struct request *req);
	bool of_outline; /* an outline can answer it */
} requests[] = {
	{"/api/info", ask_info, true},
	{"/api/spans", ask_spans, true},
	{"/api/list", ask_list, false},
	{"/api/number", ask_number, false},
	{"/api/find", ask_find, false},
	{"/api/table", ask_table, false},
	{"/api/flame", ask_flame, false},
	{"/api/function", ask_function, false},
	{"/api/sql", ask_sql, false},
	{"/api/source", ask_source, false},
	{"/api/generation", ask_generation, true},
};

#define NR_REQUESTS (sizeof(requests) / sizeof(*requests))

/* The columns of a filter: cached, or made now in place of the least recently used ones. */
static int use_filter(struct served *s, const char *steps, const struct columns **out)
{
	struct filtered *f = &s->filters[0];
	struct columns *c = NULL;
	struct match *m = NULL;
	char *copy;
	int err;

	s->nr_requests++;
	for (unsigned int i = 0; i < MAX_FILTERS; i++) {
		if (s->filters[i].c && !strcmp(s->filters[i].steps, steps)) {
			s->filters[i].used = s->nr_requests;
			*out = s->filters[i].c;
			return 0;
		}
		if (s->filters[i].used < f->used)
			f = &s->filters[i];
	}
	copy = strdup(steps);
	err = copy ? match_new(s->c, steps, &m) : fail(ENOMEM, "out of memory");
	if (!err)
		err = columns_filter(s->c, m, &c);
	match_free(m);
	if (err) {
		free(copy);
		return err;
	}
	free(f->steps);
	columns_free(f->c);
	*f = (struct filtered){copy, c, s->nr_requests};
	*out = c;
	return 0;
}

int served_answer(struct served *s, struct MHD_Connection *con, const char *path, struct body *out)
{
	const char *steps = mhd.lookup_connection_value(con, MHD_GET_ARGUMENT_KIND, "filter");
	struct request req = {.to = UINT64_MAX, .c = s->c};
	size_t which = 0;
	struct out o;
	int err;

	while (which < NR_REQUESTS && strcmp(path, requests[which].path))
		which++;
	if (which == NR_REQUESTS)
		return -ENOENT;
	err = take_request(&req, con) ? 0 : -EINVAL;
	if (!err && s->c->outline && (!requests[which].of_outline || (steps && *steps)))
		err = -EAGAIN;
	if (!err && steps && *steps)
		err = use_filter(s, steps, &req.c);
	if (!err)
		err = out_init_sink(&o, body_add, out);
	if (!err) {
		err = requests[which].answer(s, &o, &req);
		err = out_end(&o) ? -ENOMEM : err;
	}
	free(req.rows);
	free(req.tracks);
	if (++s->nr_answers % TRIM_EACH == 0)
		spill_arrays_trim();
	return err;
}

void served_forget(struct served *s)
{
	for (unsigned int i = 0; i < MAX_FILTERS; i++) {
		free(s->filters[i].steps);
		columns_free(s->filters[i].c);
		s->filters[i] = (struct filtered){0};
	}
	sql_close(s->sql);
	source_text_free(s->source);
	s->sql = NULL;
	s->source = NULL;
}
