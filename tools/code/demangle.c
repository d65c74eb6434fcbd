/* SPDX-License-Identifier: MIT */
/* See demangle.h. */
#include "tools/code/demangle.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/base/child.h"
#include "tools/base/late_library.h"

/* With at most this number n of references to earlier parts, a name grows at most by 2^(n/2). */
#define FEW_REFERENCES 30u
/*
 * Limits for a name with more references. After a number of names over these limits, such names are
 * not decoded any more.
 */
#define NAME_SECONDS   1u
#define NAME_SPACE     (1u << 30)
#define NAMES_GIVEN_UP 2u

typedef char *(*cxa_demangle)(const char *name, char *buf, size_t *bytes, int *status);

const char *const demangle_words[] = {"none", "short", "full", NULL};

bool demangle_parse(const char *word, enum demangle *how)
{
	for (unsigned int i = 0; demangle_words[i]; i++) {
		if (!strcmp(word, demangle_words[i])) {
			*how = (enum demangle)i;
			return true;
		}
	}
	return false;
}

static cxa_demangle library(void)
{
	static const char *const names[] = {"libstdc++.so.6", "libc++abi.so.1"};
	static cxa_demangle found;
	static bool tried;
	const struct late_function function = {"__cxa_demangle", &found};

	for (unsigned int i = 0; !tried && !found && i < 2; i++)
		late_library(names[i], &function, 1, NULL);
	tried = true;
	return found;
}

static unsigned int references(const char *symbol)
{
	unsigned int n = 0;

	for (; *symbol; symbol++)
		n += (*symbol == 'S' || *symbol == 'T') &&
		     (symbol[1] == '_' || isdigit((unsigned char)symbol[1]) ||
		      isupper((unsigned char)symbol[1]));
	return n;
}

/* In a child process: decode a name and write it to @fd. */
__attribute__((noreturn)) static void demangle_and_exit(cxa_demangle lib, const char *symbol,
							int fd)
{
	struct rlimit no_core = {0, 0}, cpu = {NAME_SECONDS, NAME_SECONDS};
	struct rlimit space = {NAME_SPACE, NAME_SPACE};
	int status = -1;
	char *out;

	setrlimit(RLIMIT_CORE, &no_core);
	setrlimit(RLIMIT_CPU, &cpu);
	setrlimit(RLIMIT_AS, &space);
	out = lib(symbol, NULL, NULL, &status);
	_exit(!out || status || write(fd, out, strlen(out)) < 0);
}

/*
 * With references to earlier parts a short name can have a result of any length, for which the
 * library needs any time and memory. So such a name is decoded in a child process that can be
 * killed.
 */
static char *demangle_apart(cxa_demangle lib, const char *symbol, int *status)
{
	static unsigned int given_up;
	size_t used = 0;
	ssize_t got = 1;
	int fds[2];
	pid_t pid;
	char *out;

	if (given_up >= NAMES_GIVEN_UP || pipe2(fds, O_CLOEXEC))
		return NULL;
	out = malloc(DEMANGLE_MAX_BYTES + 2);
	pid = out ? fork() : -1;
	if (!pid)
		demangle_and_exit(lib, symbol, fds[1]);
	close(fds[1]);
	while (pid > 0 && got > 0 && used <= DEMANGLE_MAX_BYTES) {
		got = read(fds[0], out + used, DEMANGLE_MAX_BYTES + 1 - used);
		if (got < 0 && errno == EINTR)
			got = 1;
		else if (got > 0)
			used += (size_t)got;
	}
	close(fds[0]);
	if (pid > 0)
		*status = child_wait(pid);
	if (pid > 0 && WIFSIGNALED(*status))
		given_up++;
	if (pid < 0 || *status || !used) {
		free(out);
		return NULL;
	}
	out[used] = '\0';
	return out;
}

static char *demangle_cxx(const char *symbol)
{
	cxa_demangle lib = library();
	int status = 0;
	char *out;

	if (!lib)
		return NULL;
	if (references(symbol) <= FEW_REFERENCES)
		out = lib(symbol, NULL, NULL, &status);
	else
		out = demangle_apart(lib, symbol, &status);
	if (out && (status || strlen(out) > DEMANGLE_MAX_BYTES)) {
		free(out);
		out = NULL;
	}
	return out;
}

