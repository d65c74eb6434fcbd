/* SPDX-License-Identifier: MIT */
/* See kft_run.h. */
#include "tools/kft/kft_run.h"

#include <errno.h>
#include <event-parse.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/nearest.h"
#include "tools/code/symbols.h"
#include "tools/import/kft_log.h"
#include "tools/text/event_field.h"

#define FLAG_HANDLER 8u		/* common_flags: TRACE_FLAG_HARDIRQ */
#define LEFT_OUT     UINT32_MAX /* lower half of a call's data: no entry; else 1 + slot */
#define NO_FUNCTION  UINT32_MAX
#define SLOT(data)   ((uint32_t)(data))

enum role { ROLE_KNOWN = 1, ROLE_START = 2, ROLE_STOP = 4, ROLE_LISTED = 8 };

static int no_memory(void)
{
	return fail(ENOMEM, "out of memory");
}

static uint8_t role_of(struct kft_run *run, uint32_t function)
{
	const struct kft_config *config = run->config;
	uint64_t ip;

	if (function >= run->nr_roles) {
		size_t nr = 2 * (function + 64u);
		uint8_t *more = realloc(run->roles, nr);

		if (!more) {
			run->err = no_memory();
			return 0;
		}
		memset(more + run->nr_roles, 0, nr - run->nr_roles);
		run->roles = more;
		run->nr_roles = nr;
	}
	if (run->roles[function])
		return run->roles[function];
	ip = call_filter_function(run->v->filter, function)->ip;
	run->roles[function] = ROLE_KNOWN;
	if (config->start.function && call_name_matches(run->v->r, ip, config->start.function))
		run->roles[function] |= ROLE_START;
	if (config->stop.function && call_name_matches(run->v->r, ip, config->stop.function))
		run->roles[function] |= ROLE_STOP;
	for (size_t i = 0; i < config->nr_functions; i++)
		if (call_name_matches(run->v->r, ip, config->functions[i]))
			run->roles[function] |= ROLE_LISTED;
	return run->roles[function];
}

static void begin(struct kft_run *run, uint64_t ts, enum kft_why why)
{
	run->state = KFT_TRIGGERED;
	run->last_start_ts = ts;
	if (run->was_triggered)
		return;
	run->was_triggered = true;
	run->start_ts = ts;
	run->begun = why;
}

static void end(struct kft_run *run, uint64_t ts, enum kft_why why)
{
	bool again = run->config->autorepeat && why != KFT_BY_FULL_LOG && why != KFT_BY_USER;

	run->state = again ? KFT_PRIMED : KFT_COMPLETE;
	run->stop_ts = ts;
	run->ended = why;
}

static void look_at_time(struct kft_run *run, uint64_t ts)
{
	const struct kft_config *config = run->config;
	uint64_t due;

	if (run->state == KFT_PRIMED && config->start.kind == KFT_NONE && !run->by_hand)
		begin(run, run->v->first_ts, KFT_BY_NONE);
	due = run->v->first_ts + config->start.us * 1000;
	if (run->state == KFT_PRIMED && config->start.kind == KFT_TIME && ts >= due)
		begin(run, due, KFT_BY_TIME);
	due = run->last_start_ts + config->stop.us * 1000;
	if (run->state == KFT_TRIGGERED && config->stop.kind == KFT_TIME && ts >= due)
		end(run, due, KFT_BY_TIME);
}

/* Remove the rows that are marked as removed or were overwritten, to make room. */
static void squeeze(struct kft_run *run)
{
	size_t left = 0;

	for (size_t i = run->first; i < run->nr; i++) {
		struct kft_row *row = &run->rows[i];

		if (row->removed)
			continue;
		if (row->slot)
			run->open[row->slot - 1] = left;
		run->rows[left++] = *row;
	}
	run->nr = left;
	run->first = 0;
}

static void free_slot(struct kft_run *run, struct kft_row *row)
{
	if (!row->slot)
		return;
	run->open[row->slot - 1] = run->free_slot;
	run->free_slot = row->slot;
	row->slot = 0;
}

