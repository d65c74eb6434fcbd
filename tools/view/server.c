/* SPDX-License-Identifier: MIT */
/*
 * See server.h. A web page of another site can send requests to 127.0.0.1 through the user's
 * browser, also under a host name of that site. So a request must have one of our names as its Host
 * and no other site's Origin. A request for data must also have the token in a header, which no
 * other site can know or set. Tests: tests/cli/test_view.py.
 */
#include "tools/view/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/view/answers.h"
#include "tools/view/bundle.h"
#include "tools/text/json.h"
#include "tools/view/sql.h"

#define TOKEN_BYTES	32u /* hexadecimal digits: 128 bits */
#define MAX_CONNECTIONS 32u
#define MAX_REQUEST	(64u << 10) /* bytes of a request with its headers */
#define IDLE_S		30u
#define MAX_ROWS	4096u /* of one question */
#define MAX_ENTRIES	1000u
#define MAX_ANSWER	(256u << 20)
#define SQL_ROWS	1000u
#define SQL_SECONDS	10u

struct view_server {
	const struct columns *c;
	struct sql *sql; /* made with the first question; of the daemon's thread */
	struct MHD_Daemon *daemon;
	char token[TOKEN_BYTES + 1];
	char address[96];
	char *file;
	bool made_file;
};

/* A text that grows. */
struct body {
	char *at;
	size_t nr, room;
};

static int body_add(void *arg, const char *text, size_t bytes)
{
	struct body *b = arg;

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

static enum MHD_Result send_response(struct MHD_Connection *con, unsigned int status,
				     const char *type, struct MHD_Response *response)
{
	static const char *const headers[][2] = {
		{"Cache-Control", "no-store"},
		{"X-Content-Type-Options", "nosniff"},
		{"Referrer-Policy", "no-referrer"},
		{"Cross-Origin-Resource-Policy", "same-origin"},
		{"Cross-Origin-Opener-Policy", "same-origin"},
		{"X-Frame-Options", "DENY"},
		{"Content-Security-Policy",
		 "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
		 "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
	};
	enum MHD_Result ret;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, "Content-Type", type);
	for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++)
		MHD_add_response_header(response, headers[i][0], headers[i][1]);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, "Allow", "GET");
	ret = MHD_queue_response(con, status, response);
	MHD_destroy_response(response);
	return ret;
}

/* @data: stays as it is for as long as the program runs. */
static enum MHD_Result send_fixed(struct MHD_Connection *con, unsigned int status, const char *type,
				  const void *data, size_t bytes)
{
	return send_response(con, status, type,
			     MHD_create_response_from_buffer(bytes, (void *)(uintptr_t)data,
							     MHD_RESPMEM_PERSISTENT));
}

static enum MHD_Result refuse(struct MHD_Connection *con, unsigned int status, const char *why)
{
	return send_fixed(con, status, "text/plain; charset=utf-8", why, strlen(why));
}

/* A name of this machine that no other site can have, with any port. */
static bool is_our_name(const char *host)
{
	static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};

	for (size_t i = 0; host && i < sizeof(names) / sizeof(*names); i++) {
		size_t n = strlen(names[i]);

		if (!strncmp(host, names[i], n) &&
		    (!host[n] || (host[n] == ':' &&
				  strspn(host + n + 1, "0123456789") == strlen(host + n + 1))))
			return true;
	}
	return false;
}

static const char *header(struct MHD_Connection *con, const char *name)
{
	return MHD_lookup_connection_value(con, MHD_HEADER_KIND, name);
}

static bool is_foreign(struct MHD_Connection *con)
{
	const char *host = header(con, "Host"), *origin = header(con, "Origin");

	if (!is_our_name(host))
		return true;
	return origin && (strncmp(origin, "http://", 7) || strcmp(origin + 7, host));
}

