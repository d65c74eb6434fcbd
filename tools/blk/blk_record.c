/* SPDX-License-Identifier: MIT */
/*
 * See blk_record.h. With the options bin and nocontext-info the tracer's pipe gives blktrace's
 * records (blk_trace_synthesize_old_trace() in the kernel), but without sequence numbers. Names of
 * processes are added as blktrace does: a note before the first record of a process.
 */
#include "tools/blk/blk_record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/proc_pid.h"
#include "tools/base/settable.h"
#include "tools/base/signals.h"
#include "tools/base/time_ns.h"
#include "tools/blk/blk_format.h"
#include "tools/blk/blk_settings.h"
#include "tools/blk/blk_stack.h"

#define LOOK_MS	   20
#define PIPE_BYTES 65536u

struct known {
	uint32_t pid;
	char comm[BLK_COMM_BYTES];
};

/* A device's file of one CPU. */
struct target {
	FILE *file;
	uint32_t sequence;
	uint64_t events, bytes;
};

struct device {
	char name[64], trace[128]; /* its folder of settings */
	uint32_t device;
	struct target *of_cpu;
	uint32_t *noted; /* pids whose names are in its files, sorted */
	size_t nr_noted, room_noted;
};

struct pipe {
	int fd;
	unsigned char buf[PIPE_BYTES];
	size_t used;
	uint64_t lost;
};

struct record {
	const struct blk_record_flags *f;
	struct blk_settings *settings;
	struct device *devices;
	size_t nr_devices, room_devices;
	struct pipe *pipes;
	unsigned int nr_cpus;
	struct known *known; /* names, by pid */
	size_t nr_known, room_known;
	uint64_t other; /* records of other devices */
	struct blk_stacks *stacks;
	uint64_t without_stack; /* number of issues */
};

static int add_device(struct record *w, const char *name)
{
	struct device d = {0};
	/* /dev/mapper/NAME and /dev/disk/by-id/NAME are links to the device */
	char *real = strchr(name, '/') ? realpath(name, NULL) : NULL;
	const char *base = strrchr(real ? real : name, '/');
	unsigned int major, minor;
	char path[192], text[64];
	int err;

	snprintf(d.name, sizeof(d.name), "%s", base ? base + 1 : name);
	free(real);
	snprintf(path, sizeof(path), "/sys/class/block/%s/dev", d.name);
	if (access(path, F_OK))
		return fail(ENODEV, "%s is no block device of this machine", name);
	err = blk_settings_read(path, text, sizeof(text));
	if (err)
		return err;
	if (sscanf(text, "%u:%u", &major, &minor) != 2)
		return fail(EINVAL, "%s: not a device's numbers: %s", path, text);
	d.device = BLK_DEV(major, minor);
	snprintf(d.trace, sizeof(d.trace), "/sys/class/block/%s/trace", d.name);
	snprintf(path, sizeof(path), "%s/enable", d.trace);
	if (access(path, F_OK))
		return fail(EOPNOTSUPP, "the kernel cannot trace %s: it has no %s", name, path);
	for (size_t i = 0; i < w->nr_devices; i++)
		if (w->devices[i].device == d.device)
			return fail(EINVAL, "%s is named twice", name);
	d.of_cpu = calloc(w->nr_cpus, sizeof(*d.of_cpu));
	if (!d.of_cpu || ARRAY_ROOM(w->devices, w->nr_devices, w->room_devices, 8)) {
		free(d.of_cpu);
		return fail(ENOMEM, "out of memory for devices");
	}
	w->devices[w->nr_devices++] = d;
	return 0;
}

static int add_all(struct record *w)
{
	DIR *dir = opendir("/sys/block");
	struct dirent *e;
	int err = dir ? 0 : fail_errno(errno, "cannot read /sys/block");

	while (!err && dir && (e = readdir(dir))) {
		char path[NAME_MAX + 32], text[32];

		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/sys/block/%s/size", e->d_name);
		if (!blk_settings_read(path, text, sizeof(text)) && strcmp(text, "0") != 0)
			err = add_device(w, e->d_name);
	}
	if (dir)
		closedir(dir);
	return err;
}

