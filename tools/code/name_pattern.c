/* SPDX-License-Identifier: MIT */
/* See name_pattern.h. */
#include "tools/code/name_pattern.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "tools/code/demangle.h"

/* Words of printed names that may be missing in the object's name. */
static const char *const unwritten[] = {
	"std",	    "allocator", "basic_string", "string",   "istream",	  "ostream",  "iostream",
	"operator", "new",	 "delete",	 "bool",     "char",	  "short",    "int",
	"long",	    "unsigned",	 "signed",	 "float",    "double",	  "void",     "auto",
	"const",    "anonymous", "namespace",	 "lambda",   "unnamed",	  "type",     "closure",
	"thunk",    "virtual",	 "non",		 "to",	     "guard",	  "variable", "for",
	"TLS",	    "init",	 "wrapper",	 "function", "covariant", "return",   "vtable",
	"shim",	    "impl",	 "as",		 "dyn",	     "mut",	  "co_await",
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool is_unwritten(const char *word, size_t n)
{
	for (size_t i = 0; i < sizeof(unwritten) / sizeof(*unwritten); i++)
		if (strlen(unwritten[i]) == n && !memcmp(unwritten[i], word, n))
			return true;
	return isdigit((unsigned char)*word);
}

static void drop_blanks(char *text)
{
	char *to = text;

	for (; *text; text++)
		if (*text != ' ' && *text != '\t')
			*to++ = *text;
	*to = '\0';
}

/* The longest word of a pattern that must be in the object's name. */
static char *longest_part(const char *glob)
{
	size_t end = strcspn(glob, "(<{[\\"), best = 0, at = 0;

	for (size_t i = 0, n; i < end; i += n ? n : 1) {
		for (n = 0; i + n < end && is_word(glob[i + n]); n++)
			;
		/* a word next to a glob character is a part of a word, which is enough */
		if (n > best && !is_unwritten(glob + i, n)) {
			best = n;
			at = i;
		}
	}
	return strndup(glob + at, best);
}

bool name_pattern_init(struct name_pattern *p, const char *text, size_t n)
{
	p->glob = strndup(text, n);
	p->tight = strndup(text, n);
	p->part = p->glob ? longest_part(p->glob) : NULL;
	if (!p->glob || !p->tight || !p->part) {
		name_pattern_free(p);
		return false;
	}
	drop_blanks(p->tight);
	return true;
}

void name_pattern_free(struct name_pattern *p)
{
	free(p->glob);
	free(p->tight);
	free(p->part);
	*p = (struct name_pattern){0};
}

bool name_pattern_is_source(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strchr("(<{~ ", text[i]) || (text[i] == ':' && i + 1 < n && text[i + 1] == ':'))
			return true;
	return false;
}

bool name_pattern_fits(const char *glob, const char *name)
{
	return !fnmatch(glob, name, 0);
}

bool name_pattern_raw(const struct name_pattern *p, const char *symbol)
{
	return !fnmatch(p->glob, symbol, 0);
}

/* Where the bracket that opens at @p is closed; the end if it is not. */
static const char *behind_brackets(const char *p)
{
	int depth = 0;

	for (; *p; p++) {
		depth += strchr("([{<", *p) != NULL;
		if (strchr(")]}", *p) || (*p == '>' && p[-1] != '-'))
			depth--;
		if (!depth)
			return p + 1;
	}
	return p;
}

/*
 * For a full name: where the name itself begins, behind the return type, and where the parameters
 * begin. Operators are taken as one word with their sign.
 */
static void take_apart(char *full, char **name, char **parameters)
{
	static const char operator[] = "operator";
	char *p = full;

	*name = full;
	*parameters = full + strlen(full);
	while (*p) {
		if (!strncmp(p, operator, sizeof(operator) - 1) && (p == full || !is_word(p[-1])) &&
		    !is_word(p[sizeof(operator) - 1])) {
			p += sizeof(operator) - 1;
			if (!strncmp(p, "()", 2))
				p += 2;
			else if (*p == ' ') /* new, delete, or a type */
				while (*p && *p != '(')
					p = *p == '<' ? (char *)behind_brackets(p) : p + 1;
			else
				while (*p && strchr("<>=!+-*/%&|^~,[]", *p))
					p++;
			if (p[0] == ' ' && p[1] == '<')
				p++;
		} else if (*p == '(') {
			*parameters = p;
			p = (char *)behind_brackets(p);
			if (!strncmp(p, " const", 6))
				p += 6;
		} else if (strchr("<{[", *p)) {
			p = (char *)behind_brackets(p);
		} else if (*p == ' ') {
			*name = ++p;
		} else {
			p++;
		}
	}
	/* brackets that more of the name follows are a part of it: `(anonymous namespace)::f` */
	p = (char *)behind_brackets(*parameters);
	if (!strncmp(p, " const", 6))
		p += 6;
	if (**parameters && *p && *p != '&')
		*parameters = full + strlen(full);
	if (*parameters < *name)
		*parameters = full + strlen(full);
}

