/* SPDX-License-Identifier: MIT */
/*
 * Perfetto's trace (perfetto.dev/docs/reference/trace-packet-proto: field numbers below): packets
 * of track events. A track of a thread is that thread, any other one is a thread of its own. Names
 * may be interned by each sequence of packets, and stamps may count on from packet to packet
 * (incremental clocks). The kernel's records are left out, and counted. Packets may be
 * compressed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/hash_index.h"
#include "tools/base/note.h"
#include "tools/import/import.h"
#include "tools/import/import_bytes.h"
#include "tools/import/perfetto_unpack.h"
#include "tools/reader/perfetto_fields.h"

#define MAX_PACKET    (64u << 20)
#define STEP_BYTES    (1u << 20)
#define TEXT_BYTES    4096u
#define MAX_OLD_NAMES 65536u
#define OWN_TRACK     INT64_MIN /* of the number of a thread that is a track */

enum { VARINT, FIXED64, BYTES, FIXED32 = 5 };
enum { FIRST_OF_SEQUENCE = 64, CLOCK_BOOTTIME = 6 }; /* clocks' numbers */

struct field {
	unsigned int number, type;
	uint64_t v; /* VARINT, FIXED64, FIXED32 */
	const unsigned char *p;
	size_t bytes;
};

/* A message, whose fields are taken one by one. */
struct message {
	const unsigned char *p, *end;
	bool bad;
};

struct entry {
	uint64_t a, b, value;
};

struct entries {
	struct entry *at;
	size_t nr, room;
	struct hash_index index; /* by a and b */
};

struct sequence {
	uint64_t id, generation, track, clock;
	uint64_t incremental_clock, unit, now; /* the clock that counts on; 0: none */
	size_t nr_names;		       /* of this generation */
};

struct perfetto {
	struct import *im;
	struct import_bytes bytes;
	struct sequence *sequences;
	size_t nr, room, last;
	struct entries tracks; /* uuid: thread */
	struct entries names;  /* names_key(), iid: function */
	size_t nr_old_names;   /* of generations that have ended */
	uint64_t nr_left_out;
	char text[TEXT_BYTES];
};

static int no_memory(void)
{
	return fail(ENOMEM, "out of memory");
}

static bool take_varint(struct message *m, uint64_t *v)
{
	*v = 0;
	for (unsigned int shift = 0; m->p < m->end && shift < 70; shift += 7) {
		unsigned char c = *m->p++;

		*v |= shift < 64 ? (uint64_t)(c & 127) << shift : 0;
		if (c < 128)
			return true;
	}
	m->bad = true;
	return false;
}

/* Return: false at the end, or, with m->bad, where it is damaged. */
static bool take_field(struct message *m, struct field *f)
{
	uint64_t key;

	if (m->p >= m->end || !take_varint(m, &key))
		return false;
	*f = (struct field){.number = (unsigned int)(key >> 3), .type = key & 7};
	m->bad = key >> 3 == 0 || key >> 3 >= 1u << 29;
	if (m->bad)
		return false;
	if (f->type == VARINT)
		return take_varint(m, &f->v);
	if (f->type == FIXED64 || f->type == FIXED32)
		f->bytes = f->type == FIXED64 ? 8 : 4;
	else if (f->type != BYTES || !take_varint(m, &f->v))
		m->bad = true;
	else
		f->bytes = f->v > SIZE_MAX / 2 ? SIZE_MAX / 2 : (size_t)f->v;
	if (m->bad || f->bytes > (size_t)(m->end - m->p)) {
		m->bad = true;
		return false;
	}
	f->p = m->p;
	m->p += f->bytes;
	if (f->type != BYTES)
		f->v = import_le(f->p, (unsigned int)f->bytes);
	return true;
}

static struct message within(const struct field *f)
{
	/* NULL of a number */
	return (struct message){f->p, f->bytes ? f->p + f->bytes : f->p, false};
}

static int damaged(const char *what)
{
	return fail(EINVAL, "%s is damaged", what);
}

static uint64_t hash_of(uint64_t a, uint64_t b)
{
	return hash_u64(a) ^ b;
}

