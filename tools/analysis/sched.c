/* SPDX-License-Identifier: MIT */
/*
 * See sched.h. One pass over the merged records. A state that has not ended when the recording does
 * counts in the sums up to the last record, and is no delay. There is one entry for each pid. A CPU
 * runs one thread at a time: where records were lost, a thread leaves its CPU when another one
 * comes there. Tests: tests/unit/test_sched.c, tests/cli/test_sched.py.
 */
#include "tools/analysis/sched.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "tools/analysis/merge.h"
#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/hash_index.h"
#include "tools/reader/tasks.h"

#define NR_BUCKETS 4096u
#define NR_EVENTS  65536u
#define NR_CPUS	   65536u	   /* of struct record */
#define AGENT	   "vestige-agent" /* the engine's thread; it has few records */

/* Of prev_state. */
#define STOPPED	    0x0cu /* T, t */
#define ENDED	    0x30u /* X, Z */
#define ALL_REPORTS 0xffu

enum what {
	UNSEEN,
	OTHER,
	SWITCH,
	WAKING,
	WAKEUP_NEW,
	RUNTIME,
	LOCK_TAKE, /* lock_acquire: taken at once where it is a try */
	LOCK_TAKEN,
	LOCK_GIVEN,
	LOCK_WAITS,
	LOCK_WAITED,
	CALL_ENTER,
	CALL_EXIT,
	STACK,
	ONE_CALL_ENTER,
	ONE_CALL_EXIT,
	DESCRIPTOR,
};

#define NR_FIELDS 5u
#define NR_NEEDED 3u /* the fields behind may be missing */

/* The place of the fields, in the order of `names` below; 0 bytes: the event has no such field. */
struct kind {
	uint8_t what;
	struct {
		uint16_t at, bytes;
	} field[NR_FIELDS];
	int32_t nr; /* of the system call that the event is about */
};

static const struct {
	const char *system, *name;
	enum what what;
	const char *fields[NR_FIELDS];
} names[] = {
	{"sched",
	 "sched_switch",
	 SWITCH,
	 {"prev_pid", "prev_state", "next_pid", "prev_comm", "next_comm"}},
	{"sched", "sched_waking", WAKING, {"pid"}},
	{"sched", "sched_wakeup", WAKING, {"pid"}},
	{"sched", "sched_wakeup_new", WAKEUP_NEW, {"pid"}},
	{"sched", "sched_stat_runtime", RUNTIME, {"pid", "runtime"}},
	{"lock", "lock_acquire", LOCK_TAKE, {"lockdep_addr", "flags"}},
	{"lock", "lock_acquired", LOCK_TAKEN, {"lockdep_addr"}},
	{"lock", "lock_release", LOCK_GIVEN, {"lockdep_addr"}},
	{"lock", "contention_begin", LOCK_WAITS, {"lock_addr", "flags"}},
	{"lock", "contention_end", LOCK_WAITED, {"lock_addr"}},
	{"raw_syscalls", "sys_enter", CALL_ENTER, {"id", "args"}},
	{"raw_syscalls", "sys_exit", CALL_EXIT, {"id"}},
	{"files", "descriptor", DESCRIPTOR, {"fd", "name"}},
	{"ftrace", "kernel_stack", STACK, {"caller"}},
	{"ftrace", "user_stack", STACK, {"caller"}},
};

/* The holder of a lock, or the file of a descriptor (its number with IS_DESCRIPTOR). */
#define IS_DESCRIPTOR (UINT64_C(1) << 63)
struct holder {
	uint64_t lock;
	uint32_t process;
	int32_t pid; /* 0: none */
	const struct file_name *file;
};

struct file_name {
	struct file_name *next; /* list of all, for freeing them */
	char text[];
};

/* The last switch of a CPU, to recognise it in another buffer. */
struct last_switch {
	int32_t out, in;
	unsigned int buffer;
	bool known;
};

