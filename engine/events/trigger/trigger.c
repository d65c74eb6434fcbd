/* SPDX-License-Identifier: MIT */
/*
 * See trigger.h. Grammar, errno and listing are the kernel's (6.12). A trigger without a filter
 * fires before its event is recorded (so traceoff keeps the record out). A trigger with a filter
 * fires after it, and so do hist, snapshot, stacktrace and event probes, which are attached here
 * without being listed. trigger_ops.c has the actions. Probe functions read the list between
 * ring_enter() and ring_leave(); an unlinked trigger is freed when no reader is left. fork: the
 * child has its parent's. Tests: tests/engine/events/trigger.
 */
#include "engine/events/trigger/trigger.h"

#include <errno.h>

#include "arch_barrier.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/process/heap.h"
#include "engine/events/event_act.h"
#include "engine/events/trigger/hist.h"

void triggers_fire(struct event_file *f, const void *record, int with_filter)
{
	struct event_trigger *t;

	for (t = load_acquire(&f->triggers); t; t = load_acquire(&t->next)) {
		if (!(t->filter || t->ops->post) == !with_filter &&
		    (!t->filter || filter_match(t->filter, record)))
			t->ops->fire(t, record);
	}
}

static void free_trigger(struct event_trigger *t)
{
	filter_free(t->filter);
	hist_free(t->hist);
	heap_free(t);
}

static int link_in(struct event_trigger *t)
{
	struct event_file *f = t->file;
	struct event_trigger **at;
	int err;

	if (t->target) {
		err = event_enable_soft(t->target, 1);
		if (err)
			return err;
	}
	err = event_enable_soft(f, 1);
	if (err) {
		if (t->target)
			event_enable_soft(t->target, 0);
		return err;
	}
	/* histograms and probes go to the end, in their order; others go to the beginning */
	for (at = &f->triggers; (t->hist || t->data) && *at; at = &(*at)->next)
		;
	t->next = *at;
	store_release(at, t);
	event_file_update(f);
	return 0;
}

/* A histogram that others refer to is removed, with its object or instance. */
static void forget_hist(const struct hist *h)
{
	const struct event_trigger *t;
	const struct event_file *f;
	const struct event *e;

	for (e = events; e; e = e->next)
		for (f = e->files; f; f = f->next)
			for (t = f->triggers; t; t = t->next)
				if (t->hist && t->hist != h)
					hist_forget(t->hist, h);
}

static void take_out(struct event_trigger **at)
{
	struct event_trigger *t = *at;
	int unused;

	if (t->hist && hist_is_used(t->hist))
		forget_hist(t->hist);
	if (t->hist)
		hist_stop(t->hist);
	store_release(at, t->next);
	unused = !ring_synchronize();
	/* no trigger switches it any more */
	event_enable_soft(t->file, 0);
	if (t->target)
		event_enable_soft(t->target, 0);
	if (unused)
		free_trigger(t);
}

static void fire_hist(struct event_trigger *t, const void *record)
{
	hist_fire(t->hist, record);
}

/* `hist` has a grammar of its own, so it is not among the commands of parse_simple(). */
static const struct trigger_ops hist_ops = {
	.name = "hist", .group = GROUP_HIST, .post = 1, .fire = fire_hist};

/* A parsed line. */
struct line {
	const struct trigger_ops *ops;
	struct event_file *target;
	const char *filter; /* NULL: none */
	size_t filter_bytes;
	int64_t count;
	int counted;
	int remove; /* the line removes a trigger: counts and filters do not matter */
};

/* The bytes up to @end or a blank. */
static size_t word_bytes(const char *text, size_t n, char end)
{
	size_t i = 0;

	while (i < n && text[i] != end && !is_blank(text[i]))
		i++;
	return i;
}

static int parse_count(struct line *l, const char *text, size_t n)
{
	uint64_t v;

	if (l->remove)
		return 0;
	if (!n || str_to_u64(text, n, &v) || text[n - 1] == '\n')
		return -EINVAL;
	l->counted = 1;
	l->count = v < (uint64_t)TRIGGER_UNLIMITED ? (int64_t)v : TRIGGER_UNLIMITED - 1;
	return 0;
}

/* Parse `system:event[:count]`. */
static int parse_target(struct line *l, struct trace_array *tr, const char *text, size_t n)
{
	size_t system = word_bytes(text, n, ':'), event;
	struct event *e;

	if (!system || system == n)
		return -EINVAL;
	event = word_bytes(text + system + 1, n - system - 1, ':');
	e = event_find(text, system, text + system + 1, event);
	if (!e || !e->class)
		return -EINVAL;
	l->target = event_file_get(e, tr);
	if (!l->target)
		return -ENOMEM;
	text += system + 1 + event;
	n -= system + 1 + event;
	return n ? parse_count(l, text + 1, n - 1) : 0;
}

