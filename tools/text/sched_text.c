/* SPDX-License-Identifier: MIT */
/*
 * See sched_text.h. `map` and `timehist` have the shape of perf sched's; `offcpu` is folded stacks,
 * the outermost frame first, with microseconds, as flamegraph.pl reads them.
 * Tests: tests/cli/test_sched.py.
 */
#include "tools/text/sched_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/analysis/sched.h"
#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/reader/tasks.h"
#include "tools/text/duration.h"
#include "tools/text/folded_text.h"
#include "tools/text/json.h"
#include "tools/text/sums.h"
#include "tools/text/syscall_names.h"

#define REASON_BYTES 256u
#define LINE_BYTES   (SCHED_FRAMES * 128u)

/* The thread that is on a CPU, of map. */
struct on_cpu {
	char name[3];
};

struct sched_text {
	struct reader *r;
	struct out *o;
	enum sched_view view;
	bool json;
	bool any; /* an object of the array is there */
	struct sched *s;
	struct sums sums; /* blocks of one thread and one reason, or of one stack */
	struct on_cpu *cpus;
	struct named {
		int32_t pid;
		char name[3];
	} * names;
	size_t nr_names;
	int err;
};

static void put_duration(struct out *o, uint64_t ns)
{
	char text[DURATION_WIDTH];

	duration_put(text, ns);
	out_write(o, text, sizeof(text));
}

static void put_time(struct out *o, const struct reader *r, uint64_t ts)
{
	if (r->ts_is_ns)
		out_printf(o, "%5" PRIu64 ".%06" PRIu64, ts / 1000000000u, ts / 1000u % 1000000u);
	else
		out_printf(o, "%12" PRIu64, ts);
}

static const char *task_name(const struct sched_text *t, int32_t pid, char to[40])
{
	snprintf(to, 40, "%s-%d", tasks_comm(t->r->tasks, pid), pid);
	return to;
}

/* Begin an object of the array, with the members for the thread. */
static void begin_json(struct sched_text *t, int32_t pid)
{
	out_text(t->o, t->any ? ",\n{" : "{");
	t->any = true;
	if (pid)
		out_printf(t->o, "\"tid\": %d, \"comm\": ", pid);
	if (pid)
		json_put(t->o, tasks_comm(t->r->tasks, pid));
}

static void put_json_number(struct sched_text *t, const char *name, uint64_t n)
{
	out_printf(t->o, ", \"%s\": %" PRIu64, name, n);
}

/* The last member of an object, and its end. */
static void end_json(struct sched_text *t, const char *name, const char *text)
{
	out_printf(t->o, ", \"%s\": ", name);
	json_put(t->o, text);
	out_text(t->o, "}");
}

/* The system calls whose first argument is a descriptor, and those that sleep. */
static const char *const of_descriptors[] = {
	"read",	       "write",		  "pread64",   "pwrite64",   "readv",	"writev",
	"preadv",      "pwritev",	  "recvfrom",  "sendto",     "recvmsg", "sendmsg",
	"recvmmsg",    "sendmmsg",	  "accept",    "accept4",    "connect", "fsync",
	"fdatasync",   "ftruncate",	  "fallocate", "flock",	     "fcntl",	"ioctl",
	"close",       "sendfile",	  "splice",    "getdents64", "lseek",	"epoll_wait",
	"epoll_pwait", "sync_file_range", NULL};
static const char *const of_sleep[] = {"nanosleep", "clock_nanosleep", "pause", NULL};

static bool is_one_of(const char *const *list, const char *name)
{
	for (; *list; list++)
		if (!strcmp(*list, name))
			return true;
	return false;
}

static void put_call(char *to, size_t room, const struct sched_reason *r)
{
	const char *name =
		r->nr >= 0 && (unsigned int)r->nr < syscall_nr_names ? syscall_names[r->nr] : NULL;

	if (!name)
		snprintf(to, room, "system call %d", r->nr);
	else if (is_one_of(of_sleep, name))
		snprintf(to, room, "sleep (%s)", name);
	else if (is_one_of(of_descriptors, name))
		snprintf(to, room, "%s(%d%s%s)", name, (int)r->args[0], r->file ? " " : "",
			 r->file ? r->file : "");
	else if (!strcmp(name, "futex"))
		snprintf(to, room, "futex 0x%" PRIx64, r->args[0]);
	else
		snprintf(to, room, "%s", name);
}

