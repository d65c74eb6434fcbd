/* SPDX-License-Identifier: MIT */
/*
 * See dat_live.h. The recorder's thread stores two numbers and posts a semaphore. It takes no lock
 * that the idle thread could hold. A thread cannot leave SCHED_IDLE without a privilege. So after
 * the program's end the caller does the rest itself, with new threads for the chunks.
 *
 * Tests: tests/unit/reader/test_dat_live.c, tests/cli/test_record_live.py.
 */
#include "tools/export/dat_live.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>

#include "tools/area/pages.h"
#include "tools/area/spool_grow.h"
#include "tools/base/fail.h"
#include "tools/base/signals.h"

#define MAX_WITHOUT_CALLS (UINT64_C(4) << 20) /* bytes of the spool before the first call */

#define NS_PER_MS     1000000
#define JOIN_EVERY_MS 50
#define JOIN_MS	      300   /* several times the time of a turn */
#define EVENTS_PER_MS 40000 /* to encode one again takes about 25 ns */

struct dat_live {
	char *output, *spool;
	pthread_t thread;
	bool running, idle;
	bool left; /* the thread got no CPU time to end: it owns all fields below for ever */
	sem_t turn;
	_Atomic uint64_t end, stamp;
	atomic_bool stop;   /* the thread must end at the next run */
	atomic_bool cancel; /* and its reads fail */
	_Atomic uint64_t nr_turns, nr_events;
	/* owned by the thread, after its end by the caller */
	bool over;  /* the calls cannot be encoded so */
	bool learn; /* because a stack was deeper at its start */
	bool half;  /* the last turn is encoded in part */
	struct spool_grow *grow;
	struct dat_file file; /* fd -1: not made yet */
	struct dat_options opt;
	struct dat_graph *graph;
};

/* Give up: free all of it. */
static void end_all(struct dat_live *l)
{
	l->over = true;
	dat_graph_free(l->graph);
	l->graph = NULL;
	if (l->file.fd >= 0)
		dat_file_abort(&l->file);
	spool_grow_close(l->grow);
	l->grow = NULL;
}

static bool has_room(const struct dat_live *l)
{
	struct statvfs st;

	return fstatvfs(l->file.fd, &st) || st.f_bavail * st.f_frsize >= DAT_LIVE_FREE;
}

static int begin(struct dat_live *l)
{
	struct reader *r = spool_grow_reader(l->grow);
	int err;

	if (!dat_graph_may_be_compact(r))
		return fail(ESTALE, "there are no plain calls");
	r->stop = &l->cancel;
	err = dat_file_create_unnamed(&l->file, l->output);
	if (err)
		return err;
	l->opt = (struct dat_options){.version = 7, .zstd_level = DAT_LIVE_LEVEL, .native = true};
	return dat_graph_begin(&l->file, r, &l->opt, l->opt.zstd_level, DAT_CHUNK_BYTES,
			       DAT_FIRST_CHUNK, &l->graph);
}

/* Return: 0; another number: it is over. */
static int turn(struct dat_live *l)
{
	/* in this order: the bytes were stored before the stamp, and have all pages before it */
	uint64_t stamp = atomic_load(&l->stamp), end = atomic_load(&l->end);
	int ret = 0;

	if (!l->grow)
		ret = spool_grow_open(l->spool, &l->grow);
	if (!ret)
		ret = spool_grow_turn(l->grow, end, stamp);
	if (ret <= 0)
		return ret;
	if (!spool_grow_reader(l->grow)->graph) {
		/* no call yet: the next turn starts again, while the spool is small */
		spool_grow_close(l->grow);
		l->grow = NULL;
		return end < MAX_WITHOUT_CALLS ? 0 : fail(ESTALE, "there are no calls");
	}
	ret = l->graph ? 0 : begin(l);
	if (!ret && !has_room(l))
		ret = fail(ENOSPC, "the disk has little room");
	if (!ret)
		ret = dat_graph_step(l->graph, &l->stop);
	l->half = ret == DAT_GRAPH_HALF;
	if (l->graph)
		atomic_store(&l->nr_events, dat_graph_events(l->graph));
	return l->half ? 0 : ret;
}

static void *work(void *arg)
{
	struct dat_live *l = arg;
	struct sched_param none = {0};
	int ret;

	/* if this is refused, the thread keeps its priority */
	if (l->idle)
		sched_setscheduler(0, SCHED_IDLE, &none);
	while (!l->over) {
		if (sem_wait(&l->turn))
			continue;
		while (!sem_trywait(&l->turn))
			;
		if (atomic_load(&l->stop))
			break;
		ret = turn(l);
		l->learn = ret == DAT_GRAPH_LEARN;
		if (ret)
			end_all(l);
		atomic_fetch_add(&l->nr_turns, 1);
	}
	atomic_store(&l->nr_turns, UINT64_MAX);
	return NULL;
}

struct dat_live *dat_live_new(const char *output, const char *spool, bool idle)
{
	struct dat_live *l = calloc(1, sizeof(*l));