/* Parse `[if filter]`. */
static int parse_if(struct line *l, const char *text, size_t n)
{
	while (n && is_blank(*text))
		text++, n--;
	if (!n)
		return 0;
	if (n < 3 || memcmp(text, "if", 2) || !is_blank(text[2]))
		return -EINVAL;
	for (text += 2, n -= 2; n && is_blank(*text); text++, n--)
		;
	l->filter = text;
	l->filter_bytes = n;
	return n ? 0 : -EINVAL;
}

static int parse_simple(struct line *l, struct trace_array *tr, const char *text, size_t n)
{
	size_t name = word_bytes(text, n, ':'), args = 0;
	const struct trigger_ops *const *ops;
	const char *arg = NULL;
	int err = 0;

	l->count = TRIGGER_UNLIMITED;
	REGISTRY_EACH (vestige_triggers, ops)
		if (event_name_is((*ops)->name, text, name))
			l->ops = *ops;
	if (!l->ops)
		return -EINVAL;
	text += name;
	n -= name;
	if (n && *text == ':') {
		arg = text + 1;
		args = word_bytes(arg, n - 1, 0);
		text = arg + args;
		n -= args + 1;
	}
	if (l->ops->targeted)
		err = arg ? parse_target(l, tr, arg, args) : -EINVAL;
	else if (arg)
		err = args ? parse_count(l, arg, word_bytes(arg, args, ':')) : 0;
	return err || l->remove ? err : parse_if(l, text, n);
}

static struct event_trigger **find_same(struct event_file *f, const struct line *l, int exactly)
{
	struct event_trigger **at;

	for (at = &f->triggers; *at; at = &(*at)->next) {
		const struct event_trigger *t = *at;

		if (t->target == l->target &&
		    (exactly ? t->ops == l->ops : t->ops->group == l->ops->group))
			return at;
	}
	return NULL;
}

/* Compile the filter of @t's line. */
static int set_filter(struct event_trigger *t, const struct line *l, struct trigger_error *error)
{
	int err;

	if (!l->filter)
		return 0;
	err = filter_compile(t->file->event, l->filter, l->filter_bytes, &t->filter,
			     &error->errors.e[0]);
	if (!err || err == -ENOMEM)
		return err;
	error->errors.nr = 1;
	if (!error->errors.e[0].text)
		error->errors.e[0].text = "Error";
	str_copy(error->location, sizeof(error->location), "event filter parse error");
	error->command = l->filter;
	error->bytes = l->filter_bytes;
	/* as in the kernel, where a histogram's command has one errno for all of them */
	return t->hist ? -EINVAL : err;
}