static const char *reason_text(const struct sched_text *t, const struct sched_reason *r,
			       char to[REASON_BYTES])
{
	char name[40];

	switch (r->why) {
	case SCHED_WHY_LOCK:
		snprintf(to, REASON_BYTES, "%s 0x%" PRIx64 "%s%s", r->sort ? r->sort : "lock",
			 r->lock, r->holder ? " held by " : "",
			 r->holder ? task_name(t, r->holder, name) : "");
		break;
	case SCHED_WHY_SYSCALL:
		put_call(to, REASON_BYTES, r);
		break;
	case SCHED_WHY_FAULT:
		snprintf(to, REASON_BYTES, "page fault");
		break;
	case SCHED_WHY_STOPPED:
		snprintf(to, REASON_BYTES, "stopped");
		break;
	case SCHED_WHY_ENDED:
		snprintf(to, REASON_BYTES, "ended");
		break;
	case SCHED_WHY_UNKNOWN:
		snprintf(to, REASON_BYTES, "not known: no system calls are recorded");
		break;
	}
	return to;
}

static void add_sum(struct sched_text *t, int32_t pid, const char *key, uint64_t from, uint64_t to)
{
	if (!t->err)
		t->err = sums_add(&t->sums, pid, key, to - from, from);
}

static void put_waker(const struct sched_text *t, char *to, size_t room, int32_t waker)
{
	char name[40];

	if (waker > 0 && tasks_traced(t->r->tasks, waker))
		snprintf(to, room, ";[woken by %s]", task_name(t, waker, name));
	else if (waker >= 0)
		snprintf(to, room, ";[woken from outside]");
}

static void add_offcpu(struct sched_text *t, const struct sched_thread *th, uint64_t from,
		       uint64_t to)
{
	char line[LINE_BYTES], reason[REASON_BYTES];
	const struct sched_reason *r = &th->reason;
	size_t n = (size_t)snprintf(line, sizeof(line), "%s", tasks_comm(t->r->tasks, th->pid));

	for (unsigned int i = r->nr_frames; i-- > 0;)
		n += folded_put_frame(line + n, sizeof(line) - n - REASON_BYTES - 80, t->r->symbols,
				      r->stack[i], false);
	n += (size_t)snprintf(line + n, sizeof(line) - n, ";[%s]", reason_text(t, r, reason));
	put_waker(t, line + n, sizeof(line) - n, th->waker);
	add_sum(t, 0, line, from, to);
}

static void put_timehist(struct sched_text *t, const struct sched_thread *th, enum sched_state next,
			 uint64_t from, uint64_t to)
{
	char name[40], reason[REASON_BYTES];
	const char *then = next == SCHED_BLOCKED    ? reason_text(t, &th->reason, reason)
			   : next == SCHED_RUNNABLE ? "put off"
			   : th->left_unseen	    ? "unknown"
						    : "runs";

	if (t->json) {
		begin_json(t, th->pid);
		put_json_number(t, "at", to);
		put_json_number(t, "cpu", th->cpu);
		put_json_number(t, "blocked", th->blocked_before);
		put_json_number(t, "delay", th->delay_before);
		put_json_number(t, "running", to - from);
		end_json(t, "then", then);
		return;
	}
	put_time(t->o, t->r, to);
	out_printf(t->o, " [%03u] %-24s ", th->cpu, task_name(t, th->pid, name));
	put_duration(t->o, th->blocked_before);
	out_text(t->o, " ");
	put_duration(t->o, th->delay_before);
	out_text(t->o, " ");
	put_duration(t->o, to - from);
	out_printf(t->o, "  %s\n", then);
}

