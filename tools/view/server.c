/* SPDX-License-Identifier: MIT */
/*
 * See server.h. A web page of another site can send requests to 127.0.0.1 through the user's
 * browser, also under a host name of that site. So a request must have one of our names as its Host
 * and no other site's Origin. A request for data must also have the token in a header, which no
 * other site can know or set. Tests: tests/cli/test_view.py.
 */
#include "tools/view/server.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/export/dat_file.h"
#include "tools/view/bundle.h"
#include "tools/view/mhd.h"
#include "tools/view/requests.h"

#define NO_TOKEN	"the token is missing or wrong"
#define TOKEN_BYTES	32u /* hexadecimal digits: 128 bits */
#define MAX_CONNECTIONS 256u
#define MAX_REQUEST	(64u << 10) /* bytes of a request with its headers */
#define IDLE_S		10u
#define MAX_SESSION	(1u << 20)

struct view_server {
	struct view_server_options opt;
	pthread_mutex_t lock; /* of @served */
	struct served served;
	struct MHD_Daemon *daemon;
	pthread_t thread; /* runs the daemon until @wake can be read */
	bool running;
	int wake; /* an eventfd; -1: none */
	char token[TOKEN_BYTES + 1];
	char address[96];
	char *file;
	bool made_file;
};

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
	mhd.add_response_header(response, "Content-Type", type);
	for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++)
		mhd.add_response_header(response, headers[i][0], headers[i][1]);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		mhd.add_response_header(response, "Allow", "GET");
	ret = mhd.queue_response(con, status, response);
	mhd.destroy_response(response);
	return ret;
}

/* @data: stays as it is for as long as the program runs. */
static enum MHD_Result send_fixed(struct MHD_Connection *con, unsigned int status, const char *type,
				  const void *data, size_t bytes)
{
	return send_response(con, status, type,
			     mhd.create_response_from_buffer(bytes, (void *)(uintptr_t)data,
							     MHD_RESPMEM_PERSISTENT));
}

static enum MHD_Result refuse(struct MHD_Connection *con, unsigned int status, const char *why)
{
	return send_fixed(con, status, "text/plain; charset=utf-8", why, strlen(why));
}

/* Is it a name of this machine that no other site can have? With any port. */
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
	return mhd.lookup_connection_value(con, MHD_HEADER_KIND, name);
}

static bool is_foreign(struct MHD_Connection *con)
{
	const char *host = header(con, "Host"), *origin = header(con, "Origin");

	if (!is_our_name(host))
		return true;
	return origin && (strncmp(origin, "http://", 7) || strcmp(origin + 7, host));
}

/* Compare in constant time. */
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

static enum MHD_Result send_answer(struct view_server *s, struct MHD_Connection *con,
				   const char *path)
{
	struct body body = {0};
	int err;

	pthread_mutex_lock(&s->lock);
	err = served_answer(&s->served, con, path, &body);
	pthread_mutex_unlock(&s->lock);
	if (!err)
		return send_response(
			con, MHD_HTTP_OK, "application/json",
			mhd.create_response_from_buffer(body.nr, body.at, MHD_RESPMEM_MUST_FREE));
	free(body.at);
	if (err == -ENOENT)
		return refuse(con, MHD_HTTP_NOT_FOUND, "there is no such page");
	if (err == -EAGAIN)
		return refuse(con, MHD_HTTP_SERVICE_UNAVAILABLE,
			      "the recording is still being read: ask again when that is done");
	if (err == -EINVAL)
		return refuse(con, MHD_HTTP_BAD_REQUEST, "an argument of the request is wrong");
	return refuse(con, MHD_HTTP_INTERNAL_SERVER_ERROR, "not enough memory for the answer");
}

/* The body of a POST, which comes in pieces. */
struct upload {
	struct body body;
	bool too_large;
};

static void end_upload(void *arg, struct MHD_Connection *con, void **state,
		       enum MHD_RequestTerminationCode how)
{
	struct upload *u = *state;

	(void)arg;
	(void)con;
	(void)how;
	if (u)
		free(u->body.at);
	free(u);
	*state = NULL;
}

static enum MHD_Result save_session(struct view_server *s, struct MHD_Connection *con,
				    const struct upload *u)
{
	struct dat_file file;
	int err;

	if (u->too_large)
		return refuse(con, MHD_HTTP_CONTENT_TOO_LARGE, "a session may have at most 1 MB");
	err = dat_file_create(&file, s->opt.session);
	if (!err) {
		err = dat_file_pwrite(file.fd, u->body.at, u->body.nr, 0);
		if (err)
			dat_file_abort(&file);
		else
			err = dat_file_commit(&file);
	}
	if (err)
		return refuse(con, MHD_HTTP_INTERNAL_SERVER_ERROR, fail_text());
	return send_fixed(con, MHD_HTTP_OK, "text/plain", "", 0);
}

