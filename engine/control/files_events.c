/* SPDX-License-Identifier: MIT */
/*
 * events/, available_events and set_event: texts and errno as the kernel's (6.12). The room events/
 * of the engine knows the events; the tree has a folder for each system, and in it one for each
 * event. Tests:
 * tests/engine/events/.
 */
#include <errno.h>

#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/control/error_log.h"
#include "engine/control/tree.h"
#include "engine/core/trace_array.h"
#include "engine/events/trigger/eval.h"
#include "engine/events/event_act.h"
#include "engine/events/event_source.h"
#include "engine/events/ftrace_event.h"
#include "engine/events/inject.h"
#include "engine/events/trigger/trigger.h"
#include "engine/ring/ring.h"

/* A system exists if one of its events or an event source has its name. */
static const char *find_system(const char *system, size_t n)
{
	const struct event *e;

	events_settle();
	for (e = events; e; e = e->next)
		if (!e->gone && event_name_is(e->system, system, n))
			return e->system;
	return event_source_system(system, n);
}

static const char *system_of(const struct tree_at *at)
{
	return at->object;
}

/* The kernel's system ftrace has no file `enable`. */
static int can_enable(const struct event *e)
{
	return !e->gone && e->class;
}

static void note_off(void *arg, const char *system, const char *name)
{
	(void)system;
	(void)name;
	*(int *)arg = 1;
}

/* `0`, `1`, or `X` if the events of @system differ; NULL: all events. */
static void put_mixed(const struct trace_array *tr, const char *system, struct seq_buf *s)
{
	int on = 0, off = 0;
	const struct event *e;

	events_settle();
	for (e = events; e; e = e->next) {
		if (!can_enable(e) || (system && !str_equal(e->system, system)))
			continue;
		if (event_file_is_on(event_file_find(e, tr)))
			on = 1;
		else
			off = 1;
	}
	event_sources_unmade(system, note_off, &off);
	seq_puts(s, on && off ? "X\n" : on ? "1\n" : off ? "0\n" : "?\n");
}

static int mixed_enable_show(const struct tree_at *at, struct seq_buf *s)
{
	put_mixed(at->tr, system_of(at), s);
	return 0;
}

static int mixed_enable_set(const struct tree_at *at, uint64_t on)
{
	const char *system = system_of(at);
	int err = 0, one = 0, some = 0;
	struct event *e;

	events_settle();
	if (on)
		event_sources_make(system, system ? strlen(system) : 0, "", 0, 0);
	for (e = events; e; e = e->next) {
		if (!can_enable(e) || (system && !str_equal(e->system, system)))
			continue;
		one = event_enable(e, at->tr, (int)on);
		if (one && !e->class->may_fail)
			err = one;
		some |= !one;
	}
	return some ? err : one;
}

static int event_enable_show(const struct tree_at *at, struct seq_buf *s)
{
	const struct event_file *f = event_file_find(at->object, at->tr);

	seq_putc(s, event_file_is_on(f) ? '1' : '0');
	if (f && f->flags & EVENT_FILE_SOFT_MODE)
		seq_putc(s, '*');
	seq_putc(s, '\n');
	return 0;
}

static int event_enable_set(const struct tree_at *at, uint64_t on)
{
	return event_enable(at->object, at->tr, (int)on);
}

static uint64_t event_id_get(const struct tree_at *at)
{
	return ((const struct event *)at->object)->id;
}

static int event_format_show(const struct tree_at *at, struct seq_buf *s)
{
	event_format(at->object, s);
	return 0;
}

/* As in the kernel, open() succeeds and read() fails. */
static int inject_show(const struct tree_at *at, struct seq_buf *s)
{
	(void)at;
	(void)s;
	return -EPERM;
}

static int inject_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	(void)truncate;
	return event_inject(at->object, at->tr, text, n);
}

static void log_error(const char *text, size_t n, const struct parse_error *error)
{
	error_log_add("event filter parse error", error->text ? error->text : "Error", text, n,
		      error->position);
}

static int event_filter_file_show(const struct tree_at *at, struct seq_buf *s)
{
	event_filter_show(event_file_find(at->object, at->tr), s);
	return 0;
}

/* As in the kernel, a page of text is too long and changes nothing. Blanks around it go. */
static int take_filter(const char *text, size_t n, struct word *w)
{
	*w = word_strip((struct word){text, n});
	return n > FILTER_MAX_TEXT ? -EINVAL : 0;
}

