/* SPDX-License-Identifier: MIT */
/* See progress.h. Tests: tests/cli/test_progress.py. */
#include "tools/record/progress.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "tools/base/note.h"
#include "tools/base/signals.h"
#include "tools/base/time_ns.h"
#include "tools/text/view.h"

#define SECOND_NS UINT64_C(1000000000)
#define FIRST_MS  1000
#define REDRAW_MS 200

/* Read all pending signals. Return: whether there was one. */
static bool take_signals(const struct progress *p)
{
	struct signalfd_siginfo si;
	bool any = false;

	while (read(p->signals, &si, sizeof(si)) == sizeof(si))
		any = true;
	return any;
}

static void draw(struct progress *p)
{
	uint64_t done = atomic_load(&p->done), total = atomic_load(&p->total);
	uint64_t now = time_ns(CLOCK_MONOTONIC), percent = done < total ? 100 * done / total : 0;

	if (done && !p->first_ns) {
		p->first_ns = now;
		p->first = done;
	}
	/* more work may be found while it is done */
	p->percent = percent > p->percent ? percent : p->percent;
	p->drawn = true;
	fprintf(stderr, "\r\033[Kvestige: %s: ", p->file);
	if (atomic_load(&p->stop))
		fputs("ending", stderr);
	else if (!done)
		fprintf(stderr, "%" PRIu64 " s", (now - p->begun_ns) / SECOND_NS);
	else if (!total)
		fprintf(stderr, "%" PRIu64 " events", done);
	else if (done >= total)
		fputs("almost done", stderr);
	else if (done == p->first)
		fprintf(stderr, "%" PRIu64 " %%", p->percent);
	else
		fprintf(stderr, "%" PRIu64 " %%, %.0f s left", p->percent,
			(double)(now - p->first_ns) / (double)SECOND_NS * (double)(total - done) /
					(double)(done - p->first) +
				0.5);
	fflush(stderr);
}

static void *report(void *arg)
{
	struct progress *p = arg;
	struct pollfd fds[] = {{p->end, POLLIN, 0}, {p->signals, POLLIN, 0}};

	sem_post(&p->begun);
	if (poll(fds, p->after_program ? 1 : 2, FIRST_MS) && fds[0].revents)
		return NULL;
	if (p->after_program)
		take_signals(p);
	else if (fds[1].revents)
		p->quiet = true; /* ended before the line was printed */
	if (!p->quiet)
		note("%s", p->hint);
	do {
		if (take_signals(p))
			atomic_store(&p->stop, true);
		if (p->tty && !p->quiet)
			draw(p);
		poll(fds, 2, REDRAW_MS);
	} while (!fds[0].revents);
	return NULL;
}

static void begin(struct progress *p)
{
	sigset_t ours;

	p->tty = isatty(STDERR_FILENO);
	p->begun_ns = time_ns(CLOCK_MONOTONIC);
	signals_ending(&ours);
	p->signals = signalfd(-1, &ours, SFD_NONBLOCK | SFD_CLOEXEC);
	p->end = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	pthread_sigmask(SIG_BLOCK, &ours, &p->old);
	sem_init(&p->begun, 0, 0);
	p->running = p->signals >= 0 && p->end >= 0 && !pthread_create(&p->thread, NULL, report, p);
	/*
	 * The work may fork(). A starting thread may hold the lock of a sanitizer's allocator; the
	 * child would wait for it for ever.
	 */
	while (p->running && sem_wait(&p->begun) && errno == EINTR)
		;
}

void progress_begin(struct progress *p, const char *file, const char *hint, bool quiet)
{
	*p = (struct progress){.file = file, .hint = hint, .quiet = quiet};
	begin(p);
}

void progress_begin_after(struct progress *p, const char *file, const char *hint, bool quiet)
{
	*p = (struct progress){.file = file, .hint = hint, .quiet = quiet, .after_program = true};
	begin(p);
}

void progress_step(void *arg, uint64_t done, uint64_t total)
{
	struct progress *p = arg;

	atomic_store_explicit(&p->done, done, memory_order_relaxed);
	atomic_store_explicit(&p->total, total, memory_order_relaxed);
}

void progress_view(struct progress *p, struct view *v)
{
	v->progress = progress_step;
	v->progress_arg = p;
	v->nr_expected = 0;
	for (unsigned int cpu = 0; v->r->stats && cpu < v->r->nr_cpus; cpu++)
		v->nr_expected += v->r->stats[cpu].entries;
	v->r->stop = &p->stop;
}

int progress_write(struct progress *p, const struct exporter *to, bool plain, struct reader *r)
{
	const struct export_options opt = {.plain = plain,
					   .to = to,
					   .kernel = p->kernel,
					   .name = p->name,
					   .more = p->more,
					   .nr_more = p->nr_more,
					   .live = p->live,
					   .view = p->view,
					   .part_bytes = p->part_bytes,
					   .sink = p->sink,
					   .sink_arg = p->sink_arg,
					   .progress = progress_step,
					   .progress_arg = p};
	int err;

	r->stop = &p->stop;
	err = to->write(p->file, r, &opt);
	r->stop = NULL;
	return err;
}

bool progress_end(struct progress *p)
{
	if (p->running) {
		eventfd_write(p->end, 1);
		pthread_join(p->thread, NULL);
	}
	sem_destroy(&p->begun);
	if (p->drawn)
		fputs("\r\033[K", stderr);
	if (p->signals >= 0) {
		take_signals(p);
		close(p->signals);
	}
	if (p->end >= 0)
		close(p->end);
	pthread_sigmask(SIG_SETMASK, &p->old, NULL);
	return atomic_load(&p->stop);
}
