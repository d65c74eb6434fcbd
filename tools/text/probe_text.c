/* SPDX-License-Identifier: MIT */
/*
 * See probe_text.h. libtraceevent prints the places of a probe as numbers, as the print format
 * says, and does not know %c; the kernel prints symbols, and so do we, field by field, each as the
 * format's conversion says. An event is a probe's if its fields begin like a probe's, or its print
 * format begins with the event that it is attached to, and its print format has a conversion of the
 * kernel's for each field. libtraceevent prints all others.
 *
 * Costs: nothing to other events but one comparison of names. Tests: tests/engine/events/kprobe.
 */
#include "tools/text/probe_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static uint64_t load(const char *data, unsigned int bytes)
{
	uint64_t v = 0;

	memcpy(&v, data, bytes < 8 ? bytes : 8);
	return v;
}

static int64_t load_signed(const char *data, unsigned int bytes)
{
	unsigned int unused = bytes < 8 ? 64 - 8 * bytes : 0;

	return (int64_t)(load(data, bytes) << unused) >> unused;
}

/* A symbol ends where the next one begins, the last one with its page. */
void place_put_sized(struct out *o, struct symbols *s, uint64_t addr)
{
	const struct symbol *sym = symbols_find(s, addr);
	const struct symbol *last = symbols_count(s) ? symbols_at(s, symbols_count(s) - 1) : NULL;
	const struct symbol *next = sym;

	while (next && next < last && next->addr == sym->addr)
		next++;
	if (!sym)
		out_printf(o, "0x%llx", (unsigned long long)addr);
	else
		out_printf(o, "%s+0x%llx/0x%llx", sym->name, (unsigned long long)(addr - sym->addr),
			   next->addr > sym->addr ? (unsigned long long)(next->addr - sym->addr)
						  : 4096ULL);
}

enum conversion { C_NONE, C_SIGNED, C_UNSIGNED, C_HEX, C_CHAR, C_SYMBOL, C_STRING };

/* One conversion of the print format, at the `%`; *@n: its length. */
static enum conversion read_conversion(const char *p, size_t *n)
{
	static const struct {
		const char *text;
		enum conversion c;
	} known[] = {{"%d", C_SIGNED},	  {"%Ld", C_SIGNED}, {"%u", C_UNSIGNED},
		     {"%Lu", C_UNSIGNED}, {"%x", C_HEX},     {"%Lx", C_HEX},
		     {"%c", C_CHAR},	  {"%pS", C_SYMBOL}, {"%s", C_STRING}};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		*n = strlen(known[i].text);
		if (!strncmp(p, known[i].text, *n))
			return known[i].c;
	}
	return C_NONE;
}

static void put_value(struct out *o, enum conversion c, const char *data, unsigned int bytes,
		      struct symbols *s)
{
	uint64_t v = load(data, bytes);

	switch (c) {
	case C_SIGNED:
		out_printf(o, "%lld", (long long)load_signed(data, bytes));
		break;
	case C_HEX:
		out_printf(o, "%llx", (unsigned long long)v);
		break;
	case C_CHAR:
		out_printf(o, "%c", v >= 32 && v < 127 ? (int)v : '?');
		break;
	case C_SYMBOL:
		place_put_sized(o, s, v);
		break;
	default:
		out_printf(o, "%llu", (unsigned long long)v);
		break;
	}
}

/* Memory that could not be read is `(fault)`, without the quotes that a string has. */
static void put_string(struct out *o, const char *data, const struct tep_format_field *f)
{
	uint32_t location = (uint32_t)load(data + f->offset, 4), bytes = location >> 16;
	const char *text = data + (location & 0xffff);

	const char *quote = bytes == sizeof("(fault)") && !strcmp(text, "(fault)") ? "" : "\"";

	out_text(o, quote);
	out_string(o, text, strnlen(text, bytes));
	out_text(o, quote);
}

/* `(SYSTEM.EVENT)`, as an event's probe has it. Return: what is behind it, or NULL. */
static const char *skip_attached(const char *format)
{
	const char *p = format;
	int dots = 0;

	if (!p || *p++ != '(')
		return NULL;
	for (; isalnum((unsigned char)*p) || *p == '_' || *p == '-' || *p == '.'; p++)
		dots += *p == '.';
	if (dots != 1 || *p != ')' || (p[1] && p[1] != ' '))
		return NULL;
	return p + 1;
}