/* Takes the same time wherever they differ. */
static bool has_token(const struct view_server *s, struct MHD_Connection *con)
{
	const char *given = header(con, "X-Vestige-Token");
	unsigned char differs = 0;

	if (!given || strlen(given) != TOKEN_BYTES)
		return false;
	for (unsigned int i = 0; i < TOKEN_BYTES; i++)
		differs |= (unsigned char)(given[i] ^ s->token[i]);
	return !differs;
}

/* What was asked for, from the address. */
struct question {
	uint64_t from, to, pixel, at, nr;
	bool backward;
	const char *text;
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
static bool take_rows(struct question *q, const char *p)
{
	while (*p) {
		if (q->nr_rows == MAX_ROWS || ARRAY_ROOM(q->rows, q->nr_rows, q->room_rows, 64))
			return false;
		if (!take_track(&p, &q->rows[q->nr_rows][0]) || *p++ != '.' ||
		    !take_track(&p, &q->rows[q->nr_rows][1]))
			return false;
		q->nr_rows++;
		if (*p && (*p++ != ',' || !*p))
			return false;
	}
	return true;
}

static bool take_tracks(struct question *q, const char *p)
{
	while (*p) {
		if (q->nr_tracks == MAX_ROWS ||
		    ARRAY_ROOM(q->tracks, q->nr_tracks, q->room_tracks, 64) ||
		    !take_track(&p, &q->tracks[q->nr_tracks]))
			return false;
		q->nr_tracks++;
		if (*p && (*p++ != ',' || !*p))
			return false;
	}
	return true;
}

static bool take_question(struct question *q, struct MHD_Connection *con)
{
	static const char *const names[] = {"from", "to", "pixel", "at", "nr", "backward"};
	uint64_t backward = 0;
	uint64_t *const to[] = {&q->from, &q->to, &q->pixel, &q->at, &q->nr, &backward};
	const char *rows, *tracks;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *value =
			MHD_lookup_connection_value(con, MHD_GET_ARGUMENT_KIND, names[i]);

		/* -1: before all entries */
		if (value && !strcmp(names[i], "at") && !strcmp(value, "-1"))
			*to[i] = UINT64_MAX;
		else if (value && (!take_number(&value, to[i]) || *value))
			return false;
	}
	q->backward = backward;
	q->text = MHD_lookup_connection_value(con, MHD_GET_ARGUMENT_KIND, "text");
	rows = MHD_lookup_connection_value(con, MHD_GET_ARGUMENT_KIND, "rows");
	tracks = MHD_lookup_connection_value(con, MHD_GET_ARGUMENT_KIND, "tracks");
	return (!rows || take_rows(q, rows)) && (!tracks || take_tracks(q, tracks));
}

static int ask_info(struct view_server *s, struct out *o, const struct question *q)
{
	(void)q;
	answer_info(s->c, o, NULL);
	return 0;
}

static int ask_spans(struct view_server *s, struct out *o, const struct question *q)
{
	answer_spans(s->c, o, (const uint32_t(*)[2])q->rows, q->nr_rows, q->from, q->to, q->pixel);
	return 0;
}

static int ask_list(struct view_server *s, struct out *o, const struct question *q)
{
	return answer_list(s->c, o, q->at, q->nr < MAX_ENTRIES ? (unsigned int)q->nr : MAX_ENTRIES);
}

static int ask_number(struct view_server *s, struct out *o, const struct question *q)
{
	return answer_number(s->c, o, q->from);
}

static int ask_find(struct view_server *s, struct out *o, const struct question *q)
{
	return answer_find(s->c, o, q->text ? q->text : "", q->at, q->backward);
}

static int ask_table(struct view_server *s, struct out *o, const struct question *q)
{
	return answer_table(s->c, o, q->tracks, q->nr_tracks, q->from, q->to);
}

static int ask_flame(struct view_server *s, struct out *o, const struct question *q)
{
	return answer_flame(s->c, o, q->tracks, q->nr_tracks, q->from, q->to);
}