/* The entry with the key (@a, @b); NULL: there is none. */
static struct entry *find(const struct entries *t, uint64_t a, uint64_t b)
{
	int64_t found =
		HASH_INDEX_FIND(&t->index, hash_of(a, b), i, t->at[i].a == a && t->at[i].b == b);

	return found < 0 ? NULL : &t->at[found];
}

static int set(struct entries *t, uint64_t a, uint64_t b, uint64_t value)
{
	struct entry *e = find(t, a, b);

	if (!e) {
		if (ARRAY_ROOM(t->at, t->nr, t->room, 32) ||
		    hash_index_add(&t->index, hash_of(a, b), (uint32_t)t->nr))
			return no_memory();
		e = &t->at[t->nr++];
	}
	*e = (struct entry){a, b, value};
	return 0;
}

static void clear(struct entries *t)
{
	free(t->at);
	hash_index_clear(&t->index);
	*t = (struct entries){0};
}

/* The key of a sequence's interned names, until it clears them. */
static uint64_t names_key(const struct sequence *s)
{
	return s->id << 24 ^ s->generation;
}

/* A sequence clears its names. Cleared names are freed when they are more than half of all. */
static int forget_names(struct perfetto *p, struct sequence *s)
{
	struct entries live = {0}, left = {0};
	int err = 0;

	s->generation++;
	p->nr_old_names += s->nr_names;
	s->nr_names = 0;
	if (p->nr_old_names < MAX_OLD_NAMES || p->nr_old_names < p->names.nr / 2)
		return 0;
	for (size_t i = 0; i < p->nr && !err; i++)
		err = set(&live, names_key(&p->sequences[i]), 0, 0);
	for (size_t i = 0; i < p->names.nr && !err; i++) {
		const struct entry *e = &p->names.at[i];

		if (find(&live, e->a, 0))
			err = set(&left, e->a, e->b, e->value);
	}
	clear(&live);
	clear(&p->names);
	p->names = left;
	p->nr_old_names = 0;
	return err;
}

static const char *text_of(struct perfetto *p, const struct field *f)
{
	size_t bytes = f->bytes < TEXT_BYTES - 1 ? f->bytes : TEXT_BYTES - 1;

	if (bytes)
		memcpy(p->text, f->p, bytes);
	p->text[bytes] = '\0';
	return p->text;
}

static struct sequence *find_sequence(struct perfetto *p, uint64_t id)
{
	for (size_t i = 0; i < p->nr; i++) {
		size_t k = (p->last + i) % p->nr;

		if (p->sequences[k].id == id) {
			p->last = k;
			return &p->sequences[k];
		}
	}
	if (p->nr == 1u << 16) {
		fail(E2BIG, "more than %zu sequences", p->nr);
		return NULL;
	}
	if (ARRAY_ROOM(p->sequences, p->nr, p->room, 16)) {
		no_memory();
		return NULL;
	}
	p->sequences[p->nr] = (struct sequence){.id = id};
	p->last = p->nr;
	return &p->sequences[p->nr++];
}

/* A thread or process: pid 1, tid 2, thread's name 5. */
static int take_thread(struct perfetto *p, const struct field *from, int32_t *thread)
{
	struct message m = within(from);
	struct field f, name = {0};
	int32_t pid = 0, tid = 0;
	int err;

	while (take_field(&m, &f)) {
		if (f.number == 1)
			pid = (int32_t)f.v;
		else if (f.number == 2)
			tid = (int32_t)f.v;
		else if (f.number == 5 && f.type == BYTES)
			name = f;
	}
	if (m.bad)
		return damaged("a thread");
	err = import_thread(p->im, pid, tid, thread);
	return err ? err : import_task(p->im, *thread, pid > 0 ? pid : 0, text_of(p, &name));
}