struct sched {
	struct reader *r;
	const struct sched_ops *ops;
	void *arg;
	struct kind *kinds;	       /* by event */
	struct sched_thread **running; /* by CPU: the thread that ran there last */
	struct last_switch *last;      /* by CPU */
	unsigned int runtime_buffer;   /* whose run times count, with has_runtime */
	bool has_runtime;
	struct sched_thread *bucket[NR_BUCKETS], **sorted;
	size_t nr_threads, nr_sorted;
	struct holder *holders;
	size_t nr_holders, room_holders;
	struct hash_index by_lock; /* of holders */
	struct file_name *files;
	uint64_t end, lost;
	bool has_switches, has_wakings, has_calls;
	int err;
};

struct sched *sched_new(struct reader *r, const struct sched_ops *ops, void *arg)
{
	struct sched *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	*s = (struct sched){.r = r, .ops = ops, .arg = arg};
	s->kinds = calloc(NR_EVENTS, sizeof(*s->kinds));
	s->running = calloc(NR_CPUS, sizeof(*s->running));
	s->last = calloc(NR_CPUS, sizeof(*s->last));
	if (s->kinds && s->running && s->last)
		return s;
	sched_free(s);
	return NULL;
}

void sched_free(struct sched *s)
{
	if (!s)
		return;
	for (unsigned int i = 0; i < NR_BUCKETS; i++) {
		while (s->bucket[i]) {
			struct sched_thread *t = s->bucket[i];

			s->bucket[i] = t->next;
			free(t);
		}
	}
	while (s->files) {
		struct file_name *f = s->files;

		s->files = f->next;
		free(f);
	}
	free(s->sorted);
	free(s->kinds);
	free(s->running);
	free(s->last);
	free(s->holders);
	hash_index_clear(&s->by_lock);
	free(s);
}

/* A thread of a traced process; NULL: @pid is not one, or memory is short. */
static struct sched_thread *thread_of(struct sched *s, int32_t pid)
{
	struct sched_thread **at, *t;

	if (pid <= 0)
		return NULL;
	at = &s->bucket[hash_u64((uint32_t)pid) >> 52];
	for (t = *at; t; t = t->next)
		if (t->pid == pid)
			return t;
	if (!tasks_traced(s->r->tasks, pid) || !strcmp(tasks_comm(s->r->tasks, pid), AGENT))
		return NULL;
	t = calloc(1, sizeof(*t));
	if (!t) {
		s->err = fail(ENOMEM, "out of memory for thread %d", pid);
		return NULL;
	}
	t->pid = pid;
	t->waker = -1;
	t->next = *at;
	*at = t;
	s->nr_threads++;
	return t;
}

/* The record has the number of the system call, not `sys_enter_NAME`. */
static void find_kind(struct kind *k, struct tep_event *ev)
{
	k->what = OTHER;
	if (!ev)
		return;
	if (!strcmp(ev->system, "syscalls")) {
		k->what = strncmp(ev->name, "sys_enter_", 10) ? ONE_CALL_EXIT : ONE_CALL_ENTER;
		return;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(ev->system, names[i].system) || strcmp(ev->name, names[i].name))
			continue;
		k->what = (uint8_t)names[i].what;
		for (unsigned int f = 0; f < NR_FIELDS && names[i].fields[f]; f++) {
			struct tep_format_field *field = tep_find_any_field(ev, names[i].fields[f]);

			if (!field || field->offset < 0 || field->size < 0) {
				if (f >= NR_NEEDED)
					continue;
				k->what = OTHER;
				return;
			}
			k->field[f].at = (uint16_t)field->offset;
			k->field[f].bytes = (uint16_t)field->size;
		}
		return;
	}
}

static const struct kind *kind_of(struct sched *s, const struct record *rec)
{
	struct kind *k = &s->kinds[rec->event];

	if (k->what == UNSEEN)
		find_kind(k, s->r->tep ? tep_find_event(s->r->tep, rec->event) : NULL);
	return k;
}

static uint64_t value(const struct kind *k, const struct record *rec, unsigned int field)
{
	uint32_t bytes = k->field[field].bytes < 8 ? k->field[field].bytes : 8;
	uint64_t v = 0;

	if ((uint64_t)k->field[field].at + bytes <= rec->data_bytes)
		memcpy(&v, (const char *)rec->data + k->field[field].at, bytes);
	return v;
}