/* Overwrite the oldest row. If its call is open, its slot in `open` is updated. */
static void overwrite_one(struct kft_run *run)
{
	while (run->first < run->nr && run->rows[run->first].removed)
		run->first++;
	if (run->first == run->nr)
		return;
	if (run->rows[run->first].slot)
		run->open[run->rows[run->first].slot - 1] = SIZE_MAX;
	run->first++;
	run->live--;
}

static int add_row(struct kft_run *run, const struct kft_row *row)
{
	if (run->nr == run->room && run->nr > 2 * run->live)
		squeeze(run);
	if (ARRAY_ROOM(run->rows, run->nr, run->room, 1024))
		return no_memory();
	run->rows[run->nr++] = *row;
	run->live++;
	return 0;
}

/* Room for one more entry. Return: false: the log is full, and that ends the run. */
static bool make_room(struct kft_run *run, uint64_t ts)
{
	if (run->live < run->config->log_entries)
		return true;
	if (run->config->overwrite) {
		overwrite_one(run);
		return true;
	}
	end(run, ts, KFT_BY_FULL_LOG);
	return false;
}

static int open_slot(struct kft_run *run, uint32_t *slot)
{
	if (run->free_slot) {
		*slot = run->free_slot;
		run->free_slot = (uint32_t)run->open[*slot - 1];
		return 0;
	}
	if (ARRAY_ROOM(run->open, run->nr_open, run->room_open, 256))
		return no_memory();
	*slot = (uint32_t)++run->nr_open;
	return 0;
}

static int log_entry(struct kft_run *run, struct call *call, const struct kft_row *row,
		     uint8_t roles)
{
	const struct kft_config *config = run->config;
	struct kft_row added = *row;
	bool interrupt = row->pid == KFT_INTERRUPT;
	int err;

	call->data |= LEFT_OUT;
	if (config->nr_functions && !(roles & ROLE_LISTED)) {
		run->by_list++;
		return 0;
	}
	if ((config->noints && interrupt) || (config->onlyints && !interrupt)) {
		run->by_interrupt++;
		return 0;
	}
	if (!make_room(run, row->ts))
		return 0;
	err = open_slot(run, &added.slot);
	if (!err)
		err = add_row(run, &added);
	if (err)
		return err;
	run->open[added.slot - 1] = run->nr - 1;
	call->data = (call->data & ~(uint64_t)UINT32_MAX) | added.slot;
	return 0;
}

/* A trigger at the entry of a function. */
static void look_at_entry(struct kft_run *run, uint64_t ts, uint8_t roles)
{
	if (run->state == KFT_PRIMED && run->config->start.kind == KFT_ENTRY &&
	    (roles & ROLE_START))
		begin(run, ts, KFT_BY_ENTRY);
	else if (run->state == KFT_TRIGGERED && run->config->stop.kind == KFT_ENTRY &&
		 (roles & ROLE_STOP))
		end(run, ts, KFT_BY_ENTRY);
}

static void enter(void *arg, struct call *call, struct call *parent, const struct record *rec)
{
	struct kft_run *run = arg;
	struct kft_row row = {.ts = call->start, .pid = call->pid, .caller = NO_FUNCTION};
	uint8_t roles;

	if (run->err)
		return;
	if (call_filter_enter(run->v->filter, call, parent, &row.function) < 0 ||
	    (parent && call_filter_number(run->v->filter, parent->ip, &row.caller))) {
		run->err = no_memory();
		return;
	}
	roles = role_of(run, row.function);
	look_at_time(run, call->start);
	look_at_entry(run, call->start, roles);
	if (run->config->watch_bytes && !run->err)
		run->err = open_calls_enter(&run->stack, call);
	if (run->state != KFT_TRIGGERED || run->err)
		return;
	row.delta_us = run->config->untimed ? KFT_NO_EXIT : KFT_OPEN;
	if (rec && (rec->flags & FLAG_HANDLER))
		row.pid = KFT_INTERRUPT;
	run->err = log_entry(run, call, &row, roles);
}