/* No other tracer may run: the kernel has one tracer and one buffer for all. */
static int check_free(const struct record *w)
{
	char text[128], path[192];
	int err = blk_settings_read(BLK_TRACING "/current_tracer", text, sizeof(text));

	if (err)
		return err;
	if (strcmp(text, "nop") != 0)
		return fail(
			EBUSY,
			"the kernel's tracer is in use (%s): end it, or write nop to " BLK_TRACING
			"/current_tracer",
			text);
	err = blk_settings_read(BLK_TRACING "/events/enable", text, sizeof(text));
	if (err)
		return err;
	if (strcmp(text, "0") != 0)
		return fail(EBUSY,
			    "events are on in the kernel's top buffer: write 0 to " BLK_TRACING
			    "/events/enable");
	for (size_t i = 0; i < w->nr_devices; i++) {
		snprintf(path, sizeof(path), "%s/enable", w->devices[i].trace);
		err = blk_settings_read(path, text, sizeof(text));
		if (err)
			return err;
		if (strcmp(text, "0") != 0)
			return fail(EBUSY, "%s is traced already (blktrace, or 1 in %s)",
				    w->devices[i].name, path);
	}
	return 0;
}

/* Set a file; its present content is restored at the end. */
static int set(struct record *w, const char *file, const char *value)
{
	char path[192], before[256];
	int err;

	snprintf(path, sizeof(path), BLK_TRACING "/%s", file);
	err = blk_settings_read(path, before, sizeof(before));
	return err ? err : blk_settings_set(w->settings, path, value, settable(before));
}

/* The size of the buffers. The CPUs may have different ones, which are restored one by one. */
static int set_buffers(struct record *w)
{
	char text[32], size[64], path[192];
	int err = blk_settings_read(BLK_TRACING "/buffer_size_kb", size, sizeof(size));

	snprintf(text, sizeof(text), "%" PRIu64, w->f->buffer_kib);
	if (err || *size != 'X')
		return err ? err : set(w, "buffer_size_kb", text);
	for (unsigned int cpu = 0; !err && cpu < w->nr_cpus; cpu++) {
		snprintf(path, sizeof(path), "per_cpu/cpu%u/buffer_size_kb", cpu);
		err = set(w, path, text);
	}
	return err;
}

static int set_all(struct record *w)
{
	char text[32], path[192];
	int err = w->f->buffer_kib ? set_buffers(w) : 0;

	if (!err)
		err = set(w, "trace_clock", "mono");
	if (!err)
		err = set(w, "options/context-info", "0");
	if (!err)
		err = set(w, "options/bin", "1");
	if (!err)
		err = set(w, "options/overwrite", "0");
	if (!err)
		err = set(w, "tracing_on", "0");
	if (!err)
		err = set(w, "current_tracer", "blk");
	for (size_t i = 0; i < w->nr_devices && !err; i++) {
		snprintf(path, sizeof(path), "%s/enable", w->devices[i].trace);
		err = blk_settings_set(w->settings, path, "1", "0");
		snprintf(path, sizeof(path), "%s/pid", w->devices[i].trace);
		snprintf(text, sizeof(text), "%u", w->f->pid);
		if (!err && w->f->pid)
			err = blk_settings_write(path, text);
		snprintf(path, sizeof(path), "%s/act_mask", w->devices[i].trace);
		snprintf(text, sizeof(text), "0x%x", w->f->mask);
		if (!err && w->f->mask)
			err = blk_settings_write(path, text);
	}
	/* writing `enable` starts the trace of a device, with all categories */
	return err ? err : blk_settings_write(BLK_TRACING "/tracing_on", "1");
}

