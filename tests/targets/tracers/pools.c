/* SPDX-License-Identifier: MIT */
/*
 * pools: for each line `NAME` (own, uv, glib) 40 items in a pool of two threads, of which each
 * takes 1 ms, the first one 20 ms; for `cancel` 4 items of its own, of which 2 are taken back. The
 * answer is `done N AVG MAX`: items that were executed, and how long they waited by its own clock,
 * in us. Prototypes are here, as the headers of libuv and GLib may not be.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <vestige/workqueue.h>

#define ITEMS 40

struct item {
	uint64_t data[64]; /* uv_work_t is smaller */
	long queued;
	int nr;
};

static struct item items[ITEMS];
static long waited, longest;
static int done;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static long now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* An item is executed. */
static void execute(struct item *it)
{
	long us = now_us() - it->queued;

	pthread_mutex_lock(&mutex);
	waited += us;
	if (us > longest)
		longest = us;
	done++;
	pthread_mutex_unlock(&mutex);
	usleep(it->nr ? 1000 : 20000);
}

static int next, end;

static void *worker(void *arg)
{
	struct item *it;
	int i;

	for (;;) {
		i = __atomic_fetch_add(&next, 1, __ATOMIC_ACQ_REL);
		if (i >= end)
			return arg;
		it = &items[i];
		vestige_work_start("own", it);
		execute(it);
		vestige_work_end("own", it);
	}
}

static void own(int nr, int taken_back)
{
	pthread_t t[2];
	int i;

	for (i = 0; i < nr; i++) {
		items[i].queued = now_us();
		vestige_work_queue("own", &items[i]);
	}
	for (i = 0; i < taken_back; i++)
		vestige_work_cancel("own", &items[--nr]);
	next = 0;
	end = nr;
	for (i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, worker, NULL);
	for (i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

#ifdef UV
void *uv_default_loop(void);
int uv_queue_work(void *loop, void *req, void (*work)(void *), void (*after)(void *, int));
int uv_cancel(void *req);
int uv_run(void *loop, int mode);

static void uv_does(void *req)
{
	execute(req);
}

static void uv_did(void *req, int status)
{
	(void)req;
	(void)status;
}

static void uv(void)
{
	for (int i = 0; i < ITEMS; i++) {
		items[i].queued = now_us();
		uv_queue_work(uv_default_loop(), &items[i], uv_does, uv_did);
	}
	/* the last one waits still */
	uv_cancel(&items[ITEMS - 1]);
	uv_run(uv_default_loop(), 0);
}
#else
static void uv(void)
{
}
#endif

#ifdef GLIB
void *g_thread_pool_new(void (*func)(void *, void *), void *user_data, int max, int exclusive,
			void **error);
int g_thread_pool_push(void *pool, void *data, void **error);
void g_thread_pool_free(void *pool, int immediate, int wait);

static int given;

static void glib_does(void *data, void *user_data)
{
	if (user_data != &given)
		abort();
	execute(data);
}

static void glib(void)
{
	void *pool = g_thread_pool_new(glib_does, &given, 2, 0, NULL);

	for (int i = 0; i < ITEMS; i++) {
		items[i].queued = now_us();
		g_thread_pool_push(pool, &items[i], NULL);
	}
	g_thread_pool_free(pool, 0, 1);
}
#else
static void glib(void)
{
}
#endif

int main(void)
{
	char line[64];

	for (int i = 0; i < ITEMS; i++)
		items[i].nr = i;
	while (fgets(line, sizeof(line), stdin)) {
		waited = longest = done = 0;
		if (!strcmp(line, "own\n"))
			own(ITEMS, 0);
		else if (!strcmp(line, "cancel\n"))
			own(4, 2);
		else if (!strcmp(line, "uv\n"))
			uv();
		else if (!strcmp(line, "glib\n"))
			glib();
		printf("done %d %ld %ld\n", done, done ? waited / done : 0, longest);
		fflush(stdout);
	}
	return 0;
}