	if (!l || sem_init(&l->turn, 0, 0)) {
		free(l);
		fail(ENOMEM, "out of memory");
		return NULL;
	}
	l->file.fd = -1;
	l->idle = idle;
	l->output = strdup(output);
	l->spool = strdup(spool);
	l->running = l->output && l->spool && !thread_without_signals(&l->thread, work, l);
	if (l->running)
		return l;
	dat_live_free(l);
	fail(ENOMEM, "no thread to encode while the program runs");
	return NULL;
}

void dat_live_turn(struct dat_live *l, uint64_t end, uint64_t stamp)
{
	atomic_store(&l->end, end);
	atomic_store(&l->stamp, stamp);
	sem_post(&l->turn);
}

uint64_t dat_live_turns(const struct dat_live *l)
{
	return atomic_load(&l->nr_turns);
}

/* Wait JOIN_EVERY_MS for the thread's end. Return: whether it has ended. */
static bool has_ended(struct dat_live *l)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += JOIN_EVERY_MS * NS_PER_MS;
	until.tv_sec += until.tv_nsec / (1000 * NS_PER_MS);
	until.tv_nsec %= 1000 * NS_PER_MS;
	if (pthread_timedjoin_np(l->thread, NULL, &until) == ETIMEDOUT)
		return false;
	l->running = false;
	return true;
}

static void ask_to_end(struct dat_live *l)
{
	struct sched_param none = {0};

	atomic_store(&l->stop, true);
	/* with the privilege to do so, it need not wait for an idle CPU */
	pthread_setschedparam(l->thread, SCHED_OTHER, &none);
	sem_post(&l->turn);
}

/*
 * Wait for the end of the thread. When *@stop is set, its reads fail. If other programs leave no
 * CPU idle, the thread may never end. So after a time in which its work could be done again, it is
 * abandoned. Return: false if it was.
 */
static bool join(struct dat_live *l, const atomic_bool *stop)
{
	uint64_t ms = 0;

	if (!l->running)
		return !l->left;
	ask_to_end(l);
	while (!has_ended(l)) {
		if (stop && atomic_load(stop))
			atomic_store(&l->cancel, true);
		ms += JOIN_EVERY_MS;
		if (ms < JOIN_MS + atomic_load(&l->nr_events) / EVENTS_PER_MS)
			continue;
		atomic_store(&l->cancel, true);
		pthread_detach(l->thread);
		l->running = false;
		l->left = true;
		return false;
	}
	return true;
}

void dat_live_drop(struct dat_live *l)
{
	if (!l || l->left)
		return;
	atomic_store(&l->cancel, true);
	/* waits, because the file's end frees disk space */
	if (l->running)
		ask_to_end(l);
	while (l->running)
		has_ended(l);
	end_all(l);
}

void dat_live_free(struct dat_live *l)
{
	if (!l)
		return;
	if (l->running)
		atomic_store(&l->cancel, true);
	if (!join(l, NULL))
		return;
	end_all(l);
	sem_destroy(&l->turn);
	free(l->output);
	free(l->spool);
	free(l);
}

/* Encode the rest of the last turn and of @r. Return: as dat_graph_step(), or -ESTALE. */
static int go_on(struct dat_live *l, struct reader *r, const struct dat_options *opt,
		 struct dat_file *file, struct dat_native **native)
{
	struct reader *live = spool_grow_reader(l->grow);
	int ret;

	dat_graph_use(l->graph, file, opt);
	if (opt->native)
		*native = dat_native_begin(file, r);
	if (l->half) {
		live->stop = r->stop;
		ret = dat_graph_step(l->graph, NULL);
		if (ret)
			return ret;
	}
	ret = pages_take_over(pages_of_reader(r), pages_of_reader(live));
	return ret ? ret : dat_graph_finish(l->graph, r);
}

int dat_live_take(struct dat_live *l, const char *path, struct reader *r,
		  const struct dat_options *opt, struct dat_file *file, struct dat_graph **graph,
		  struct dat_native **native)
{
	int ret;

	*graph = NULL;
	*native = NULL;
	if (!join(l, r->stop))
		return 0;
	if (l->over || !l->graph || strcmp(path, l->output) != 0 || !pages_of_reader(r)) {
		end_all(l);
		return l->learn ? DAT_GRAPH_LEARN : 0;
	}
	if (dat_file_adopt(file, &l->file, path)) {
		end_all(l);
		return 0;
	}
	ret = go_on(l, r, opt, file, native);
	if (!ret) {
		*graph = l->graph;
		l->graph = NULL;
		end_all(l);
		return 0;
	}
	dat_native_free(*native);
	*native = NULL;
	dat_graph_free(l->graph);
	l->graph = NULL;
	dat_file_abort(file);
	end_all(l);
	l->learn = ret == DAT_GRAPH_LEARN;
	if (ret < 0 && ret != -ESTALE)
		return ret;
	ret = r->ops->rewind(r);
	return !ret && l->learn ? DAT_GRAPH_LEARN : ret;
}
