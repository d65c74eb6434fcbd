/* SPDX-License-Identifier: MIT */
/* See blk_stack.h. */
#include "tools/blk/blk_stack.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"

#define INSTANCE   BLK_TRACING "/instances/vestige-blk"
#define EVENT	   INSTANCE "/events/block/block_rq_issue"
#define PIPE_BYTES 65536u
#define TEXT_BYTES 2048u
#define KEPT_MAX   4096u /* stacks without a record: with -p PID, of other processes */
/* Times in the kernel's text are rounded to us. */
#define ROUNDED_NS 1000u

struct stack {
	uint64_t time_ns, sector;
	uint32_t device;
	char *text; /* NULL: taken */
};

struct pipe {
	int fd;
	char buf[PIPE_BYTES + 1];
	size_t used;
	struct stack *stacks; /* by time */
	size_t nr, room;
	char *taken; /* what blk_stacks_of() returned */
};

struct blk_stacks {
	struct pipe *pipes;
	unsigned int nr_cpus;
};

/* "7,0" of the event's text is a device; the kernel's filter has its number. */
static int set_filter(const uint32_t *devices, size_t nr)
{
	char *filter = NULL;
	size_t bytes;
	FILE *f = open_memstream(&filter, &bytes);
	int err;

	for (size_t i = 0; f && i < nr; i++)
		fprintf(f, "%sdev == %" PRIu32, i ? " || " : "", devices[i]);
	if (!f || fclose(f)) {
		free(filter);
		return fail(ENOMEM, "out of memory for a filter");
	}
	err = blk_settings_write(EVENT "/filter", filter);
	free(filter);
	return err;
}

/* A new instance has the present options of the top buffer, so all are set. */
static int set_instance(const uint32_t *devices, size_t nr, uint64_t kib)
{
	static const struct {
		const char *path, *value;
	} files[] = {
		{INSTANCE "/options/context-info", "1"}, {INSTANCE "/options/bin", "0"},
		{INSTANCE "/options/hex", "0"},		 {INSTANCE "/options/raw", "0"},
		{INSTANCE "/options/fields", "0"},	 {INSTANCE "/options/overwrite", "0"},
		{INSTANCE "/options/stacktrace", "1"},	 {INSTANCE "/trace_clock", "mono"},
		{INSTANCE "/tracing_on", "1"},
	};
	char text[32];
	int err = 0;

	for (size_t i = 0; i < sizeof(files) / sizeof(*files) && !err; i++)
		/* older kernels have fewer options */
		if (!access(files[i].path, F_OK))
			err = blk_settings_write(files[i].path, files[i].value);
	snprintf(text, sizeof(text), "%" PRIu64, kib);
	if (!err)
		err = blk_settings_write(INSTANCE "/buffer_size_kb", text);
	if (!err)
		err = set_filter(devices, nr);
	return err;
}

int blk_stacks_open(struct blk_settings *settings, const uint32_t *devices, size_t nr_devices,
		    unsigned int nr_cpus, uint64_t kib, struct blk_stacks **out)
{
	struct blk_stacks *s = calloc(1, sizeof(*s));
	int err;

	*out = s;
	if (s)
		s->pipes = calloc(nr_cpus, sizeof(*s->pipes));
	if (!s || !s->pipes)
		return fail(ENOMEM, "out of memory for stacks");
	s->nr_cpus = nr_cpus;
	for (unsigned int i = 0; i < nr_cpus; i++)
		s->pipes[i].fd = -1;
	err = blk_settings_instance(settings, INSTANCE);
	if (!err && access(EVENT "/enable", F_OK))
		err = fail(EOPNOTSUPP, "--stack: the kernel has no event block:block_rq_issue");
	if (!err && access(INSTANCE "/options/stacktrace", F_OK))
		err = fail(EOPNOTSUPP, "--stack: the kernel has no option stacktrace");
	if (!err)
		err = set_instance(devices, nr_devices, kib);
	for (unsigned int i = 0; i < nr_cpus && !err; i++) {
		char path[128];

		snprintf(path, sizeof(path), INSTANCE "/per_cpu/cpu%u/trace_pipe", i);
		s->pipes[i].fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (s->pipes[i].fd < 0 && errno != ENOENT)
			err = fail_errno(errno, "cannot open %s", path);
	}
	return err ? err : blk_settings_write(EVENT "/enable", "1");
}

