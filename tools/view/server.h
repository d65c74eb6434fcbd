/* SPDX-License-Identifier: MIT */
/*
 * The viewer's server: HTTP on 127.0.0.1 alone, for requests that carry the token. It starts no
 * program, and the only file it writes is the one that leads a browser to it.
 */
#ifndef VESTIGE_TOOLS_SERVER_H
#define VESTIGE_TOOLS_SERVER_H

#include "tools/view/columns.h"

struct view_server;

/*
 * view_server_start() - serve @c, which is borrowed, from now on, in a thread of its own.
 * @port: 0: any that is free. @dir: of the file that leads a browser to it, made if it is not there.
 * Return: 0 or -errno with fail() set: EADDRINUSE, ...
 */
int view_server_start(const struct columns *c, uint16_t port, const char *dir,
		      struct view_server **out);

/* http://127.0.0.1:PORT/#token=..., and the path of the file that leads there. Borrowed. */
const char *view_server_address(const struct view_server *s);
const char *view_server_file(const struct view_server *s);

/* End it; the file is removed. NULL is allowed. */
void view_server_stop(struct view_server *s);

#endif