/* Clear the buffer, and with it the count of lost events. */
static int clear_buffer(void)
{
	int fd = open(BLK_TRACING "/trace", O_WRONLY | O_TRUNC | O_CLOEXEC);

	if (fd < 0)
		return fail_errno(errno, "cannot clear " BLK_TRACING "/trace");
	close(fd);
	return 0;
}

static int open_pipes(struct record *w)
{
	w->pipes = calloc(w->nr_cpus, sizeof(*w->pipes));
	if (!w->pipes)
		return fail(ENOMEM, "out of memory for the kernel's pipes");
	for (unsigned int i = 0; i < w->nr_cpus; i++)
		w->pipes[i].fd = -1;
	for (unsigned int i = 0; i < w->nr_cpus; i++) {
		char path[128];

		snprintf(path, sizeof(path), BLK_TRACING "/per_cpu/cpu%u/trace_pipe", i);
		w->pipes[i].fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (w->pipes[i].fd < 0 && errno != ENOENT)
			return fail_errno(errno, "cannot open %s", path);
	}
	return 0;
}

static int open_file(const struct record *w, const struct device *d, unsigned int cpu, FILE **out)
{
	const char *folder = w->f->folder, *name = w->f->output ? w->f->output : d->name;
	char *path;
	int err = 0;

	if (asprintf(&path, "%s%s%s.blktrace.%u", folder ? folder : "", folder ? "/" : "", name,
		     cpu) < 0)
		return fail(ENOMEM, "out of memory for %s", name);
	*out = fopen(path, "we");
	if (!*out)
		err = fail_errno(errno, "cannot write %s", path);
	free(path);
	return err;
}

static int put(struct target *t, const struct blk_event *e, const void *pdu)
{
	if (fwrite(e, sizeof(*e), 1, t->file) != 1 ||
	    (e->pdu_bytes && fwrite(pdu, e->pdu_bytes, 1, t->file) != 1))
		return fail_errno(errno, "cannot write records");
	t->bytes += sizeof(*e) + e->pdu_bytes;
	return 0;
}

/* All files are made at the start, each with the time of day. */
static int open_files(struct record *w)
{
	struct timespec now;
	uint64_t mono_ns = time_ns(CLOCK_MONOTONIC);
	bool to_stdout = w->f->output && !strcmp(w->f->output, "-");

	if (w->f->folder && !to_stdout && mkdir(w->f->folder, 0777) && errno != EEXIST)
		return fail_errno(errno, "cannot make the folder %s", w->f->folder);
	clock_gettime(CLOCK_REALTIME, &now);
	for (size_t i = 0; i < w->nr_devices; i++)
		for (unsigned int cpu = 0; cpu < w->nr_cpus; cpu++) {
			struct device *d = &w->devices[i];
			uint32_t day[2] = {(uint32_t)now.tv_sec, (uint32_t)now.tv_nsec};
			struct blk_event e = {.magic = BLK_MAGIC | BLK_VERSION,
					      .time_ns = mono_ns,
					      .action = BLK_NOTE_TIMESTAMP,
					      .device = d->device,
					      .cpu = cpu,
					      .pdu_bytes = sizeof(day)};
			int err = 0;

			if (to_stdout)
				d->of_cpu[cpu].file = stdout;
			else
				err = open_file(w, d, cpu, &d->of_cpu[cpu].file);
			if (!err)
				err = put(&d->of_cpu[cpu], &e, day);
			if (err)
				return err;
		}
	return 0;
}

static void learn(struct record *w, uint32_t pid, const char *comm)
{
	for (size_t i = 0; i < w->nr_known; i++)
		if (w->known[i].pid == pid)
			return;
	if (ARRAY_ROOM(w->known, w->nr_known, w->room_known, 64))
		return; /* the process stays without a name */
	w->known[w->nr_known] = (struct known){.pid = pid};
	memcpy(w->known[w->nr_known++].comm, comm, strnlen(comm, BLK_COMM_BYTES - 1));
}

