/* SPDX-License-Identifier: MIT */
/*
 * The grammars of events: filters and histograms. The first byte says which; the text behind it,
 * copied to a block of exactly its size, is compiled for an event with each kind of field, and what
 * is compiled is run on records of all zeros and of strings at their ends. Promises: the position
 * of an error is in the text or one behind it; a listing compiles again to the same; and a filter
 * and its negation never agree.
 */
#include "fuzz.h"

#include <errno.h>
#include <string.h>

#include "engine/core/context.h"
#include "engine/core/stack.h"
#include "engine/core/tracer.h"
#include "engine/events/filter/filter.h"
#include "engine/events/probe/probe_event.h"
#include "engine/events/trigger/hist.h"
#include "engine/events/trigger/hist_alloc.h"
#include "engine/events/trigger/synth.h"
#include "engine/events/trigger/trigger.h"
#include "engine/process/clock.h"
#include "engine/process/heap.h"
#include "engine/ring/proxy.h"

#define MAX_TEXT      2048
#define HIST_MAX_TEXT 256

struct area_header *area;
struct trace_array global_trace;
struct event *events;
uint32_t (*ring_context)(void);
uint32_t context_wants;

/* Ranges are blocks of exactly their size, and a place is an address. */
int hist_room_get(struct trace_array *tr, uint64_t bytes, uint64_t backed, uint64_t *at)
{
	(void)tr;
	PROMISE(backed <= bytes);
	*at = (uint64_t)calloc(1, bytes);
	return 0;
}

const void *area_kept_row(const struct area_header *parent, enum area_table_id id, uint32_t row)
{
	(void)parent, (void)id, (void)row;
	return NULL;
}

int hist_room_again(struct trace_array *tr, uint64_t at, uint64_t bytes, uint64_t backed)
{
	(void)tr;
	(void)at;
	(void)bytes;
	(void)backed;
	return -1;
}

void hist_room_put(struct trace_array *tr, uint64_t at)
{
	(void)tr;
	free((void *)at);
}

void *hist_room_at(const struct trace_array *tr, uint64_t at)
{
	(void)tr;
	return (void *)at;
}

int hist_room_back(void *from, uint64_t bytes)
{
	(void)from;
	(void)bytes;
	return 0;
}

struct area_hist *hist_room_row(struct trace_array *tr)
{
	static struct area_hist row;

	(void)tr;
	return &row;
}

void hist_room_change(struct area_hist *row)
{
	(void)row;
}

void hist_room_changed(struct area_hist *row)
{
	(void)row;
}

int area_reserve_in(struct area_header *head, enum area_table_id id, uint32_t count)
{
	(void)head;
	(void)id;
	(void)count;
	return -1;
}

/* The parts of the engine that the parsers need. */
void *heap_alloc(size_t bytes)
{
	return calloc(1, bytes ? bytes : 1);
}

void heap_free(void *p)
{
	free(p);
}

char *heap_copy(const char *s, size_t n)
{
	char *copy = calloc(1, n + 1);

	memcpy(copy, s, n);
	return copy;
}

int stack_start(void)
{
	return 0;
}

uint32_t stack_save(uint64_t *to, uint32_t room)
{
	for (uint32_t i = 0; i < room; i++)
		to[i] = 0x1000 + i;
	return room;
}

__thread const struct ring_as *ring_as;

uint64_t clock_unit_ns(void)
{
	return UINT64_C(1) << 32;
}

uint64_t ring_clock(void)
{
	return 1;
}

uint64_t ring_clock_mono(void)
{
	return 1;
}

int synchronize_srcu(enum srcu_domain d)
{
	(void)d;
	return 0;
}

const char *ring_thread_comm(void)
{
	return "fuzz";
}

int ring_thread_id(void)
{
	return 42;
}

uint32_t ring_record_cpu(void)
{
	return 1;
}

static const struct event_field fields[] = {
	{"int", "i", 4, 8, 1, FILTER_OTHER},
	{"unsigned long", "ul", 8, 16, 0, FILTER_OTHER},
	{"char", "c", 1, 24, 0, FILTER_OTHER},
	{"short", "sh", 2, 26, 1, FILTER_OTHER},
	{"char[8]", "name", 8, 28, 0, FILTER_STATIC_STRING},
	{"__data_loc char[]", "dyn", 4, 36, 0, FILTER_DYN_STRING},
	{"__rel_loc char[]", "rel", 4, 40, 0, FILTER_RDYN_STRING},
	{"struct odd", "odd", 12, 44, 0, FILTER_OTHER},
};
static struct event event = {.system = "fuzz",
			     .name = "event",
			     .id = 30,
			     .nr_fields = sizeof(fields) / sizeof(fields[0]),
			     .fields = fields};

