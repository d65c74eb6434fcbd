/* SPDX-License-Identifier: MIT */
/*
 * The commands of kprobe_events and uprobe_events. Grammar, names, errors and positions are the
 * kernel's (6.12, trace_kprobe and trace_uprobe). An impossible probe is refused when it is
 * defined, and vestige_status says why. A probe in a file is located when its event is switched on,
 * as the file may be loaded by then.
 *
 * Control context; no state. Tests: tests/engine/events/kprobe.
 */
#include "engine/events/probe/probe_command.h"

#include <errno.h>

#include "abi/probe_word.h"
#include "engine/arch/sys.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/process/area.h"
#include "engine/process/heap.h"

#define MAX_ACTIVE	4096u
#define MAX_FIXED_BYTES 3072u /* of a record without its strings, which must fit into the page */

int probe_bad(struct probe_definition *d, uint32_t position, const char *text, int err)
{
	d->error->location = d->is_file	      ? "trace_uprobe"
			     : d->is_function ? "trace_fprobe"
			     : d->is_event    ? "event_probe"
					      : "trace_kprobe";
	d->error->error = (struct parse_error){text, d->c->at[d->word] + position};
	return err;
}

static int bad(struct probe_definition *d, uint32_t position, const char *text)
{
	return probe_bad(d, position, text, -EINVAL);
}

/* A group's name may have `-` in it. */
static int good_group(const char *name, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!fetch_good_name(name + i, 1) && (!i || (!is_digit(name[i]) && name[i] != '-')))
			return 0;
	return n > 0;
}

int probe_read_name(struct probe_definition *d, const char *text, size_t n, uint32_t at)
{
	size_t slash = text_find(text, n, '/');

	if (slash == n)
		slash = text_find(text, n, '.');
	if (slash < n) {
		if (!slash)
			return bad(d, at, "Group name is not specified");
		if (slash >= DYN_MAX_NAME)
			return bad(d, at, "Group name is too long");
		if (!good_group(text, slash))
			return bad(d, at, "Group name must follow the same rules as C identifiers");
		memcpy(d->group, text, slash);
		d->group[slash] = 0;
		at += (uint32_t)slash + 1;
		text += slash + 1;
		n -= slash + 1;
		if (!n)
			return 0;
	}
	if (!n)
		return bad(d, at, "Event name is not specified");
	if (n >= DYN_MAX_NAME)
		return bad(d, at, "Event name is too long");
	if (!fetch_good_name(text, n))
		return bad(d, at, "Event name must follow the same rules as C identifiers");
	memcpy(d->name, text, n);
	d->name[n] = 0;
	return 0;
}

int probe_read_kind(struct probe_definition *d, uint32_t *colon)
{
	const char *word = d->c->word[0];
	uint32_t n = d->c->bytes[0];

	*colon = (uint32_t)text_find(word, n, ':');
	d->is_return = *word == 'r';
	if (n < 2 || !is_digit(word[1]) || d->is_file)
		return *colon > 1 && *colon != n && d->is_file ? -EINVAL : 0;
	if (!d->is_return && !d->is_function)
		return bad(d, 1, "Maxactive is only for function exit");
	if (str_to_u64(word + 1, *colon - 1, &d->maxactive) || !d->maxactive)
		return bad(d, 1, "Invalid maxactive number");
	return d->maxactive > MAX_ACTIVE ? bad(d, 1, "Maxactive is too big") : 0;
}

static void put_hex(struct seq_buf *s, uint64_t v, uint32_t digits)
{
	uint32_t n = 16;

	while (n > digits && !(v >> (4 * n - 4)))
		n--;
	seq_puts(s, "0x");
	while (n--)
		seq_putc(s, "0123456789abcdef"[v >> (4 * n) & 15]);
}

/* Replace letters of a place that a name may not have by `_`. */
static void clean_name(struct probe_definition *d, struct seq_buf *s)
{
	size_t i;

	d->name[s->len] = 0;
	for (i = 0; i < s->len; i++)
		if (!fetch_good_name(d->name + i, 1) && !is_digit(d->name[i]))
			d->name[i] = '_';
}