static int ask_function(struct view_server *s, struct out *o, const struct question *q)
{
	return answer_function(s->c, o, q->nr);
}

/* Rows on their way to the page. */
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

/* Numbers are texts, too: a page's numbers do not hold all times of a clock. */
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

/* What is wrong with a question is an answer: {"error": ...}. */
static int ask_sql(struct view_server *s, struct out *o, const struct question *q)
{
	const struct sql_limits limits = {.rows = SQL_ROWS, .seconds = SQL_SECONDS};
	struct body body = {0};
	struct out rows;
	struct sql_rows to = {.o = &rows};
	bool cut = false;
	int err = s->sql ? 0 : sql_open(s->c, &s->sql);

	if (err || out_init_sink(&rows, body_add, &body))
		return -ENOMEM;
	err = sql_select(s->sql, q->text ? q->text : "", &limits, sql_head, sql_row, &to, &cut);
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
	int (*answer)(struct view_server *s, struct out *o, const struct question *q);
} questions[] = {
	{"/api/info", ask_info},     {"/api/spans", ask_spans},	      {"/api/list", ask_list},
	{"/api/number", ask_number}, {"/api/find", ask_find},	      {"/api/table", ask_table},
	{"/api/flame", ask_flame},   {"/api/function", ask_function}, {"/api/sql", ask_sql},
};

static enum MHD_Result send_answer(struct view_server *s, struct MHD_Connection *con, size_t which)
{
	struct question q = {.to = UINT64_MAX};
	struct body body = {0};
	struct out o;
	int err;

	if (!take_question(&q, con)) {
		free(q.rows);
		free(q.tracks);
		return refuse(con, MHD_HTTP_BAD_REQUEST, "that is no question of this page");
	}
	err = out_init_sink(&o, body_add, &body);
	if (!err) {
		err = questions[which].answer(s, &o, &q);
		err = out_end(&o) ? -ENOMEM : err;
	}
	free(q.rows);
	free(q.tracks);
	if (err) {
		free(body.at);
		return refuse(con, MHD_HTTP_INTERNAL_SERVER_ERROR,
			      "there is no memory for the answer");
	}
	return send_response(
		con, MHD_HTTP_OK, "application/json",
		MHD_create_response_from_buffer(body.nr, body.at, MHD_RESPMEM_MUST_FREE));
}

static enum MHD_Result send_page(struct MHD_Connection *con)
{
	struct body b = {0};
	static const char style[] = "<link rel=\"stylesheet\" href=\"/view.css\">";
	static const char script[] = "<script defer src=\"/view.js\"></script>";

	if (body_add(&b, (const char *)page_begin, page_begin_bytes) ||
	    body_add(&b, (const char *)page_style, page_style_bytes) ||
	    body_add(&b, style, sizeof(style) - 1) ||
	    body_add(&b, (const char *)page_script, page_script_bytes) ||
	    body_add(&b, script, sizeof(script) - 1) ||
	    body_add(&b, (const char *)page_end, page_end_bytes)) {
		free(b.at);
		return MHD_NO;
	}
	return send_response(con, MHD_HTTP_OK, "text/html; charset=utf-8",
			     MHD_create_response_from_buffer(b.nr, b.at, MHD_RESPMEM_MUST_FREE));
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *con, const char *path,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_bytes, void **state)
{
	struct view_server *s = arg;

	(void)version;
	(void)upload;
	(void)upload_bytes;
	(void)state;
	if (is_foreign(con))
		return refuse(con, MHD_HTTP_FORBIDDEN,
			      "this server answers pages of 127.0.0.1 and localhost alone");
	if (strcmp(method, "GET") && strcmp(method, "HEAD"))
		return refuse(con, MHD_HTTP_METHOD_NOT_ALLOWED, "GET alone");
	if (!strcmp(path, "/"))
		return send_page(con);
	if (!strcmp(path, "/view.js"))
		return send_fixed(con, MHD_HTTP_OK, "text/javascript; charset=utf-8", bundle_script,
				  bundle_script_bytes);
	if (!strcmp(path, "/view.css"))
		return send_fixed(con, MHD_HTTP_OK, "text/css; charset=utf-8", bundle_style,
				  bundle_style_bytes);
	if (!strncmp(path, "/api/", 5) && !has_token(s, con))
		return refuse(con, MHD_HTTP_FORBIDDEN, "the token is missing or wrong");
	for (size_t i = 0; i < sizeof(questions) / sizeof(*questions); i++)
		if (!strcmp(path, questions[i].path))
			return send_answer(s, con, i);
	return refuse(con, MHD_HTTP_NOT_FOUND, "there is no such page");
}