/* The entry's call has ended. */
static void close_row(struct kft_run *run, const struct call *call)
{
	const struct kft_config *config = run->config;
	size_t at = run->open[SLOT(call->data) - 1];
	struct kft_row *row = at == SIZE_MAX ? NULL : &run->rows[at], exit_row;
	uint64_t us = (call->end - call->start) / 1000;

	if (!row) { /* it was overwritten */
		run->open[SLOT(call->data) - 1] = run->free_slot;
		run->free_slot = SLOT(call->data);
		return;
	}
	free_slot(run, row);
	if (config->untimed) {
		exit_row = *row;
		exit_row.ts = call->end;
		exit_row.is_exit = true;
		if (make_room(run, call->end))
			run->err = add_row(run, &exit_row);
		return;
	}
	row->delta_us = call->flags & CALL_NO_EXIT ? KFT_NO_EXIT : (int64_t)us;
	if ((config->min_us && us < config->min_us) || (config->max_us && us > config->max_us)) {
		row->removed = true;
		run->live--;
		run->by_time++;
		while (run->nr > run->first && run->rows[run->nr - 1].removed)
			run->nr--;
	}
}

static void leave(void *arg, struct call *call, struct call *parent, const struct record *rec)
{
	struct kft_run *run = arg;
	uint32_t function;
	uint8_t roles;

	(void)parent;
	if (!run->err && run->config->watch_bytes)
		run->err = open_calls_leave(&run->stack, call);
	if (run->err || call->flags & CALL_UNFINISHED)
		return;
	look_at_time(run, call->end);
	if (run->state == KFT_TRIGGERED) {
		if (!SLOT(call->data))
			run->not_found++;
		else if (SLOT(call->data) != LEFT_OUT)
			close_row(run, call);
	}
	if (!rec || run->err ||
	    (run->config->start.kind != KFT_EXIT && run->config->stop.kind != KFT_EXIT))
		return;
	if (call_filter_number(run->v->filter, call->ip, &function)) {
		run->err = no_memory();
		return;
	}
	roles = role_of(run, function);
	if (run->state == KFT_PRIMED && run->config->start.kind == KFT_EXIT && (roles & ROLE_START))
		begin(run, call->end, KFT_BY_EXIT);
	else if (run->state == KFT_TRIGGERED && run->config->stop.kind == KFT_EXIT &&
		 (roles & ROLE_STOP))
		end(run, call->end, KFT_BY_EXIT);
}

static void unmatched(void *arg, uint32_t depth, uint32_t stack, const struct record *rec)
{
	struct kft_run *run = arg;

	(void)depth;
	(void)stack;
	look_at_time(run, rec->ts);
	run->not_found += run->state == KFT_TRIGGERED;
}

static bool is_mark(const struct record *rec, const char *mark)
{
	size_t n = strlen(mark);

	return rec->kind == RECORD_PRINT && rec->data_bytes >= n && !memcmp(rec->data, mark, n);
}

/* Log the open calls of the thread, the outermost first, and the function at @ip. */
static int log_stack(struct kft_run *run, const struct record *rec, uint64_t ip)
{
	struct kft_row row = {
		.ts = rec->ts, .pid = rec->pid, .delta_us = KFT_WATCH, .function = NO_FUNCTION};
	uint32_t nr, i = 0;
	const uint64_t *ips = open_calls_of(&run->stack, rec->process, rec->pid, &nr);
	int err = 0;

	run->nr_watches++;
	if (nr >= run->config->log_entries && run->config->overwrite) {
		/* earlier ones would be overwritten */
		i = nr - (uint32_t)run->config->log_entries + 1;
		if (call_filter_number(run->v->filter, ips[i - 1], &row.function))
			return no_memory();
	}
	for (; i <= nr && !err && make_room(run, rec->ts); i++) {
		row.caller = row.function;
		if (call_filter_number(run->v->filter, i < nr ? ips[i] : ip, &row.function))
			return no_memory();
		err = add_row(run, &row);
	}
	return err;
}