struct event *event_find(const char *system, size_t system_bytes, const char *name,
			 size_t name_bytes)
{
	return system_bytes == 4 && name_bytes == 5 && !memcmp(system, "fuzz", 4) &&
			       !memcmp(name, "event", 5)
		       ? &event
		       : NULL;
}

struct event_file *event_file_find(const struct event *e, const struct trace_array *t)
{
	PROMISE(e == &event && t);
	return e->files;
}

const char *trigger_filter(const struct event_trigger *t)
{
	PROMISE(t);
	return NULL;
}

int trigger_make_hist(struct event_file *f, const char *text, size_t n)
{
	PROMISE(f && n > 5 && !memcmp(text, "hist:", 5));
	return -EINVAL;
}

void trigger_drop_hist(struct hist *h)
{
	PROMISE(h);
}

int trace_array_alloc_snapshot(struct trace_array *t)
{
	PROMISE(t);
	return 0;
}

int tracer_snapshot(struct trace_array *tr, uint32_t cpu)
{
	PROMISE(tr && cpu == UINT32_MAX);
	return 0;
}

const struct event_field *event_field(const struct event *e, const char *name, size_t n)
{
	for (uint32_t i = 0; i < e->nr_fields; i++)
		if (strlen(e->fields[i].name) == n && !memcmp(e->fields[i].name, name, n))
			return &e->fields[i];
	return NULL;
}

int probe_function_named(const char *name, size_t n, uint64_t *lo, uint64_t *hi)
{
	*lo = 0x1000;
	*hi = 0x1100;
	return n == 4 && !memcmp(name, "work", 4) ? 0 : -ENOENT;
}

int probe_function_around(uint64_t address, uint64_t *lo, uint64_t *hi)
{
	*lo = address & ~UINT64_C(255);
	*hi = *lo + 256;
	return address ? 0 : -ENOENT;
}

/* A record of 64 bytes whose strings end with it, in a block of its own. */
static uint8_t *make_record(int full)
{
	uint8_t *record = malloc(64);
	uint32_t dyn = full ? 56u | 8u << 16 : 0, rel = full ? (64u - 44 - 4) | 4u << 16 : 0;

	memset(record, full ? 'x' : 0, 64);
	memcpy(record + 36, &dyn, 4);
	memcpy(record + 40, &rel, 4);
	return record;
}

static void run_filter(const char *text, size_t n)
{
	struct event_filter *filter, *not ;
	struct parse_error error;
	char *negated;
	int err = filter_compile(&event, text, n, &filter, &error);

	PROMISE(error.position <= n + 1);
	if (err) {
		PROMISE(err < 0);
		return;
	}
	PROMISE(!strncmp(filter_text(filter), text, n));
	negated = malloc(n + 3);
	negated[0] = '!';
	negated[1] = '(';
	memcpy(negated + 2, text, n);
	negated[n + 2] = ')';
	err = filter_compile(&event, negated, n + 3, &not, &error);
	for (int full = 0; full < 2; full++) {
		uint8_t *record = make_record(full);
		int is = filter_match(filter, record);

		PROMISE(is == 0 || is == 1);
		if (!err)
			PROMISE(filter_match(not, record) == !is);
		free(record);
	}
	if (!err)
		filter_free(not );
	free(negated);
	filter_free(filter);
}

static struct area_buffer buffer;
static struct ring ring = {.buffer = &buffer};
static struct trace_array tr = {.ring = &ring};
static struct event_file file = {.event = &event, .tr = &tr};
static struct event_trigger other = {.file = &file};

/* Another histogram of the event, whose variables a line may name; synthetic events for its
 * actions. */