/* Check at start that the session can be written: at the first Save it would be too late. */
static int check_session(const char *path)
{
	struct dat_file file;
	struct stat st;
	bool there = !stat(path, &st);
	int err;

	if (there && S_ISREG(st.st_mode) && st.st_size > (off_t)MAX_SESSION)
		return fail(EFBIG, "'%s' has more than 1 MB: it is no session", path);
	/* an existing file may be in a folder that other users can write, too */
	if (there && S_ISREG(st.st_mode))
		return 0;
	err = dat_file_create(&file, path);
	if (!err)
		dat_file_abort(&file);
	return err;
}

static int check_source(const char *dir)
{
	struct stat st;

	if (stat(dir, &st))
		return fail_errno(errno, "--source %s: cannot look at that folder", dir);
	return S_ISDIR(st.st_mode) ? 0 : fail(ENOTDIR, "--source %s: not a folder", dir);
}

/* POST: write the page's session into its file. */
static enum MHD_Result take_session(struct view_server *s, struct MHD_Connection *con,
				    const char *data, size_t *bytes, void **state)
{
	struct upload *u = *state;

	if (!s->opt.session)
		return refuse(con, MHD_HTTP_NOT_FOUND, "there is no --session FILE");
	if (!u) {
		*state = calloc(1, sizeof(*u));
		return *state ? MHD_YES : MHD_NO;
	}
	if (!*bytes)
		return save_session(s, con, u);
	u->too_large |= *bytes > MAX_SESSION - u->body.nr;
	if (!u->too_large && body_add(&u->body, data, *bytes))
		return MHD_NO;
	*bytes = 0;
	return MHD_YES;
}