static int event_filter_file_store(const struct tree_at *at, const char *text, size_t n,
				   int truncate)
{
	struct event_file *f = event_file_get(at->object, at->tr);
	struct parse_error error;
	struct word w;
	int err = take_filter(text, n, &w);

	(void)truncate;
	if (!f)
		return -ENOMEM;
	if (err)
		return err;
	err = event_filter_set(f, w.at, w.n, &error);
	if (err && err != -ENOMEM)
		log_error(w.at, w.n, &error);
	return err;
}

static int system_filter_show(const struct tree_at *at, struct seq_buf *s)
{
	(void)at;
	seq_puts(s, "### global filter ###\n"
		    "# Use this to set filters for multiple events.\n"
		    "# Only events with the given fields will be affected.\n"
		    "# If no events are modified, an error message will be displayed here\n");
	return 0;
}

static int system_filter_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	struct parse_error error;
	struct word w;
	int err = take_filter(text, n, &w);

	(void)truncate;
	if (err)
		return err;
	err = event_filter_set_system(at->tr, system_of(at), w.at, w.n, &error);
	if (error.text)
		log_error(w.at, w.n, &error);
	return err;
}

static int trigger_file_show(const struct tree_at *at, struct seq_buf *s)
{
	triggers_show(event_file_find(at->object, at->tr), s);
	return 0;
}

static int hist_debug_show(const struct tree_at *at, struct seq_buf *s)
{
	triggers_show_hists_debug(event_file_find(at->object, at->tr), s);
	return 0;
}

static int trigger_file_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	struct event_file *f = event_file_get(at->object, at->tr);
	struct trigger_error error;
	uint32_t i;
	int err;

	if (!f)
		return -ENOMEM;
	if (truncate)
		triggers_clear_hists(f);
	err = trigger_store(f, text, n, &error);
	if (!err || !error.location[0])
		return err;
	for (i = 0; i < error.errors.nr; i++)
		error_log_add(error.location, error.errors.e[i].text, error.command, error.bytes,
			      error.errors.e[i].position);
	return err;
}

/* The header of trace_pipe_raw's sub-buffers; the ring's own pages never leave the area. */
static int header_page_show(const struct tree_at *at, struct seq_buf *s)
{
	seq_puts(s, "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
		    "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
		    "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
		    "\tfield: char data;\toffset:16;\tsize:");
	seq_putu(s, trace_array_subbuf_kb(at->tr) * 1024 - 16);
	seq_puts(s, ";\tsigned:0;\n");
	return 0;
}

static int header_event_show(const struct tree_at *at, struct seq_buf *s)
{
	(void)at;
	seq_puts(s, "# compressed entry header\n"
		    "\ttype_len    :    5 bits\n"
		    "\ttime_delta  :   27 bits\n"
		    "\tarray       :   32 bits\n"
		    "\n"
		    "\tpadding     : type == 29\n"
		    "\ttime_extend : type == 30\n"
		    "\ttime_stamp : type == 31\n"
		    "\tdata max type_len  == 28\n");
	return 0;
}

#define ROW(path, mode, ...)                                                                       \
	{                                                                                          \
		path, mode, .scope = TREE_BRANCH, __VA_ARGS__                                      \
	}

