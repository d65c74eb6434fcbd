/* SPDX-License-Identifier: MIT */
/*
 * The viewer's server: HTTP on 127.0.0.1 only, for requests that carry the token. It starts no
 * program. It writes an HTML file that redirects a browser to it, and the session's file if one was
 * named.
 */
#ifndef VESTIGE_TOOLS_SERVER_H
#define VESTIGE_TOOLS_SERVER_H

#include <stdbool.h>

#include "tools/view/columns.h"

struct view_server;

struct view_server_options {
	uint16_t port;	     /* 0: any that is free */
	const char *dir;     /* folder of the redirect file; made if it does not exist */
	const char *session; /* file of the page's session, read and written; NULL: none */
	const char *source;  /* folder with the source of the programs; NULL: the working folder */
	bool live;	     /* the recording grows: view_server_replace() will be called */
};

/*
 * view_server_start() - serve @c from now on, in a thread of its own.
 * @c: borrowed until view_server_replace() or view_server_stop(). @opt: copied, its texts borrowed.
 * Return: 0 or -errno with fail() set: EADDRINUSE, EISDIR (the session's file), ...
 */
int view_server_start(const struct columns *c, const struct view_server_options *opt,
		      struct view_server **out);

/*
 * view_server_replace() - serve @c from now on; pages notice that. When this has returned, the
 * columns that were served before are not used any more.
 */
void view_server_replace(struct view_server *s, const struct columns *c);

/* http://127.0.0.1:PORT/#token=..., and the path of the redirect file. Borrowed. */
const char *view_server_address(const struct view_server *s);
const char *view_server_file(const struct view_server *s);

/* Stop it and remove the redirect file. NULL is allowed. */
void view_server_stop(struct view_server *s);

#endif