static int make_token(struct view_server *s)
{
	unsigned char bytes[TOKEN_BYTES / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return fail_errno(errno, "cannot make a token");
	for (unsigned int i = 0; i < sizeof(bytes); i++)
		snprintf(s->token + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

/* A file that only this user can read, so that the token is on no command line. */
static int write_file(struct view_server *s, const char *dir)
{
	int fd, err = 0;

	if (mkdir(dir, 0755) && errno != EEXIST)
		return fail_errno(errno, "cannot make %s", dir);
	if (asprintf(&s->file, "%s/view-%d.html", dir, (int)getpid()) < 0) {
		s->file = NULL;
		return fail(ENOMEM, "out of memory");
	}
	unlink(s->file); /* of a process of the same number that was killed */
	fd = open(s->file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return fail_errno(errno, "cannot make %s", s->file);
	s->made_file = true;
	if (dprintf(fd,
		    "<!doctype html>\n<meta charset=\"utf-8\">\n<title>vestige view</title>\n"
		    "<meta http-equiv=\"refresh\" content=\"0;url=%s\">\n<a href=\"%s\">vestige "
		    "view</a>\n",
		    s->address, s->address) < 0)
		err = fail_errno(errno, "cannot write %s", s->file);
	close(fd);
	return err;
}

static int listen_at(struct view_server *s, uint16_t port)
{
	const struct sockaddr_in at = {.sin_family = AF_INET,
				       .sin_port = htons(port),
				       .sin_addr = {htonl(INADDR_LOOPBACK)}};
	const union MHD_DaemonInfo *info;

	errno = 0;
	s->daemon = MHD_start_daemon(MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD, port, NULL,
				     NULL, on_request, s, MHD_OPTION_SOCK_ADDR, &at,
				     MHD_OPTION_CONNECTION_LIMIT, MAX_CONNECTIONS,
				     MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MAX_REQUEST,
				     MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S, MHD_OPTION_END);
	info = s->daemon ? MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT) : NULL;
	if (!info)
		return fail_errno(errno ? errno : EIO, "cannot listen on 127.0.0.1:%u", port);
	snprintf(s->address, sizeof(s->address), "http://127.0.0.1:%u/#token=%s", info->port,
		 s->token);
	return 0;
}

int view_server_start(const struct columns *c, uint16_t port, const char *dir,
		      struct view_server **out)
{
	struct view_server *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return fail(ENOMEM, "out of memory");
	s->c = c;
	err = make_token(s);
	if (!err)
		err = listen_at(s, port);
	if (!err)
		err = write_file(s, dir);
	if (err) {
		view_server_stop(s);
		return err;
	}
	*out = s;
	return 0;
}

const char *view_server_address(const struct view_server *s)
{
	return s->address;
}

const char *view_server_file(const struct view_server *s)
{
	return s->file;
}

void view_server_stop(struct view_server *s)
{
	if (!s)
		return;
	if (s->daemon)
		MHD_stop_daemon(s->daemon);
	if (s->made_file)
		unlink(s->file);
	sql_close(s->sql);
	free(s->file);
	free(s);
}
