/* SPDX-License-Identifier: MIT */
/* See blk_parse.h. Tests: tests/cli/test_blk.py. */
#include "tools/blk/blk_parse.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/blk/blk_read.h"
#include "tools/blk/blk_sums.h"

struct parse {
	const struct blk_parse *p;
	struct blk_reader *r;
	struct blk_sums *sums;
	struct out *o;
	struct out merged;
	bool writes;
};

/* Write a record in the byte order of this machine; its payload is not changed. */
static void write_merged(struct parse *w, const struct blk_record *rec)
{
	const unsigned char *pdu = rec->pdu;
	struct blk_event e = rec->e;

	if (e.action & BLK_ACT_CGROUP && e.pdu_bytes >= BLK_CGROUP_BYTES)
		pdu -= BLK_CGROUP_BYTES;
	out_write(&w->merged, (const char *)&e, sizeof(e));
	if (e.pdu_bytes)
		out_write(&w->merged, (const char *)pdu, e.pdu_bytes);
}

static void take_note(void *arg, const struct blk_record *rec)
{
	struct parse *w = arg;

	if (w->writes)
		write_merged(w, rec);
}

static int show_text(struct parse *w, unsigned int input, unsigned int cpu,
		     const struct blk_record *rec)
{
	struct blk_line l = blk_line_of(rec);
	unsigned int act = BLK_ACT(rec->e.action);
	int err = 0;

	l.cpu = cpu;
	if (!BLK_HAS(&rec->e, BLK_CAT_NOTIFY)) {
		if (!l.letters && act != BLK_DRV_DATA)
			note("an action of number %u is left out", act);
		if (!l.letters)
			return 0;
		err = blk_sums_add(w->sums, w->r, input, cpu, rec, &l.elapsed_ns);
	}
	if (w->p->json)
		return err;
	l.name = blk_reader_name(w->r, rec->e.pid);
	blk_reader_start(w->r, &l.start);
	blk_line_put(w->o, &w->p->formats, rec, &l);
	return err;
}

/* Return: 1: go on; 0: the end of the shown time; -errno. */
static int take_record(struct parse *w, unsigned int input, const struct blk_record *rec)
{
	const struct blk_parse *p = w->p;
	bool is_message = BLK_HAS(&rec->e, BLK_CAT_NOTIFY);
	int err;

	err = blk_sums_seen(w->sums, input, rec->e.cpu);
	if (err)
		return err;
	if (p->to_ns && rec->e.time_ns > p->to_ns)
		return 0;
	blk_sums_reached(w->sums, input, rec->e.time_ns);
	if (rec->e.time_ns < p->from_ns || (p->mask && !(rec->e.action & BLK_CAT(p->mask))))
		return 1;
	if (!p->no_text)
		err = show_text(w, input, rec->e.cpu, rec);
	blk_sums_shown(w->sums, input, rec->e.time_ns);
	if (w->writes && !(is_message && p->no_messages))
		write_merged(w, rec);
	return err ? err : 1;
}

static void put_json(struct parse *w)
{
	struct json j = {.o = w->o};
	const char *file;

	json_open(&j, NULL, '{');
	if (w->p->processes)
		blk_sums_json_processes(&j, w->sums);
	if (!w->p->quiet)
		blk_sums_json_devices(&j, w->sums, w->r);
	json_open(&j, "files", '[');
	for (unsigned int i = 0; (file = blk_reader_file(w->r, i)); i++)
		json_text(&j, NULL, file);
	json_close(&j, ']');
	json_close(&j, '}');
	out_text(w->o, "\n");
}

static void put_ends(struct parse *w)
{
	const char *file;

	if (w->p->no_text)
		return;
	if (w->p->json) {
		put_json(w);
		return;
	}
	if (w->p->processes)
		blk_sums_put_processes(w->o, w->sums);
	if (!w->p->quiet)
		blk_sums_put_devices(w->o, w->sums, w->r);
	for (unsigned int i = 0; (file = blk_reader_file(w->r, i)); i++)
		out_printf(w->o, "Input file %s added\n", file);
}

static int open_merged(struct parse *w)
{
	int fd = open(w->p->merged, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	int err = fd < 0 ? fail_errno(errno, "cannot write %s", w->p->merged) : 0;

	if (err)
		return err;
	err = out_init(&w->merged, fd);
	if (err) {
		close(fd);
		return fail(ENOMEM, "out of memory to write %s", w->p->merged);
	}
	w->writes = true;
	return 0;
}

int blk_parse(const struct blk_parse *p, struct out *o)
{
	struct parse w = {.p = p, .o = o};
	struct blk_record rec;
	unsigned int input;
	int err = 0, got = 1, end;

	w.sums = blk_sums_new(p->times, p->processes, p->by_name);
	if (!w.sums)
		return -ENOMEM;
	if (p->merged)
		err = open_merged(&w);
	if (!err)
		err = blk_reader_open(p->folder, p->names, p->nr_names, p->messages, take_note, &w,
				      &w.r);
	while (!err && got > 0 && !o->err && (got = blk_reader_next(w.r, &input, &rec)) > 0)
		got = take_record(&w, input, &rec);
	if (!err && got < 0)
		err = got;
	if (!err)
		put_ends(&w);
	if (w.writes) {
		int fd = w.merged.fd;

		end = out_end(&w.merged);
		if (close(fd) && !end)
			end = -errno;
		if (!err && end)
			err = fail_errno(-end, "cannot write %s", p->merged);
	}
	blk_reader_close(w.r);
	blk_sums_free(w.sums);
	return err;
}