static int place_error(struct probe_definition *d, int err)
{
	if (err == -ENOENT)
		return bad(d, 0, "Invalid probed address or symbol");
	if (err == -EADDRNOTAVAIL)
		return probe_bad(d, 0, "The symbol is not unique", err);
	if (d->is_return && err == -EILSEQ)
		return bad(d, 0, "Retprobe address must be an function entry");
	if (err == -EILSEQ)
		return probe_bad(d, 0, "Probe point is not an instruction boundary", err);
	if (err == -EINVAL && d->at.why)
		area_status(d->at.why, d->place, 0);
	if (err == -EINVAL && d->at.why && d->is_return)
		return bad(d, 0, d->at.why);
	return err ? probe_bad(d, 0, "Failed to register probe event", err) : 0;
}

/* `f` probes: whether %return is given, or $retval is fetched. */
static int wants_return(const struct dyn_command *c)
{
	uint32_t i, k;

	for (i = 2; i < c->nr_words; i++)
		for (k = 0; k + 7 <= c->bytes[i]; k++)
			if (!memcmp(c->word[i] + k, "$retval", 7))
				return 1;
	return 0;
}

/* The name of a probe that has none: `p_work_0`, `work__entry`. */
static void default_name(struct probe_definition *d, const char *symbol, size_t n, uint64_t offset)
{
	struct seq_buf s;
	size_t i;

	seq_init(&s, d->name, sizeof(d->name) - 1);
	if (!d->is_function)
		seq_puts(&s, d->is_return ? "r_" : "p_");
	for (i = 0; i < n; i++)
		seq_putc(&s, symbol[i]);
	if (d->is_function) {
		seq_puts(&s, d->is_return ? "__exit" : "__entry");
	} else {
		seq_putc(&s, '_');
		seq_putu(&s, offset);
	}
	clean_name(d, &s);
}

static int read_symbol(struct probe_definition *d)
{
	const char *text = d->c->word[1];
	size_t n = d->c->bytes[1], percent = text_find(text, n, '%'), plus, i;
	uint64_t offset = 0;
	struct seq_buf s;
	int err;

	if (percent < n) {
		if (n - percent != 7 || memcmp(text + percent, "%return", 7))
			return bad(d, (uint32_t)percent, "Invalid probed address suffix");
		d->is_return = 1;
		n = percent;
	}
	if (d->is_function && wants_return(d->c))
		d->is_return = 1;
	plus = text_find(text, n, '+');
	if (!plus || (d->is_function && plus < n) || text_find(text, n, '-') < n ||
	    (plus < n &&
	     (str_to_u64(text + plus + 1, n - plus - 1, &offset) || offset > UINT32_MAX)))
		return bad(d, 0, "Invalid probed address or symbol");
	seq_init(&s, d->place, sizeof(d->place) - 1);
	for (i = 0; i < plus; i++)
		seq_putc(&s, text[i]);
	if (offset) {
		seq_putc(&s, '+');
		seq_putu(&s, offset);
	}
	if (d->is_function && d->is_return)
		seq_puts(&s, "%return");
	d->place[s.len] = 0;
	d->at.is_return = d->is_return != 0;
	err = probe_place_symbol(text, plus, offset, &d->at);
	if (d->is_return && (!err || err == -EINVAL) && offset &&
	    d->at.function == PROBE_NO_FUNCTION)
		err = -EILSEQ;
	d->is_away = err == -ENXIO;
	err = d->is_away ? 0 : place_error(d, err);
	if (!err && d->maxactive && !d->is_return) {
		d->word = 0;
		err = bad(d, 1, "Maxactive is only for function exit");
	}
	if (!err && !d->name[0])
		default_name(d, text, plus, offset);
	return err;
}

static int read_address(struct probe_definition *d, uint64_t address)
{
	struct seq_buf s;
	int err;

	seq_init(&s, d->place, sizeof(d->place) - 1);
	put_hex(&s, address, 16);
	d->place[s.len] = 0;
	d->at.is_return = d->is_return != 0;
	err = place_error(d, probe_place_address(address, &d->at));
	if (err || d->name[0])
		return err;
	seq_init(&s, d->name, sizeof(d->name) - 1);
	seq_putc(&s, d->is_return ? 'r' : 'p');
	seq_putc(&s, '_');
	put_hex(&s, address, 1);
	clean_name(d, &s);
	return 0;
}

/* Whether a place looks like `/FILE:OFFSET`. */
static int looks_like_file(const struct dyn_command *c)
{
	return text_find(c->word[1], c->bytes[1], '/') < c->bytes[1] &&
	       text_find(c->word[1], c->bytes[1], ':') < c->bytes[1];
}