#define HIST_ROW ROW("hist", 0444, .kind = TREE_RENDERED)
#define ENABLE_ROW(what)                                                                           \
	ROW("enable", 0644, .type = TREE_BOOL, .show = what##_enable_show, .set = what##_enable_set)
#define FILTER_ROW                                                                                 \
	ROW("filter", 0644, .show = event_filter_file_show, .store = event_filter_file_store)
#define TRIGGER_ROW ROW("trigger", 0644, .show = trigger_file_show, .store = trigger_file_store)

static const struct tree_row root_rows[] = {
	ENABLE_ROW(mixed),
	ROW("header_event", 0444, .show = header_event_show),
	ROW("header_page", 0444, .show = header_page_show),
	{NULL},
};

static const struct tree_row system_rows[] = {
	ENABLE_ROW(mixed),
	ROW("filter", 0644, .show = system_filter_show, .store = system_filter_store),
	{NULL},
};

static const struct tree_row event_rows[] = {
	ENABLE_ROW(event),
	FILTER_ROW,
	ROW("format", 0444, .show = event_format_show),
	HIST_ROW,
	ROW("hist_debug", 0444, .show = hist_debug_show),
	ROW("id", 0444, .get = event_id_get),
	ROW("inject", 0200, .show = inject_show, .store = inject_store),
	TRIGGER_ROW,
	{NULL},
};

/*
 * Files of events in the system ftrace; the last two for ftrace:print alone, whose format the tools
 * have.
 */
static const struct tree_row ftrace_rows[] = {
	ROW("format", 0444, .show = event_format_show),
	HIST_ROW,
	{NULL},
};
static const struct tree_row print_rows[] = {
	FILTER_ROW,
	HIST_ROW,
	TRIGGER_ROW,
	{NULL},
};
static const struct tree_row no_rows[] = {{NULL}};

static const struct tree_row *rows_of(const struct event *e)
{
	if (e->class)
		return event_rows;
	return ftrace_event_is_print(e) ? print_rows : ftrace_rows;
}

static const struct tree_row *row_in(const struct tree_row *rows, const char *name)
{
	for (; rows->path; rows++)
		if (str_equal(rows->path, name))
			return rows;
	return NULL;
}

/*
 * The length of the first name in a path; *@rest is behind its slash, NULL if it is the last name.
 */
static size_t split(const char *path, const char **rest)
{
	size_t n = 0;

	while (path[n] && path[n] != '/')
		n++;
	*rest = path[n] ? path + n + 1 : NULL;
	return n;
}

static const struct tree_row *rows_of_system(const char *system)
{
	return str_equal(system, "ftrace") ? no_rows : system_rows;
}

static const struct tree_row *events_find(const char *path, struct tree_at *at)
{
	const char *behind_system, *file;
	size_t system_bytes = split(path, &behind_system), n;

	if (!behind_system)
		return row_in(root_rows, path);
	n = split(behind_system, &file);
	if (!file) {
		at->object = (void *)(uintptr_t)find_system(path, system_bytes);
		return at->object ? row_in(rows_of_system(at->object), behind_system) : NULL;
	}
	at->object = event_find(path, system_bytes, behind_system, n);
	return at->object ? row_in(rows_of(at->object), file) : NULL;
}

static void emit_rows(const struct tree_row *rows, tree_emit *emit, void *arg)
{
	for (; rows->path; rows++)
		emit(arg, rows->path, rows);
}

struct listing {
	tree_emit *emit;
	void *arg;
};

static void emit_unmade(void *arg, const char *system, const char *name)
{
	const struct listing *l = arg;

	(void)system;
	l->emit(l->arg, name, NULL);
}

static void list_systems(tree_emit *emit, void *arg)
{
	const struct event *e;
	const char *system;
	uint32_t i;

	for (e = events; e; e = e->next)
		if (!e->gone && find_system(e->system, strlen(e->system)) == e->system)
			emit(arg, e->system, NULL);
	for (i = 0; (system = event_source_system_at(i)); i++)
		if (find_system(system, strlen(system)) == system)
			emit(arg, system, NULL);
}

static int events_list(const char *path, tree_emit *emit, void *arg)
{
	struct listing l = {emit, arg};
	const char *rest, *system;
	size_t n = split(path, &rest);
	const struct event *e;

	if (!*path) {
		emit_rows(root_rows, emit, arg);
		events_settle();
		list_systems(emit, arg);
		return 0;
	}
	if (rest) {
		e = event_find(path, n, rest, strlen(rest));
		if (!e)
			return -ENOENT;
		emit_rows(rows_of(e), emit, arg);
		return 0;
	}
	system = find_system(path, n);
	if (!system)
		return -ENOENT;
	emit_rows(rows_of_system(system), emit, arg);
	for (e = events; e; e = e->next)
		if (!e->gone && str_equal(e->system, system))
			emit(arg, e->name, NULL);
	event_sources_unmade(system, emit_unmade, &l);
	return 0;
}

/* Reserve five digits: fill_room() writes the number when it is known. */
static size_t put_room(struct seq_buf *s)
{
	size_t at = s->len;

	seq_puts(s, "00000 ");
	return at;
}

static void fill_room(struct seq_buf *s, size_t at, size_t n)
{
	size_t i;

	for (i = 5; i && !s->lost; i--, n /= 10)
		s->text[at + i - 1] = (char)('0' + n % 10);
}

/* Put the event's state, in the form of struct area_files (abi/area.h). */
static void put_left(struct seq_buf *s, const char *system, const char *name,
		     const struct event_file *f)
{
	size_t filter_at, trigger_at, from;

	seq_puts(s, system);
	seq_putc(s, ':');
	seq_puts(s, name);
	seq_puts(s, event_file_is_on(f) ? " 1" : " 0");
	seq_putc(s, f && f->flags & EVENT_FILE_SOFT_MODE ? '*' : '-');
	seq_putc(s, ' ');
	filter_at = put_room(s);
	trigger_at = put_room(s);
	seq_putc(s, '\n');
	from = s->len;
	event_filter_show(f, s);
	fill_room(s, filter_at, s->len - from);
	from = s->len;
	triggers_show(f, s);
	fill_room(s, trigger_at, s->len - from);
}

static void events_left(const struct trace_array *tr, struct seq_buf *s)
{
	const struct event_file *f;
	const struct event *e;

	put_left(s, "", "", NULL);
	for (e = events; e; e = e->next) {
		f = e->gone ? NULL : event_file_find(e, tr);
		if (f && (f->flags & (EVENT_FILE_ENABLED | EVENT_FILE_SOFT_MODE) || f->filter ||
			  f->triggers || f->filter_error))
			put_left(s, e->system, e->name, f);
	}
}

static const struct tree_branch events_branch = {
	.name = "events",
	.find = events_find,
	.list = events_list,
	.left = events_left,
};
TREE_BRANCH_REGISTER(events_branch);

static void put_name(void *arg, const char *system, const char *name)
{
	struct seq_buf *s = arg;

	seq_puts(s, system);
	seq_putc(s, ':');
	seq_puts(s, name);
	seq_putc(s, '\n');
}

static int available_events_show(const struct tree_at *at, struct seq_buf *s)
{
	const struct event *e;

	if (!at->mirrored)
		events_settle();
	for (e = events; e; e = e->next)
		if (can_enable(e))
			put_name(s, e->system, e->name);
	if (!at->mirrored)
		event_sources_unmade(NULL, put_name, s);
	return 0;
}

static int set_event_show(const struct tree_at *at, struct seq_buf *s)
{
	const struct event *e;

	for (e = events; e; e = e->next)
		if (can_enable(e) && event_file_is_on(event_file_find(e, at->tr)))
			put_name(s, e->system, e->name);
	return 0;
}

static int set_event_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	struct word rest = {text, n}, word;
	struct event *e;
	int err = 0;

	for (e = truncate ? events : NULL; e; e = e->next)
		if (can_enable(e) && event_file_is_on(event_file_find(e, at->tr)))
			event_enable(e, at->tr, 0);
	while (!err) {
		word = word_take(&rest);
		if (!word.n)
			break;
		err = event_set(at->tr, word.at, word.n);
	}
	return err;
}

