/* SPDX-License-Identifier: MIT */
/*
 * Names of Rust functions in the scheme `v0`, `_R...`, by Rust's RFC 2603. The older scheme is in
 * demangle_rust_legacy.c.
 *
 * Recursion, output and the number of steps are limited, since references back could repeat a name
 * without end. Each function has the name of its rule in the grammar. Tests:
 * tests/unit/test_demangle.c, against c++filt.
 */
#include "tools/code/demangle.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 128u
#define MAX_STEPS 65536u
#define MAX_IDENT 512u /* code points in one that is written in punycode */

struct rust {
	const char *name; /* behind the prefix: references back count from here */
	size_t at, end;
	unsigned int depth, steps;
	unsigned int muted; /* parse without printing */
	uint64_t bound_lifetimes;
	bool brief; /* no arguments of generic functions */
	bool bad;
	char *out;
	size_t used;
};

static void put_bytes(struct rust *r, const char *text, size_t n)
{
	if (r->muted || r->bad)
		return;
	if (n > DEMANGLE_MAX_BYTES - r->used) {
		r->bad = true;
		return;
	}
	memcpy(r->out + r->used, text, n);
	r->used += n;
}

static void put(struct rust *r, const char *text)
{
	put_bytes(r, text, strlen(text));
}

static void put_number(struct rust *r, uint64_t v)
{
	char text[24];

	put_bytes(r, text, (size_t)snprintf(text, sizeof(text), "%" PRIu64, v));
}

static void put_code(struct rust *r, uint32_t c)
{
	char b[4];

	put_bytes(r, b, demangle_utf8(b, c));
}

static char peek(const struct rust *r)
{
	return r->at < r->end ? r->name[r->at] : '\0';
}

static char next(struct rust *r)
{
	if (r->at >= r->end) {
		r->bad = true;
		return '\0';
	}
	return r->name[r->at++];
}

static bool eat(struct rust *r, char c)
{
	if (peek(r) != c)
		return false;
	r->at++;
	return true;
}

/* Digits in base 62, ended by `_`; `_` alone is 0, `0_` is 1. */
static uint64_t base62(struct rust *r)
{
	uint64_t v = 0;

	if (eat(r, '_'))
		return 0;
	while (!r->bad) {
		char c = next(r);
		uint64_t d;

		if (c == '_')
			return v + 1;
		if (c >= '0' && c <= '9')
			d = (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'z')
			d = 10 + (uint64_t)(c - 'a');
		else if (c >= 'A' && c <= 'Z')
			d = 36 + (uint64_t)(c - 'A');
		else
			break;
		if (v > UINT64_MAX / 62 - 1)
			break;
		v = v * 62 + d;
	}
	r->bad = true;
	return 0;
}

static uint64_t decimal(struct rust *r)
{
	uint64_t v = 0;

	if (peek(r) < '0' || peek(r) > '9')
		r->bad = true;
	if (eat(r, '0'))
		return 0;
	while (peek(r) >= '0' && peek(r) <= '9' && v < DEMANGLE_MAX_BYTES)
		v = v * 10 + (uint64_t)(next(r) - '0');
	return v;
}

static uint64_t disambiguator(struct rust *r)
{
	return eat(r, 's') ? base62(r) + 1 : 0;
}

/* RFC 3492, with `_` for its delimiter. */
static bool put_punycode(struct rust *r, const char *text, size_t n)
{
	uint32_t c[MAX_IDENT], code = 128, bias = 72, i = 0;
	size_t nr = 0, at = 0;
	const char *mark = memrchr(text, '_', n);

	if (mark) {
		for (; text + at < mark && nr < MAX_IDENT; at++)
			c[nr++] = (unsigned char)text[at];
		at = (size_t)(mark - text) + 1;
	}
	while (at < n) {
		uint32_t before = i, weight = 1, delta;

		for (uint32_t k = 36;; k += 36) {
			uint32_t d, t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;

			if (at >= n)
				return false;
			if (text[at] >= 'a' && text[at] <= 'z')
				d = (uint32_t)(text[at] - 'a');
			else if (text[at] >= '0' && text[at] <= '9')
				d = 26 + (uint32_t)(text[at] - '0');
			else
				return false;
			at++;
			if (d > (UINT32_MAX - i) / weight)
				return false;
			i += d * weight;
			if (d < t)
				break;
			if (weight > UINT32_MAX / (36 - t))
				return false;
			weight *= 36 - t;
		}
		if (nr == MAX_IDENT)
			return false;
		nr++;
		delta = (i - before) / (before ? 2 : 700);
		delta += delta / (uint32_t)nr;
		for (bias = 0; delta > 455; bias += 36)
			delta /= 35;
		bias += 36 * delta / (delta + 38);
		if (i / nr > 0x10ffff - code)
			return false;
		code += i / (uint32_t)nr;
		i %= (uint32_t)nr;
		memmove(&c[i + 1], &c[i], (nr - 1 - i) * sizeof(c[0]));
		c[i++] = code;
	}
	for (size_t k = 0; k < nr; k++)
		put_code(r, c[k]);
	return true;
}