static int32_t pid_value(const struct kind *k, const struct record *rec, unsigned int field)
{
	return (int32_t)value(k, rec, field);
}

/* NULL: nothing is known of the lock. */
static struct holder *holder_of(const struct sched *s, uint32_t process, uint64_t lock)
{
	int64_t found =
		HASH_INDEX_FIND(&s->by_lock, lock + process, i,
				s->holders[i].lock == lock && s->holders[i].process == process);

	return found < 0 ? NULL : &s->holders[found];
}

static void put_holder(struct sched *s, const struct holder *to)
{
	struct holder *h = holder_of(s, to->process, to->lock);

	if (!h) {
		if (ARRAY_ROOM(s->holders, s->nr_holders, s->room_holders, 512) ||
		    hash_index_add(&s->by_lock, to->lock + to->process, (uint32_t)s->nr_holders)) {
			s->err = fail(ENOMEM, "out of memory for %zu locks", s->nr_holders);
			return;
		}
		h = &s->holders[s->nr_holders++];
	}
	*h = *to;
}

static void lock_held(struct sched *s, const struct record *rec, uint64_t lock, int32_t pid)
{
	const struct holder *h = pid ? NULL : holder_of(s, record_process(rec), lock);

	if (!lock)
		return;
	/* a reader's release does not end another reader's hold */
	if (!pid && (!h || h->pid != rec->pid))
		return;
	put_holder(s, &(struct holder){.lock = lock, .process = record_process(rec), .pid = pid});
}

/* An event says which file a descriptor has from now on. */
static void on_descriptor(struct sched *s, const struct kind *k, const struct record *rec)
{
	/* a __data_loc: the text's offset, and its bytes with the NUL */
	uint32_t loc = (uint32_t)value(k, rec, 1), at = loc & 0xffff, bytes = loc >> 16;
	struct file_name *f;

	if ((uint64_t)at + bytes > rec->data_bytes)
		return;
	f = calloc(1, sizeof(*f) + bytes + 1);
	if (!f) {
		s->err = fail(ENOMEM, "out of memory for the name of a file");
		return;
	}
	memcpy(f->text, (const char *)rec->data + at, bytes);
	f->next = s->files;
	s->files = f;
	put_holder(s, &(struct holder){.lock = IS_DESCRIPTOR | (uint32_t)value(k, rec, 0),
				       .process = record_process(rec),
				       .file = f});
}

static const char *file_of(struct sched *s, uint32_t process, uint64_t fd)
{
	const struct holder *h = holder_of(s, process, IS_DESCRIPTOR | (uint32_t)fd);
	const struct file_name *f = h ? h->file : NULL;

	return f ? f->text : NULL;
}

/* A thread's state ends and another begins. */
static void change(struct sched *s, struct sched_thread *t, enum sched_state to, uint64_t ts)
{
	enum sched_state was = t->state;

	if (t->since && ts >= t->since) {
		t->in_state[was] += ts - t->since;
		if (was != SCHED_UNKNOWN && s->ops->slice)
			s->ops->slice(s->arg, t, to, t->since, ts);
	}
	if (was == SCHED_BLOCKED)
		t->blocked_before = ts - t->since;
	t->state = to;
	t->since = ts;
	t->seen = 0;
}

static const char *sort_of(uint64_t flags)
{
	return flags & 1	 ? "spin lock"
	       : flags & 2	 ? "rwlock (read)"
	       : flags & 4	 ? "rwlock (write)"
	       : flags & 32	 ? "mutex"
	       : flags >> 16 & 1 ? "barrier"
	       : flags >> 17 & 1 ? "once"
				 : "semaphore";
}