/* The bracket that closes the one at @p, or the end. */
static const char *closing(const char *p)
{
	int depth = 0;

	for (; *p; p++) {
		if (depth && p[0] == '<' && p[1] == '<') {
			p++; /* a shift */
			continue;
		}
		if (strchr("([{<", *p))
			depth++;
		else if (strchr(")]}", *p) || (*p == '>' && p[-1] != '-'))
			depth--;
		if (!depth)
			break;
	}
	return p;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* The rest of an operator's name behind `operator`. Return: where it ends. */
static const char *operator_end(const char *p)
{
	static const char *const signs[] = {
		"()", "[]", "<=>", "<<=", ">>=", "->*", "->", "<<", ">>",
		"<=", ">=", "==",  "!=",  "&&",	 "||",	"++", "--", "\"\""};

	for (unsigned int i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		size_t n = strlen(signs[i]);

		if (strncmp(p, signs[i], n))
			continue;
		p += n;
		if (*signs[i] == '"')
			p += strcspn(p, "(<");
		return p;
	}
	if (*p == ' ') { /* new, delete, or the type of a conversion operator */
		while (*p && *p != '(')
			p = *p == '<' ? closing(p) + (*closing(p) != 0) : p + 1;
		return p;
	}
	if (*p && strchr("<>=!+-*/%&|^~,", *p))
		return p + (p[1] == '=' ? 2 : 1);
	return p;
}

/* `{lambda(int)#1}` as `{lambda#1}`. Return: where it ends; *@to moves on. */
static const char *copy_braces(const char *p, char **to)
{
	const char *end = closing(p);

	for (; p < end; p++) {
		if (*p == '(' || *p == '<')
			p = closing(p) < end ? closing(p) : end - 1;
		else
			*(*to)++ = *p;
	}
	if (*end)
		*(*to)++ = *end++;
	return end;
}

/* Make a C++ name short, in place. */
static void shorten(char *name)
{
	static const char anonymous[] = "(anonymous namespace)";
	static const char *const heads[] = {"non-virtual thunk to ",	  "virtual thunk to ",
					    "covariant return thunk to ", "TLS init function for ",
					    "TLS wrapper function for ",  "guard variable for "};
	char *start = name, *to;
	const char *p;

	for (unsigned int i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		if (!strncmp(name, heads[i], strlen(heads[i])))
			start = name + strlen(heads[i]);
	to = start;
	for (p = start; *p;) {
		if (!strncmp(p, "operator", 8) && (p == start || !is_word(p[-1])) &&
		    !is_word(p[8])) {
			const char *end = operator_end(p + 8);

			while (p < end)
				*to++ = *p++;
			if (p[0] == ' ' && p[1] == '<') /* keeps `operator< <int>` apart */
				p++;
		} else if (!strncmp(p, anonymous, sizeof(anonymous) - 1)) {
			memmove(to, p, sizeof(anonymous) - 1);
			to += sizeof(anonymous) - 1;
			p += sizeof(anonymous) - 1;
		} else if (*p == '<') {
			p = closing(p);
			p += *p == '>';
		} else if (*p == '{') {
			p = copy_braces(p, &to);
		} else if (*p == '(') {
			/* parameters of the function, or of a function around it */
			p = closing(p);
			p += *p == ')';
			if (!strncmp(p, " const", 6))
				p += 6;
			if (strncmp(p, "::", 2))
				break;
		} else if (*p == ' ' && p[1] == '[') {
			break; /* [clone .cold] */
		} else if (*p == ' ') {
			to = start; /* the text so far was the return type */
			p++;
		} else {
			*to++ = *p++;
		}
	}
	if (to > start)
		*to = '\0';
}

char *demangle(const char *symbol, enum demangle how)
{
	char *out;

	if (how == DEMANGLE_NONE || symbol[0] != '_' || (symbol[1] != 'Z' && symbol[1] != 'R') ||
	    strlen(symbol) > DEMANGLE_MAX_BYTES)
		return NULL;
	out = symbol[1] == 'R' || symbol[2] == 'N' ? demangle_rust(symbol, how) : NULL;
	if (out || symbol[1] == 'R')
		return out;
	out = demangle_cxx(symbol);
	if (out && how == DEMANGLE_SHORT)
		shorten(out);
	return out;
}
