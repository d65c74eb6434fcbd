/* SPDX-License-Identifier: MIT */
/*
 * The text of `perf script`:
 *
 *	comm  123/124 [001] 12.345678:  1010101 cycles:
 *		    55d0 leaf+0x4 (/usr/bin/prog)
 *		    ...
 *
 * One event is the clock: each of its samples with a stack covers its period, as in perf report,
 * and the functions of the stack run in that time. If the times of two samples touch, a function
 * that is in both continues; all others begin or end there. Samples of other events become events,
 * whose text has their stack. The clock and its unit are found from the first samples of the file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/import/import.h"

#define MAX_FRAMES    1024u
#define MAX_THREADS   (1u << 16)
#define LEARN_SAMPLES (1u << 15) /* used to find the clock */
#define NAME_BYTES    64u
#define UNKNOWN_NS    250000.0 /* period of a single sample: perf's 4000 a second */
#define MAX_PERIOD_NS 1e15
#define MAX_LAG	      4 /* periods by which a sample's time may end after it */

struct sample {
	char *comm, *event, *rest;
	int64_t pid, tid;
	unsigned int cpu;
	uint64_t ts;
	double period; /* 1: the line has none */
};

struct thread {
	int64_t pid, tid;
	int32_t number;
	uint32_t nr, room;
	uint64_t end;	  /* of the time that its samples cover so far */
	uint64_t *frames; /* of its last sample, the outermost first */
};

/* The event whose samples cover time. */
struct clock {
	char name[NAME_BYTES]; /* as clock_name() has it; "": there is none */
	double unit_ns;	       /* of 1 of its period */
};

struct perf {
	struct import *im;
	struct clock clock;
	struct thread *threads;
	size_t nr, room, last;
	uint64_t frames[MAX_FRAMES]; /* of the clock's sample that is read, the innermost first */
	uint32_t nr_frames;
	bool is_clock; /* that sample */
	struct sample sample;
	char head[IMPORT_LINE_BYTES];
	char stack[IMPORT_LINE_BYTES]; /* of the event that is read */
	size_t stack_bytes;
};

static bool digits(const char **p, int64_t *v)
{
	const char *begin = *p;

	for (*v = 0; **p >= '0' && **p <= '9' && *p - begin < 10; (*p)++)
		*v = 10 * *v + (**p - '0');
	return *p > begin;
}

/* Behind the name: numbers, CPU, stamp. @at: a blank. */
static bool take_numbers(struct sample *s, char *at)
{
	const char *p = at + strspn(at, " ");
	int64_t cpu = 0;

	if (!digits(&p, &s->tid))
		return false;
	s->pid = s->tid;
	if (*p == '/') {
		p++;
		if (!digits(&p, &s->tid))
			return false;
	}
	if (*p != ' ')
		return false;
	p += strspn(p, " ");
	if (*p == '[') {
		p++;
		if (!digits(&p, &cpu) || *p != ']' || cpu >= (int64_t)IMPORT_MAX_CPUS)
			return false;
		p++;
		p += strspn(p, " ");
	}
	s->cpu = (unsigned int)cpu;
	if (!import_decimal(p, 1000000000, &s->ts, &p) || *p != ':')
		return false;
	p++;
	p += strspn(p, " ");
	s->period = 1;
	if (*p >= '0' && *p <= '9') {
		s->period = strtod(p, NULL);
		p += strcspn(p, " ");
	}
	p += strspn(p, " ");
	s->event = at + (p - at);
	return *p != '\0';
}

/* The end of the name, in the first line of a sample; NULL: it is none. */
static char *find_numbers(struct sample *s, char *text)
{
	char *comm = text + strspn(text, " ");

	if (*text == '\t' || !*comm)
		return NULL;
	s->comm = comm;
	for (char *p = strchr(comm, ' '); p; p = strchr(p + 1, ' '))
		if (take_numbers(s, p))
			return p;
	return NULL;
}

static bool parse(struct sample *s, char *text)
{
	char *end = find_numbers(s, text), *colon;

	if (!end)
		return false;
	*end = '\0';
	s->rest = s->event + strlen(s->event);
	for (colon = strchr(s->event, ':'); colon; colon = strchr(colon + 1, ':')) {
		if (colon[1] && colon[1] != ' ')
			continue; /* sched:sched_switch: */
		*colon = '\0';
		s->rest = colon + 1 + strspn(colon + 1, " ");
		break;
	}
	return true;
}

