/* SPDX-License-Identifier: MIT */
/*
 * The grammar of dynamic probes. The first byte says which: 0: lines of dynamic_events, whose words
 * go to two classes made here that take any definition; 7: operands of markers; else the arguments
 * of one, parsed, listed, and fetched from registers that are the input's own bytes, so that they
 * are read as addresses, or from the record of another event. The data of a record must be
 * inside it, and the position of an error inside its word.
 */
#include "fuzz.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "engine/events/probe/dynevent.h"
#include "engine/events/probe/fetch.h"
#include "engine/events/probe/usdt.h"

#define MAX_TEXT 2048

/* In place of the functions of probe_event.c. */
static const struct dyn_class kprobe_class, uprobe_class;

struct made {
	struct dyn_event dyn;
	char text[64];
	size_t n;
};

static int nr_made;

static int make(const struct dyn_command *c, const struct dyn_class *class)
{
	struct made *m = calloc(1, sizeof(*m));

	PROMISE(m && c->nr_words && c->bytes[0]);
	for (uint32_t i = 0; i < c->nr_words; i++) {
		PROMISE(c->at[i] + c->bytes[i] <= c->text_bytes);
		PROMISE(c->word[i] == c->text + c->at[i]);
		PROMISE(!memchr(c->word[i], ' ', c->bytes[i]));
	}
	PROMISE(dyn_command_words_are(c, 0, c->text, c->text_bytes));
	m->dyn.class = class;
	m->n = c->bytes[0] < sizeof(m->text) ? c->bytes[0] : sizeof(m->text);
	memcpy(m->text, c->word[0], m->n);
	dyn_event_add(&m->dyn);
	nr_made++;
	return 0;
}

static int create_p(const struct dyn_command *c, struct dyn_error *error)
{
	(void)error;
	return *c->word[0] == 'p' ? make(c, &kprobe_class) : -ECANCELED;
}

static int create_u(const struct dyn_command *c, struct dyn_error *error)
{
	(void)error;
	return make(c, &uprobe_class);
}

static void show(const struct dyn_event *e, struct seq_buf *s)
{
	const struct made *m = (const struct made *)e;

	for (size_t i = 0; i < m->n; i++)
		seq_putc(s, m->text[i]);
}

static int is_busy(const struct dyn_event *e)
{
	return ((const struct made *)e)->text[0] == 'b';
}

static int matches(const struct dyn_event *e, const char *group, size_t group_bytes,
		   const char *name, size_t name_bytes, const struct dyn_command *c)
{
	const struct made *m = (const struct made *)e;

	PROMISE(!group || group + group_bytes <= c->text + c->text_bytes);
	PROMISE(!name || name + name_bytes <= c->text + c->text_bytes);
	PROMISE(!name || name_bytes);
	PROMISE(group || name);
	return !name || (name_bytes <= m->n && !memcmp(name, m->text, name_bytes));
}

static void release(struct dyn_event *e)
{
	free(e);
	nr_made--;
}

static const struct dyn_class kprobe_class = {DYN_PROBE_KPROBE, create_p, show,
					      is_busy,		matches,  release};
static const struct dyn_class uprobe_class = {DYN_PROBE_UPROBE, create_u, show,
					      is_busy,		matches,  release};
static const struct dyn_class fprobe_class = {DYN_PROBE_FPROBE, create_u, show,
					      is_busy,		matches,  release};
static const struct dyn_class eprobe_class = {DYN_PROBE_EPROBE, create_u, show,
					      is_busy,		matches,  release};
static const struct dyn_class tprobe_class = {DYN_PROBE_TPROBE, create_u, show,
					      is_busy,		matches,  release};
static const struct dyn_class synth_class = {DYN_SYNTH, create_u, show, is_busy, matches, release};
DYN_CLASS_REGISTER(kprobe_class);
DYN_CLASS_REGISTER(uprobe_class);
DYN_CLASS_REGISTER(fprobe_class);
DYN_CLASS_REGISTER(eprobe_class);
DYN_CLASS_REGISTER(tprobe_class);
DYN_CLASS_REGISTER(synth_class);

static void run_lines(const char *text, size_t n)
{
	static struct dyn_command c;
	struct dyn_error error;
	size_t at = 0, end;
	struct seq_buf s;
	int err, nr = 0;

	for (; at < n; at = end + 1) {
		const char *nl = memchr(text + at, '\n', n - at);

		end = nl ? (size_t)(nl - text) : n;
		err = dyn_command_split(&c, text + at, end - at);
		PROMISE(!err || err == -E2BIG);
		if (err)
			continue;
		err = dyn_event_command(&c, DYN_ANY, &error);
		PROMISE(!err || err == -EINVAL || err == -ENOENT || err == -EBUSY);
	}
	seq_init(&s, NULL, 0);
	dyn_events_show(DYN_ANY, &s);
	for (const struct dyn_event *e = dyn_events; e; e = e->next)
		nr++;
	PROMISE(nr == nr_made);
	/* those that are busy stay, and so all do; they go by hand */
	while (dyn_events) {
		struct dyn_event *e = dyn_events;

		if (!dyn_events_clear(DYN_ANY))
			break;
		dyn_events = e->next;
		release(e);
	}
	PROMISE(!dyn_events && !nr_made);
}