static void decide_reason(struct sched *s, struct sched_thread *t, uint64_t state)
{
	struct sched_reason *r = &t->reason;

	if (state & STOPPED)
		*r = (struct sched_reason){.why = SCHED_WHY_STOPPED};
	else if (state & ENDED)
		*r = (struct sched_reason){.why = SCHED_WHY_ENDED};
	else if (t->in_lock)
		*r = t->now;
	else if (t->in_syscall)
		*r = t->call;
	else
		*r = (struct sched_reason){.why = s->has_calls ? SCHED_WHY_FAULT
							       : SCHED_WHY_UNKNOWN};
	if (r->why == SCHED_WHY_SYSCALL)
		r->file = file_of(s, t->process, r->args[0]);
}

static void leave(struct sched *s, struct sched_thread *t, uint64_t state, uint64_t ts)
{
	bool blocks = state & ALL_REPORTS;

	if (blocks)
		decide_reason(s, t, state);
	change(s, t, blocks ? SCHED_BLOCKED : SCHED_RUNNABLE, ts);
	t->waker = -1;
	t->blocked_before = t->delay_before = 0;
}

static void come(struct sched *s, struct sched_thread *t, uint64_t ts)
{
	uint64_t delay = ts - t->since;

	if (t->state == SCHED_RUNNABLE && ts >= t->since) {
		t->nr_delays++;
		t->delays += delay;
		t->delay_before = delay;
		if (delay > t->max_delay) {
			t->max_delay = delay;
			t->max_from = t->since;
		}
	}
	t->nr_in++;
	change(s, t, SCHED_RUNNING, ts);
	t->left_unseen = false;
}

/*
 * Another thread comes to the CPU: the thread that ran there has left, even without a record of it.
 */
static void leave_unseen(struct sched *s, unsigned int cpu, const struct sched_thread *out,
			 const struct sched_thread *in, uint64_t ts)
{
	struct sched_thread *t = s->running[cpu];

	if (!t || t == out || t == in || t->state != SCHED_RUNNING || t->cpu != cpu)
		return;
	t->left_unseen = true;
	change(s, t, SCHED_UNKNOWN, ts);
}

/* Is it the last switch of the CPU again, from another buffer? If not, it is remembered. */
static bool is_repeat(struct sched *s, const struct kind *k, const struct record *rec)
{
	struct last_switch *last = &s->last[rec->cpu];
	struct last_switch now = {(int32_t)pid_value(k, rec, 0), (int32_t)pid_value(k, rec, 2),
				  record_buffer(rec), true};
	bool repeat = last->known && last->out == now.out && last->in == now.in &&
		      last->buffer != now.buffer;

	if (!repeat)
		*last = now;
	return repeat;
}

static void copy_comm(const struct kind *k, const struct record *rec, unsigned int field,
		      char comm[TASK_COMM_BYTES])
{
	uint32_t of_field = k->field[field].bytes, most = TASK_COMM_BYTES - 1;
	uint32_t bytes = of_field < most ? of_field : most;

	if ((uint64_t)k->field[field].at + bytes <= rec->data_bytes)
		memcpy(comm, (const char *)rec->data + k->field[field].at, bytes);
}

static void give_switch(struct sched *s, const struct kind *k, const struct record *rec,
			struct sched_switch *sw)
{
	copy_comm(k, rec, 3, sw->prev_comm);
	copy_comm(k, rec, 4, sw->next_comm);
	sw->of_others = sw->prev != SCHED_NOT_KNOWN && sw->next != SCHED_NOT_KNOWN &&
			!tasks_traced(s->r->tasks, sw->prev) &&
			!tasks_traced(s->r->tasks, sw->next) && strcmp(sw->prev_comm, AGENT) &&
			strcmp(sw->next_comm, AGENT);
	s->ops->switched(s->arg, sw);
}