static int show_pids(const struct trace_array *tr, int notrace, struct seq_buf *s)
{
	const struct pid_list *l = notrace ? &tr->event_no_pids : &tr->event_pids;
	uint32_t pid;

	if (!(tr->event_pids_set & (notrace ? 2 : 1)))
		return 0;
	for (pid = 0; (pid = pid_list_next(l, pid)) < PID_LIST_MAX; pid++) {
		seq_putu(s, pid);
		seq_putc(s, '\n');
	}
	return 0;
}

static int store_pids(struct trace_array *tr, int notrace, const char *text, size_t n, int truncate)
{
	int err = trace_array_set_event_pids(tr, notrace, text, n, truncate);

	events_update(tr);
	return err;
}

static int set_event_pid_show(const struct tree_at *at, struct seq_buf *s)
{
	return show_pids(at->tr, 0, s);
}

static int set_event_pid_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	return store_pids(at->tr, 0, text, n, truncate);
}

static int set_event_notrace_pid_show(const struct tree_at *at, struct seq_buf *s)
{
	return show_pids(at->tr, 1, s);
}

static int set_event_notrace_pid_store(const struct tree_at *at, const char *text, size_t n,
				       int truncate)
{
	return store_pids(at->tr, 1, text, n, truncate);
}

static int eval_map_show(const struct tree_at *at, struct seq_buf *s)
{
	(void)at;
	eval_map(s);
	return 0;
}

/* clang-format off */
static const struct tree_row rows[] = {
	{"available_events", 0444, .scope = TREE_GLOBAL, .show = available_events_show,
	 .help = "the events that can be switched on, SYSTEM:NAME"},
	{"set_event", 0644, .nul = TREE_NUL_DIVIDES, .show = set_event_show,
	 .store = set_event_store,
	 .help = "the events that are on: write SYSTEM:NAME, SYSTEM: or NAME, with `!` before it: off; "
		"events/SYSTEM/NAME/enable does the same"},
	{"set_event_pid", 0644, .nul = TREE_NUL_DIVIDES, .show = set_event_pid_show,
	 .store = set_event_pid_store,
	 .help = "record the events of these threads alone; option event-fork: and of those they make"},
	{"set_event_notrace_pid", 0644, .nul = TREE_NUL_DIVIDES,
	 .show = set_event_notrace_pid_show, .store = set_event_notrace_pid_store,
	 .help = "never record the events of these threads"},
	{"eval_map", 0444, .scope = TREE_GLOBAL, .show = eval_map_show,
	 .help = "names in the formats of events, and the numbers that they stand for"},
};
/* clang-format on */
TREE_FILES(rows);