/* Read the kernel's list of names (saved_cmdlines), which has processes that have ended. */
static void learn_all(struct record *w)
{
	FILE *f = fopen(BLK_TRACING "/saved_cmdlines", "re");
	char line[128], *comm;

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		comm = strchr(line, ' ');
		if (comm)
			learn(w, (uint32_t)strtoul(line, NULL, 10), comm + 1);
	}
	if (f)
		fclose(f);
}

static const char *name_of(struct record *w, uint32_t pid, uint32_t cpu)
{
	char comm[64];

	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < w->nr_known; i++)
			if (w->known[i].pid == pid)
				return w->known[i].comm;
		if (round)
			break;
		if (!pid)
			snprintf(comm, sizeof(comm), "swapper/%u", cpu);
		if (!pid || proc_comm((int)pid, comm, sizeof(comm)))
			learn(w, pid, comm);
		else
			learn_all(w);
	}
	return NULL;
}

/* A note with the name of a process, before its first record of a device. */
static int note_name(struct record *w, struct device *d, const struct blk_event *of)
{
	char comm[BLK_COMM_BYTES] = "";
	struct blk_event e = *of;
	const char *name;
	size_t i;

	for (i = 0; i < d->nr_noted; i++)
		if (d->noted[i] == of->pid)
			return 0;
	if (ARRAY_ROOM(d->noted, d->nr_noted, d->room_noted, 64))
		return fail(ENOMEM, "out of memory for names");
	d->noted[d->nr_noted++] = of->pid;
	name = name_of(w, of->pid, of->cpu);
	if (!name)
		return 0;
	memcpy(comm, name, strnlen(name, sizeof(comm) - 1));
	e.sequence = 0;
	e.sector = e.bytes = e.error = 0;
	e.action = BLK_NOTE_PROCESS;
	e.pdu_bytes = sizeof(comm);
	return put(&d->of_cpu[of->cpu], &e, comm);
}

/*
 * Write the stack of an issue as a message with the same time; blkparse prints it behind the issue.
 */
static int put_stack(struct record *w, struct target *t, const struct blk_event *issue)
{
	const char *text = blk_stacks_of(w->stacks, issue->cpu, issue);
	struct blk_event e = *issue;

	if (!text) {
		w->without_stack++;
		return 0;
	}
	e.sequence = 0;
	e.sector = e.bytes = e.error = 0;
	e.pid = 0; /* blkparse prints 0 for any pid */
	e.action = BLK_NOTE_MESSAGE;
	e.pdu_bytes = (uint16_t)strlen(text);
	return put(t, &e, text);
}

static int take(struct record *w, unsigned int cpu, struct blk_event *e, const void *pdu)
{
	struct device *d = NULL;
	struct target *t;
	int err;

	for (size_t i = 0; i < w->nr_devices && !d; i++)
		if (w->devices[i].device == e->device)
			d = &w->devices[i];
	if (!d) {
		w->other++;
		return 0;
	}
	e->cpu = cpu;
	err = note_name(w, d, e);
	if (err)
		return err;
	t = &d->of_cpu[cpu];
	e->sequence = ++t->sequence;
	t->events++;
	err = put(t, e, pdu);
	if (!err && w->stacks && BLK_HAS(e, BLK_CAT_ISSUE) && BLK_ACT(e->action) == BLK_ISSUE)
		err = put_stack(w, t, e);
	return err;
}

/*
 * A line "CPU:1 [LOST 23 EVENTS]" among the records. Return: its bytes; 0: it is not complete yet.
 */
static size_t take_lost(struct pipe *p, const unsigned char *at, size_t n)
{
	const unsigned char *end = memchr(at, '\n', n);
	char line[128];
	uint64_t lost;

	if (!end)
		return n > sizeof(line) ? n : 0;
	snprintf(line, sizeof(line), "%.*s", (int)(end - at), (const char *)at);
	if (sscanf(line, "CPU:%*u [LOST %" SCNu64 " EVENTS]", &lost) == 1)
		p->lost += lost;
	return (size_t)(end - at) + 1;
}

