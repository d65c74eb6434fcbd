/* SPDX-License-Identifier: MIT */
/* See columns.h. Tests: tests/cli/test_view.py. */
#include "tools/view/columns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/analysis/sched.h"
#include "tools/analysis/stack_homes.h"
#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/hash_index.h"
#include "tools/base/spill_array.h"
#include "tools/base/time_ns.h"
#include "tools/export/call_export.h"
#include "tools/reader/joined.h"
#include "tools/text/other_text.h"
#include "tools/reader/tasks.h"
#include "tools/text/trace_text.h"

const char *const columns_state_names[STATE_NR] = {"running", "woken", "preempted", "blocked"};
const char *const columns_kind_names[TRACK_NR_KINDS] = {"cpu", "cpu-events", "states", "events",
							"calls"};

struct building {
	struct columns *c;
	struct view *v;
	struct other_text *text;
	struct stack_homes homes;
	struct hash_index tracks, names, texts;
	uint32_t *functions; /* by function: number of its name + 1; 0: none yet */
	size_t room_functions;
	uint32_t states[STATE_NR]; /* numbers of the states' names */
	struct {
		int32_t pid; /* what it runs; 0: the idle task, or not known */
		uint64_t since;
		size_t next_lost; /* in columns.lost: the first gap that may be after @since */
		char comm[TASK_COMM_BYTES];
	} * cpus;
	bool has_switches;
	unsigned int
		kernel_buffer; /* buffer with the kernel's switches; 0: the first buffer has them */
	bool sees_all;	       /* switches of tasks that are not recorded are there, too */
	const struct columns_watch *watch; /* NULL: none */
	uint32_t nr_taken;		   /* calls and events; the clock is read now and then */
	uint64_t next_part_ns;
	int err;
};

static int no_memory(void)
{
	return fail(ENOMEM, "out of memory");
}

static uint64_t hash_text(const char *text)
{
	return hash_bytes(HASH_BYTES_SEED, text, strlen(text));
}

static uint32_t failed(struct building *b)
{
	b->err = no_memory();
	return 0;
}

/* @object, @place: NULL none. Return: its number; 0 with b->err set. */
static uint32_t add_name(struct building *b, const char *text, const char *object,
			 const char *place)
{
	struct columns *c = b->c;
	struct column_name name = {.text = strdup(text),
				   .object = object ? strdup(object) : NULL,
				   .place = place ? strdup(place) : NULL};

	if (!name.text || (object && !name.object) || (place && !name.place) ||
	    ARRAY_ROOM(c->names, c->nr_names, c->room_names, 256)) {
		free(name.text);
		free(name.object);
		free(name.place);
		return failed(b);
	}
	c->names[c->nr_names] = name;
	return (uint32_t)c->nr_names++;
}

static uint32_t name_of(struct building *b, const char *text)
{
	const struct column_name *names = b->c->names;
	uint64_t hash = hash_text(text);
	int64_t found = HASH_INDEX_FIND(&b->names, hash, i,
					!names[i].object && !strcmp(names[i].text, text));
	uint32_t nr;

	if (found >= 0)
		return (uint32_t)found;
	nr = add_name(b, text, NULL, NULL);
	if (!b->err && hash_index_add(&b->names, hash, nr))
		return failed(b);
	return nr;
}

static uint32_t text_of(struct building *b, const char *text)
{
	struct columns *c = b->c;
	uint64_t hash = hash_text(text);
	int64_t found = HASH_INDEX_FIND(&b->texts, hash, i, !strcmp(c->texts[i], text));
	char *copy;

	if (found >= 0)
		return (uint32_t)found;
	copy = strdup(text);
	if (!copy || ARRAY_ROOM(c->texts, c->nr_texts, c->room_texts, 256) ||
	    hash_index_add(&b->texts, hash, (uint32_t)c->nr_texts)) {
		free(copy);
		return failed(b);
	}
	c->texts[c->nr_texts] = copy;
	return (uint32_t)c->nr_texts++;
}