/*
 * Whether the print format begins as a probe's does. *@rest: set to the text behind the addresses.
 */
static bool is_probe(const struct tep_event *ev, const char **rest, bool *is_return)
{
	const struct tep_format_field *f = ev->format.fields;
	const char *format = ev->print_fmt.format;
	static const char entry[] = "(%lx)", back[] = "(%lx <- %lx)";

	if (!f || !format || strncmp(f->name, "__probe_", 8) != 0 || f->size != 8)
		return false;
	*is_return = strcmp(f->name, "__probe_func") == 0;
	if (*is_return && (!f->next || f->next->size != 8))
		return false;
	*rest = format + (*is_return ? sizeof(back) : sizeof(entry)) - 1;
	return !strncmp(format, *is_return ? back : entry, (size_t)(*rest - format));
}

/* Whether every conversion has a value. */
static bool fits(const char *p, const struct tep_format_field *f)
{
	unsigned int left = 0;
	size_t n;

	for (; *p; p++) {
		enum conversion c;

		if (*p != '%')
			continue;
		if (!left) {
			if (!f)
				return false;
			left = f->arraylen && !(f->flags & TEP_FIELD_IS_DYNAMIC)
				       ? (unsigned int)f->arraylen
				       : 1;
			f = f->next;
		}
		left--;
		c = read_conversion(p, &n);
		if (c == C_NONE)
			return false;
		p += n - 1;
	}
	return !left && !f;
}

static void put_args(struct out *o, const char *p, const struct tep_format_field *f,
		     const char *data, struct symbols *s)
{
	unsigned int i = 0, nr = 0;
	enum conversion c;
	size_t n;

	for (; *p; p++) {
		unsigned int bytes;

		/* put_string() has them */
		if (*p == '"' || (*p == '\\' && p[1] == '"'))
			continue;
		if (*p != '%') {
			out_write(o, p, 1);
			continue;
		}
		c = read_conversion(p, &n);
		p += n - 1;
		if (f->flags & TEP_FIELD_IS_DYNAMIC) {
			put_string(o, data, f);
			f = f->next;
			continue;
		}
		nr = f->arraylen ? (unsigned int)f->arraylen : 1;
		bytes = (unsigned int)f->size / nr;
		put_value(o, c == C_STRING ? C_UNSIGNED : c, data + f->offset + i * bytes, bytes,
			  s);
		if (++i == nr) {
			f = f->next;
			i = 0;
		}
	}
}

/* The name of a probe's tracepoint, if the tracepoint has no address in the program. */
static bool put_event_place(struct out *o, const struct tep_event *ev, uint64_t at)
{
	const struct tep_event *of =
		at && at <= UINT16_MAX && ev->tep ? tep_find_event(ev->tep, (int)at) : NULL;

	if (of)
		out_text(o, of->name);
	return of;
}

bool probe_text(struct out *o, const struct tep_event *ev, const char *data, struct symbols *s)
{
	const struct tep_format_field *f = ev->format.fields;
	const struct symbol *sym;
	const char *rest = skip_attached(ev->print_fmt.format);
	bool is_return;
	uint64_t at;

	if (rest && fits(rest, f)) {
		out_write(o, ev->print_fmt.format, (size_t)(rest - ev->print_fmt.format));
		put_args(o, rest, f, data, s);
		return true;
	}
	if (!is_probe(ev, &rest, &is_return) || !fits(rest, is_return ? f->next->next : f->next))
		return false;
	at = load(data + f->offset, 8);
	out_text(o, "(");
	if (is_return) {
		place_put_sized(o, s, load(data + f->next->offset, 8));
		out_text(o, " <- ");
		sym = symbols_find(s, at);
		if (sym)
			out_text(o, sym->name);
		else
			out_printf(o, "0x%llx", (unsigned long long)at);
		f = f->next;
	} else if (!put_event_place(o, ev, at)) {
		place_put_sized(o, s, at);
	}
	out_text(o, ")");
	put_args(o, rest, f->next, data, s);
	return true;
}