static void on_switch(struct sched *s, const struct kind *k, const struct record *rec)
{
	int32_t prev = pid_value(k, rec, 0), next = pid_value(k, rec, 2);
	struct sched_thread *out = thread_of(s, prev), *in = thread_of(s, next);
	struct sched_switch sw = {rec->cpu, record_buffer(rec), rec->ts, prev, next, out, in};

	sw.is_repeat = is_repeat(s, k, rec);
	s->has_switches = true;
	if (out && !sw.is_repeat && out->seen) /* the switch to it was not reported */
		come(s, out, out->seen);
	if (s->ops->switched)
		give_switch(s, k, rec, &sw);
	if (sw.is_repeat)
		return;
	if (next != SCHED_NOT_KNOWN) {
		leave_unseen(s, rec->cpu, out, in, rec->ts);
		s->running[rec->cpu] = in;
	}
	if (in)
		in->cpu = rec->cpu;
	if (out) {
		out->process = record_process(rec);
		out->cpu = rec->cpu;
		leave(s, out, value(k, rec, 1), rec->ts);
	}
	if (in)
		come(s, in, rec->ts);
}

static void on_waking(struct sched *s, const struct kind *k, const struct record *rec)
{
	struct sched_thread *t = thread_of(s, pid_value(k, rec, 0));

	s->has_wakings = true;
	/* a thread without a state slept before the recording; a running one stays running */
	if (!t || t->state == SCHED_RUNNING || t->state == SCHED_RUNNABLE)
		return;
	t->waker = rec->pid;
	change(s, t, SCHED_RUNNABLE, rec->ts);
}

/* A blocking call begins: the next stack belongs to it. */
static void on_lock_waits(struct sched *s, const struct kind *k, const struct record *rec,
			  struct sched_thread *t)
{
	const struct holder *h;

	t->in_lock = t->wants_stack = true;
	t->now = (struct sched_reason){
		.why = SCHED_WHY_LOCK, .lock = value(k, rec, 0), .sort = sort_of(value(k, rec, 1))};
	h = holder_of(s, record_process(rec), t->now.lock);
	t->now.holder = h ? h->pid : 0;
}

static void on_call(struct sched *s, const struct kind *k, const struct record *rec,
		    struct sched_thread *t)
{
	uint32_t at = k->what == CALL_ENTER ? k->field[1].at : 16u;

	s->has_calls = t->in_syscall = t->wants_stack = true;
	t->call = (struct sched_reason){.why = SCHED_WHY_SYSCALL};
	if (k->what == CALL_ENTER)
		t->call.nr = (int32_t)value(k, rec, 0);
	else if (rec->data_bytes >= 12) /* __syscall_nr */
		memcpy(&t->call.nr, (const char *)rec->data + 8, 4);
	if (at < rec->data_bytes)
		memcpy(t->call.args, (const char *)rec->data + at,
		       rec->data_bytes - at < sizeof(t->call.args) ? rec->data_bytes - at
								   : sizeof(t->call.args));
}

static void on_stack(const struct kind *k, const struct record *rec, struct sched_thread *t)
{
	struct sched_reason *to = t->in_syscall ? &t->call : &t->now;
	uint32_t at = k->field[0].at;

	if (!t->wants_stack)
		return;
	t->wants_stack = false;
	for (; at + 8u <= rec->data_bytes && to->nr_frames < SCHED_FRAMES; at += 8) {
		uint64_t ip;

		memcpy(&ip, (const char *)rec->data + at, 8);
		if (!ip || ip == UINT64_MAX)
			break;
		to->stack[to->nr_frames++] = ip;
	}
}

static void on_own(struct sched *s, const struct kind *k, const struct record *rec)
{
	struct sched_thread *t = thread_of(s, rec->pid);

	if (!t)
		return;
	t->process = record_process(rec);
	if (k->what == STACK) {
		on_stack(k, rec, t);
		return;
	}
	t->wants_stack = false;
	switch (k->what) {
	case DESCRIPTOR:
		on_descriptor(s, k, rec);
		break;
	case LOCK_TAKE:
		if (value(k, rec, 1) & 1)
			lock_held(s, rec, value(k, rec, 0), rec->pid);
		break;
	case LOCK_TAKEN:
		t->in_lock = false;
		lock_held(s, rec, value(k, rec, 0), rec->pid);
		break;
	case LOCK_GIVEN:
		t->in_lock = false;
		lock_held(s, rec, value(k, rec, 0), 0);
		break;
	case LOCK_WAITS:
		on_lock_waits(s, k, rec, t);
		break;
	case LOCK_WAITED:
		t->in_lock = false;
		break;
	case CALL_ENTER:
	case ONE_CALL_ENTER:
		on_call(s, k, rec, t);
		break;
	case CALL_EXIT:
	case ONE_CALL_EXIT:
		t->in_syscall = false;
		break;
	}
}