/* The function numbered @function by the filter. */
static uint32_t function_name(struct building *b, uint32_t function)
{
	const struct call_function *fn;
	char buf[CALL_NAME_BYTES];

	while (function >= b->room_functions) {
		size_t room = b->room_functions ? 2 * b->room_functions : 1024;
		uint32_t *more = reallocarray(b->functions, room, sizeof(*more));

		if (!more)
			return failed(b);
		memset(more + b->room_functions, 0, (room - b->room_functions) * sizeof(*more));
		b->functions = more;
		b->room_functions = room;
	}
	if (!b->functions[function]) {
		fn = call_filter_function(b->v->filter, function);
		b->functions[function] =
			add_name(b, call_export_name(fn, buf), call_export_object(b->v, fn),
				 view_place(b->v, fn->ip)) +
			1;
		if (!b->err)
			b->c->names[b->functions[function] - 1].ip = fn->ip;
	}
	return b->functions[function] - 1;
}

struct track_key {
	enum track_kind kind;
	int32_t id;
	uint32_t process, stack;
};

static uint64_t hash_key(const struct track_key *key)
{
	uint64_t h = hash_u64((uint64_t)key->process << 32 | (uint32_t)key->id);

	return (h >> 16) + ((uint64_t)key->stack << 4 | key->kind);
}

static bool is_of(const struct track *t, const struct track_key *key)
{
	return t->kind == key->kind && t->id == key->id && t->process == key->process &&
	       t->stack == key->stack;
}

/* The name of the buffer to which @process belongs. */
static const char *buffer_of(const struct building *b, uint32_t process)
{
	return reader_buffer_name(
		b->v->r, process > RECORD_FURTHER_PROCESS ? process - RECORD_FURTHER_PROCESS : 0);
}

/* Borrowed until the next call of track_of(). NULL: there is none. */
static struct track *track_if_any(struct building *b, const struct track_key *key)
{
	struct track *tracks = b->c->tracks;
	int64_t found = HASH_INDEX_FIND(&b->tracks, hash_key(key), i, is_of(&tracks[i], key));

	return found >= 0 ? &tracks[found] : NULL;
}

/* Borrowed until the next call. NULL with b->err set. */
static struct track *track_of(struct building *b, struct track_key key)
{
	struct columns *c = b->c;
	struct track *t = track_if_any(b, &key);

	if (t)
		return t;
	if (ARRAY_ROOM(c->tracks, c->nr_tracks, c->room_tracks, 64) ||
	    hash_index_add(&b->tracks, hash_key(&key), (uint32_t)c->nr_tracks)) {
		failed(b);
		return NULL;
	}
	t = &c->tracks[c->nr_tracks++];
	*t = (struct track){.kind = key.kind,
			    .id = key.id,
			    .process = key.process,
			    .stack = key.stack,
			    .name = "",
			    .buffer = ""};
	if (key.kind != TRACK_CPU && key.kind != TRACK_CPU_EVENTS) {
		t->pid = tasks_tgid(b->v->r->tasks, key.id);
		t->name = tasks_comm(b->v->r->tasks, key.id);
		if (key.kind != TRACK_STATES)
			t->buffer = buffer_of(b, key.process);
	}
	return t;
}

static void add_span(struct building *b, struct track_key key, uint32_t depth, uint64_t start,
		     uint64_t length, uint32_t name, uint32_t extra)
{
	struct track *t = b->err ? NULL : track_of(b, key);
	struct columns *c = b->c;

	if (!t)
		return;
	if (length > UINT64_MAX - start)
		length = UINT64_MAX - start;
	while (depth >= t->nr_rows) {
		if (ARRAY_ROOM(t->rows, t->nr_rows, t->room_rows, 1)) {
			failed(b);
			return;
		}
		t->rows[t->nr_rows++] = (struct span_row){.has_extra = true};
	}
	if (start < c->first)
		c->first = start;
	if (start + length > c->last)
		c->last = start + length;
	b->err = span_row_add(&t->rows[depth], start, length, name, extra);
}