static int symbol(void *arg, const char *name, size_t n, uint64_t *address)
{
	(void)arg;
	PROMISE(n);
	*address = (uint64_t)(uintptr_t)&nr_made;
	return name[0] == 'n' ? -ENOENT : 0;
}

static int file_offset(void *arg, uint64_t offset, uint64_t *address)
{
	(void)arg;
	*address = offset;
	return 0;
}

/* The event of an event's probe, and its record. */
struct shop {
	uint64_t common;
	uint8_t small;
	int16_t price;
	uint32_t number;
	uint64_t many[2];
	uint32_t item, rest;
	const char *who;
	char code[8];
	char texts[16];
};

#define SHOP_FIELD(member, type, is_signed, filter)                                                \
	{                                                                                          \
		type, #member, sizeof(((struct shop *)0)->member), offsetof(struct shop, member),  \
			is_signed, filter                                                          \
	}
static const struct event_field shop_fields[] = {
	SHOP_FIELD(small, "u8", 0, FILTER_OTHER),
	SHOP_FIELD(price, "s16", 1, FILTER_OTHER),
	SHOP_FIELD(number, "u32", 0, FILTER_OTHER),
	SHOP_FIELD(many, "u64[2]", 0, FILTER_OTHER),
	SHOP_FIELD(item, "__data_loc char[]", 1, FILTER_DYN_STRING),
	SHOP_FIELD(rest, "__rel_loc char[]", 1, FILTER_RDYN_STRING),
	SHOP_FIELD(who, "const char *", 0, FILTER_PTR_STRING),
	SHOP_FIELD(code, "char[8]", 1, FILTER_STATIC_STRING),
};
static const struct event shop = {.fields = shop_fields,
				  .nr_fields = sizeof(shop_fields) / sizeof(shop_fields[0])};

static void fill_shop(struct shop *r, const uint8_t *data, size_t n)
{
	memset(r, 0, sizeof(*r));
	memcpy(r, data, n < sizeof(*r) ? n : sizeof(*r));
	r->item = offsetof(struct shop, texts) | 9u << 16;
	r->rest = (uint32_t)(offsetof(struct shop, texts) + 9 - offsetof(struct shop, rest) - 4) |
		  7u << 16;
}

static size_t count(const struct seq_buf *s, char c)
{
	size_t n = 0;

	for (size_t i = 0; i < s->len; i++)
		n += s->text[i] == c;
	return n;
}

/* The listing equals the definition. There is a value for each conversion. */
static void check_texts(const struct fetch_arg *a, const char *word, size_t n)
{
	char conversions[1024], values[8192];
	struct seq_buf c, v;

	PROMISE(fetch_good_name(a->name, strlen(a->name)));
	PROMISE(strlen(a->text) <= n &&
		!memcmp(a->text, word + n - strlen(a->text), strlen(a->text)));
	seq_init(&c, conversions, sizeof(conversions));
	fetch_put_conversion(a, &c);
	seq_init(&v, values, sizeof(values));
	fetch_put_value(a, &v);
	PROMISE(!c.lost && !v.lost && count(&c, '%') == count(&v, ','));
}

static void fetch(const struct fetch_arg *a, const uint8_t *data, size_t n)
{
	struct shop shop_record;
	uint64_t r[ARCH_NR_SAVED] = {0};
	uint32_t fixed = a->offset + fetch_field_bytes(a), location;
	char *kept = malloc(FETCH_KEPT);
	struct fetch_regs regs = {.r = r,
				  .ip = 1,
				  .sp = (uint64_t)(uintptr_t)r,
				  .retval = 7,
				  .record = (const uint8_t *)&shop_record,
				  .tid = getpid(),
				  .kept = kept,
				  .nr_kept = data[0] & 2 ? FETCH_KEPT - 100 : 0};
	struct fetch_string string;
	uint8_t *record;

	PROMISE(kept);
	fill_shop(&shop_record, data, n);
	memcpy(r, data, n < sizeof(r) ? n : sizeof(r));
	string = fetch_measure(a, &regs);
	PROMISE(string.bytes <= FETCH_MAX_STRING && !string.bytes == !a->type->is_string);
	PROMISE(regs.nr_kept <= FETCH_KEPT);
	PROMISE(string.at == FETCH_NOT_KEPT || string.at + string.bytes == regs.nr_kept);
	record = malloc(fixed + string.bytes);
	PROMISE(record);
	memset(record, 0xaa, fixed + string.bytes);
	/* it may have less room than it asked for */
	if (string.bytes > 1 && data[0] & 1)
		string.bytes = (uint16_t)(1 + data[0] % string.bytes);
	fetch_store(a, &regs, record, fixed, string);
	if (a->type->is_string) {
		memcpy(&location, record + a->offset, 4);
		PROMISE((location & 0xffff) == fixed && location >> 16 == string.bytes);
		PROMISE(!record[fixed + string.bytes - 1]);
	}
	free(kept);
	free(record);
}