/* Drop the oldest stacks, of issues without a record. */
static void drop(struct pipe *p, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		free(p->stacks[i].text);
	if (nr < p->nr)
		memmove(p->stacks, p->stacks + nr, (p->nr - nr) * sizeof(*p->stacks));
	p->nr -= nr;
}

/* " 12.345678: block_rq_issue: 7,0 WS 4096 () 64 + 8 none,0,0 [dd]". Return: is it such a line? */
static bool scan_issue(const char *line, struct stack *k)
{
	const char *event = strstr(line, ": block_rq_issue: "), *time = event, *sector;
	unsigned int major, minor, sec, us;

	if (!event)
		return false;
	while (time > line && time[-1] != ' ')
		time--;
	sector = strstr(event, ") ");
	if (sscanf(time, "%u.%6u:", &sec, &us) != 2 || !sector ||
	    sscanf(event, ": block_rq_issue: %u,%u ", &major, &minor) != 2 ||
	    sscanf(sector, ") %" SCNu64 " +", &k->sector) != 1)
		return false;
	k->time_ns = sec * UINT64_C(1000000000) + us * UINT64_C(1000);
	k->device = BLK_DEV(major, minor);
	return true;
}

/* Append a function; if the text is full, outer functions are left out. */
static void add_function(struct stack *k, const char *name)
{
	size_t used = strlen(k->text), n = strcspn(name, " \n");

	/* functions of the event itself */
	if (!strncmp(name, "trace_event_", 12) || !strncmp(name, "__traceiter_", 12))
		return;
	if (used + n + sizeof(" <- ") <= TEXT_BYTES)
		snprintf(k->text + used, TEXT_BYTES - used, "%s%.*s",
			 k->text[used - 1] == ' ' ? "" : " <- ", (int)n, name);
}

static int take_line(struct pipe *p, const char *line)
{
	struct stack k = {0};

	if (!strncmp(line, " => ", 4)) {
		if (p->nr && p->stacks[p->nr - 1].text)
			add_function(&p->stacks[p->nr - 1], line + 4);
		return 0;
	}
	if (!scan_issue(line, &k))
		return 0;
	if (p->nr == KEPT_MAX)
		drop(p, KEPT_MAX / 2);
	k.text = malloc(TEXT_BYTES);
	if (!k.text || ARRAY_ROOM(p->stacks, p->nr, p->room, 64)) {
		free(k.text);
		return fail(ENOMEM, "out of memory for stacks");
	}
	strcpy(k.text, "stack: ");
	p->stacks[p->nr++] = k;
	return 0;
}

int blk_stacks_read(struct blk_stacks *s, unsigned int cpu)
{
	struct pipe *p = &s->pipes[cpu];
	ssize_t n;
	int err = 0;

	while (!err && p->fd >= 0 &&
	       (n = read(p->fd, p->buf + p->used, PIPE_BYTES - p->used)) > 0) {
		char *line = p->buf, *end;

		p->used += (size_t)n;
		p->buf[p->used] = '\0';
		while (!err && (end = strchr(line, '\n'))) {
			*end = '\0';
			err = take_line(p, line);
			line = end + 1;
		}
		p->used -= (size_t)(line - p->buf);
		memmove(p->buf, line, p->used);
		if (p->used == PIPE_BYTES)
			p->used = 0; /* the kernel has no line of this length */
	}
	return err;
}

const char *blk_stacks_of(struct blk_stacks *s, unsigned int cpu, const struct blk_event *issue)
{
	struct pipe *p = &s->pipes[cpu];

	/* the latest stack up to this time: a sector can be issued again */
	for (size_t i = p->nr; i--;) {
		struct stack *k = &p->stacks[i];

		if (k->device != issue->device || k->sector != issue->sector ||
		    k->time_ns > issue->time_ns + ROUNDED_NS)
			continue;
		free(p->taken);
		p->taken = k->text;
		k->text = NULL;
		drop(p, i + 1);
		return p->taken;
	}
	return NULL;
}

void blk_stacks_close(struct blk_stacks *s)
{
	for (unsigned int i = 0; s && s->pipes && i < s->nr_cpus; i++) {
		struct pipe *p = &s->pipes[i];

		if (p->fd >= 0)
			close(p->fd);
		drop(p, p->nr);
		free(p->stacks);
		free(p->taken);
	}
	if (s)
		free(s->pipes);
	free(s);
}