#define LOOK_EACH 16384u	      /* calls and events between two reads of the clock */
#define PART_NS	  UINT64_C(700000000) /* from the begin of the reading to the first part */
#define TRIM_EACH (1u << 20)	      /* calls and events; of 24 to 60 bytes each */

/* The next part comes when the reading has taken three times as long. */
static void give_part(struct building *b)
{
	struct columns *part = NULL;
	uint64_t now = time_ns(CLOCK_MONOTONIC);

	if (!b->next_part_ns)
		b->next_part_ns = now + PART_NS;
	if (b->err || now < b->next_part_ns || b->c->first > b->c->last)
		return;
	b->err = columns_outline(b->c, &part);
	if (b->err)
		return;
	b->next_part_ns = now + 3 * (now - b->next_part_ns + PART_NS);
	b->watch->part(b->watch->arg, part);
}

static void taken(struct building *b)
{
	if (b->watch && b->nr_taken % LOOK_EACH == 0)
		give_part(b);
	if (++b->nr_taken % TRIM_EACH == 0)
		spill_arrays_trim();
}

static void enter(void *arg, struct call *call, struct call *parent, const struct record *rec)
{
	struct building *b = arg;
	uint32_t function = 0;
	int ret = call_filter_enter(b->v->filter, call, parent, &function);

	(void)rec;
	if (ret < 0)
		b->err = ret;
	if (!b->err)
		b->err = stack_homes_enter(&b->homes, call);
	call->data = (call->data & ~(uint64_t)UINT32_MAX) | function;
}

static void leave(void *arg, struct call *call, struct call *parent, const struct record *rec)
{
	struct building *b = arg;
	struct track_key key = {TRACK_CALLS, call->pid, call->process, 0};
	uint32_t depth = view_has_filters(b->v) ? call_filter_level(call) : call->depth;

	(void)parent;
	if (b->err || !call_filter_leave(b->v->filter, call))
		return;
	if (depth >= COLUMNS_MAX_ROWS) {
		b->c->too_deep++;
		return;
	}
	if (!stack_homes_is_own(&b->homes, call))
		key.stack = call->stack;
	taken(b);
	b->c->nr_calls++;
	add_span(b, key, depth, call->start, call->end - call->start,
		 function_name(b, (uint32_t)call->data), rec ? rec->cpu : COLUMNS_NO_CPU);
}

static int grow_events(struct column_events *e)
{
	size_t room = e->room ? 2 * e->room : 1024;
	void **columns[] = {(void **)&e->ts,   (void **)&e->cpu,  (void **)&e->tid,
			    (void **)&e->name, (void **)&e->text, (void **)&e->latency,
			    (void **)&e->track};

	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
		void *more = spill_array_grow(*columns[i],
					      room * (i ? sizeof(uint32_t) : sizeof(*e->ts)));

		if (!more)
			return -ENOMEM;
		*columns[i] = more;
	}
	e->room = room;
	return 0;
}

int column_events_add(struct column_events *e, const struct column_events *from, size_t i)
{
	size_t nr = e->nr;
	int err = nr == e->room ? grow_events(e) : 0;

	if (err)
		return err;
	e->ts[nr] = from->ts[i];
	e->cpu[nr] = from->cpu[i];
	e->tid[nr] = from->tid[i];
	e->name[nr] = from->name[i];
	e->text[nr] = from->text[i];
	e->latency[nr] = from->latency[i];
	e->track[nr] = from->track[i];
	e->nr++;
	return 0;
}

static void add_lost(struct building *b, struct column_lost lost)
{
	struct columns *c = b->c;

	if (ARRAY_ROOM(c->lost, c->nr_lost, c->room_lost, 64))
		failed(b);
	else
		c->lost[c->nr_lost++] = lost;
}

static void note_lost(void *arg, const struct record *rec)
{
	add_lost(arg, (struct column_lost){rec->ts, rec->lost, rec->cpu, record_buffer(rec)});
}