/* An identifier without its disambiguator. Return: whether it is not empty. */
static bool identifier(struct rust *r)
{
	bool puny = eat(r, 'u');
	uint64_t n = decimal(r);
	const char *text;

	eat(r, '_');
	if (r->bad || n > r->end - r->at) {
		r->bad = true;
		return false;
	}
	text = r->name + r->at;
	r->at += n;
	if (!puny)
		put_bytes(r, text, n);
	else if (!put_punycode(r, text, n))
		r->bad = true;
	return n != 0;
}

static void path(struct rust *r, bool in_value);
static void type(struct rust *r);
static void constant(struct rust *r);

static bool descend(struct rust *r)
{
	if (r->depth >= MAX_DEPTH || ++r->steps > MAX_STEPS)
		r->bad = true;
	if (r->bad)
		return false;
	r->depth++;
	return true;
}

/* Behind `B`: do @what at an earlier place. */
static void back(struct rust *r, void (*what)(struct rust *r))
{
	size_t from = r->at - 1, was;
	uint64_t to = base62(r);

	if (r->bad || to >= from) {
		r->bad = true;
		return;
	}
	if (r->muted)
		return;
	was = r->at;
	r->at = (size_t)to;
	what(r);
	r->at = was;
}

static void path_as_type(struct rust *r)
{
	path(r, false);
}

static void path_as_value(struct rust *r)
{
	path(r, true);
}

static void lifetime(struct rust *r, uint64_t index)
{
	char name[2] = "a";

	if (!index) {
		put(r, "'_");
		return;
	}
	if (index > r->bound_lifetimes) {
		r->bad = true;
		return;
	}
	put(r, "'");
	index = r->bound_lifetimes - index;
	if (index < 26) {
		name[0] = (char)('a' + index);
		put(r, name);
	} else {
		put(r, "_");
		put_number(r, index);
	}
}

/* `for<'a, 'b> ` where a type binds lifetimes. Return: how many. */
static uint64_t binder(struct rust *r)
{
	uint64_t n = eat(r, 'G') ? base62(r) + 1 : 0;

	if (n > 64)
		r->bad = true;
	if (!n || r->bad)
		return 0;
	put(r, "for<");
	for (uint64_t i = 0; i < n; i++) {
		r->bound_lifetimes++;
		put(r, i ? ", " : "");
		lifetime(r, 1);
	}
	put(r, "> ");
	return n;
}

static void generic_args(struct rust *r)
{
	for (bool first = true; !r->bad && !eat(r, 'E'); first = false) {
		if (!first)
			put(r, ", ");
		if (eat(r, 'L'))
			lifetime(r, base62(r));
		else if (eat(r, 'K'))
			constant(r);
		else
			type(r);
	}
}

static void nested(struct rust *r, bool in_value)
{
	char space = next(r);
	uint64_t dis;
	size_t before;

	path(r, in_value);
	dis = disambiguator(r);
	if (space >= 'A' && space <= 'Z') {
		put(r, "::{");
		if (space == 'C')
			put(r, "closure");
		else if (space == 'S')
			put(r, "shim");
		else
			put_bytes(r, &space, 1);
		before = r->used;
		put(r, ":");
		if (!identifier(r))
			r->used = r->muted ? r->used : before;
		put(r, "#");
		put_number(r, dis);
		put(r, "}");
	} else if (space >= 'a' && space <= 'z') {
		before = r->used;
		put(r, "::");
		if (!identifier(r) && !r->muted)
			r->used = before;
	} else {
		r->bad = true;
	}
}