/* A track: uuid 1, name 2 or 10, thread 4. */
static int take_track(struct perfetto *p, const struct field *from)
{
	struct message m = within(from);
	struct field f, name = {0}, owner = {0};
	uint64_t uuid = 0;
	int32_t thread;
	int err;

	while (take_field(&m, &f)) {
		if (f.number == 1)
			uuid = f.v;
		else if (f.type == BYTES && (f.number == 2 || f.number == 10))
			name = f;
		else if (f.type == BYTES && f.number == 4)
			owner = f;
	}
	if (m.bad)
		return damaged("a track");
	if (owner.p) {
		err = take_thread(p, &owner, &thread);
	} else {
		err = import_thread(p->im, 0, (int64_t)uuid | OWN_TRACK, &thread);
		if (!err && name.p)
			err = import_task(p->im, thread, 0, text_of(p, &name));
	}
	return err ? err : set(&p->tracks, uuid, 0, (uint64_t)thread);
}

/* Names of events: field 2, each of iid 1 and text 2. */
static int take_interned(struct perfetto *p, struct sequence *s, const struct field *from)
{
	struct message m = within(from), entry;
	struct field f, g;
	int err = 0;

	while (!err && take_field(&m, &f)) {
		struct field name = {0};
		uint64_t iid = 0, ip;

		if (f.number != 2 || f.type != BYTES)
			continue;
		entry = within(&f);
		while (take_field(&entry, &g)) {
			if (g.number == 1)
				iid = g.v;
			else if (g.number == 2 && g.type == BYTES)
				name = g;
		}
		if (entry.bad)
			return damaged("an interned name");
		err = import_function(p->im, text_of(p, &name), NULL, &ip);
		if (!err)
			err = set(&p->names, names_key(s), iid, ip);
		s->nr_names++;
	}
	return err ? err : m.bad ? damaged("interned data") : 0;
}

/* Clocks at one moment: field 1, of number 1, stamp 2, counts on 3, unit in nanoseconds 4. */
static int take_clocks(struct sequence *s, const struct field *from)
{
	struct message m = within(from), clock;
	uint64_t boot = 0, own = 0, unit = 1, id = 0;
	struct field f, g;

	while (take_field(&m, &f)) {
		uint64_t v[5] = {0};

		if (f.number != 1 || f.type != BYTES)
			continue;
		clock = within(&f);
		while (take_field(&clock, &g))
			if (g.number < 5 && g.type == VARINT)
				v[g.number] = g.v;
		if (clock.bad)
			return damaged("a clock");
		if (v[1] == CLOCK_BOOTTIME)
			boot = v[2];
		if (v[1] >= FIRST_OF_SEQUENCE && v[3]) {
			id = v[1];
			own = v[2];
			unit = v[4] ? v[4] : 1;
		}
	}
	if (m.bad)
		return damaged("a snapshot of clocks");
	if (id) {
		s->incremental_clock = id;
		s->unit = unit;
		s->now = boot ? boot : own * unit;
	}
	return 0;
}

/* Defaults of a sequence's packets: clock 58, track events' track 11. */
static int take_defaults(struct sequence *s, const struct field *from)
{
	struct message m = within(from), event;
	struct field f, g;

	while (take_field(&m, &f)) {
		if (f.number == PACKET_CLOCK)
			s->clock = f.v;
		if (f.number != PACKET_TRACK_EVENT || f.type != BYTES)
			continue;
		event = within(&f);
		while (take_field(&event, &g))
			if (g.number == EVENT_TRACK)
				s->track = g.v;
		if (event.bad)
			return damaged("a default");
	}
	return m.bad ? damaged("a default") : 0;
}

/* The text of an annotation: field 6. */
static int take_text(struct perfetto *p, const struct field *from)
{
	struct message m = within(from);
	struct field f;

	while (from->p && take_field(&m, &f))
		if (f.number == 6 && f.type == BYTES)
			text_of(p, &f);
	return m.bad ? damaged("an annotation") : 0;
}