/*
 * Parse `(REFERENCE COUNTER)` behind an offset, in the text at @at. The kernel increments the
 * counter, so that the program passes the marker. The engine does not, so it is refused.
 */
static int read_counter(struct probe_definition *d, const char *text, size_t *n, uint32_t at)
{
	size_t open = text_find(text, *n, '('), close = text_find(text, *n, ')');
	uint64_t v;

	if (open == *n)
		return 0;
	if (close == *n)
		return bad(d, at + (uint32_t)*n, "Reference counter brace is not closed");
	if (close != *n - 1)
		return bad(d, at + (uint32_t)close + 1, "Reference counter has wrong suffix");
	if (close < open || str_to_u64(text + open + 1, close - open - 1, &v))
		return bad(d, at + (uint32_t)open + 1, "Invalid reference counter offset");
	area_status("the reference counter of a probe is not counted up", d->place, 0);
	*n = open;
	return 0;
}

static int read_file(struct probe_definition *d)
{
	const char *text = d->c->word[1];
	size_t n = d->c->bytes[1], colon = text_find_last(text, n, ':'), percent, base, i;
	struct seq_buf s;
	struct stat st;
	int fd, err;

	if (colon == n)
		return -ECANCELED;
	if (colon >= 1024)
		return probe_bad(d, 0, "Failed to find the given file", -ENOENT);
	memcpy(d->place, text, colon);
	d->place[colon] = 0;
	d->path_bytes = (uint32_t)colon;
	fd = sys_open(d->place, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	if (fd < 0)
		return probe_bad(d, 0, "Failed to find the given file", fd);
	err = sys_fstat(fd, &st);
	sys_close(fd);
	if (err || !S_ISREG(st.st_mode))
		return bad(d, 0, "Not a regular file");
	text += colon + 1;
	n -= colon + 1;
	err = read_counter(d, text, &n, (uint32_t)colon + 1);
	if (err)
		return err;
	percent = text_find(text, n, '%');
	if (percent < n) {
		if (n - percent != 7 || memcmp(text + percent, "%return", 7))
			return bad(d, (uint32_t)(colon + 1 + percent),
				   "Invalid probed address suffix");
		d->is_return = 1;
		n = percent;
	}
	if (!n || str_to_u64(text, n, &d->file_offset))
		return bad(d, (uint32_t)colon + 1, "Invalid uprobe offset");
	seq_init(&s, d->place + colon, 32);
	seq_putc(&s, ':');
	put_hex(&s, d->file_offset, 16);
	d->place[colon + s.len] = 0;
	if (d->name[0])
		return 0;
	base = text_find_last(d->place, colon, '/') + 1;
	seq_init(&s, d->name, sizeof(d->name) - 1);
	seq_putc(&s, d->is_return ? 'r' : 'p');
	seq_putc(&s, '_');
	for (i = base; i < colon && d->place[i] != '.' && d->place[i] != '-' &&
		       d->place[i] != '_' && s.len < 40;
	     i++)
		seq_putc(&s, d->place[i]);
	seq_putc(&s, '_');
	put_hex(&s, d->file_offset, 1);
	clean_name(d, &s);
	return 0;
}

int probe_fetch_symbol(void *arg, const char *name, size_t n, uint64_t *address)
{
	(void)arg;
	return probe_symbol_address(name, n, address);
}

static int file_address(void *arg, uint64_t offset, uint64_t *address)
{
	const struct probe_definition *d = arg;
	char path[1024];

	memcpy(path, d->place, d->path_bytes);
	path[d->path_bytes] = 0;
	return probe_file_address(path, offset, address);
}

static struct fetch_word word_of(const struct dyn_command *c, uint32_t i)
{
	struct fetch_word w = {.text = c->word[i], .bytes = c->bytes[i]};

	if (c->said_bytes[i] > 1 && *c->said[i] == PROBE_WORD_MEANS) {
		w.means = c->said[i] + 1;
		w.means_bytes = c->said_bytes[i] - 1;
	}
	return w;
}

int probe_has_errors(struct probe_definition *d)
{
	const struct dyn_command *c = d->c;
	const char *text;
	uint64_t position;

	for (d->word = 2; d->word < c->nr_words; d->word++) {
		const char *said = c->said[d->word];
		uint32_t n = c->said_bytes[d->word];

		if (n < 3 || *said != PROBE_WORD_WRONG)
			continue;
		text = fetch_wrong(said[1]);
		if (text && !str_to_u64(said + 2, n - 2, &position) &&
		    position <= c->bytes[d->word])
			return bad(d, (uint32_t)position, text);
	}
	return 0;
}

int probe_read_args(struct probe_definition *d, struct fetch_arg *args, uint32_t nr,
		    const struct fetch_context *ctx, uint32_t *bytes)
{
	struct parse_error error;
	uint32_t i;

	for (i = 0; i < nr; i++) {
		const struct fetch_word word = word_of(d->c, i + 2);
		int err;

		d->word = i + 2;
		error = (struct parse_error){0};
		err = fetch_parse(&args[i], &word, i, args, ctx, &error);
		if (err && error.text)
			return probe_bad(d, error.position, error.text, err);
		if (err) {
			d->word = 1;
			return probe_bad(d, 0, "Invalid probed address or symbol", err);
		}
		args[i].offset = *bytes;
		*bytes += fetch_field_bytes(&args[i]);
		if (*bytes > MAX_FIXED_BYTES)
			return probe_bad(d, 0, "Event too big (too many fields?)", -E2BIG);
	}
	return 0;
}

int probe_finish(struct probe_definition *d)
{
	const struct fetch_context ctx = {.is_return = d->is_return,
					  .is_file = d->is_file,
					  .is_function = d->is_function,
					  .is_tracepoint = d->is_tracepoint,
					  .event = d->attached,
					  .symbol = probe_fetch_symbol,
					  .file_offset = file_address,
					  .arg = d};
	uint32_t nr = d->c->nr_words - 2;
	uint32_t bytes = probe_head_bytes(d->class->kind, d->is_return);
	struct fetch_arg *args;
	int err;

	if (nr > FETCH_MAX_ARGS)
		return -E2BIG;
	args = heap_alloc((nr + 1) * sizeof(*args));
	if (!args)
		return -ENOMEM;
	err = probe_read_args(d, args, nr, &ctx, &bytes);
	if (!err)
		err = probe_define(d, args, nr, bytes);
	heap_free(args);
	return err;
}

struct probe_definition *probe_begin(const struct dyn_command *c, struct dyn_error *error,
				     const struct dyn_class *class, const char *group)
{
	struct probe_definition *d = heap_alloc(sizeof(*d));

	if (!d)
		return NULL;
	d->c = c;
	d->error = error;
	d->class = class;
	d->at.function = PROBE_NO_FUNCTION;
	str_copy(d->group, sizeof(d->group), group);
	return d;
}

static int create(const struct dyn_command *c, struct dyn_error *error,
		  const struct dyn_class *class, const char *letters, const char *group)
{
	int is_file = class == &uprobe_class;
	struct probe_definition *d;
	uint64_t address;
	uint32_t colon;
	int err;

	if (c->nr_words < 2 || (*c->word[0] != letters[0] && *c->word[0] != letters[1]) ||
	    looks_like_file(c) != is_file ||
	    (c->bytes[0] > 1 && c->word[0][1] != ':' && !is_digit(c->word[0][1])))
		return -ECANCELED;
	d = probe_begin(c, error, class, group);
	if (!d)
		return -ENOMEM;
	d->is_file = is_file;
	d->is_function = class == &fprobe_class;
	err = probe_read_kind(d, &colon);
	if (!err && colon < c->bytes[0])
		err = probe_read_name(d, c->word[0] + colon + 1, c->bytes[0] - colon - 1,
				      colon + 1);
	/* the place exists; its instruction is checked later, as in the kernel */
	if (!err)
		err = probe_has_errors(d);
	d->word = 1;
	if (!err && is_file)
		err = read_file(d);
	else if (!err && !d->is_function && !str_to_u64(c->word[1], c->bytes[1], &address))
		err = read_address(d, address);
	else if (!err)
		err = read_symbol(d);
	if (!err)
		err = probe_finish(d);
	heap_free(d);
	return err;
}

int kprobe_create(const struct dyn_command *c, struct dyn_error *error)
{
	return create(c, error, &kprobe_class, "pr", "kprobes");
}

int uprobe_create(const struct dyn_command *c, struct dyn_error *error)
{
	return create(c, error, &uprobe_class, "pr", "uprobes");
}

int fprobe_create(const struct dyn_command *c, struct dyn_error *error)
{
	return create(c, error, &fprobe_class, "ff", "fprobes");
}