/* A thread that has an event is running. A switch away from it does not count. */
static void note_seen(struct sched *s, const struct kind *k, const struct record *rec)
{
	struct sched_thread *t = k->what == SWITCH ? NULL : thread_of(s, rec->pid);

	if (t && !t->seen && (t->state == SCHED_RUNNABLE || t->state == SCHED_BLOCKED) &&
	    rec->ts > t->since)
		t->seen = rec->ts;
}

static void on_record(struct sched *s, const struct record *rec)
{
	const struct kind *k;
	struct sched_thread *t;

	s->end = rec->ts;
	s->lost += rec->lost == RECORD_LOST_UNKNOWN ? 1 : rec->lost;
	if (rec->kind != RECORD_EVENT)
		return;
	k = kind_of(s, rec);
	note_seen(s, k, rec);
	switch (k->what) {
	case OTHER:
		break;
	case SWITCH:
		on_switch(s, k, rec);
		break;
	case WAKING:
	case WAKEUP_NEW:
		on_waking(s, k, rec);
		break;
	case RUNTIME:
		/* two buffers may have the same ones */
		if (!s->has_runtime)
			s->runtime_buffer = record_buffer(rec);
		s->has_runtime = true;
		t = thread_of(s, pid_value(k, rec, 0));
		if (t && record_buffer(rec) == s->runtime_buffer)
			t->runtime += value(k, rec, 1);
		break;
	default:
		on_own(s, k, rec);
	}
}

static int by_pid(const void *a, const void *b)
{
	const struct sched_thread *x = *(struct sched_thread *const *)a;
	const struct sched_thread *y = *(struct sched_thread *const *)b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* End the last states, and make the list of threads. */
static int finish(struct sched *s)
{
	s->sorted = calloc(s->nr_threads + 1, sizeof(struct sched_thread *));
	if (!s->sorted)
		return fail(ENOMEM, "out of memory for %zu threads", s->nr_threads);
	for (unsigned int i = 0; i < NR_BUCKETS; i++)
		for (struct sched_thread *t = s->bucket[i]; t; t = t->next)
			s->sorted[s->nr_sorted++] = t;
	qsort(s->sorted, s->nr_sorted, sizeof(struct sched_thread *), by_pid);
	for (size_t i = 0; i < s->nr_sorted; i++) {
		struct sched_thread *t = s->sorted[i];

		if (t->state != SCHED_UNKNOWN &&
		    !(t->state == SCHED_BLOCKED && t->reason.why == SCHED_WHY_ENDED))
			change(s, t, SCHED_UNKNOWN, s->end);
	}
	return 0;
}

int sched_run(struct sched *s)
{
	const struct record *rec;
	struct merge *m = merge_new(s->r);
	int ret;

	if (!m)
		return fail(ENOMEM, "out of memory for %u CPUs", s->r->nr_cpus);
	while ((ret = merge_next(m, &rec)) > 0 && !s->err)
		on_record(s, rec);
	merge_free(m);
	if (ret < 0)
		return ret;
	if (s->err)
		return s->err;
	if (!s->has_switches)
		return fail(ENODATA, "no context switch is recorded: record with "
				     "`vestige sched record`, or -e sched_switch");
	s->lost += reader_lost_at_end(s->r);
	return finish(s);
}

size_t sched_nr_threads(const struct sched *s)
{
	return s->nr_sorted;
}

const struct sched_thread *sched_thread_at(const struct sched *s, size_t i)
{
	return i < s->nr_sorted ? s->sorted[i] : NULL;
}

bool sched_has_wakings(const struct sched *s)
{
	return s->has_wakings;
}

uint64_t sched_lost(const struct sched *s)
{
	return s->lost;
}
