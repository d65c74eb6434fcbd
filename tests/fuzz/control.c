/* SPDX-License-Identifier: MIT */
/*
 * Control text: globs, numbers, VESTIGE_BOOT, the words of set_ftrace_filter. The first byte says
 * which. Each text is copied to a block of exactly its size, so that a read one byte too far is
 * found. Oracles: for globs without classes a table of prefixes, for numbers libc.
 */
#include "fuzz.h"

#include <errno.h>
#include <string.h>

#include "engine/base/glob.h"
#include "engine/base/text.h"
#include "engine/control/boot_params.h"
#include "engine/core/function_word.h"

/* engine/base/mem.h redeclares libc's functions. */
int str_to_u64(const char *s, size_t n, uint64_t *out);

#define MAX_TEXT 2048

/* The same answer from the definition, or -1: the pattern has what this does not know. */
static int plain_match(const char *p, size_t n, const char *s)
{
	static uint8_t can[MAX_TEXT + 1]; /* can[k]: the pattern so far matches the first k of s */
	size_t len = strlen(s), i, k;

	for (i = 0; i < n; i++)
		if (p[i] == '[' || p[i] == '\\' || !p[i])
			return -1;
	memset(can, 0, len + 1);
	can[0] = 1;
	for (i = 0; i < n; i++) {
		if (p[i] == '*') {
			for (k = 1; k <= len; k++)
				can[k] |= can[k - 1];
			continue;
		}
		for (k = len; k; k--)
			can[k] = can[k - 1] && (p[i] == '?' || p[i] == s[k - 1]);
		can[0] = 0;
	}
	return can[len];
}

static char *copy(const void *from, size_t n)
{
	char *to = malloc(n ? n : 1);

	PROMISE(to);
	memcpy(to, from, n);
	return to;
}

/* The pattern up to the first NUL, the string behind it. */
static void run_glob(const char *text, size_t n)
{
	const char *nul = memchr(text, 0, n);
	size_t pattern_bytes = nul ? (size_t)(nul - text) : n, rest = n - pattern_bytes;
	char *pattern = copy(text, pattern_bytes), *s = calloc(1, rest + 1);
	int got, expected;

	PROMISE(s);
	if (rest)
		memcpy(s, text + pattern_bytes + 1, rest - 1);
	got = glob_match(pattern, pattern_bytes, s);
	expected = plain_match(pattern, pattern_bytes, s);
	PROMISE(got == 0 || got == 1);
	PROMISE(expected < 0 || got == expected);
	free(pattern);
	free(s);
}

static void run_number(const char *text, size_t n)
{
	char *exact = copy(text, n), *z = calloc(1, n + 1), *end;
	uint64_t v = 0, libc;
	size_t digits = n && text[n - 1] == '\n' ? n - 1 : n;
	int err = str_to_u64(exact, n, &v);

	PROMISE(z);
	memcpy(z, text, digits);
	errno = 0;
	libc = strtoull(z, &end, 0);
	PROMISE(err == 0 || err == -EINVAL || err == -ERANGE);
	if (!err)
		PROMISE(!errno && (size_t)(end - z) == digits && libc == v);
	/* libc takes blanks and '-' too; texts that begin with a digit must give the same */
	else if (digits && *z >= '0' && *z <= '9' && (size_t)(end - z) == digits)
		PROMISE(errno == ERANGE && err == -ERANGE);
	free(exact);
	free(z);
}

static void run_boot(const char *text, size_t n)
{
	char *z = calloc(1, n + 1);
	struct boot_param p;
	const char *at, *next, *end;

	PROMISE(z);
	memcpy(z, text, n);
	end = z + strlen(z);
	for (at = z; (next = boot_param_next(at, &p)); at = next) {
		PROMISE(next > at && next <= end);
		PROMISE(p.name >= at && p.name + p.name_bytes <= end);
		PROMISE(p.value >= p.name + p.name_bytes && p.value + p.value_bytes <= next);
		PROMISE(!memchr(p.name, ' ', p.name_bytes) && !memchr(p.name, '\n', p.name_bytes));
		PROMISE(boot_param_is(&p, "ftrace") ==
			(p.name_bytes == 6 && !memcmp(p.name, "ftrace", 6)));
		if (boot_param_bytes(p.value, p.value_bytes))
			PROMISE(p.value_bytes && p.value[0] != ' ');
	}
	free(z);
}

static void run_words(const char *text, size_t n)
{
	char *exact = copy(text, n);
	const char *word, *end = exact + n;
	struct word rest = {exact, n}, one;
	struct function_word w;
	size_t bytes;

	while ((one = word_take(&rest)).n) {
		word = one.at;
		bytes = one.n;
		PROMISE(word >= exact && word + bytes == rest.at && rest.at + rest.n == end);
		PROMISE(!memchr(word, ' ', bytes) && !memchr(word, '\n', bytes));
		if (function_word_parse(word, bytes, &w)) {
			PROMISE((bytes == 1 && *word == '!') || *word == ':');
			continue;
		}
		PROMISE(w.add == (*word != '!'));
		if (w.is_number)
			continue;
		PROMISE(w.n && (w.glob + w.n <= end || (w.n == 1 && *w.glob == '*')));
		PROMISE(!w.module || w.module + w.module_bytes == word + bytes);
		PROMISE(!w.command || w.command + w.command_bytes == word + bytes);
		PROMISE(!w.command || !w.module);
		glob_match(w.glob, w.n, "ring_new_page");
		if (w.module)
			glob_match(w.module, w.module_bytes, "libfoo.so.1");
	}
	PROMISE(!rest.n && rest.at == end);
	free(exact);
}

static void run(const uint8_t *data, size_t n)
{
	static void (*const parsers[])(const char *, size_t) = {run_glob, run_number, run_boot,
								run_words};

	if (n && n <= MAX_TEXT)
		parsers[data[0] % 4]((const char *)data + 1, n - 1);
}

static void mutate(struct mangle *m)
{
	static const char *const words[] = {
		"*",	 "?",
		"[a-z]", "[!a]",
		"[]",	 "\\",
		":mod:", "!",
		"\n",	 " ",
		"\"",	 "=",
		",",	 "ftrace=",
		"0x",	 "0",
		"+",	 "18446744073709551615",
		"k",	 "trace_buf_size=",
		"**a*",	 "tracing_off",
	};
	const char *word = words[mangle_random(m, sizeof(words) / sizeof(words[0]))];

	if (m->n && mangle_random(m, 2))
		mangle_insert(m, 1 + mangle_random(m, m->n), word, strlen(word));
	else
		mangle_any(m);
}

const struct fuzz_target fuzz_control = {"control", run, mutate};
