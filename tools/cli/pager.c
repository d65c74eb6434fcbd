/* SPDX-License-Identifier: MIT */
/*
 * See pager.h. Up to two processes are between us and the terminal: one of ours that colours the
 * lines, and then the pager. The code that prints does not know of them. Tests:
 * tests/cli/test_pager.py, test_views.py.
 */
#include "tools/cli/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/base/child.h"
#include "tools/base/note.h"
#include "tools/cli/cmd.h"
#include "tools/text/paint.h"

#define LINE_BYTES 65536u /* a longer line is not coloured */

static struct {
	bool no_pager;
	enum { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER } colour;
	pid_t children[2]; /* the painter, the pager; 0 none */
	int stdout_was;
	bool on;
} pager;

static const char *const color_words[] = {"auto", "always", "never", NULL};

/* Take the value of --color. Return: whether it is one. */
static bool is_color(const char *value)
{
	for (int i = 0; color_words[i]; i++)
		if (!strcmp(value, color_words[i])) {
			pager.colour = i;
			return true;
		}
	return false;
}

static int take_color(const struct parsing *p, void *to, const char *value)
{
	(void)to;
	return is_color(value) ? 0 : options_bad(p, "not auto, always or never", value);
}

static int take_no_pager(const struct parsing *p, void *to, const char *value)
{
	(void)p;
	(void)to;
	(void)value;
	pager.no_pager = true;
	return 0;
}

const struct flag pager_flags[] = {
	{0, "color", "WHEN", "colours: auto (on a terminal, the default), always or never",
	 take_color, 0, color_words},
	{0, "no-pager", NULL, "on a terminal, too, print without a pager", take_no_pager, 0},
	FLAGS_END};

int pager_take_before(int argc, char **argv)
{
	int at = 0;

	while (at < argc) {
		const char *word = argv[at], *value;

		if (!strcmp(word, "--no-pager")) {
			take_no_pager(NULL, NULL, NULL);
			at++;
			continue;
		}
		if (strncmp(word, "--color", 7) != 0 || (word[7] && word[7] != '='))
			return at;
		value = word[7] ? word + 8 : at + 1 < argc ? argv[++at] : "";
		if (!*value) {
			note("--color wants a value: %s (see vestige --help)",
			     pager_flags[0].value);
			return -1;
		}
		if (!is_color(value)) {
			note("--color: not auto, always or never: %s (see vestige --help)", value);
			return -1;
		}
		at++;
	}
	return at;
}

static bool wants_colour(bool tty)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (pager.colour != COLOUR_AUTO)
		return pager.colour == COLOUR_ALWAYS;
	return tty && !(no && *no) && term && *term && strcmp(term, "dumb") != 0;
}

/* The command of the pager; NULL: there is none. */
static const char *pager_command(void)
{
	const char *command = getenv("VESTIGE_PAGER");

	if (!command)
		command = getenv("PAGER");
	if (!command) {
		const char *term = getenv("TERM");

		/* on a dumb terminal less waits for a key first */
		command = term && strcmp(term, "dumb") && cmd_is_program("less") ? "less" : "";
	}
	return *command && strcmp(command, "cat") != 0 ? command : NULL;
}

/* In a process of its own: lines from stdin, painted, to stdout. */
static void paint(void)
{
	static char line[LINE_BYTES];
	size_t used = 0, from;
	bool json = false, begun = false, amid = false;
	struct out o;
	ssize_t n;

	out_terminal(false); /* the colours are ours */
	if (out_init(&o, STDOUT_FILENO))
		_exit(1);
	while ((n = read(STDIN_FILENO, line + used, sizeof(line) - used)) > 0 ||
	       (n < 0 && errno == EINTR)) {
		const char *end;

		used += n > 0 ? (size_t)n : 0;
		json = begun ? json : used && (line[0] == '{' || line[0] == '[');
		begun |= used > 0;
		for (from = 0; (end = memchr(line + from, '\n', used - from));) {
			size_t bytes = (size_t)(end - line) - from;

			if (json || amid)
				out_write(&o, line + from, bytes);
			else
				paint_line(&o, line + from, bytes);
			out_write(&o, "\n", 1);
			amid = false;
			from += bytes + 1;
		}
		if (!from && used == sizeof(line)) {
			out_write(&o, line, used);
			from = used;
			amid = true;
		}
		memmove(line, line + from, used - from);
		used -= from;
		out_flush(&o);
		if (o.err)
			_exit(1);
	}
	out_write(&o, line, used);
	_exit(out_end(&o) ? 1 : 0);
}

/*
 * Start a process that reads our stdout from now on: the pager @command, or with NULL the one that
 * colours lines. Return: its pid; 0: none was started.
 */
static pid_t put_behind(const char *command)
{
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return 0;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		dup2(fds[0], STDIN_FILENO);
		close(fds[1]);
		close(pager.stdout_was);
		if (!command) {
			/* on Ctrl-C it must still show the output so far */
			signal(SIGINT, SIG_IGN);
			paint();
		}
		signal(SIGPIPE, SIG_DFL);
		/* F: quit if the output fits the screen; R: colours unchanged; X: do not clear */
		setenv("LESS", "FRX", 0);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	close(fds[0]);
	if (pid > 0)
		dup2(fds[1], STDOUT_FILENO);
	close(fds[1]);
	return pid > 0 ? pid : 0;
}

void pager_begin(void)
{
	const bool tty = isatty(STDOUT_FILENO), colour = wants_colour(tty);
	const char *command = tty && !pager.no_pager ? pager_command() : NULL;

	if (pager.on || (!command && !colour))
		return;
	fflush(stdout);
	pager.stdout_was = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (pager.stdout_was < 0)
		return;
	pager.on = true;
	signal(SIGPIPE, SIG_IGN);
	/* the one that is next to the terminal comes first */
	if (command)
		pager.children[1] = put_behind(command);
	if (colour)
		pager.children[0] = put_behind(NULL);
	if (pager.children[1])
		signal(SIGINT, SIG_IGN);
}

bool pager_end(bool *no_pager)
{
	bool failed;
	int status;

	*no_pager = false;
	if (!pager.on)
		return false;
	failed = fflush(stdout) && errno == EPIPE;
	dup2(pager.stdout_was, STDOUT_FILENO);
	close(pager.stdout_was);
	if (pager.children[0])
		child_wait(pager.children[0]);
	status = pager.children[1] ? child_wait(pager.children[1]) : 0;
	*no_pager = WIFEXITED(status) && (WEXITSTATUS(status) == 126 || WEXITSTATUS(status) == 127);
	if (*no_pager)
		note("the pager '%s' cannot be run: set VESTIGE_PAGER or PAGER to another one, or "
		     "say --no-pager",
		     pager_command());
	signal(SIGPIPE, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	memset(pager.children, 0, sizeof(pager.children));
	pager.on = false;
	return failed;
}
