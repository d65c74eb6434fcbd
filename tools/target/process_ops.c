/* SPDX-License-Identifier: MIT */
/* A process as a target: the table of operations (target.h). Any thread. Tests: tests/tracefs/. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "abi/option.h"
#include "tools/target/counts.h"
#include "tools/target/foreign.h"
#include "tools/target/pipe.h"
#include "tools/target/process.h"

#define PAUSED "vestige_paused"

static struct process *of(struct target *t)
{
	return (struct process *)t;
}

static bool op_has_name(const char *name)
{
	char *end;

	if (!name)
		return true;
	return *name >= '1' && *name <= '9' && strtoul(name, &end, 10) <= INT_MAX && !*end;
}

static struct target *op_get(const char *name, const char *instance, int *err)
{
	struct process *p = process_get(name ? (int)strtoul(name, NULL, 10) : 0, instance, err);

	return p ? &p->target : NULL;
}

static void op_put(struct target *t)
{
	process_put(of(t));
}

struct names {
	int (*put)(void *arg, const char *name);
	void *arg;
	int stop;
};

static int put_pid(void *arg, int pid)
{
	struct names *n = arg;
	char name[16];

	snprintf(name, sizeof(name), "%d", pid);
	n->stop = n->put(n->arg, name);
	return n->stop;
}

static void op_list(int (*put)(void *arg, const char *name), void *arg)
{
	struct names n = {.put = put, .arg = arg};

	process_list(put_pid, &n);
	if (!n.stop)
		foreign_list(put_pid, &n);
}

static struct target *op_first(struct target *t)
{
	return &process_ref(of(t))->target;
}

static bool op_lives(struct target *t)
{
	return process_lives(of(t));
}

static int op_find(struct target *t, const char *path, struct target_file *file)
{
	return process_find(of(t), path, file);
}

static int op_files(struct target *t, const char *dir, target_put_file *put, void *arg)
{
	return process_files(of(t), dir, put, arg);
}

static int op_print(struct target *t, const char *path, struct out *o)
{
	return process_print(of(t), path, o);
}

static int op_names(struct target *t, struct out *o)
{
	return process_names(of(t), o);
}

static int op_records(struct target *t, struct reader **r)
{
	image_drain(&of(t)->image);
	return reader_open_area(of(t)->image.path, r);
}

static int op_snapshot(struct target *t, struct reader **r)
{
	const char *path = of(t)->image.path;

	return reader_open_taken_snapshots(&path, 1, r);
}

static int op_counts(struct target *t, struct counts *c)
{
	return counts_area(c, &of(t)->image, of(t)->fd);
}

static bool has_pipes(struct process *p)
{
	bool some;

	pthread_mutex_lock(&p->lock);
	some = p->pipe_readers.nr_open != 0;
	pthread_mutex_unlock(&p->lock);
	return some;
}

static int op_write(struct target *t, const char *path, const char *text, size_t n, bool truncate,
		    int tid)
{
	struct process *p = of(t);
	int err = has_pipes(p) ? process_check_tracer(p, path, text, n) : 0;

	return err ? err : image_write_as(&p->image, path, text, n, truncate, tid);
}

static int op_mkdir(struct target *t, const char *instance)
{
	return process_mkdir(of(t), instance);
}

static int op_rmdir(struct target *t, const char *instance)
{
	return process_rmdir(of(t), instance);
}

static void op_opened(struct target *t, int change)
{
	process_opened(of(t), change);
}

static bool has_option(const struct process *p, int option)
{
	const struct area_table *t = &p->head.tables[AREA_BUFFERS];
	struct area_buffer b;

	return t->count && pread(p->fd, &b, sizeof(b), (off_t)t->offset) == (ssize_t)sizeof(b) &&
	       area_option_on(b.options, (enum area_option)option);
}

/* Option pause-on-trace: nothing is recorded while `trace` is open, so that it stays as it is. */
static bool op_pause(struct target *t, bool on)
{
	struct process *p = of(t);

	if (on && !has_option(p, AREA_OPTION_PAUSE_ON_TRACE))
		return false;
	return process_lives(p) && !image_write(&p->image, PAUSED, on ? "1" : "0", 1, true) && on;
}

