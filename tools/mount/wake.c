/* SPDX-License-Identifier: MIT */
/*
 * See wake.h. A thread, started at the first wait, checks the awaited pipes every few milliseconds,
 * and sleeps while there are none. As FUSE requires, a handle is notified once: a caller that still
 * waits asks again. The lock is held while a pipe is looked at, so that none is closed meanwhile.
 * Tests: tests/tracefs/.
 */
#include "tools/mount/wake.h"

#define FUSE_USE_VERSION 314

#include <fuse3/fuse.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "tools/mount/file.h"

#define EVERY_MS 10

struct waiter {
	struct waiter *next;
	struct file *file;
	struct fuse_pollhandle *handle;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t some = PTHREAD_COND_INITIALIZER;
static struct waiter *waiters;
static bool running;

void wake_drop(void *handle)
{
	if (handle)
		fuse_pollhandle_destroy(handle);
}

/* Notify waiters whose pipe has something. Locked. */
static void look(void)
{
	struct waiter **at = &waiters;

	while (*at) {
		struct waiter *w = *at;

		if (!file_ready(w->file)) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		fuse_notify_poll(w->handle);
		wake_drop(w->handle);
		free(w);
	}
}

static void *watch(void *arg)
{
	(void)arg;
	for (;;) {
		pthread_mutex_lock(&lock);
		while (!waiters)
			pthread_cond_wait(&some, &lock);
		look();
		pthread_mutex_unlock(&lock);
		poll(NULL, 0, EVERY_MS);
	}
	return NULL;
}

void wake_when(struct file *file, void *handle)
{
	struct waiter *w, **at;
	pthread_t thread;

	if (!handle)
		return;
	w = malloc(sizeof(*w));
	pthread_mutex_lock(&lock);
	if (w && !running) {
		running = !pthread_create(&thread, NULL, watch, NULL);
		if (running)
			pthread_detach(thread);
	}
	if (!w || !running) {
		pthread_mutex_unlock(&lock);
		free(w);
		wake_drop(handle);
		return;
	}
	/* one handle a file: a newer one replaces the one before */
	for (at = &waiters; *at; at = &(*at)->next) {
		if ((*at)->file == file) {
			struct waiter *old = *at;

			*at = old->next;
			wake_drop(old->handle);
			free(old);
			break;
		}
	}
	*w = (struct waiter){.next = waiters, .file = file, .handle = handle};
	waiters = w;
	pthread_cond_signal(&some);
	pthread_mutex_unlock(&lock);
}

void wake_forget(struct file *file)
{
	struct waiter **at;

	pthread_mutex_lock(&lock);
	at = &waiters;
	while (*at) {
		struct waiter *w = *at;

		if (w->file != file) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		wake_drop(w->handle);
		free(w);
	}
	pthread_mutex_unlock(&lock);
}