/*
 * The name of a counter without its PMU and modifiers: cpu_core/cycles/u is cycles. "": it is none.
 */
static void clock_name(const char *event, char name[NAME_BYTES])
{
	/* these count events, not time */
	static const char *const software[] = {"page-faults",
					       "faults",
					       "minor-faults",
					       "major-faults",
					       "context-switches",
					       "cs",
					       "cpu-migrations",
					       "migrations",
					       "alignment-faults",
					       "emulation-faults",
					       "cgroup-switches",
					       "bpf-output",
					       "dummy",
					       "offcpu-time"};
	const char *slash = strchr(event, '/'), *begin = slash ? slash + 1 : event;
	size_t n = strcspn(begin, "/:");

	*name = '\0';
	if (begin[n] == ':' && begin[n + 1 + strspn(begin + n + 1, "ukhHGpPSDIWeb")])
		return; /* SYSTEM:NAME */
	if (n >= NAME_BYTES)
		return;
	memcpy(name, begin, n);
	name[n] = '\0';
	for (size_t i = 0; i < sizeof(software) / sizeof(*software); i++)
		if (!strcmp(name, software[i]))
			*name = '\0';
}

/* The best clock is the one of the largest rank. */
static unsigned int clock_rank(const char *name)
{
	if (!strcmp(name, "cpu-clock") || !strcmp(name, "task-clock"))
		return 3;
	if (!strcmp(name, "cycles") || !strcmp(name, "cpu-cycles"))
		return 2;
	return *name != '\0';
}

/* Two consecutive samples of a thread: an estimate of the period's unit, and its weight. */
struct distance {
	double unit_ns, weight;
};

struct learning {
	struct clock clock;
	struct distance *at;
	size_t nr, room;
	struct {
		int64_t pid, tid;
		uint64_t ts;
	} last[256]; /* by tid */
};

static int compare_distances(const void *a, const void *b)
{
	const struct distance *d = a, *e = b;

	return d->unit_ns < e->unit_ns ? -1 : d->unit_ns > e->unit_ns;
}

/* The lower quartile of the estimates, since threads sleep between some of their samples. */
static double learnt_unit(struct learning *l)
{
	double sum = 0, weight = 0;

	for (size_t i = 0; i < l->nr; i++)
		sum += l->at[i].weight;
	if (l->nr)
		qsort(l->at, l->nr, sizeof(*l->at), compare_distances);
	for (size_t i = 0; i < l->nr; i++) {
		weight += l->at[i].weight;
		if (4 * weight >= sum)
			return l->at[i].unit_ns;
	}
	return 0;
}

static int learn_sample(struct learning *l, const struct sample *s)
{
	size_t i = (size_t)s->tid % (sizeof(l->last) / sizeof(*l->last));
	char name[NAME_BYTES];

	clock_name(s->event, name);
	if (clock_rank(name) > clock_rank(l->clock.name)) {
		memcpy(l->clock.name, name, sizeof(name));
		memset(l->last, 0, sizeof(l->last));
		l->nr = 0;
	}
	if (!*name || strcmp(name, l->clock.name))
		return 0;
	if (l->last[i].pid == s->pid && l->last[i].tid == s->tid && s->ts > l->last[i].ts &&
	    l->last[i].ts && s->period > 0) {
		if (ARRAY_ROOM(l->at, l->nr, l->room, 1024))
			return fail(ENOMEM, "out of memory");
		l->at[l->nr++] =
			(struct distance){(double)(s->ts - l->last[i].ts) / s->period, s->period};
	}
	l->last[i].pid = s->pid;
	l->last[i].tid = s->tid;
	l->last[i].ts = s->ts;
	return 0;
}

/* Find the clock. This reads the start of the file again, independently of @from. */
static int learn_clock(const struct import_text *from, struct clock *clock)
{
	struct import_text *in = calloc(1, sizeof(*in));
	struct learning *l = calloc(1, sizeof(*l));
	int err = in && l ? 0 : fail(ENOMEM, "out of memory");
	size_t nr = 0;
	char *text;

	if (in)
		in->fd = from->fd;
	while (!err && nr < LEARN_SAMPLES && (text = import_line(in))) {
		struct sample s = {0};

		if (*text == '#' || !parse(&s, text))
			continue;
		nr++;
		err = learn_sample(l, &s);
	}
	if (!err) {
		*clock = l->clock;
		clock->unit_ns = clock_rank(clock->name) == 3 ? 1 : learnt_unit(l);
	}
	if (l)
		free(l->at);
	free(l);
	free(in);
	return err;
}