static int take_event(struct perfetto *p, const struct sequence *s, const struct field *from,
		      uint64_t ts)
{
	struct message m = within(from);
	struct field f, name = {0}, annotation = {0}, category = {0};
	uint64_t type = 0, iid = 0, track = s->track, ip;
	struct entry *e;
	int32_t thread;
	int err = 0;

	while (take_field(&m, &f)) {
		if (f.number == EVENT_TYPE)
			type = f.v;
		else if (f.number == EVENT_NAME_IID)
			iid = f.v;
		else if (f.number == EVENT_TRACK)
			track = f.v;
		else if (f.number == EVENT_NAME && f.type == BYTES)
			name = f;
		else if (f.number == EVENT_CATEGORY && f.type == BYTES)
			category = f;
		else if (f.number == EVENT_ANNOTATION && f.type == BYTES && !annotation.p)
			annotation = f;
	}
	if (m.bad)
		return damaged("an event");
	if (type < TYPE_BEGIN || type > TYPE_INSTANT || ts > INT64_MAX ||
	    (category.p && !strcmp(text_of(p, &category), PERFETTO_FLOW_CATEGORY)))
		return 0;
	e = find(&p->tracks, track, 0);
	if (!e) {
		err = import_thread(p->im, 0, (int64_t)track | OWN_TRACK, &thread);
		if (!err)
			err = set(&p->tracks, track, 0, (uint64_t)thread);
	} else {
		thread = (int32_t)e->value;
	}
	if (err || type == TYPE_END)
		return err ? err : import_leave(p->im, 0, thread, ts);
	e = iid ? find(&p->names, names_key(s), iid) : NULL;
	if (e)
		ip = e->value;
	else
		err = import_function(p->im, name.p ? text_of(p, &name) : "[unnamed]", NULL, &ip);
	if (err || type == TYPE_BEGIN)
		return err ? err : import_enter(p->im, 0, thread, ts, ip);
	*p->text = '\0';
	err = take_text(p, &annotation);
	return err ? err : import_text(p->im, 0, thread, ts, ip, p->text);
}

static int take_packet(struct perfetto *p, const unsigned char *bytes, size_t nr, bool is_inner);

/* Packets that are in one; there is one level of them. */
static int take_packed(struct perfetto *p, const struct field *packed)
{
	struct message m;
	struct field f;
	unsigned char *bytes;
	size_t nr;
	int err = perfetto_unpack(packed->number == PACKET_ZSTD, packed->p, packed->v, &bytes, &nr);

	if (err)
		return err;
	m = (struct message){bytes, bytes + nr, false};
	while (!err && take_field(&m, &f))
		if (f.number == TRACE_PACKET && f.type == BYTES)
			err = take_packet(p, f.p, f.v, true);
	if (!err && m.bad)
		err = damaged("a compressed packet");
	free(bytes);
	return err;
}

/* Fields of a packet are in any order, so the fields that an event needs are read first. */
static int take_packet(struct perfetto *p, const unsigned char *bytes, size_t nr, bool is_inner)
{
	struct message m = {bytes, bytes + nr, false};
	struct field f, packed = {0}, parts[PACKET_DESCRIPTOR + 1] = {0};
	struct sequence *s;
	uint64_t ts, clock;
	int err = 0;

	while (take_field(&m, &f)) {
		if (f.number == PACKET_ZSTD)
			packed = f;
		else if (f.number <= PACKET_DESCRIPTOR)
			parts[f.number] = f;
	}
	if (m.bad)
		return damaged("a packet");
	if (parts[PACKET_COMPRESSED].p)
		packed = parts[PACKET_COMPRESSED];
	if (packed.p && packed.type == BYTES && !is_inner)
		return take_packed(p, &packed);
	p->nr_left_out += parts[PACKET_FTRACE].p || packed.p;
	s = find_sequence(p, parts[PACKET_SEQUENCE].v);
	if (!s)
		return -ENOMEM;
	if (parts[PACKET_FLAGS].v & FLAG_CLEARED || parts[PACKET_CLEARED].v) {
		s->track = s->clock = 0;
		err = forget_names(p, s);
	}
	if (!err && parts[PACKET_CLOCKS].p)
		err = take_clocks(s, &parts[PACKET_CLOCKS]);
	if (!err && parts[PACKET_DEFAULTS].p)
		err = take_defaults(s, &parts[PACKET_DEFAULTS]);
	if (!err && parts[PACKET_INTERNED].p)
		err = take_interned(p, s, &parts[PACKET_INTERNED]);
	if (!err && parts[PACKET_DESCRIPTOR].p)
		err = take_track(p, &parts[PACKET_DESCRIPTOR]);
	ts = parts[PACKET_TIMESTAMP].v;
	clock = parts[PACKET_CLOCK].number ? parts[PACKET_CLOCK].v : s->clock;
	if (clock && clock == s->incremental_clock && parts[PACKET_TIMESTAMP].number) {
		s->now += ts * s->unit;
		ts = s->now;
	}
	if (!err && parts[PACKET_TRACK_EVENT].p)
		err = take_event(p, s, &parts[PACKET_TRACK_EVENT], ts);
	return err;
}