/* GET: the session's file as it is; empty if there is none yet. */
static enum MHD_Result send_session(const struct view_server *s, struct MHD_Connection *con)
{
	struct body b = {0};
	char buf[4096];
	ssize_t n;
	int fd = s->opt.session ? open(s->opt.session, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;

	while (fd >= 0 && b.nr <= MAX_SESSION && (n = read(fd, buf, sizeof(buf))) > 0)
		if (body_add(&b, buf, (size_t)n))
			break;
	if (fd >= 0)
		close(fd);
	if (!b.at)
		return send_fixed(con, MHD_HTTP_OK, "application/json", "", 0);
	return send_response(con, MHD_HTTP_OK, "application/json",
			     mhd.create_response_from_buffer(b.nr, b.at, MHD_RESPMEM_MUST_FREE));
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
			     mhd.create_response_from_buffer(b.nr, b.at, MHD_RESPMEM_MUST_FREE));
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *con, const char *path,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_bytes, void **state)
{
	struct view_server *s = arg;

	(void)version;
	if (is_foreign(con))
		return refuse(con, MHD_HTTP_FORBIDDEN,
			      "this server answers only pages of 127.0.0.1 and localhost");
	if (!strcmp(path, "/api/session") && !strcmp(method, "POST"))
		return has_token(s, con) ? take_session(s, con, upload, upload_bytes, state)
					 : refuse(con, MHD_HTTP_FORBIDDEN, NO_TOKEN);
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
		return refuse(con, MHD_HTTP_FORBIDDEN, NO_TOKEN);
	if (!strcmp(path, "/api/session"))
		return send_session(s, con);
	return send_answer(s, con, path);
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

/* Remove redirect files of this user's servers that were killed. */
static void remove_stale(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	struct stat st;
	int pid, end;

	while (d && (e = readdir(d))) {
		end = 0;
		if (sscanf(e->d_name, "view-%d.html%n", &pid, &end) != 1 || !end ||
		    e->d_name[end] || pid <= 0 || !kill(pid, 0) || errno != ESRCH)
			continue;
		if (!fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(st.st_mode) && st.st_uid == geteuid())
			unlinkat(dirfd(d), e->d_name, 0);
	}
	if (d)
		closedir(d);
}

/* Write the redirect file. Only this user can read it, and the token is on no command line. */
static int write_file(struct view_server *s, const char *dir)
{
	int fd, err = 0;

	if (mkdir(dir, 0755) && errno != EEXIST)
		return fail_errno(errno, "cannot make %s", dir);
	remove_stale(dir);
	if (asprintf(&s->file, "%s/view-%d.html", dir, (int)getpid()) < 0) {
		s->file = NULL;
		return fail(ENOMEM, "out of memory");
	}
	unlink(s->file); /* left by a killed process with the same PID */
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

/*
 * The thread that answers requests. It is not libmicrohttpd's own thread, for these reasons in
 * 0.9.75:
 * - It crashed in a stop while incomplete requests came: the library read a response at NULL. The
 *   likely cause, not proved: MHD_stop_daemon() ends the thread while it answers a wrong request.
 * - When all connections are taken, it is not woken before one has been idle for IDLE_S.
 * - It uses epoll edge-triggered, and misses the end of a connection that came together with half a
 *   request.
 */
static void *answer_requests(void *arg)
{
	struct view_server *s = arg;

	for (;;) {
		MHD_UNSIGNED_LONG_LONG ms;
		struct timeval wait;
		int last = s->wake;
		fd_set in, out, bad;

		FD_ZERO(&in);
		FD_ZERO(&out);
		FD_ZERO(&bad);
		FD_SET(s->wake, &in);
		mhd.get_fdset2(s->daemon, &in, &out, &bad, &last, FD_SETSIZE);
		if (mhd.get_timeout(s->daemon, &ms) != MHD_YES || ms > 1000u * IDLE_S)
			ms = 1000u * IDLE_S;
		wait.tv_sec = (time_t)(ms / 1000);
		wait.tv_usec = (suseconds_t)(ms % 1000 * 1000);
		if (select(last + 1, &in, &out, &bad, &wait) < 0)
			continue;
		if (FD_ISSET(s->wake, &in))
			return NULL;
		mhd.run_from_select(s->daemon, &in, &out, &bad);
	}
}

static int start_thread(struct view_server *s)
{
	int err;

	s->wake = eventfd(0, EFD_CLOEXEC);
	if (s->wake < 0)
		return fail_errno(errno, "cannot make an eventfd");
	if (s->wake >= FD_SETSIZE)
		return fail(EMFILE, "too many files are open");
	err = pthread_create(&s->thread, NULL, answer_requests, s);
	if (err)
		return fail_errno(err, "cannot start a thread");
	s->running = true;
	return 0;
}

static void stop_thread(struct view_server *s)
{
	atomic_store(&s->served.stop, true);
	if (s->running && !eventfd_write(s->wake, 1))
		pthread_join(s->thread, NULL);
	if (s->wake >= 0)
		close(s->wake);
}

static int listen_at(struct view_server *s, uint16_t port)
{
	const struct sockaddr_in at = {.sin_family = AF_INET,
				       .sin_port = htons(port),
				       .sin_addr = {htonl(INADDR_LOOPBACK)}};
	const union MHD_DaemonInfo *info;

	errno = 0;
	s->daemon = mhd.start_daemon(MHD_NO_FLAG, port, NULL, NULL, on_request, s,
				     MHD_OPTION_SOCK_ADDR, &at, MHD_OPTION_CONNECTION_LIMIT,
				     MAX_CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
				     (size_t)MAX_REQUEST, MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S,
				     MHD_OPTION_NOTIFY_COMPLETED, end_upload, NULL, MHD_OPTION_END);
	info = s->daemon ? mhd.get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT) : NULL;
	if (!info)
		return fail_errno(errno ? errno : EIO, "cannot listen on 127.0.0.1:%u", port);
	snprintf(s->address, sizeof(s->address), "http://127.0.0.1:%u/#token=%s", info->port,
		 s->token);
	return 0;
}

int view_server_start(const struct columns *c, const struct view_server_options *opt,
		      struct view_server **out)
{
	struct view_server *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return fail(ENOMEM, "out of memory");
	s->served.c = c;
	s->served.about = (struct answer_about){.live = opt->live, .session = opt->session};
	s->served.source_dir = opt->source ? opt->source : ".";
	s->opt = *opt;
	s->wake = -1;
	pthread_mutex_init(&s->lock, NULL);
	err = opt->source ? check_source(opt->source) : 0;
	if (!err && opt->session)
		err = check_session(opt->session);
	if (!err)
		err = mhd_load();
	if (!err)
		err = make_token(s);
	if (!err)
		err = listen_at(s, opt->port);
	if (!err)
		err = write_file(s, opt->dir);
	if (!err)
		err = start_thread(s);
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

void view_server_replace(struct view_server *s, const struct columns *c)
{
	pthread_mutex_lock(&s->lock);
	served_forget(&s->served);
	s->served.c = c;
	s->served.generation++;
	pthread_mutex_unlock(&s->lock);
}

void view_server_stop(struct view_server *s)
{
	if (!s)
		return;
	stop_thread(s);
	if (s->daemon)
		mhd.stop_daemon(s->daemon);
	if (s->made_file)
		unlink(s->file);
	served_forget(&s->served);
	pthread_mutex_destroy(&s->lock);
	free(s->file);
	free(s);
}