/* The time that a sample of the clock covers. */
static uint64_t period_ns(const struct perf *p, const struct sample *s)
{
	double ns = p->clock.unit_ns > 0 ? s->period * p->clock.unit_ns : UNKNOWN_NS;

	return ns < MAX_PERIOD_NS ? (uint64_t)ns : (uint64_t)MAX_PERIOD_NS;
}

/* Add a name to `stack=leaf<-mid<-main`, if there is room. */
static void add_to_stack(struct perf *p, const char *name)
{
	int n = snprintf(p->stack + p->stack_bytes, sizeof(p->stack) - p->stack_bytes, "%s%s",
			 p->stack_bytes ? "<-" : "stack=", name);

	if ((size_t)n < sizeof(p->stack) - p->stack_bytes)
		p->stack_bytes += (size_t)n;
	p->stack[p->stack_bytes] = '\0';
}

/* `  55d0 leaf+0x4 (/usr/bin/prog)`. Return: false: it is no frame. */
static bool take_frame(struct perf *p, char *text, int *err)
{
	char *name = text + strspn(text, " \t"), *end, *open, *slash, *plus;
	size_t hex = strspn(name, "0123456789abcdef");
	const char *known;

	if (!hex || name[hex] != ' ')
		return false;
	name += hex + 1;
	end = name + strlen(name);
	open = end > name && end[-1] == ')' ? strrchr(name, '(') : NULL;
	if (open) {
		end[-1] = '\0';
		for (end = open; end > name && end[-1] == ' ';)
			end--;
		*end = '\0';
		slash = strrchr(++open, '/');
		open = slash ? slash + 1 : open;
	}
	plus = strrchr(name, '+');
	if (plus && !strncmp(plus, "+0x", 3))
		*plus = '\0';
	known = *name ? name : "[unknown]";
	if (!p->is_clock)
		add_to_stack(p, known);
	else if (p->nr_frames < MAX_FRAMES && !*err)
		*err = import_function(p->im, known, open, &p->frames[p->nr_frames++]);
	return true;
}

static struct thread *find(struct perf *p, const struct sample *s, int *err)
{
	struct thread *t;

	for (size_t i = 0; i < p->nr; i++) {
		t = &p->threads[(p->last + i) % p->nr];
		if (t->pid == s->pid && t->tid == s->tid) {
			p->last = (p->last + i) % p->nr;
			return t;
		}
	}
	if (p->nr == MAX_THREADS) {
		*err = fail(E2BIG, "more than %u threads", MAX_THREADS);
		return NULL;
	}
	if (ARRAY_ROOM(p->threads, p->nr, p->room, 64)) {
		*err = fail(ENOMEM, "out of memory");
		return NULL;
	}
	t = &p->threads[p->nr];
	*t = (struct thread){.pid = s->pid, .tid = s->tid};
	*err = import_thread(p->im, s->pid, s->tid, &t->number);
	if (*err)
		return NULL;
	p->last = p->nr++;
	return t;
}

static int leave_until(struct perf *p, struct thread *t, uint32_t nr)
{
	int err = 0;

	for (; t->nr > nr && !err; t->nr--)
		err = import_leave(p->im, 0, t->number, t->end);
	return err;
}

/*
 * Set the thread's stack for the period of the sample. The period begins where the period of the
 * sample before ends. If the thread was not seen for longer, it begins at the sample.
 */