static void run_args(const char *text, size_t n, int flags)
{
	static struct dyn_command c;
	static struct fetch_arg args[DYN_MAX_WORDS];
	const struct fetch_context ctx = {.is_return = flags & 1,
					  .is_file = flags & 2,
					  .is_function = flags & 16,
					  .event = flags & 32 ? &shop : NULL,
					  .is_tracepoint = flags & 64,
					  .symbol = symbol,
					  .file_offset = file_offset};
	uint32_t nr = 0;

	if (dyn_command_split(&c, text, n))
		return;
	for (uint32_t i = 0; i < c.nr_words; i++) {
		struct parse_error error = {0};
		char *text_of = malloc(c.bytes[i]), *means = malloc(c.said_bytes[i]);
		struct fetch_word word = {.text = text_of, .bytes = c.bytes[i]};
		int err;

		PROMISE(text_of && means);
		memcpy(text_of, c.word[i], c.bytes[i]);
		memcpy(means, c.said[i], c.said_bytes[i]);
		if (c.said_bytes[i] > 1) {
			word.means = means + 1;
			word.means_bytes = c.said_bytes[i] - 1;
			fetch_wrong(means[1]);
		}
		err = fetch_parse(&args[nr], &word, nr, args, &ctx, &error);
		PROMISE(!err || err == -EINVAL || err == -ENOENT || err == -EOPNOTSUPP);
		PROMISE(!err || err == -ENOENT || error.text);
		PROMISE(error.position <= c.bytes[i]);
		if (!err) {
			check_texts(&args[nr], text_of, c.bytes[i]);
			args[nr].offset = 16;
			PROMISE(fetch_same_field(&args[nr], &args[nr]));
			fetch(&args[nr], (const uint8_t *)text, n);
			nr++;
		}
		free(means);
		free(text_of);
	}
}

/* Words as notes of markers have them. */
static void run_operands(const char *text, size_t n)
{
	size_t i = 0, start;

	for (;;) {
		struct fetch_arg arg;
		char *word;

		while (i < n && text[i] == ' ')
			i++;
		for (start = i; i < n && text[i] != ' '; i++)
			;
		if (i == start)
			return;
		word = malloc(i - start);
		PROMISE(word);
		memcpy(word, text + start, i - start);
		if (usdt_arg_parse(&arg, word, i - start, symbol, NULL))
			PROMISE(arg.base == FETCH_IMM && !arg.value && !arg.nr_derefs);
		PROMISE(!arg.type->is_string && arg.nr_derefs <= 1);
		arg.offset = 16;
		arg.narrow = arg.type;
		arg.type = fetch_integer(8, 1);
		fetch(&arg, (const uint8_t *)text, n);
		free(word);
	}
}

static void run(const uint8_t *data, size_t n)
{
	char *text;

	if (n < 2 || n > MAX_TEXT)
		return;
	/* of exactly its size: one byte too far is seen */
	text = malloc(n - 1);
	PROMISE(text);
	memcpy(text, data + 1, n - 1);
	if (data[0] % 8 == 0)
		run_lines(text, n - 1);
	else if (data[0] % 8 == 7)
		run_operands(text, n - 1);
	else
		run_args(text, n - 1, data[0]);
	free(text);
}

static void mutate(struct mangle *m)
{
	static const char *const words[] = {
		"+0(",	    ":string",	"%di",
		"$arg",	    "$retval",	"$comm",
		"$stack",   ":u8",	"[3]",
		"@",	    "\\",	"\"",
		":b4@2/32", "-:",	"!",
		"p:",	    "/",	".",
		" ",	    "a=",	")",
		":x64[",    "-8(",	"+u",
		"1",	    "0x",	"]",
		"\n",	    "n=",	":symbol",
		"@sym",	    "@+1",	"99999999999999999999",
		":char",    "(",	"busy",
		"r",	    "=",	"%return",
		"-4@",	    "%eax",	"(%rbp,%rcx,8)",
		"@$",	    "+x(%rip)", "%r9d",
		"$item",    "$number",	"$rest",
		"$who",	    "$code",	"$price",
		"$many",    "e:",	"if ",
		"\1",	    "\1$arg1",	"\2b0",
	};
	const char *word = words[mangle_random(m, sizeof(words) / sizeof(words[0]))];

	if (m->n && mangle_random(m, 3))
		mangle_insert(m, 1 + mangle_random(m, m->n), word, strlen(word));
	else
		mangle_any(m);
}

const struct fuzz_target fuzz_probes = {"probes", run, mutate};