/* Records lost at the end have the time of the last record. */
static void note_lost_at_end(struct building *b)
{
	const struct view *v = b->v;

	/* by stream, as v->cpus: one of each CPU and buffer */
	for (unsigned int i = 0; v->r->stats && i < v->r->nr_cpus; i++) {
		uint64_t lost = v->r->stats[i].lost_at_end;

		if (lost && (!v->cpus || v->cpus[i]))
			add_lost(b, (struct column_lost){v->last_ts, lost, reader_join_cpu(v->r, i),
							 reader_join_buffer(v->r, i)});
	}
}

static int other(void *arg, const struct record *rec)
{
	struct building *b = arg;
	struct column_events *e = &b->c->events;
	struct track_key of_cpu = {TRACK_CPU_EVENTS, rec->cpu, 0, 0},
			 of_thread = {TRACK_EVENTS, rec->pid, rec->process, 0};
	const char *name, *text;
	char latency[6] = "";
	size_t nr = e->nr;

	if (b->err || !call_filter_unmatched(b->v->filter, rec))
		return b->err;
	taken(b);
	b->err = other_text_take(b->text, rec, &name, &text);
	if (!b->err && nr == e->room)
		b->err = grow_events(e);
	if (b->err)
		return b->err;
	if (!strcmp(name, "sched:sched_switch")) {
		b->has_switches = true;
		if (!strcmp(reader_buffer_name(b->v->r, record_buffer(rec)), READER_KERNEL_BUFFER))
			b->kernel_buffer = record_buffer(rec);
	}
	e->ts[nr] = rec->ts;
	e->cpu[nr] = rec->cpu;
	e->tid[nr] = rec->pid;
	e->name[nr] = name_of(b, name);
	e->text[nr] = text_of(b, text);
	trace_text_flags(latency, rec->flags, rec->preempt_count);
	e->latency[nr] = text_of(b, latency);
	e->nr++;
	add_span(b, of_cpu, 0, rec->ts, 0, e->name[nr], (uint32_t)nr);
	add_span(b, of_thread, 0, rec->ts, 0, e->name[nr], (uint32_t)nr);
	return b->err;
}

static void slice(void *arg, const struct sched_thread *t, enum sched_state next, uint64_t from,
		  uint64_t to)
{
	struct building *b = arg;
	enum column_state state = STATE_BLOCKED;

	(void)next;
	if (t->state == SCHED_UNKNOWN || to <= from)
		return;
	if (t->state == SCHED_RUNNING)
		state = STATE_RUNNING;
	else if (t->state == SCHED_RUNNABLE)
		state = t->waker >= 0 || t->is_new ? STATE_WOKEN : STATE_PREEMPTED;
	add_span(b, (struct track_key){TRACK_STATES, t->pid, t->process, 0}, 0, from, to - from,
		 b->states[state], t->cpu);
}

/* The events of a CPU, in order of time; NULL: none. */
static const struct span_row *events_of_cpu(struct building *b, unsigned int cpu)
{
	const struct track_key key = {TRACK_CPU_EVENTS, (int32_t)cpu, 0, 0};
	const struct track *t = track_if_any(b, &key);

	return t && t->nr_rows ? t->rows : NULL;
}

/* The time of thread @pid's first event on a CPU after @since, at most @to. @to: it has none. */
static uint64_t first_event(struct building *b, unsigned int cpu, int32_t pid, uint64_t since,
			    uint64_t to)
{
	const struct span_row *row = events_of_cpu(b, cpu);

	for (size_t i = row ? span_row_begins(row, since + 1) : 0; row && i < row->nr; i++) {
		if (row->start[i] > to)
			break;
		if (b->c->events.tid[row->extra[i]] == pid)
			return row->start[i];
	}
	return to;
}

/* May switches of @cpu be among the lost records? Only if its buffer has the switches. */
static bool is_of_switches(const struct building *b, const struct column_lost *l, unsigned int cpu)
{
	return l->cpu == cpu && (!b->kernel_buffer || l->buffer == b->kernel_buffer);
}

/*
 * The end of the last gap in a CPU's records after its last switch and up to @to; 0: there is none.
 * @to never falls from call to call.
 */