/* Parse the path of an impl without printing it: its type is enough. */
static void impl_path(struct rust *r)
{
	r->muted++;
	disambiguator(r);
	path(r, false);
	r->muted--;
}

static void path(struct rust *r, bool in_value)
{
	char kind;

	if (!descend(r))
		return;
	kind = next(r);
	switch (kind) {
	case 'C':
		disambiguator(r);
		identifier(r);
		break;
	case 'N':
		nested(r, in_value);
		break;
	case 'M':
	case 'X':
		impl_path(r);
		/* fall through */
	case 'Y':
		put(r, "<");
		type(r);
		if (kind != 'M') {
			put(r, " as ");
			path(r, false);
		}
		put(r, ">");
		break;
	case 'I':
		path(r, in_value);
		if (in_value && r->brief) {
			r->muted++;
			generic_args(r);
			r->muted--;
			break;
		}
		put(r, in_value ? "::<" : "<");
		generic_args(r);
		put(r, ">");
		break;
	case 'B':
		back(r, in_value ? path_as_value : path_as_type);
		break;
	default:
		r->bad = true;
	}
	r->depth--;
}

static const char *basic_type(char c)
{
	static const char *const names[26] = {
		['a' - 'a'] = "i8",   ['b' - 'a'] = "bool",  ['c' - 'a'] = "char",
		['d' - 'a'] = "f64",  ['e' - 'a'] = "str",   ['f' - 'a'] = "f32",
		['h' - 'a'] = "u8",   ['i' - 'a'] = "isize", ['j' - 'a'] = "usize",
		['l' - 'a'] = "i32",  ['m' - 'a'] = "u32",   ['n' - 'a'] = "i128",
		['o' - 'a'] = "u128", ['p' - 'a'] = "_",     ['s' - 'a'] = "i16",
		['t' - 'a'] = "u16",  ['u' - 'a'] = "()",    ['v' - 'a'] = "...",
		['x' - 'a'] = "i64",  ['y' - 'a'] = "u64",   ['z' - 'a'] = "!",
	};

	return c >= 'a' && c <= 'z' ? names[c - 'a'] : NULL;
}

static void fn_type(struct rust *r)
{
	uint64_t bound = binder(r);

	if (eat(r, 'U'))
		put(r, "unsafe ");
	if (eat(r, 'K')) {
		size_t from = r->used;

		put(r, "extern \"");
		if (eat(r, 'C'))
			put(r, "C");
		else
			identifier(r);
		for (size_t i = from + 7; !r->muted && i < r->used; i++)
			if (r->out[i] == '_')
				r->out[i] = '-';
		put(r, "\" ");
	}
	put(r, "fn(");
	for (bool first = true; !r->bad && !eat(r, 'E'); first = false) {
		put(r, first ? "" : ", ");
		type(r);
	}
	put(r, ")");
	if (!eat(r, 'u')) {
		put(r, " -> ");
		type(r);
	}
	r->bound_lifetimes -= bound;
}

/* A trait of `dyn`, to whose arguments the values of its associated types are added. */
static void dyn_trait(struct rust *r)
{
	bool open = false;

	path(r, false);
	while (!r->bad && eat(r, 'p')) {
		if (!open && !r->muted && r->used && r->out[r->used - 1] == '>') {
			r->used--;
			open = true;
			put(r, ", ");
		} else {
			put(r, open ? ", " : "<");
			open = true;
		}
		identifier(r);
		put(r, " = ");
		type(r);
	}
	if (open)
		put(r, ">");
}

static void dyn_type(struct rust *r)
{
	uint64_t bound, life;

	put(r, "dyn ");
	bound = binder(r);
	for (bool first = true; !r->bad && !eat(r, 'E'); first = false) {
		put(r, first ? "" : " + ");
		dyn_trait(r);
	}
	r->bound_lifetimes -= bound;
	if (!eat(r, 'L')) {
		r->bad = true;
		return;
	}
	life = base62(r);
	if (life) {
		put(r, " + ");
		lifetime(r, life);
	}
}

