/* SPDX-License-Identifier: MIT */
/*
 * Reads a recording while the viewer's server already shows a picture of it: from the index
 * (tools/view/index.h), or of the records read so far. Tests: tests/cli/test_view_index.py.
 */
#ifndef VESTIGE_TOOLS_VIEW_READING_H
#define VESTIGE_TOOLS_VIEW_READING_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "tools/text/view.h"
#include "tools/view/index.h"
#include "tools/view/server.h"

struct view_reading {
	struct view *v;
	pthread_t thread, of_signals;
	bool running;
	atomic_bool stop;
	bool has_index; /* there is an index of this recording */
	char *index;	/* NULL: none is used */
	struct index_id id;
	pthread_mutex_t lock; /* of the rest */
	struct columns *c;    /* the latest; NULL: there is none yet */
	struct view_server *server;
	bool done;
	int err;
	char why[1024]; /* fail_text() of @err */
};

/*
 * view_reading_begin() - read @v, which is open, in a thread of its own.
 * @use_index: use an index, for a recording that is shown without filters. If the reading fails,
 * that thread sends SIGTERM to the calling thread.
 * Return: 0 or -errno with fail() set; either way the caller calls view_reading_end().
 */
int view_reading_begin(struct view_reading *r, struct view *v, bool use_index);

/*
 * view_reading_serve() - start the server, if there is a picture to show.
 * Return: 0; -EAGAIN: there is nothing yet; else -errno with fail() set.
 */
int view_reading_serve(struct view_reading *r, const struct view_server_options *opt);

/*
 * view_reading_end() - end the reading and the server. Return: 0, or the -errno that ended the
 * reading, with fail() set.
 */
int view_reading_end(struct view_reading *r);

#endif
