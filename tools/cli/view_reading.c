/* SPDX-License-Identifier: MIT */
/* See view_reading.h. */
#include "tools/cli/view_reading.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"

/* A recording with fewer calls and events needs no index. */
#define INDEX_LEAST 1000000u

/* Show @c from now on. */
static void publish(struct view_reading *r, struct columns *c)
{
	struct columns *before;

	pthread_mutex_lock(&r->lock);
	before = r->c;
	r->c = c;
	if (r->server)
		view_server_replace(r->server, c);
	pthread_mutex_unlock(&r->lock);
	columns_free(before);
}

/* Show a part, unless there is an index, which has a picture of the whole recording. */
static void take_part(void *arg, struct columns *part)
{
	struct view_reading *r = arg;

	if (r->has_index)
		columns_free(part);
	else
		publish(r, part);
}

/* Write the index. It is only a cache, so errors are ignored. */
static void save_index(struct view_reading *r, const struct columns *c)
{
	struct columns *outline = NULL;
	struct index_id now;
	char *place = NULL;

	if (!r->index || r->has_index || c->nr_calls + c->events.nr < INDEX_LEAST)
		return;
	/* do not write it if the file was changed while it was read */
	if (!index_place(r->v->path, &now, &place) && !memcmp(&now, &r->id, sizeof(now)) &&
	    !columns_outline(c, &outline))
		index_save(r->index, &r->id, outline);
	columns_free(outline);
	free(place);
}

static void *read_it(void *arg)
{
	struct view_reading *r = arg;
	const struct columns_watch watch = {take_part, r};
	struct columns *c = NULL;
	int err = columns_read(r->v, &watch, &c);

	if (!err) {
		/* the server may answer from it at once: it is only read from now on */
		publish(r, c);
		save_index(r, c);
	}
	pthread_mutex_lock(&r->lock);
	r->done = true;
	r->err = err;
	if (err)
		snprintf(r->why, sizeof(r->why), "%s", fail_text());
	pthread_mutex_unlock(&r->lock);
	if (err)
		pthread_kill(r->of_signals, SIGTERM);
	return NULL;
}

int view_reading_begin(struct view_reading *r, struct view *v, bool use_index)
{
	int err;

	*r = (struct view_reading){.v = v, .of_signals = pthread_self()};
	pthread_mutex_init(&r->lock, NULL);
	if (use_index && !index_place(v->path, &r->id, &r->index))
		r->has_index = !index_load(r->index, &r->id, v, &r->c);
	v->r->stop = &r->stop;
	err = pthread_create(&r->thread, NULL, read_it, r);
	if (err)
		return fail_errno(err, "cannot start a thread");
	r->running = true;
	return 0;
}

int view_reading_serve(struct view_reading *r, const struct view_server_options *opt)
{
	int err;

	pthread_mutex_lock(&r->lock);
	if (r->c)
		err = view_server_start(r->c, opt, &r->server);
	else if (r->err)
		err = fail(-r->err, "%s", r->why);
	else
		err = -EAGAIN;
	pthread_mutex_unlock(&r->lock);
	return err;
}

int view_reading_end(struct view_reading *r)
{
	bool stopped;

	/*
	 * check first whether it has ended by itself: an end after the request to stop is no
	 * failure
	 */
	pthread_mutex_lock(&r->lock);
	stopped = !r->done;
	pthread_mutex_unlock(&r->lock);
	atomic_store(&r->stop, true);
	if (r->running)
		pthread_join(r->thread, NULL);
	view_server_stop(r->server);
	columns_free(r->c);
	free(r->index);
	pthread_mutex_destroy(&r->lock);
	return r->err && !stopped ? fail(-r->err, "%s", r->why) : 0;
}
