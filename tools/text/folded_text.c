/* SPDX-License-Identifier: MIT */
/*
 * See folded_text.h. The records of a sample are one thread's, from its mark `0` to its mark `3`,
 * which has their number; other threads' may be between them. Tests: tests/engine/tracers/sysprof.
 */
#include "tools/text/folded_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "tools/analysis/merge.h"
#include "tools/base/fail.h"
#include "tools/code/symbols.h"
#include "tools/reader/tasks.h"
#include "tools/text/sums.h"

#define MAX_FRAMES 512u
#define LINE_BYTES (MAX_FRAMES * 128u)

enum { BEGIN, KERNEL_FRAME, FRAME, END };

/* The sample of a thread of which more records are to come. */
struct sample {
	int32_t pid;
	uint32_t nr; /* UINT32_MAX: in none */
	uint64_t ip[MAX_FRAMES];
};

struct folded {
	struct reader *r;
	struct sample **threads;
	size_t nr_threads, last;
	struct sums sums;
	char line[LINE_BYTES];
};

static struct sample *sample_of(struct folded *f, int32_t pid)
{
	struct sample **more;
	size_t i = f->last;

	if (i < f->nr_threads && f->threads[i]->pid == pid)
		return f->threads[i];
	for (i = 0; i < f->nr_threads && f->threads[i]->pid != pid; i++)
		;
	f->last = i;
	if (i < f->nr_threads)
		return f->threads[i];
	more = realloc(f->threads, (i + 1) * sizeof(struct sample *));
	if (!more)
		return NULL;
	f->threads = more;
	more[i] = calloc(1, sizeof(*more[i]));
	if (!more[i])
		return NULL;
	f->nr_threads++;
	*more[i] = (struct sample){.pid = pid, .nr = UINT32_MAX};
	return more[i];
}

/*
 * Write a part of a folded line. Characters of @name that would end a frame or the stack are
 * replaced. @format: with one %s, for @name. Return: the bytes written; 0: there is no room.
 */
__attribute__((format(printf, 3, 0))) static size_t put_name(char *to, size_t room,
							     const char *format, const char *name)
{
	int n = snprintf(to, room, format, name);

	if (n < 0 || (size_t)n >= room)
		return 0;
	for (char *p = to + 1; *p; p++)
		if (*p == ';' || *p == ' ')
			*p = *p == ';' ? ':' : '_';
	return (size_t)n;
}

size_t folded_put_frame(char *to, size_t room, struct symbols *symbols, uint64_t ip,
			bool is_behind_call)
{
	const struct symbol *sym = symbols_find(symbols, ip - is_behind_call);
	char address[24];

	snprintf(address, sizeof(address), "0x%" PRIx64, ip);
	return put_name(to, room, ";%s", sym ? sym->name : address);
}

static int add_sample(struct folded *f, const struct sample *s)
{
	size_t n = put_name(f->line, sizeof(f->line), "%s", tasks_comm(f->r->tasks, s->pid));

	for (uint32_t i = s->nr; i-- > 0;)
		n += folded_put_frame(f->line + n, sizeof(f->line) - n, f->r->symbols, s->ip[i],
				      i > 0);
	return sums_add(&f->sums, 0, f->line, 1, 0);
}

static uint64_t word(const struct record *rec, uint32_t at)
{
	uint64_t v = 0;

	if (at + sizeof(v) <= rec->data_bytes)
		memcpy(&v, (const char *)rec->data + at, sizeof(v));
	return v;
}

static int take(struct folded *f, const struct record *rec)
{
	const struct tep_event *ev = NULL;
	struct sample *s;

	if (rec->kind == RECORD_EVENT && f->r->tep)
		ev = tep_find_event(f->r->tep, rec->event);
	if (!ev || strcmp(ev->system, "ftrace") || strcmp(ev->name, "special"))
		return 0;
	s = sample_of(f, rec->pid);
	if (!s)
		return -ENOMEM;
	switch (word(rec, 8)) {
	case BEGIN:
		s->nr = 0;
		return 0;
	case KERNEL_FRAME:
	case FRAME:
		if (s->nr < MAX_FRAMES)
			s->ip[s->nr++] = word(rec, 16);
		return 0;
	case END:
		if (s->nr <= MAX_FRAMES && s->nr == word(rec, 24) && add_sample(f, s))
			return -ENOMEM;
		s->nr = UINT32_MAX;
		return 0;
	default:
		return 0;
	}
}

static void print_sums(struct folded *f, struct out *o)
{
	sums_sort(&f->sums);
	for (size_t i = 0; i < f->sums.nr; i++)
		out_printf(o, "%s %" PRIu64 "\n", f->sums.at[i].key, f->sums.at[i].total);
}

static void folded_free(struct folded *f)
{
	for (size_t i = 0; i < f->nr_threads; i++)
		free(f->threads[i]);
	free(f->threads);
	sums_free(&f->sums);
	free(f);
}

int folded_text_print(struct reader *r, struct out *o)
{
	struct folded *f = calloc(1, sizeof(*f));
	struct merge *m = f ? merge_new(r) : NULL;
	const struct record *rec;
	int ret = 1;

	if (!m) {
		free(f);
		return fail(ENOMEM, "out of memory for stacks");
	}
	f->r = r;
	while (ret > 0) {
		ret = merge_next(m, &rec);
		if (ret > 0 && take(f, rec))
			ret = fail(ENOMEM, "out of memory for stacks");
	}
	merge_free(m);
	if (!ret && !f->sums.nr)
		ret = fail(ENODATA, "no sample is in the recording: `vestige record -p sysprof "
				    "PROGRAM` makes them");
	if (!ret)
		print_sums(f, o);
	folded_free(f);
	return ret;
}