/* Take the complete records of the buffer. */
static int take_records(struct record *w, unsigned int cpu)
{
	struct pipe *p = &w->pipes[cpu];
	size_t at = 0;
	int err = 0;

	while (!err && p->used > at) {
		size_t n = p->used - at, bytes;
		struct blk_event e;

		if (p->buf[at] == 'C') {
			bytes = take_lost(p, p->buf + at, n);
			if (!bytes)
				break;
			at += bytes;
			continue;
		}
		if (n < sizeof(e))
			break;
		memcpy(&e, p->buf + at, sizeof(e));
		if (e.magic != (BLK_MAGIC | BLK_VERSION))
			return fail(EPROTO,
				    "the kernel's pipe of CPU %u gives no records of "
				    "blktrace: another tool reads or sets the trace",
				    cpu);
		bytes = sizeof(e) + e.pdu_bytes;
		if (n < bytes)
			break;
		err = take(w, cpu, &e, p->buf + at + sizeof(e));
		at += bytes;
	}
	memmove(p->buf, p->buf + at, p->used - at);
	p->used -= at;
	return err;
}

static int drain(struct record *w)
{
	for (unsigned int cpu = 0; cpu < w->nr_cpus; cpu++) {
		struct pipe *p = &w->pipes[cpu];
		ssize_t n;

		while (p->fd >= 0 &&
		       (n = read(p->fd, p->buf + p->used, sizeof(p->buf) - p->used)) > 0) {
			int err = 0;

			p->used += (size_t)n;
			if (w->stacks)
				err = blk_stacks_read(w->stacks, cpu);
			if (!err)
				err = take_records(w, cpu);
			if (err)
				return err;
		}
	}
	if (w->f->output && !strcmp(w->f->output, "-") && fflush(stdout))
		return fail_errno(errno, "cannot write records");
	return 0;
}

static int wait_and_drain(struct record *w, int signals)
{
	uint64_t end_ns = time_ns(CLOCK_MONOTONIC) + (uint64_t)(w->f->seconds * 1e9);
	struct pollfd p = {.fd = signals, .events = POLLIN};
	int err = 0;

	while (!err && !(w->f->seconds > 0 && time_ns(CLOCK_MONOTONIC) >= end_ns) &&
	       !poll(&p, 1, LOOK_MS))
		err = drain(w);
	return err;
}

/* Events that had no room in the kernel's buffer. */
static uint64_t dropped(unsigned int cpu)
{
	char path[128], line[128];
	uint64_t n, sum = 0;
	FILE *f;

	snprintf(path, sizeof(path), BLK_TRACING "/per_cpu/cpu%u/stats", cpu);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "dropped events: %" SCNu64, &n) == 1 ||
		    sscanf(line, "overrun: %" SCNu64, &n) == 1)
			sum += n;
	if (f)
		fclose(f);
	return sum;
}

/* The sums as blktrace prints them. */
static void put_sums(const struct record *w, uint64_t lost)
{
	for (size_t i = 0; i < w->nr_devices; i++) {
		const struct device *d = &w->devices[i];
		uint64_t events = 0, bytes = 0;

		fprintf(stderr, "=== %s ===\n", d->name);
		for (unsigned int cpu = 0; cpu < w->nr_cpus; cpu++) {
			const struct target *t = &d->of_cpu[cpu];

			fprintf(stderr, "  CPU%3u: %20" PRIu64 " events, %8" PRIu64 " KiB data\n",
				cpu, t->events, (t->bytes + 1023) >> 10);
			events += t->events;
			bytes += t->bytes;
		}
		fprintf(stderr,
			"  Total:  %20" PRIu64 " events (dropped %" PRIu64 "), %8" PRIu64
			" KiB data\n",
			events, lost, (bytes + 1023) >> 10);
	}
	if (w->without_stack)
		fprintf(stderr,
			"%" PRIu64 " issues have no stack: their buffer was full, -b or -n makes "
			"it larger\n",
			w->without_stack);
}