static void slice(void *arg, const struct sched_thread *th, enum sched_state next, uint64_t from,
		  uint64_t to)
{
	struct sched_text *t = arg;
	char reason[REASON_BYTES];

	if (t->view == SCHED_TIMEHIST && th->state == SCHED_RUNNING)
		put_timehist(t, th, next, from, to);
	if (th->state != SCHED_BLOCKED)
		return;
	if (t->view == SCHED_WAITS)
		add_sum(t, th->pid, reason_text(t, &th->reason, reason), from, to);
	else if (t->view == SCHED_OFFCPU)
		add_offcpu(t, th, from, to);
}

/* perf's names: A0, B0, ..., Z0, A1, ... *@is_new: it has none yet. */
static const char *map_name(struct sched_text *t, int32_t pid, bool *is_new)
{
	struct named *more;
	size_t i;

	*is_new = false;
	for (i = t->nr_names; i-- > 0;)
		if (t->names[i].pid == pid)
			return t->names[i].name;
	if (!(t->nr_names & (t->nr_names - 1)) || !t->names) {
		more = realloc(t->names, (t->nr_names ? t->nr_names * 2 : 1) * sizeof(*more));
		if (!more) {
			t->err = fail(ENOMEM, "out of memory for %zu threads", t->nr_names);
			return "??";
		}
		t->names = more;
	}
	i = t->nr_names++;
	t->names[i] = (struct named){.pid = pid};
	t->names[i].name[0] = (char)('A' + i % 26);
	t->names[i].name[1] = (char)('0' + i / 26 % 10);
	*is_new = true;
	return t->names[i].name;
}

static void switched(void *arg, const struct sched_switch *sw)
{
	struct sched_text *t = arg;
	const struct sched_thread *in = sw->in;
	unsigned int cpu = sw->cpu;
	bool is_new = false;
	const char *name = ".";
	char task[40];

	if (t->view != SCHED_MAP || cpu >= t->r->nr_cpus || sw->is_repeat || (!in && !sw->out))
		return;
	if (in)
		name = map_name(t, in->pid, &is_new);
	snprintf(t->cpus[cpu].name, sizeof(t->cpus[cpu].name), "%s", name);
	for (unsigned int i = 0; i < t->r->nr_cpus; i++)
		out_printf(t->o, " %c%-2s", i == cpu ? '*' : ' ', t->cpus[i].name);
	out_text(t->o, "  ");
	put_time(t->o, t->r, sw->ts);
	if (is_new)
		out_printf(t->o, " %s => %s", name, task_name(t, in->pid, task));
	out_text(t->o, "\n");
}

static void put_json_sum(struct sched_text *t, const struct sum *s)
{
	if (t->view == SCHED_OFFCPU) {
		out_text(t->o, t->any ? ",\n" : "");
		t->any = true;
		out_printf(t->o, "{\"blocked\": %" PRIu64, s->total);
		end_json(t, "stack", s->key);
		return;
	}
	begin_json(t, s->pid);
	put_json_number(t, "blocked", s->total);
	put_json_number(t, "times", s->nr);
	put_json_number(t, "average", s->total / s->nr);
	put_json_number(t, "longest", s->max);
	put_json_number(t, "at", s->max_at);
	end_json(t, "why", s->key);
}

static void print_sums(struct sched_text *t)
{
	char name[40];

	sums_sort(&t->sums);
	if (t->view == SCHED_WAITS && !t->json)
		out_text(t->o, "# TASK-PID                    BLOCKED      TIMES    AVERAGE    "
			       "LONGEST           AT  WHY\n");
	for (size_t i = 0; i < t->sums.nr; i++) {
		const struct sum *s = &t->sums.at[i];

		if (t->json) {
			put_json_sum(t, s);
			continue;
		}
		if (t->view == SCHED_OFFCPU) {
			out_printf(t->o, "%s %" PRIu64 "\n", s->key, (s->total + 500) / 1000);
			continue;
		}
		out_printf(t->o, "%-26s ", task_name(t, s->pid, name));
		put_duration(t->o, s->total);
		out_printf(t->o, " %10" PRIu64 " ", s->nr);
		put_duration(t->o, s->total / s->nr);
		out_text(t->o, " ");
		put_duration(t->o, s->max);
		out_text(t->o, " ");
		put_time(t->o, t->r, s->max_at);
		out_printf(t->o, "  %s\n", s->key);
	}
}