static enum name_match match(const struct name_pattern *p, char *name)
{
	drop_blanks(name);
	if (!strcmp(p->tight, name))
		return NAME_EXACT;
	return fnmatch(p->tight, name, 0) ? NAME_NO : NAME_GLOB;
}

static enum name_match best_of(enum name_match a, enum name_match b)
{
	return a > b ? a : b;
}

/* A full name, and the same without return type and parameters. */
static enum name_match match_full(const struct name_pattern *p, char *full)
{
	static const char clone[] = " [clone ";
	enum name_match found;
	char *name, *parameters, *copy;

	copy = strstr(full, clone);
	if (copy)
		*copy = '\0';
	take_apart(full, &name, &parameters);
	copy = strndup(name, (size_t)(parameters - name));
	found = copy ? match(p, copy) : NAME_NO;
	free(copy);
	copy = name > full ? strdup(name) : NULL;
	if (copy)
		found = best_of(found, match(p, copy));
	free(copy);
	return best_of(found, match(p, full));
}

enum name_match name_pattern_source(const struct name_pattern *p, const char *symbol)
{
	enum name_match found = NAME_NO;
	char *name;

	if (!strstr(symbol, p->part))
		return NAME_NO;
	name = demangle(symbol, DEMANGLE_SHORT);
	if (name)
		found = match(p, name);
	free(name);
	if (found == NAME_EXACT)
		return found;
	name = demangle(symbol, DEMANGLE_FULL);
	if (name)
		found = best_of(found, match_full(p, name));
	free(name);
	return found;
}

static bool is_between(char c, const char *between)
{
	return c == '\n' || strchr(between, c) != NULL;
}

static bool is_behind(const char *word, size_t n, const char *end)
{
	size_t k = strlen(end);

	return n >= k && !memcmp(word + n - k, end, k);
}

/* Is the blank at @i a part of the word that begins at @start, outside brackets? */
static bool blank_belongs(const char *text, size_t n, size_t start, size_t i)
{
	if (i + 1 >= n || text[i] != ' ')
		return false;
	if (is_behind(text + start, i - start, "operator"))
		return !strncmp(text + i + 1, "new", n - i - 1 < 3 ? n - i - 1 : 3) ||
		       !strncmp(text + i + 1, "delete", n - i - 1 < 6 ? n - i - 1 : 6);
	return is_behind(text + start, i - start, ")") && n - i > 5 &&
	       !memcmp(text + i + 1, "const", 5) && (n - i == 6 || !is_word(text[i + 6]));
}

/* Where the word ends that begins at @start, by brackets or, when these do not close, without. */
static size_t word_end(const char *text, size_t n, size_t start, const char *between, bool brackets)
{
	int depth = 0;
	size_t i;

	for (i = start; i < n && text[i] != '\n'; i++) {
		if (brackets && (text[i] == '(' || text[i] == '{'))
			depth++;
		else if (brackets && (text[i] == ')' || text[i] == '}'))
			depth--;
		/* not `operator<`, nor a glob's class */
		else if (brackets && text[i] == '<' &&
			 !is_behind(text + start, i - start, "operator"))
			depth++;
		else if (brackets && text[i] == '>' && depth > 0)
			depth--;
		if (depth > 0)
			continue;
		if (strchr(between, text[i]) && !(brackets && blank_belongs(text, n, start, i)))
			break;
	}
	if (depth > 0)
		return word_end(text, n, start, between, false);
	return i;
}

const char *name_pattern_word(const char *text, size_t n, const char *between, size_t *at,
			      size_t *bytes)
{
	size_t start = *at;

	while (start < n && is_between(text[start], between))
		start++;
	*at = start;
	if (start == n)
		return NULL;
	*at = word_end(text, n, start, between, true);
	*bytes = *at - start;
	return text + start;
}