static uint64_t lost_until(struct building *b, unsigned int cpu, uint64_t to)
{
	const struct columns *c = b->c;
	uint64_t ts = 0;

	for (size_t *i = &b->cpus[cpu].next_lost; *i < c->nr_lost && c->lost[*i].ts <= to; ++*i)
		if (is_of_switches(b, &c->lost[*i], cpu) && c->lost[*i].ts > b->cpus[cpu].since)
			ts = c->lost[*i].ts;
	return ts;
}

static void add_ran(struct building *b, unsigned int cpu, int32_t pid, const char *comm,
		    uint64_t from, uint64_t to)
{
	const struct tasks *tasks = b->v->r->tasks;
	const char *name = comm;

	if (to <= from)
		return;
	if (!*comm || tasks_has_comm(tasks, pid))
		name = tasks_comm(tasks, pid);
	add_span(b, (struct track_key){TRACK_CPU, (int32_t)cpu, 0, 0}, 0, from, to - from,
		 name_of(b, name), (uint32_t)pid);
}

/*
 * A CPU's task has left it, as another one does at @to, with no switch between them: kernels do not
 * report each switch to and from the idle task and kernel threads. So the task ran until another
 * one had an event there, which ran until the next one had one, and so on, up to @to. A program's
 * own recording does not know how long another thread than @prev ran.
 */
static void ran_by_events(struct building *b, unsigned int cpu, int32_t prev, uint64_t to)
{
	const struct span_row *row = events_of_cpu(b, cpu);
	int32_t pid = b->cpus[cpu].pid;
	const char *comm = b->cpus[cpu].comm;
	uint64_t since = b->cpus[cpu].since;

	for (size_t i = row ? span_row_begins(row, since + 1) : 0; row && i < row->nr; i++) {
		int32_t tid = b->c->events.tid[row->extra[i]];

		if (row->start[i] > to)
			break;
		if (tid == pid)
			continue;
		if (pid > 0)
			add_ran(b, cpu, pid, comm, since, row->start[i]);
		pid = b->kernel_buffer || tid == prev ? tid : 0;
		comm = "";
		since = row->start[i];
	}
	if (pid > 0)
		add_ran(b, cpu, pid, comm, since, to);
}

/*
 * At @to task @prev leaves a CPU (0: the idle task; -1: not known). Add the time that the CPU's
 * task, and others whose switches were not reported, ran since the switch to it. Where records were
 * lost meanwhile, only @prev's time after the gap is known, from its first event.
 */
static void cpu_ran(struct building *b, unsigned int cpu, int32_t prev, const char *comm,
		    uint64_t to)
{
	int32_t pid = b->cpus[cpu].pid;
	uint64_t gap = lost_until(b, cpu, to);

	if (gap && prev > 0)
		add_ran(b, cpu, prev, comm, first_event(b, cpu, prev, gap - 1, to), to);
	else if (!gap && pid > 0 && pid == prev)
		add_ran(b, cpu, pid, b->cpus[cpu].comm, b->cpus[cpu].since, to);
	else if (!gap)
		ran_by_events(b, cpu, prev, to);
}

/* A CPU's row is of one buffer: the kernel's if there is one, since it knows all tasks. */
static void switched(void *arg, const struct sched_switch *sw)
{
	struct building *b = arg;
	unsigned int cpu = sw->cpu;
	/* a program's own recording does not know how long other threads and the agent ran */
	int32_t prev = b->kernel_buffer || sw->out ? sw->prev : 0;
	int32_t next = b->kernel_buffer || sw->in ? sw->next : 0;

	if (cpu >= b->v->r->nr_cpus || b->err || sw->ts < b->cpus[cpu].since)
		return;
	if (b->kernel_buffer ? sw->buffer != b->kernel_buffer : sw->is_repeat)
		return;
	b->sees_all |= sw->of_others;
	cpu_ran(b, cpu, prev, sw->prev_comm, sw->ts);
	b->cpus[cpu].pid = next > 0 ? next : 0;
	b->cpus[cpu].since = sw->ts;
	memcpy(b->cpus[cpu].comm, sw->next_comm, sizeof(sw->next_comm));
}