static int add_simple(struct event_file *f, const struct line *l, struct trigger_error *error)
{
	struct event_trigger *t;
	int err;

	if (find_same(f, l, 0))
		return -EEXIST;
	err = l->ops->prepare ? l->ops->prepare(f->tr) : 0;
	if (err)
		return err;
	t = heap_alloc(sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->ops = l->ops;
	t->file = f;
	t->target = l->target;
	t->count = l->count;
	t->counted = l->counted;
	err = set_filter(t, l, error);
	if (!err)
		err = link_in(t);
	if (err)
		free_trigger(t);
	return err;
}

static int same_filter(const struct event_trigger *t, const struct line *l)
{
	if (!t->filter || !l->filter)
		return !t->filter && !l->filter;
	return strlen(filter_text(t->filter)) == l->filter_bytes &&
	       !memcmp(filter_text(t->filter), l->filter, l->filter_bytes);
}

static struct event_trigger **find_hist(struct event_file *f, const struct hist *h,
					const struct line *l)
{
	struct event_trigger **at;

	for (at = &f->triggers; *at; at = &(*at)->next)
		if ((*at)->hist && hist_same((*at)->hist, h) && same_filter(*at, l))
			return at;
	return NULL;
}

static int hist_error(struct trigger_error *error, const struct event_file *f, const char *text,
		      size_t n)
{
	struct seq_buf s;

	seq_init(&s, error->location, sizeof(error->location) - 1);
	seq_puts(&s, "hist:");
	seq_puts(&s, f->event->system);
	seq_putc(&s, ':');
	seq_puts(&s, f->event->name);
	error->location[s.len] = 0;
	error->command = text;
	error->bytes = n;
	return -EINVAL;
}

/* Carry out a line's command on an existing histogram. */
static int change_hist(struct hist *h, enum hist_wish wish)
{
	if (wish == HIST_CLEAR)
		return hist_clear(h);
	if (wish == HIST_MAKE)
		return -EEXIST;
	hist_pause(h, wish == HIST_PAUSE);
	return 0;
}

static int add_hist(struct event_file *f, struct hist *h, enum hist_wish wish, const struct line *l,
		    const char *text, size_t n, struct trigger_error *error)
{
	struct event_trigger *t = heap_alloc(sizeof(*t));
	int err;

	if (!t) {
		hist_free(h);
		return -ENOMEM;
	}
	t->ops = &hist_ops;
	t->file = f;
	t->count = TRIGGER_UNLIMITED;
	t->hist = h;
	hist_pause(h, wish == HIST_PAUSE);
	err = set_filter(t, l, error);
	if (!err) {
		err = hist_use_clock(h, f->tr, &error->errors);
		if (!err)
			err = hist_actions_make(h, f, text, n, &error->errors);
		if (err)
			hist_error(error, f, text, n);
	}
	if (!err)
		err = hist_start(h, f, t->filter ? filter_text(t->filter) : NULL);
	if (!err)
		err = link_in(t);
	if (err)
		free_trigger(t);
	return err;
}

static int one_error(struct trigger_error *error, const char *text, const struct event_file *f,
		     const char *command, size_t n)
{
	error->errors = (struct parse_errors){1, {{text, 0}}};
	return hist_error(error, f, command, n);
}

/* The bytes before ` if `, without blanks; -EINVAL: there is nothing behind it. */
static int hist_bytes(const char *text, size_t n, size_t *bytes)
{
	size_t i;

	for (i = 1; i + 2 <= n; i++)
		if (!memcmp(text + i, "if", 2) && is_blank(text[i - 1]) &&
		    (i + 2 == n || is_blank(text[i + 2])))
			break;
	if (i + 2 == n)
		return -EINVAL;
	*bytes = i + 2 > n ? n : i;
	while (*bytes && is_blank(text[*bytes - 1]))
		--*bytes;
	return 0;
}

static int remove_hist(struct event_trigger **at)
{
	if (at && hist_is_used((*at)->hist))
		return -EBUSY;
	if (at)
		take_out(at);
	return 0;
}

static int store_hist(struct event_file *f, const char *text, size_t n, int remove,
		      struct trigger_error *error)
{
	struct event_trigger **at = NULL;
	struct line l = {0};
	enum hist_wish wish;
	struct hist *h;
	size_t bytes;
	int err;

	err = hist_bytes(text, n, &bytes);
	if (err)
		return err;
	err = hist_parse(f, text, bytes, remove, &h, &wish, &error->errors);
	if (err) {
		hist_error(error, f, text, bytes);
		return err;
	}
	err = parse_if(&l, text + bytes, n - bytes);
	if (!err)
		at = find_hist(f, h, &l);
	if (!err && !at && !remove) {
		err = hist_join(h, f->tr, &error->errors);
		if (err)
			hist_error(error, f, text, bytes);
	}
	if (!err && !at && !remove && (wish == HIST_MAKE || wish == HIST_PAUSE))
		return add_hist(f, h, wish, &l, text, bytes, error);
	hist_free(h);
	if (err)
		return err;
	if (remove)
		return remove_hist(at);
	if (!at) {
		one_error(error, "Can't clear or continue a nonexistent hist trigger", f, text,
			  bytes);
		return -ENOENT;
	}
	err = change_hist((*at)->hist, wish);
	if (err == -EEXIST)
		one_error(error, "Hist trigger already exists", f, text, bytes);
	return err;
}

int trigger_attach(struct event_file *f, const struct trigger_ops *ops, void *data,
		   const char *filter)
{
	struct event_trigger *t = heap_alloc(sizeof(*t));
	struct parse_error error;
	int err = 0;

	if (!t)
		return -ENOMEM;
	t->ops = ops;
	t->file = f;
	t->data = data;
	t->count = TRIGGER_UNLIMITED;
	if (filter)
		err = filter_compile(f->event, filter, strlen(filter), &t->filter, &error);
	if (!err)
		err = link_in(t);
	if (err)
		free_trigger(t);
	return err;
}

void trigger_detach(struct event_file *f, const struct trigger_ops *ops, const void *data)
{
	struct event_trigger **at;

	for (at = &f->triggers; *at; at = &(*at)->next) {
		if ((*at)->ops == ops && (*at)->data == data) {
			take_out(at);
			return;
		}
	}
}

const char *trigger_filter(const struct event_trigger *t)
{
	return t->filter ? filter_text(t->filter) : NULL;
}

int trigger_make_hist(struct event_file *f, const char *text, size_t n)
{
	struct trigger_error error;

	return store_hist(f, text, n, 0, &error);
}

void trigger_drop_hist(struct hist *h)
{
	struct event_trigger **at;
	struct event_file *f;
	struct event *e;

	for (e = events; e; e = e->next)
		for (f = e->files; f; f = f->next)
			for (at = &f->triggers; *at; at = &(*at)->next)
				if ((*at)->hist == h) {
					take_out(at);
					return;
				}
}

int trigger_store(struct event_file *f, const char *text, size_t n, struct trigger_error *error)
{
	struct line l = {0};
	int remove, err, empty = !n;

	error->location[0] = 0;
	while (n && is_blank(*text))
		text++, n--;
	while (n && is_blank(text[n - 1]))
		n--;
	if (!n)
		return empty ? 0 : -EINVAL;
	remove = *text == '!';
	text += remove;
	n -= (size_t)remove;
	if (n >= 4 && !memcmp(text, "hist", 4) && (n == 4 || text[4] == ':' || is_blank(text[4])))
		return store_hist(f, text, n, remove, error);
	l.remove = remove;
	err = parse_simple(&l, f->tr, text, n);
	if (err)
		return err;
	if (remove) {
		struct event_trigger **at = find_same(f, &l, 1);

		if (at)
			take_out(at);
		return 0;
	}
	return add_simple(f, &l, error);
}

static void show(const struct event_trigger *t, struct seq_buf *s)
{
	if (t->hist) {
		hist_show_trigger(t->hist, s);
		if (t->filter) {
			seq_puts(s, " if ");
			seq_puts(s, filter_text(t->filter));
		}
		seq_puts(s, hist_paused(t->hist) ? " [paused]\n" : " [active]\n");
		return;
	}
	seq_puts(s, t->ops->name);
	seq_putc(s, ':');
	if (t->target) {
		seq_puts(s, t->target->event->system);
		seq_putc(s, ':');
		seq_puts(s, t->target->event->name);
		seq_putc(s, ':');
	}
	if (t->counted) {
		seq_puts(s, "count=");
		seq_putu(s, (uint64_t)load_relaxed(&t->count));
	} else {
		seq_puts(s, "unlimited");
	}
	if (t->filter) {
		seq_puts(s, " if ");
		seq_puts(s, filter_text(t->filter));
	}
	seq_putc(s, '\n');
}

static void list_commands(struct seq_buf *s)
{
	const struct trigger_ops *const *ops;
	uint32_t order;

	seq_puts(s, "# Available triggers:\n#");
	for (order = 0; order <= UINT8_MAX; order++) {
		REGISTRY_EACH (vestige_triggers, ops) {
			if ((*ops)->order != order)
				continue;
			seq_putc(s, ' ');
			seq_puts(s, (*ops)->name);
		}
	}
	seq_puts(s, " hist\n");
}

void triggers_show(const struct event_file *f, struct seq_buf *s)
{
	const struct event_trigger *t = f ? f->triggers : NULL;

	while (t && t->data)
		t = t->next;
	if (!t) {
		list_commands(s);
		return;
	}
	for (t = f->triggers; t; t = t->next)
		if (!t->data)
			show(t, s);
}

void triggers_show_hists_debug(const struct event_file *f, struct seq_buf *s)
{
	const struct event_trigger *t;
	int any = 0;

	for (t = f ? f->triggers : NULL; t; t = t->next) {
		if (!t->hist)
			continue;
		seq_puts(s, any ? "\n\n# event histogram\n#\n# trigger info: "
				: "# event histogram\n#\n# trigger info: ");
		show(t, s);
		seq_puts(s, "#\n\n");
		hist_show_debug(t->hist, f->event, s);
		any = 1;
	}
}

void triggers_clear_hists(struct event_file *f)
{
	struct event_trigger **at;

	for (at = &f->triggers; *at; at = &(*at)->next)
		if ((*at)->hist && hist_is_used((*at)->hist))
			return;
	/* histograms that were made for it may be removed with it */
	for (at = &f->triggers; *at;) {
		if ((*at)->hist) {
			take_out(at);
			at = &f->triggers;
		} else {
			at = &(*at)->next;
		}
	}
}

void triggers_clear(struct event_file *f)
{
	struct event_file *other;
	struct event_trigger **at;
	struct event *e;

	while (f->triggers)
		take_out(&f->triggers);
	/* remove triggers of other events that switch it */
	for (e = events; e; e = e->next) {
		other = event_file_find(e, f->tr);
		for (at = other ? &other->triggers : NULL; at && *at;)
			if ((*at)->target == f)
				take_out(at);
			else
				at = &(*at)->next;
	}
}
