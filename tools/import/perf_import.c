/* SPDX-License-Identifier: MIT */
/*
 * The text of `perf script`:
 *
 *	comm  123/124 [001] 12.345678:  1010101 cycles:
 *		    55d0 leaf+0x4 (/usr/bin/prog)
 *		    ...
 *
 * A sample with a stack has the functions that were running. A function that is in the sample
 * before, too, is taken to have gone on since; the others begin or end here. So times are as exact
 * as samples are frequent. One without a stack is an event with its text.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/import/import.h"

#define MAX_FRAMES  1024u
#define MAX_THREADS (1u << 16)

struct sample {
	char *comm, *event, *rest;
	int64_t pid, tid;
	unsigned int cpu;
	uint64_t ts;
};

struct thread {
	int64_t pid, tid;
	int32_t number;
	uint32_t nr, room;
	uint64_t last_ts;
	uint64_t *frames; /* of its last sample, the outermost first */
};

struct perf {
	struct import *im;
	struct thread *threads;
	size_t nr, room, last;
	uint64_t frames[MAX_FRAMES]; /* of the sample that is read, the innermost first */
	uint32_t nr_frames;
	char head[IMPORT_LINE_BYTES];
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
	if (*p >= '0' && *p <= '9') /* the period */
		p += strcspn(p, " ");
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

/* `  55d0 leaf+0x4 (/usr/bin/prog)`. Return: false: it is no frame. */
static bool take_frame(struct perf *p, char *text, int *err)
{
	char *name = text + strspn(text, " \t"), *end, *open, *slash, *plus;
	size_t hex = strspn(name, "0123456789abcdef");

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
	if (p->nr_frames < MAX_FRAMES && !*err)
		*err = import_function(p->im, *name ? name : "[unknown]", open,
				       &p->frames[p->nr_frames++]);
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

/* Functions that are in both stacks, from the outermost on, go on. */
static int change_stack(struct perf *p, struct thread *t, const struct sample *s)
{
	uint64_t ts = s->ts > t->last_ts ? s->ts : t->last_ts;
	uint32_t same = 0;
	int err = 0;

	while (same < t->nr && same < p->nr_frames &&
	       t->frames[same] == p->frames[p->nr_frames - 1 - same])
		same++;
	for (; t->nr > same && !err; t->nr--)
		err = import_leave(p->im, 0, t->number, ts);
	for (; t->nr < p->nr_frames && !err; t->nr++) {
		if (ARRAY_ROOM(t->frames, t->nr, t->room, 16))
			return fail(ENOMEM, "out of memory");
		t->frames[t->nr] = p->frames[p->nr_frames - 1 - t->nr];
		err = import_enter(p->im, 0, t->number, ts, t->frames[t->nr]);
	}
	t->last_ts = ts;
	return err;
}

/* The sample in p->head and p->frames is complete. */
static int end_sample(struct perf *p)
{
	struct sample s = {0};
	struct thread *t;
	uint64_t ip;
	int err = 0;

	if (!*p->head || !parse(&s, p->head))
		return 0;
	t = find(p, &s, &err);
	if (!err)
		err = import_task(p->im, t->number, (int32_t)(s.pid < INT32_MAX ? s.pid : 0),
				  s.comm);
	if (!err && p->nr_frames)
		err = change_stack(p, t, &s);
	else if (!err)
		err = import_function(p->im, s.event, NULL, &ip);
	if (!err && !p->nr_frames)
		err = import_text(p->im, s.cpu, t->number, s.ts, ip, s.rest);
	*p->head = '\0';
	p->nr_frames = 0;
	return err;
}

static int perf_read(struct import_text *in, struct import *im)
{
	struct perf *p = calloc(1, sizeof(*p));
	char *text;
	int err = p ? 0 : fail(ENOMEM, "out of memory");

	if (p)
		p->im = im;
	while (!err && (text = import_line(in))) {
		struct sample s;

		/* samples without stacks follow one another, and `dd` is a number of base 16, too */
		if (*p->head && !find_numbers(&s, text) && take_frame(p, text, &err))
			continue;
		err = end_sample(p);
		if (!err && *text != '#')
			strcpy(p->head, text);
	}
	if (!err)
		err = end_sample(p);
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