static int op_pipe_open(struct target *t, unsigned int cpu, void **pipe)
{
	struct process *p = of(t);
	struct pipe *made;
	int err;

	pthread_mutex_lock(&p->lock);
	err = pipe_readers_take(&p->pipe_readers, cpu);
	pthread_mutex_unlock(&p->lock);
	if (err)
		return err;
	err = pipe_open(&p->image, cpu, &made);
	if (!err) {
		*pipe = made;
		return 0;
	}
	pthread_mutex_lock(&p->lock);
	pipe_readers_give(&p->pipe_readers, cpu);
	pthread_mutex_unlock(&p->lock);
	return err;
}

static ssize_t op_pipe_read(void *pipe, char *buf, size_t bytes, bool nonblock,
			    int (*interrupted)(void))
{
	return pipe_read(pipe, buf, bytes, nonblock, interrupted);
}

static bool op_pipe_ready(void *pipe)
{
	return pipe_ready(pipe);
}

static void op_pipe_close(struct target *t, unsigned int cpu, void *pipe)
{
	struct process *p = of(t);

	pipe_close(pipe);
	pthread_mutex_lock(&p->lock);
	pipe_readers_give(&p->pipe_readers, cpu);
	pthread_mutex_unlock(&p->lock);
}

/* One object serves all CPUs. */
static int op_raw_open(struct target *t, unsigned int cpu, void **raw, uint32_t *bytes)
{
	struct process *p = of(t);
	int err = 0;

	pthread_mutex_lock(&p->lock);
	if (!p->raw)
		err = raw_open(&p->image, &p->raw);
	if (!err) {
		p->nr_raw++;
		p->pipe_readers.nr_open++;
		raw_join(p->raw, cpu);
		*raw = p->raw;
		*bytes = raw_page_bytes(p->raw);
	}
	pthread_mutex_unlock(&p->lock);
	return err;
}

static int op_raw_page(void *raw, unsigned int cpu, void *page, enum raw_how how)
{
	return raw_page(raw, cpu, page, how);
}

static bool op_raw_ready(void *raw, unsigned int cpu)
{
	return raw_ready(raw, cpu);
}

static bool op_raw_lives(void *raw)
{
	return raw_lives(raw);
}

static void op_raw_close(struct target *t, unsigned int cpu, void *raw)
{
	struct process *p = of(t);

	pthread_mutex_lock(&p->lock);
	raw_leave(raw, cpu);
	p->pipe_readers.nr_open--;
	if (!--p->nr_raw) {
		raw_close(p->raw);
		p->raw = NULL;
	}
	pthread_mutex_unlock(&p->lock);
}

const struct target_ops process_ops = {
	.has_name = op_has_name,
	.get = op_get,
	.put = op_put,
	.list = op_list,
	.serve = processes_serve,
	.first = op_first,
	.lives = op_lives,
	.find = op_find,
	.files = op_files,
	.print = op_print,
	.names = op_names,
	.records = op_records,
	.snapshot = op_snapshot,
	.counts = op_counts,
	.write = op_write,
	.mkdir = op_mkdir,
	.rmdir = op_rmdir,
	.opened = op_opened,
	.pause = op_pause,
	.pipe_open = op_pipe_open,
	.pipe_read = op_pipe_read,
	.pipe_ready = op_pipe_ready,
	.pipe_close = op_pipe_close,
	.raw_open = op_raw_open,
	.raw_page = op_raw_page,
	.raw_ready = op_raw_ready,
	.raw_lives = op_raw_lives,
	.raw_close = op_raw_close,
};