/*
 * If the kernel's switches are of some threads only, other tasks are seen only as their neighbours:
 * how long those ran is not known.
 */
static void drop_other_tasks(struct building *b)
{
	struct columns *c = b->c;
	size_t nr = 0;

	for (size_t i = 0; i < c->nr_tracks; i++) {
		struct track *t = &c->tracks[i];
		struct span_row *row = t->rows;
		size_t kept = 0;

		for (size_t k = 0; t->kind == TRACK_CPU && k < row->nr; k++) {
			if (!tasks_traced(b->v->r->tasks, (int32_t)row->extra[k]))
				continue;
			row->start[kept] = row->start[k];
			row->length[kept] = row->length[k];
			row->name[kept] = row->name[k];
			row->extra[kept++] = row->extra[k];
		}
		if (t->kind != TRACK_CPU) {
			c->tracks[nr++] = *t;
		} else if (kept) {
			row->nr = kept;
			c->tracks[nr++] = *t;
		} else {
			span_row_clear(row);
			free(t->rows);
		}
	}
	c->nr_tracks = nr;
}

/* The second reading: which tasks ran on the CPUs, and the states of threads. */
static int read_switches(struct building *b)
{
	const struct sched_ops ops = {.slice = slice, .switched = switched};
	struct reader *r = b->v->r;
	struct sched *s;
	int ret;

	if (!b->has_switches || !r->ops->rewind)
		return 0;
	b->cpus = calloc(r->nr_cpus, sizeof(*b->cpus));
	if (!b->cpus)
		return no_memory();
	for (unsigned int cpu = 0; cpu < r->nr_cpus; cpu++)
		b->cpus[cpu].since = b->v->first_ts;
	for (int i = 0; i < STATE_NR; i++)
		b->states[i] = name_of(b, columns_state_names[i]);
	ret = b->err ? b->err : r->ops->rewind(r);
	if (ret)
		return ret;
	s = sched_new(r, &ops, b);
	if (!s)
		return no_memory();
	ret = sched_run(s);
	sched_free(s);
	for (unsigned int cpu = 0; !ret && cpu < r->nr_cpus; cpu++)
		/* a gap may end after the last event of the view */
		if (!lost_until(b, cpu, UINT64_MAX))
			cpu_ran(b, cpu, SCHED_NOT_KNOWN, "", b->v->last_ts);
	if (!b->sees_all)
		drop_other_tasks(b);
	b->c->has_states = true;
	return ret == -ENODATA ? 0 : ret;
}

int columns_read(struct view *v, const struct columns_watch *watch, struct columns **out)
{
	const struct calls_ops ops = {.enter = enter, .leave = leave};
	struct columns *c = calloc(1, sizeof(*c));
	struct building b = {.c = c, .v = v, .watch = watch};
	int ret = 0;

	*out = NULL;
	if (!c)
		return no_memory();
	c->v = v;
	c->first = UINT64_MAX;
	c->files = calloc(1, sizeof(*c->files));
	if (!c->files) {
		free(c);
		return no_memory();
	}
	c->files[0].path = v->path;
	c->nr_files = 1;
	b.text = other_text_new(v->r);
	v->other = other;
	v->other_arg = &b;
	v->gap = note_lost;
	v->gap_arg = &b;
	ret = b.text ? view_run(v, &ops, &b, &b.err) : -ENOMEM;
	if (!ret)
		note_lost_at_end(&b);
	if (!ret)
		ret = read_switches(&b);
	if (!ret)
		ret = b.err ? b.err : columns_finish(c);
	v->other = NULL;
	v->gap = NULL;
	other_text_free(b.text);
	stack_homes_clear(&b.homes);
	hash_index_clear(&b.tracks);
	hash_index_clear(&b.names);
	hash_index_clear(&b.texts);
	free(b.functions);
	free(b.cpus);
	if (ret)
		columns_free(c);
	else
		*out = c;
	return ret;
}