static void tuple_type(struct rust *r)
{
	unsigned int n = 0;

	put(r, "(");
	for (; !r->bad && !eat(r, 'E'); n++) {
		put(r, n ? ", " : "");
		type(r);
	}
	put(r, n == 1 ? ",)" : ")");
}

static void type(struct rust *r)
{
	const char *basic;
	uint64_t life;
	char c;

	if (!descend(r))
		return;
	c = next(r);
	basic = basic_type(c);
	if (basic) {
		put(r, basic);
		r->depth--;
		return;
	}
	switch (c) {
	case 'R':
	case 'Q':
		put(r, "&");
		life = eat(r, 'L') ? base62(r) : 0;
		if (life) {
			lifetime(r, life);
			put(r, " ");
		}
		put(r, c == 'Q' ? "mut " : "");
		type(r);
		break;
	case 'P':
	case 'O':
		put(r, c == 'P' ? "*const " : "*mut ");
		type(r);
		break;
	case 'A':
	case 'S':
		put(r, "[");
		type(r);
		if (c == 'A') {
			put(r, "; ");
			constant(r);
		}
		put(r, "]");
		break;
	case 'T':
		tuple_type(r);
		break;
	case 'F':
		fn_type(r);
		break;
	case 'D':
		dyn_type(r);
		break;
	case 'B':
		back(r, type);
		break;
	default:
		r->at--;
		path(r, false);
	}
	r->depth--;
}

/*
 * Hexadecimal digits up to `_`. A number that needs more than 64 bits is shown as hexadecimal
 * digits.
 */
static void hex_number(struct rust *r)
{
	size_t from = r->at, n;
	uint64_t v = 0;

	while (!r->bad && peek(r) != '_') {
		char c = next(r);

		if (c >= '0' && c <= '9')
			v = v << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (uint64_t)(c - 'a' + 10);
		else
			r->bad = true;
	}
	n = r->at - from;
	eat(r, '_');
	if (n > 16) {
		put(r, "0x");
		put_bytes(r, r->name + from, n);
	} else {
		put_number(r, v);
	}
}

static void char_constant(struct rust *r)
{
	uint32_t v = 0;

	while (!r->bad && !eat(r, '_')) {
		char c = next(r);

		v = v << 4 | (uint32_t)(c <= '9' ? c - '0' : c - 'a' + 10);
		if (v > 0x10ffff)
			r->bad = true;
	}
	put(r, "'");
	if (v < ' ' || v == 127)
		put(r, "\\?");
	else
		put_code(r, v);
	put(r, "'");
}

static void constant(struct rust *r)
{
	char c;

	if (!descend(r))
		return;
	c = next(r);
	switch (c) {
	case 'p':
		put(r, "_");
		break;
	case 'B':
		back(r, constant);
		break;
	case 'b':
		put(r, eat(r, '1') ? "true" : eat(r, '0') ? "false" : "?");
		eat(r, '_');
		break;
	case 'c':
		char_constant(r);
		break;
	default:
		if (!strchr("aslxnihtmyoj", c) || !c) {
			r->bad = true; /* strings, structures: unstable yet */
			break;
		}
		if (eat(r, 'n'))
			put(r, "-");
		hex_number(r);
	}
	r->depth--;
}

static char *v0(const char *symbol, enum demangle how)
{
	struct rust r = {.name = symbol + 2, .brief = how == DEMANGLE_SHORT};
	char *shrunk;

	/* suffixes of the linker or LLVM are behind a dot */
	r.end = strcspn(r.name, ".");
	if (r.name[0] < 'A' || r.name[0] > 'Z')
		return NULL;
	r.out = malloc(DEMANGLE_MAX_BYTES + 1);
	if (!r.out)
		return NULL;
	path(&r, true);
	if (!r.bad && r.at < r.end) { /* the crate in which a generic was made */
		r.muted++;
		path(&r, false);
	}
	if (r.bad || r.at != r.end) {
		free(r.out);
		return NULL;
	}
	r.out[r.used] = '\0';
	shrunk = realloc(r.out, r.used + 1);
	return shrunk ? shrunk : r.out;
}

char *demangle_rust(const char *symbol, enum demangle how)
{
	if (!strncmp(symbol, "_R", 2))
		return v0(symbol, how);
	return strncmp(symbol, "_ZN", 3) ? NULL : demangle_rust_legacy(symbol);
}