static int close_files(struct record *w)
{
	int err = 0;

	blk_stacks_close(w->stacks);
	for (size_t i = 0; i < w->nr_devices; i++) {
		for (unsigned int cpu = 0; cpu < w->nr_cpus; cpu++) {
			FILE *f = w->devices[i].of_cpu[cpu].file;

			if (f && f != stdout && fclose(f) && !err)
				err = fail_errno(errno, "cannot write records");
		}
		free(w->devices[i].of_cpu);
		free(w->devices[i].noted);
	}
	free(w->devices);
	free(w->known);
	for (unsigned int cpu = 0; w->pipes && cpu < w->nr_cpus; cpu++)
		if (w->pipes[cpu].fd >= 0)
			close(w->pipes[cpu].fd);
	free(w->pipes);
	return err;
}

static int open_stacks(struct record *w)
{
	uint32_t *devices = calloc(w->nr_devices + 1, sizeof(*devices));
	int err = devices ? 0 : fail(ENOMEM, "out of memory for devices");

	for (size_t i = 0; i < w->nr_devices && !err; i++)
		devices[i] = w->devices[i].device;
	if (!err)
		err = blk_stacks_open(w->settings, devices, w->nr_devices, w->nr_cpus,
				      w->f->buffer_kib, &w->stacks);
	free(devices);
	return err;
}

/* Switch the tracer off and read the rest. */
static int stop(struct record *w)
{
	int err = 0;

	for (size_t i = 0; i < w->nr_devices && !err; i++) {
		char path[192];

		snprintf(path, sizeof(path), "%s/enable", w->devices[i].trace);
		err = blk_settings_write(path, "0");
	}
	return err ? err : drain(w);
}

int blk_record(const struct blk_record_flags *f)
{
	struct record w = {.f = f, .nr_cpus = (unsigned int)sysconf(_SC_NPROCESSORS_CONF)};
	struct signalfd_siginfo ended;
	uint64_t lost = 0;
	sigset_t set_of, old;
	int err = 0, end, signals;

	signals_ending(&set_of);
	sigaddset(&set_of, SIGPIPE); /* the reader of stdout may end */
	sigprocmask(SIG_BLOCK, &set_of, &old);
	signals = signalfd(-1, &set_of, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0)
		err = fail_errno(errno, "no signalfd");
	for (unsigned int i = 0; i < f->nr_devices && !err; i++)
		err = add_device(&w, f->devices[i]);
	if (!err && f->all)
		err = add_all(&w);
	if (!err)
		err = blk_settings_begin(&w.settings);
	if (!err)
		err = check_free(&w);
	if (!err)
		err = open_files(&w);
	if (!err)
		err = clear_buffer();
	if (!err && f->stack)
		err = open_stacks(&w);
	if (!err)
		err = set_all(&w);
	/* after the tracer is set: it cannot change while a pipe is open */
	if (!err)
		err = open_pipes(&w);
	if (!err) {
		err = wait_and_drain(&w, signals);
		end = stop(&w);
		if (!err)
			err = end;
		for (unsigned int cpu = 0; cpu < w.nr_cpus; cpu++)
			lost += dropped(cpu);
		if (!err && !f->quiet)
			put_sums(&w, lost);
	}
	/* close the pipes first: the tracer cannot change while one is open */
	end = close_files(&w);
	if (!err)
		err = end;
	end = blk_settings_end(w.settings);
	if (!err)
		err = end;
	/* drop the signal that ended the recording */
	while (signals >= 0 && read(signals, &ended, sizeof(ended)) == sizeof(ended))
		;
	if (signals >= 0)
		close(signals);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return err;
}

int blk_record_clean(bool dry, void (*report)(const char *path))
{
	return blk_settings_clean(dry, report);
}