/*
 * A record of KFT_WATCH_EVENT. It comes before the record of the entry, and triggers as that does.
 */
static int watch(struct kft_run *run, const struct tep_event *ev, const struct record *rec)
{
	uint64_t ip, left;
	uint32_t function;
	uint8_t roles;

	if (!event_field_number(ev, "ip", 0, rec, &ip) ||
	    !event_field_number(ev, "left", 0, rec, &left))
		return 0;
	if (call_filter_number(run->v->filter, ip, &function))
		return no_memory();
	roles = role_of(run, function);
	look_at_time(run, rec->ts);
	/* a function that both starts and stops does only one of them at an entry */
	if ((roles & (ROLE_START | ROLE_STOP)) != (ROLE_START | ROLE_STOP))
		look_at_entry(run, rec->ts, roles);
	if (run->err || run->state != KFT_TRIGGERED || left >= run->watch_bytes)
		return run->err;
	if (run->config->watch_worst)
		run->watch_bytes = left;
	return log_stack(run, rec, ip);
}

static int other(void *arg, const struct record *rec)
{
	struct kft_run *run = arg;
	struct tep_event *ev;

	if (is_mark(rec, KFT_MARK_START) && run->state == KFT_PRIMED)
		begin(run, rec->ts, KFT_BY_USER);
	else if (is_mark(rec, KFT_MARK_STOP) && run->state == KFT_TRIGGERED)
		end(run, rec->ts, KFT_BY_USER);
	if (!run->config->watch_bytes || rec->kind != RECORD_EVENT || !run->v->r->tep)
		return 0;
	ev = tep_find_event(run->v->r->tep, rec->event);
	if (!ev || strcmp(ev->system, KFT_WATCH_SYSTEM) != 0 ||
	    strcmp(ev->name, KFT_WATCH_EVENT) != 0)
		return 0;
	run->err = watch(run, ev, rec);
	return run->err;
}

int kft_run_read(struct kft_run *run)
{
	static const struct calls_ops ops = {
		.enter = enter, .leave = leave, .unmatched = unmatched};
	struct view *v = run->v;
	int err;

	run->watch_bytes = run->config->watch_bytes;
	v->other = other;
	v->other_arg = run;
	err = view_run(v, &ops, run, &run->err);
	if (!err && run->state == KFT_TRIGGERED) {
		run->stop_ts = v->last_ts;
		run->ended = KFT_BY_END;
	}
	return err;
}

static const char *name_at(const void *arg, size_t i)
{
	const struct symbol *s = symbols_at((struct symbols *)(uintptr_t)arg, i);

	return s ? s->name : NULL;
}

static int check_name(const struct kft_run *run, const char *what, const char *name)
{
	struct symbols *symbols = run->v->r->symbols;
	size_t nr = symbols_count(symbols);
	const char *near;

	for (size_t i = 0; i < nr; i++)
		if (call_name_matches(run->v->r, symbols_at(symbols, i)->addr, name))
			return 0;
	near = nearest_name(name, name_at, symbols);
	return fail(ENOENT, "%s: no function of the program is named %s%s%s%s", what, name,
		    near ? ": did you mean " : "", near ? near : "", near ? "?" : "");
}

int kft_run_check_names(const struct kft_run *run)
{
	const struct kft_config *config = run->config;
	int err = 0;

	if (config->start.function)
		err = check_name(run, "trigger start", config->start.function);
	if (!err && config->stop.function)
		err = check_name(run, "trigger stop", config->stop.function);
	for (size_t i = 0; i < config->nr_functions && !err; i++)
		err = check_name(run, "filter funclist", config->functions[i]);
	return err;
}

void kft_run_free(struct kft_run *run)
{
	free(run->rows);
	free(run->open);
	free(run->roles);
	open_calls_clear(&run->stack);
	run->rows = NULL;
	run->open = NULL;
	run->roles = NULL;
}