static int change_stack(struct perf *p, struct thread *t, const struct sample *s)
{
	uint64_t ns = period_ns(p, s), last;
	uint32_t same = 0;
	int err = 0;

	if (s->ts > t->end && s->ts - t->end > ns / 2) {
		err = leave_until(p, t, 0);
		t->end = s->ts;
	}
	while (same < t->nr && same < p->nr_frames &&
	       t->frames[same] == p->frames[p->nr_frames - 1 - same])
		same++;
	if (!err)
		err = leave_until(p, t, same);
	for (; t->nr < p->nr_frames && !err; t->nr++) {
		if (ARRAY_ROOM(t->frames, t->nr, t->room, 16))
			return fail(ENOMEM, "out of memory");
		t->frames[t->nr] = p->frames[p->nr_frames - 1 - t->nr];
		err = import_enter(p->im, 0, t->number, t->end, t->frames[t->nr]);
	}
	last = s->ts + MAX_LAG * ns;
	last = last < INT64_MAX ? last : INT64_MAX;
	if (t->end < last)
		t->end = last - t->end < ns ? last : t->end + ns;
	return err;
}

static int add_event(struct perf *p, const struct sample *s, int32_t thread)
{
	size_t n = strlen(s->rest);
	const char *text = p->stack;
	uint64_t ip;
	int err = import_function(p->im, s->event, NULL, &ip);

	if (err)
		return err;
	if (!p->stack_bytes) {
		text = s->rest;
	} else if (n) { /* its stack behind it */
		size_t room = sizeof(p->stack) - 1;

		n = n < room - 1 ? n : room - 1;
		if (p->stack_bytes > room - 1 - n)
			p->stack_bytes = room - 1 - n;
		memmove(p->stack + n + 1, p->stack, p->stack_bytes);
		memcpy(p->stack, s->rest, n);
		p->stack[n] = ' ';
		p->stack[n + 1 + p->stack_bytes] = '\0';
	}
	return import_text(p->im, s->cpu, thread, s->ts, ip, text);
}

/* Each CPU has an idle thread, all with pid 0: name it by its CPU. */
static void name_idle(struct sample *s, char comm[32])
{
	if (s->pid || s->tid)
		return;
	snprintf(comm, 32, "swapper/%u", s->cpu);
	s->tid = -1 - (int64_t)s->cpu;
	s->comm = comm;
}

/* The sample in p->sample, and p->frames or p->stack, is complete. */
static int end_sample(struct perf *p)
{
	struct sample *s = &p->sample;
	struct thread *t;
	char comm[32];
	int err = 0;

	if (!*p->head)
		return 0;
	if (p->nr_frames)
		name_idle(s, comm);
	t = find(p, s, &err);
	if (!err)
		err = import_task(p->im, t->number, (int32_t)(s->pid < INT32_MAX ? s->pid : 0),
				  s->comm);
	if (!err)
		err = p->nr_frames ? change_stack(p, t, s) : add_event(p, s, t->number);
	*p->head = '\0';
	return err;
}

/* @text: the line that may be the first one of a sample. */
static void begin_sample(struct perf *p, const char *text)
{
	char name[NAME_BYTES];

	p->nr_frames = 0;
	p->stack_bytes = 0;
	*p->stack = '\0';
	strcpy(p->head, text);
	p->sample = (struct sample){0};
	if (*text == '#' || !parse(&p->sample, p->head)) {
		*p->head = '\0';
		return;
	}
	clock_name(p->sample.event, name);
	p->is_clock = *name && !strcmp(name, p->clock.name);
}

static int perf_read(struct import_text *in, struct import *im)
{
	struct perf *p = calloc(1, sizeof(*p));
	char *text;
	int err = p ? 0 : fail(ENOMEM, "out of memory");

	if (p) {
		p->im = im;
		err = learn_clock(in, &p->clock);
	}
	while (!err && (text = import_line(in))) {
		struct sample s;

		/*
		 * a line may be a frame or a sample without stack: a name such as `dd` is also a
		 * hex number
		 */
		if (*p->head && !find_numbers(&s, text) && take_frame(p, text, &err))
			continue;
		err = end_sample(p);
		if (!err)
			begin_sample(p, text);
	}
	if (!err)
		err = end_sample(p);
	for (size_t i = 0; p && i < p->nr && !err; i++)
		err = leave_until(p, &p->threads[i], 0);
	for (size_t i = 0; p && i < p->nr; i++)
		free(p->threads[i].frames);
	if (p)
		free(p->threads);
	free(p);
	return err;
}

static bool is_sample(char *text)
{
	struct sample s;

	return parse(&s, text);
}

static bool perf_is(const char *head, size_t bytes)
{
	return import_text_any(head, bytes, is_sample);
}

const struct importer perf_importer = {"perf script's text", perf_is, perf_read};
