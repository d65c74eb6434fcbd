/* SPDX-License-Identifier: MIT */
/* `vestige top` on a terminal: see top.h. Tests: tests/cli/test_top.py, on a pseudo-terminal. */
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <ncurses.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/base/time_ns.h"
#include "tools/cli/top.h"
#include "tools/text/out.h"

#define SECOND_NS 1000000000.0
#define KEYS	  "q quit  r t s 5 9 m n sort  / find  f filter  space hold  + - delay"

struct screen {
	struct top *top;
	struct top_view *view;
	struct top_table table;
	double delay;
	unsigned int from; /* the first row that is shown */
	bool held, asking; /* `/` */
	char said[128];
};

static void draw(const struct screen *s)
{
	const struct top_table *t = &s->table;
	int lines = LINES - 4;
	char line[512];

	erase();
	snprintf(line, sizeof(line), "top of %s: %.0f calls/s, %u rows of %.1f s by %s%s%s",
		 top_subject(s->top), t->seconds > 0 ? (double)t->calls / t->seconds : 0.0, t->nr,
		 s->delay, top_key_names[s->view->key],
		 !top_has_filter(s->top)    ? ""
		 : top_filter_is_on(s->top) ? ", filter on"
					    : ", filter off",
		 s->held ? ", held" : "");
	mvaddnstr(0, 0, line, COLS);
	if (s->asking || *s->view->pattern)
		mvprintw(1, 0, "names with: %s%s", s->view->pattern, s->asking ? "_" : "");
	else if (*s->said)
		mvaddnstr(1, 0, s->said, COLS);
	else if (t->missed)
		mvprintw(1, 0, "%" PRIu64 " calls were not counted: no room in the area",
			 t->missed);
	top_line(line, sizeof(line), NULL);
	attron(A_REVERSE);
	mvprintw(2, 0, "%-*.*s", COLS, COLS, line);
	attroff(A_REVERSE);
	for (int i = 0; i < lines && s->from + (unsigned int)i < t->nr; i++) {
		top_line(line, sizeof(line), &t->rows[s->from + (unsigned int)i]);
		mvaddnstr(3 + i, 0, line, COLS);
	}
	mvaddnstr(LINES - 1, 0, KEYS, COLS);
	refresh();
}

static void ask_key(struct screen *s, int key)
{
	size_t n = strlen(s->view->pattern);

	if (key == '\n' || key == '\r' || key == KEY_ENTER) {
		s->asking = false;
	} else if (key == 27) {
		s->asking = false;
		*s->view->pattern = '\0';
	} else if ((key == KEY_BACKSPACE || key == 127 || key == 8) && n) {
		s->view->pattern[n - 1] = '\0';
	} else if (key >= ' ' && key < 127 && n + 1 < sizeof(s->view->pattern)) {
		s->view->pattern[n] = (char)key;
		s->view->pattern[n + 1] = '\0';
	}
}

/* Return: whether to go on. */
static bool act(struct screen *s, int key)
{
	const char *sort = key > 0 && key < 128 ? strchr(top_key_letters, key) : NULL;

	if (s->asking) {
		ask_key(s, key);
		return true;
	}
	*s->said = '\0';
	if (key == 'q' || key == 'Q')
		return false;
	if (sort)
		s->view->key = (enum top_key)(sort - top_key_letters);
	else if (key == '/')
		s->asking = true;
	else if (key == 'L' - '@') /* Ctrl-L */
		clearok(stdscr, TRUE);
	else if (key == ' ')
		s->held = !s->held;
	else if (key == '+' && s->delay < 60)
		s->delay *= 2;
	else if (key == '-' && s->delay > 0.1)
		s->delay /= 2;
	else if (key == KEY_DOWN && s->from + 1 < s->table.nr)
		s->from++;
	else if (key == KEY_UP && s->from)
		s->from--;
	else if (key == KEY_NPAGE && s->from + (unsigned int)LINES < s->table.nr)
		s->from += (unsigned int)(LINES - 4);
	else if (key == KEY_PPAGE)
		s->from -=
			s->from < (unsigned int)(LINES - 4) ? s->from : (unsigned int)(LINES - 4);
	else if (key == 'f' && !top_has_filter(s->top))
		strcpy(s->said, "there is no filter: start with -l FUNC");
	else if (key == 'f' && top_toggle_filter(s->top))
		snprintf(s->said, sizeof(s->said), "%s", fail_text());
	return true;
}

static int loop(struct screen *s)
{
	double next = (double)time_ns(CLOCK_MONOTONIC) + s->delay * SECOND_NS;
	int err;

	draw(s);
	while (!top_stopped) {
		double left = next - (double)time_ns(CLOCK_MONOTONIC);
		int key;

		timeout(left > 0 ? (int)(left / 1e6) + 1 : 0);
		key = getch();
		if (key != ERR && !act(s, key))
			return 0;
		if (s->held || (double)time_ns(CLOCK_MONOTONIC) < next) {
			if (s->held)
				next = (double)time_ns(CLOCK_MONOTONIC) + s->delay * SECOND_NS;
			if (key != ERR)
				draw(s);
			continue;
		}
		next = (double)time_ns(CLOCK_MONOTONIC) + s->delay * SECOND_NS;
		err = top_turn(s->top, &s->table);
		if (err)
			return err;
		if (s->from >= s->table.nr)
			s->from = s->table.nr ? s->table.nr - 1 : 0;
		draw(s);
	}
	return 0;
}

int top_screen(struct top *top, struct top_view *v, double delay)
{
	struct screen s = {.top = top, .view = v, .delay = delay};
	SCREEN *screen;
	int err;

	setlocale(LC_CTYPE, "");
	out_terminal(false); /* top_line() cleans names, and ncurses draws the rest */
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return fail(ENOTTY, "the terminal %s is not known: set TERM, or use -n",
			    getenv("TERM") ? getenv("TERM") : "");
	set_term(screen);
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	curs_set(0);
	err = loop(&s);
	endwin();
	delscreen(screen);
	free(s.table.rows);
	return err;
}