static void make_others(void)
{
	static const char line[] = "hist:keys=i:other=ul,text=dyn,st=stacktrace";
	static struct event synth_of = {.system = "synthetic", .name = "two", .class = NULL};
	struct parse_errors errors;
	enum hist_wish wish;

	if (other.hist)
		return;
	event.files = &file;
	events = &event;
	fuzz_known_synth = calloc(1, sizeof(*fuzz_known_synth) + 2 * sizeof(struct synth_field));
	fuzz_known_synth->name = "two";
	fuzz_known_synth->event = &synth_of;
	fuzz_known_synth->nr_fields = 2;
	fuzz_known_synth->fields[0] = (struct synth_field){
		.type = "u64", .name = "n", .kind = SYNTH_NUMBER, .size = 8, .offset = 8};
	fuzz_known_synth->fields[1] = (struct synth_field){
		.type = "char[]", .name = "s", .kind = SYNTH_DYN_STRING, .size = 8, .offset = 16};
	PROMISE(!hist_parse(&file, line, sizeof(line) - 1, 0, &other.hist, &wish, &errors));
	PROMISE(!hist_start(other.hist, &file, NULL));
	file.triggers = &other;
}

/* The result of an action for a record: a number, and a text that ends. */
void synth_fire(const struct synth_event *e, const uint64_t *vals)
{
	PROMISE(e == fuzz_known_synth);
	PROMISE(strlen((const char *)(uintptr_t)vals[1]) <= HIST_MAX_TEXT);
}

static void check_errors(const struct parse_errors *errors, size_t n)
{
	for (uint32_t i = 0; i < errors->nr; i++)
		PROMISE(errors->e[i].text && errors->e[i].position <= n);
}

static void run_hist(const char *text, size_t n)
{
	static char shown[32768];
	struct hist *hist, *again;
	struct parse_errors errors;
	enum hist_wish wish;
	struct seq_buf s;

	make_others();
	if (hist_parse(&file, text, n, 0, &hist, &wish, &errors)) {
		check_errors(&errors, n);
		return;
	}
	seq_init(&s, shown, sizeof(shown));
	hist_show_trigger(hist, &s);
	PROMISE(!s.lost);
	PROMISE(!hist_parse(&file, shown, s.len, 0, &again, &wish, &errors));
	PROMISE(hist_same(hist, again));
	hist_free(again);
	if (hist_actions_make(hist, &file, text, n, &errors)) {
		check_errors(&errors, n);
		hist_free(hist);
		return;
	}
	PROMISE(!hist_start(hist, &file, NULL));
	for (int i = 0; i < 4; i++) {
		uint8_t *record = make_record(i & 1);

		hist_fire(other.hist, record);
		hist_fire(hist, record);
		free(record);
	}
	hist_free(hist);
	PROMISE(!hist_is_used(other.hist) && !fuzz_known_synth->nr_users);
}

static void run(const uint8_t *data, size_t n)
{
	char *text;

	if (!n || n > MAX_TEXT)
		return;
	text = malloc(n);
	memcpy(text, data + 1, n - 1);
	text = realloc(text, n > 1 ? n - 1 : 1);
	if (data[0] & 1)
		run_hist(text, n - 1);
	else
		run_filter(text, n - 1);
	free(text);
}

static void mutate(struct mangle *m)
{
	static const char *const words[] = {
		"i",
		"ul",
		"name",
		"dyn",
		"rel",
		"comm",
		"cpu",
		"==",
		"!=",
		"<=",
		">",
		"&",
		"&&",
		"||",
		"!",
		"(",
		")",
		"\"x*\"",
		"'x'",
		"-1",
		"0x7",
		"~",
		"ul.function == work",
		".function",
		"!= work",
		"hist",
		"keys",
		"vals",
		"sort",
		"size=",
		".log2",
		".hex",
		"=",
		",",
		":",
		" ",
		"CPUS{0-3}",
		"hitcount",
		".buckets=3",
		".descending",
		"name=",
		"pause",
		":x=",
		"$x",
		"$other",
		"$text",
		"+",
		"-",
		"*",
		"/",
		"-(",
		":onmatch(fuzz.event).",
		"two(",
		"trace(two,",
		"save(",
		"snapshot()",
		":onmax($x).",
		":onchange($x).",
		"fuzz.event.$other",
		"$st",
		"common_timestamp",
		".usecs",
	};
	const char *word = words[mangle_random(m, sizeof(words) / sizeof(words[0]))];

	if (mangle_random(m, 3))
		mangle_insert(m, 1 + (size_t)mangle_random(m, m->n), word, strlen(word));
	else
		mangle_any(m);
}

const struct fuzz_target fuzz_events = {.name = "events", .run = run, .mutate = mutate};