/* The length of a packet. Return: 1; 0 at the end; -EINVAL with fail() set. */
static int take_length(struct perfetto *p, uint64_t *bytes)
{
	size_t n = import_bytes_have(&p->bytes, 11);
	struct message m = {p->bytes.buf + p->bytes.pos, p->bytes.buf + p->bytes.pos + n, false};

	if (!n)
		return 0;
	if (*m.p++ != (1 << 3 | BYTES) || !take_varint(&m, bytes) || *bytes > MAX_PACKET)
		return fail(EINVAL, "byte %llu: a packet is missing",
			    (unsigned long long)p->bytes.at - (p->bytes.nr - p->bytes.pos));
	p->bytes.pos = (size_t)(m.p - p->bytes.buf);
	return 1;
}

static int read_packets(struct perfetto *p)
{
	unsigned char *packet = NULL;
	size_t room = 0, got = 0;
	uint64_t bytes = 0;
	int more, err = 0;

	while (!err && (more = take_length(p, &bytes)) > 0) {
		for (got = 0;
		     got < bytes;) { /* in pieces: a length beyond the end must take no memory */
			size_t want = bytes - got < STEP_BYTES ? bytes - got : STEP_BYTES, n;

			if (room < got + want) {
				unsigned char *larger = realloc(packet, got + want);

				if (!larger) {
					free(packet);
					return no_memory();
				}
				packet = larger;
				room = got + want;
			}
			n = import_bytes_take(&p->bytes, packet + got, want);
			got += n;
			if (n < want)
				break;
		}
		if (got < bytes) {
			note("the last packet is cut: %zu of %llu bytes", got,
			     (unsigned long long)bytes);
			break;
		}
		err = take_packet(p, packet, got, false);
	}
	free(packet);
	if (p->bytes.err)
		return fail_errno(-p->bytes.err, "cannot read it");
	if (!err && p->nr_left_out)
		note("%llu packets of the kernel's records are left out",
		     (unsigned long long)p->nr_left_out);
	return err ? err : more < 0 ? more : 0;
}

static int perfetto_read(struct import_text *in, struct import *im)
{
	struct perfetto *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return no_memory();
	p->im = im;
	p->bytes.fd = in->fd;
	err = read_packets(p);
	free(p->sequences);
	clear(&p->tracks);
	clear(&p->names);
	free(p);
	return err;
}

/* The first packet is whole or longer than @head, and another one follows it. */
static bool perfetto_is(const char *head, size_t bytes)
{
	struct message m = {(const unsigned char *)head, (const unsigned char *)head + bytes,
			    false};
	struct message packet;
	struct field f;
	unsigned int nr = 0;
	uint64_t n;

	if (bytes < 4 || *m.p++ != (1 << 3 | BYTES) || !take_varint(&m, &n) || !n || n > MAX_PACKET)
		return false;
	packet = (struct message){m.p, n < (size_t)(m.end - m.p) ? m.p + n : m.end, false};
	while (take_field(&packet, &f))
		nr++;
	if (n >= (size_t)(m.end - m.p))
		return nr && (!packet.bad || n > (size_t)(m.end - m.p));
	return nr && !packet.bad && m.p[n] == (1 << 3 | BYTES);
}

const struct importer perfetto_importer = {"Perfetto's trace", perfetto_is, perfetto_read, NULL};