static void put_json_latency(struct sched_text *t, const struct sched_thread *th, uint64_t running)
{
	begin_json(t, th->pid);
	put_json_number(t, "running", running);
	put_json_number(t, "runnable", th->in_state[SCHED_RUNNABLE]);
	put_json_number(t, "blocked", th->in_state[SCHED_BLOCKED]);
	put_json_number(t, "switches", th->nr_in);
	put_json_number(t, "delays", th->nr_delays);
	put_json_number(t, "average", th->nr_delays ? th->delays / th->nr_delays : 0);
	put_json_number(t, "longest", th->max_delay);
	put_json_number(t, "at", th->max_from);
	out_text(t->o, "}");
}

static void print_latency(struct sched_text *t)
{
	if (!t->json)
		out_text(t->o, "# TASK-PID                    RUNNING   RUNNABLE    BLOCKED   "
			       "SWITCHES     "
			       "DELAYS    AVERAGE    LONGEST           AT\n");
	for (size_t i = 0; i < sched_nr_threads(t->s); i++) {
		const struct sched_thread *th = sched_thread_at(t->s, i);
		uint64_t running = th->runtime ? th->runtime : th->in_state[SCHED_RUNNING];
		char name[40];

		if (!th->nr_in && !running)
			continue;
		if (t->json) {
			put_json_latency(t, th, running);
			continue;
		}
		out_printf(t->o, "%-26s ", task_name(t, th->pid, name));
		put_duration(t->o, running);
		out_text(t->o, " ");
		put_duration(t->o, th->in_state[SCHED_RUNNABLE]);
		out_text(t->o, " ");
		put_duration(t->o, th->in_state[SCHED_BLOCKED]);
		out_printf(t->o, " %10" PRIu64 " %10" PRIu64 " ", th->nr_in, th->nr_delays);
		put_duration(t->o, th->nr_delays ? th->delays / th->nr_delays : 0);
		out_text(t->o, " ");
		put_duration(t->o, th->max_delay);
		out_text(t->o, " ");
		put_time(t->o, t->r, th->max_from);
		out_text(t->o, "\n");
	}
}

static int print(struct sched_text *t)
{
	int ret;

	for (unsigned int i = 0; i < t->r->nr_cpus; i++)
		t->cpus[i].name[0] = ' ';
	if (t->json)
		out_text(t->o, "[");
	else if (t->view == SCHED_TIMEHIST)
		out_text(t->o,
			 "#       TIME   CPU TASK-PID                    BLOCKED      DELAY    "
			 "RUNNING  AND THEN\n");
	ret = sched_run(t->s);
	if (ret || t->err)
		return ret ? ret : t->err;
	if (t->view == SCHED_LATENCY)
		print_latency(t);
	else if (t->view == SCHED_WAITS || t->view == SCHED_OFFCPU)
		print_sums(t);
	if (t->json)
		out_text(t->o, "]\n");
	if (!sched_has_wakings(t->s))
		note("no wakings are recorded: a thread counts as blocked until it runs, and "
		     "delays are counted after preemptions only");
	if (sched_lost(t->s))
		note("records are lost: %" PRIu64, sched_lost(t->s));
	return 0;
}

int sched_print(struct reader *r, enum sched_view view, bool json, struct out *o)
{
	static const struct sched_ops ops = {.slice = slice, .switched = switched};
	struct sched_text t = {.r = r, .o = o, .view = view, .json = json};
	int ret;

	t.s = sched_new(r, &ops, &t);
	t.cpus = calloc(r->nr_cpus + 1, sizeof(*t.cpus));
	ret = t.s && t.cpus ? print(&t) : fail(ENOMEM, "out of memory for a recording's threads");
	sched_free(t.s);
	sums_free(&t.sums);
	free(t.cpus);
	free(t.names);
	return ret;
}
