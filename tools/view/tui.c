/* SPDX-License-Identifier: MIT */
/*
 * See tui.h. Four pages of the same recording: the timeline, the list (report), the functions of
 * the range (top), and facts about the file (info). Tests: tests/cli/test_tui.py, by tmux.
 */
#include "tools/view/tui.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <ncurses.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/text/out.h"
#include "tools/view/function_sums.h"
#include "tools/view/list.h"
#include "tools/view/tui_text.h"

#define LABEL	   18 /* columns of the tracks' names */
#define TICK	   14 /* columns that a time of the axis needs */
#define MIN_LINES  24
#define MIN_COLS   80
#define NR_COLOURS 6
#define LIVE_MS	   1000
#define MIN_NS	   100u /* the shortest range */

enum page { TIMELINE, REPORT, FUNCTIONS, INFO, NR_PAGES };

static const char *const page_names[NR_PAGES] = {"Timeline", "Report", "Functions", "Info"};

struct tui {
	const struct columns *c;
	const struct tui_live *live;
	enum page page;
	uint64_t from, to; /* ns of the trace's clock: the range that is shown */
	size_t track, row; /* of the cursor; track: number among all tracks */
	int column;	   /* of the cursor in the timeline */
	size_t top;	   /* the first row on the screen, of all rows */
	uint64_t entry;	   /* chosen in the list */
	size_t function;   /* chosen in the sorted functions */
	char search[64];
	char note[128]; /* in the last line, until the next key */
};

static int canvas(const struct tui *t)
{
	(void)t;
	return COLS - LABEL > 10 ? COLS - LABEL : 10;
}

static void put(int y, int x, int width, const char *text)
{
	char shown[512];

	tui_text_clean(shown, sizeof(shown), text);
	if (width > 0)
		mvaddnstr(y, x, shown, width);
}

static uint64_t at_column(const struct tui *t, int column)
{
	return t->from + (uint64_t)((double)(t->to - t->from) * column / canvas(t));
}

static int column_of(const struct tui *t, uint64_t ts)
{
	double part = ((double)ts - (double)t->from) / (double)(t->to - t->from);

	part *= canvas(t);
	return part < -1 ? -1 : part > canvas(t) ? canvas(t) : (int)part;
}

/* The number of rows above a track. */
static size_t rows_above(const struct columns *c, size_t track)
{
	size_t nr = 0;

	for (size_t i = 0; i < track && i < c->nr_tracks; i++)
		nr += c->tracks[i].nr_rows;
	return nr;
}

static void show_range(struct tui *t, uint64_t from, uint64_t to)
{
	uint64_t whole = t->c->last - t->c->first, length = to - from;

	length = length < MIN_NS ? MIN_NS : length;
	if (length >= whole) {
		t->from = t->c->first;
		t->to = t->c->last > t->from ? t->c->last : t->from + 1;
		return;
	}
	if (from < t->c->first || (int64_t)(from - t->c->first) < 0)
		from = t->c->first;
	if (from > t->c->last - length)
		from = t->c->last - length;
	t->from = from;
	t->to = from + length;
}

static void zoom(struct tui *t, double factor)
{
	uint64_t at = at_column(t, t->column), length = t->to - t->from;
	uint64_t before = (uint64_t)((double)(at - t->from) * factor);

	length = (uint64_t)((double)length * factor);
	show_range(t, at > t->c->first + before ? at - before : t->c->first,
		   (at > t->c->first + before ? at - before : t->c->first) + length);
	t->column = column_of(t, at);
}

static void pan(struct tui *t, int columns)
{
	uint64_t by = (t->to - t->from) * (uint64_t)abs(columns) / (uint64_t)canvas(t);
	uint64_t length = t->to - t->from, from = t->from;

	from = columns > 0 ? from + by : from > t->c->first + by ? from - by : t->c->first;
	show_range(t, from, from + length);
}

static void move_column(struct tui *t, int by)
{
	t->column += by;
	if (t->column < 0 || t->column >= canvas(t)) {
		pan(t, by > 0 ? canvas(t) / 4 : -canvas(t) / 4);
		t->column = t->column < 0 ? 0 : canvas(t) - 1;
	}
}

static void move_row(struct tui *t, int by)
{
	const struct columns *c = t->c;

	for (; by > 0; by--) {
		if (t->row + 1 < c->tracks[t->track].nr_rows) {
			t->row++;
			continue;
		}
		for (size_t i = t->track + 1; i < c->nr_tracks; i++)
			if (c->tracks[i].nr_rows) {
				t->track = i;
				t->row = 0;
				break;
			}
	}
	for (; by < 0; by++) {
		if (t->row) {
			t->row--;
			continue;
		}
		for (size_t i = t->track; i-- > 0;)
			if (c->tracks[i].nr_rows) {
				t->track = i;
				t->row = c->tracks[i].nr_rows - 1;
				break;
			}
	}
}

/* A row while it is drawn. */
struct line {
	const struct tui *t;
	const struct track *track;
	int y;
	bool under;	/* the cursor is on it */
	char text[160]; /* about the block under the cursor, for the last line */
};

static void block_text(const struct line *l, const struct span_block *b, char *out, size_t room)
{
	const char *name = l->t->c->names[b->name].text;

	if (l->track->kind == TRACK_CPU)
		snprintf(out, room, "%s-%u", name, l->track->rows[0].extra[b->which]);
	else
		tui_text_clean(out, room, name);
}

static int draw_block(void *arg, const struct span_block *b)
{
	struct line *l = arg;
	int left = column_of(l->t, b->start), right = column_of(l->t, b->end);
	char text[128], buf[32], when[32];
	bool state = l->track->kind == TRACK_STATES;
	int pair = 1 + (int)(b->name * 2654435761u >> 16) % NR_COLOURS;
	int attributes = COLOR_PAIR(pair) | A_REVERSE;

	left = left < 0 ? 0 : left;
	right = right <= left ? left + 1 : right;
	if (left >= canvas(l->t))
		return 0;
	block_text(l, b, text, sizeof(text));
	if (state && strcmp(text, columns_state_names[STATE_RUNNING]))
		attributes = COLOR_PAIR(!strcmp(text, columns_state_names[STATE_WOKEN])	      ? 2
					: !strcmp(text, columns_state_names[STATE_PREEMPTED]) ? 1
											      : 0);
	attrset(attributes);
	for (int x = left; x < right && x < canvas(l->t); x++) {
		size_t n = (size_t)(x - left);

		mvaddch(l->y, LABEL + x,
			n < strlen(text) ? (unsigned char)text[n] : (state ? '.' : ' '));
	}
	attrset(A_NORMAL);
	if (l->under && l->t->column >= left && l->t->column < right)
		snprintf(l->text, sizeof(l->text), "%s%s: %s at %s", text,
			 b->count > 1 ? " and more" : "", tui_text_time(b->end - b->start, buf),
			 tui_text_time(b->start - l->t->c->first, when));
	return 0;
}

static void draw_timeline(struct tui *t)
{
	const struct columns *c = t->c;
	size_t cursor = rows_above(c, t->track) + t->row, nr = 0;
	size_t lines = (size_t)(LINES - 4);
	uint64_t pixel = (t->to - t->from) / (uint64_t)canvas(t);
	struct line found = {.text = ""};
	char buf[64], label[40];

	if (cursor < t->top)
		t->top = cursor;
	if (cursor >= t->top + lines)
		t->top = cursor - lines + 1;
	for (int x = 0; x + TICK <= canvas(t); x += 16) {
		snprintf(buf, sizeof(buf), "|%s",
			 tui_text_tick(at_column(t, x) - c->first, 16 * pixel, label));
		put(1, LABEL + x, 15, buf);
	}
	for (size_t i = 0; i < c->nr_tracks; i++)
		for (size_t row = 0; row < c->tracks[i].nr_rows; row++, nr++) {
			struct line l = {t, &c->tracks[i], (int)(2 + nr - t->top),
					 i == t->track && row == t->row, ""};

			if (nr < t->top || nr >= t->top + lines)
				continue;
			tui_text_title(l.track, row, buf, LABEL);
			attrset(l.under ? A_REVERSE : A_NORMAL);
			put(l.y, 0, LABEL - 1, buf);
			attrset(A_NORMAL);
			span_row_query(&l.track->rows[row], t->from, t->to, pixel ? pixel : 1,
				       draw_block, &l);
			if (l.under)
				found = l;
		}
	put(LINES - 2, 0, COLS, found.text[0] ? found.text : "-");
	for (int y = 2; y < LINES - 2; y++)
		mvchgat(y, LABEL + t->column, 1, A_UNDERLINE | A_BOLD, 0, NULL);
}

static void entry_text(const struct columns *c, uint64_t at, const struct list_entry *e, char *out,
		       size_t room)
{
	char text[256], buf[32], name[64];
	const struct track *track = &c->tracks[e->track];

	if (e->is_event)
		tui_text_clean(text, sizeof(text), c->texts[c->events.text[e->nr]]);
	else
		snprintf(text, sizeof(text), "%s", tui_text_time(e->length, buf));
	tui_text_clean(name, sizeof(name), c->names[e->name].text);
	snprintf(out, room, "%7" PRIu64 " %6" PRIu64 ".%06" PRIu64 " %3d %-10.10s %6d %-20.20s %s",
		 at, e->start / 1000000000, e->start % 1000000000 / 1000, (int)e->cpu, track->name,
		 (int)track->id, name, text);
}

static int draw_report(struct tui *t)
{
	struct list *l = list_new(t->c);
	uint64_t lines = (uint64_t)(LINES - 3), first;
	struct list_entry e;
	char text[512];

	if (!l)
		return -ENOMEM;
	first = t->entry > lines / 2 ? t->entry - lines / 2 : 0;
	attrset(A_BOLD);
	put(1, 0, COLS, "      #          time CPU task          PID event                info");
	attrset(A_NORMAL);
	list_seek(l, first);
	for (uint64_t i = 0; i < lines && list_next(l, &e); i++) {
		entry_text(t->c, first + i, &e, text, sizeof(text));
		attrset(first + i == t->entry ? A_REVERSE : A_NORMAL);
		put((int)(2 + i), 0, COLS, text);
		attrset(A_NORMAL);
	}
	list_free(l);
	return 0;
}

/* For the comparison of qsort(), which gets no argument. */
static const struct function_sum *sums_sorted;

static int sort_sums(const void *a_, const void *b_)
{
	const struct function_sum *a = &sums_sorted[*(const uint32_t *)a_],
				  *b = &sums_sorted[*(const uint32_t *)b_];

	return a->self < b->self ? 1 : a->self > b->self ? -1 : 0;
}

static int draw_functions(struct tui *t)
{
	const struct columns *c = t->c;
	struct function_sum *sums = NULL;
	uint32_t *order = calloc(c->nr_names + 1, sizeof(*order));
	size_t nr = 0, lines = (size_t)(LINES - 3), first;
	uint64_t all = 0;
	int err = order ? function_sums(c, NULL, 0, t->from, t->to + 1, &sums) : -ENOMEM;

	for (size_t i = 0; !err && i < c->nr_names; i++)
		if (sums[i].calls) {
			order[nr++] = (uint32_t)i;
			all += sums[i].self;
		}
	sums_sorted = sums;
	if (!err)
		qsort(order, nr, sizeof(*order), sort_sums);
	t->function = t->function >= nr ? nr - (nr > 0) : t->function;
	first = t->function >= lines ? t->function - lines + 1 : 0;
	attrset(A_BOLD);
	put(1, 0, COLS, " self %         self        total          max      calls function");
	attrset(A_NORMAL);
	for (size_t i = first; i < nr && i < first + lines; i++) {
		const struct function_sum *f = &sums[order[i]];
		char self[32], total[32], most[32], name[128], text[256];

		tui_text_clean(name, sizeof(name), c->names[order[i]].text);
		snprintf(text, sizeof(text), "%6.2f%% %12s %12s %12s %10" PRIu64 " %s",
			 all ? 100.0 * (double)f->self / (double)all : 0.0,
			 tui_text_time(f->self, self), tui_text_time(f->total, total),
			 tui_text_time(f->longest, most), f->calls, name);
		attrset(i == t->function ? A_REVERSE : A_NORMAL);
		put((int)(2 + i - first), 0, COLS, text);
		attrset(A_NORMAL);
	}
	free(order);
	free(sums);
	return err ? -ENOMEM : 0;
}

static void draw_info(const struct tui *t)
{
	const struct columns *c = t->c;
	const struct reader *r = c->v->r;
	char buf[32], text[320];
	int y = 2;

	for (uint32_t i = 0; i < c->nr_files && y < LINES - 3; i++) {
		snprintf(text, sizeof(text), "File      %s", c->files[i].path);
		put(y++, 0, COLS, text);
	}
	snprintf(text, sizeof(text), "Command   %s", r->cmdline[0] ? r->cmdline : "not known");
	put(y++, 0, COLS, text);
	snprintf(text, sizeof(text), "System    %s", r->uname[0] ? r->uname : "not known");
	put(y++, 0, COLS, text);
	snprintf(text, sizeof(text), "Clock     %s", r->clock[0] ? r->clock : "not known");
	put(y++, 0, COLS, text);
	snprintf(text, sizeof(text), "Time      %s", tui_text_time(c->last - c->first, buf));
	put(y++, 0, COLS, text);
	snprintf(text, sizeof(text), "Calls     %" PRIu64 "; events %zu; tracks %zu; names %zu",
		 c->nr_calls, c->events.nr, c->nr_tracks, c->nr_names);
	put(y++, 0, COLS, text);
	snprintf(text, sizeof(text), "Lost      records were lost in %zu places", c->nr_lost);
	put(y, 0, COLS, text);
}

static int draw(struct tui *t)
{
	char title[256], shown[32], whole[32];
	int err = 0;

	erase();
	if (t->column >= canvas(t))
		t->column = canvas(t) - 1;
	if (LINES < MIN_LINES || COLS < MIN_COLS) {
		put(0, 0, COLS, "The terminal is too small: at least 80x24 is needed. q quits.");
		refresh();
		return 0;
	}
	snprintf(title, sizeof(title), " %s: %s%s, %s of %s shown", page_names[t->page],
		 t->c->v->path, t->live ? " (live)" : "", tui_text_time(t->to - t->from, shown),
		 tui_text_time(t->c->last - t->c->first, whole));
	attrset(A_REVERSE);
	mvhline(0, 0, ' ', COLS);
	put(0, 0, COLS, title);
	attrset(A_NORMAL);
	if (t->page == TIMELINE)
		draw_timeline(t);
	else if (t->page == REPORT)
		err = draw_report(t);
	else if (t->page == FUNCTIONS)
		err = draw_functions(t);
	else
		draw_info(t);
	attrset(A_REVERSE);
	mvhline(LINES - 1, 0, ' ', COLS);
	put(LINES - 1, 0, COLS,
	    t->note[0] ? t->note
		       : " 1-4, Tab views  arrows move  +/- zoom  0 all  / search, n next  Enter "
			 "go there  q quit");
	attrset(A_NORMAL);
	refresh();
	t->note[0] = '\0';
	return err;
}

/* Show an entry of the list in the timeline. */
static int go_there(struct tui *t)
{
	struct list *l = list_new(t->c);
	uint64_t length = t->to - t->from, from;
	struct list_entry e;

	if (!l)
		return -ENOMEM;
	list_seek(l, t->entry);
	if (list_next(l, &e)) {
		t->track = e.track;
		t->row = e.row;
		/* zoom until it takes some columns */
		if (e.length && length / (uint64_t)canvas(t) > e.length / 4)
			length = e.length * (uint64_t)canvas(t) / 4;
		from = e.start > length / 2 ? e.start - length / 2 : 0;
		show_range(t, from, from + length);
		t->column = column_of(t, e.start);
		t->page = TIMELINE;
	}
	list_free(l);
	return 0;
}

/* Search the next entry after the chosen one that has the text. */
static int search_on(struct tui *t)
{
	struct list *l = list_new(t->c);
	uint64_t at = t->entry + 1;
	struct list_entry e;

	if (!l)
		return -ENOMEM;
	snprintf(t->note, sizeof(t->note), " %s: not found behind this entry; Home, N searches all",
		 t->search);
	list_seek(l, at);
	for (; t->search[0] && list_next(l, &e); at++) {
		if (!strcasestr(t->c->names[e.name].text, t->search) &&
		    !(e.is_event && strcasestr(t->c->texts[t->c->events.text[e.nr]], t->search)))
			continue;
		t->entry = at;
		t->page = REPORT;
		t->note[0] = '\0';
		break;
	}
	list_free(l);
	return 0;
}

static void ask_search(struct tui *t)
{
	mvhline(LINES - 1, 0, ' ', COLS);
	put(LINES - 1, 0, COLS, "Search: ");
	echo();
	curs_set(1);
	timeout(-1);
	if (mvgetnstr(LINES - 1, 8, t->search, sizeof(t->search) - 1) == ERR)
		t->search[0] = '\0';
	noecho();
	curs_set(0);
}

static void move_entry(struct tui *t, int64_t by)
{
	uint64_t nr = list_length(t->c);

	if (by < 0)
		t->entry = t->entry > (uint64_t)-by ? t->entry - (uint64_t)-by : 0;
	else
		t->entry = t->entry + (uint64_t)by < nr ? t->entry + (uint64_t)by : nr - (nr > 0);
}

static void move_down(struct tui *t, int by)
{
	if (t->page == TIMELINE)
		move_row(t, by);
	else if (t->page == REPORT)
		move_entry(t, by);
	else if (t->page == FUNCTIONS)
		t->function = by < 0 && t->function < (size_t)-by ? 0 : t->function + (size_t)by;
}

static void take_mouse(struct tui *t)
{
	MEVENT m;

	if (getmouse(&m) != OK)
		return;
	if (m.bstate & BUTTON4_PRESSED) {
		t->page == TIMELINE ? zoom(t, 0.7) : move_down(t, -3);
	} else if (m.bstate & BUTTON5_PRESSED) {
		t->page == TIMELINE ? zoom(t, 1.4) : move_down(t, 3);
	} else if (t->page == TIMELINE && m.y >= 2 && m.y < LINES - 2) {
		int by = (int)(t->top + (size_t)(m.y - 2)) -
			 (int)(rows_above(t->c, t->track) + t->row);

		move_row(t, by);
		if (m.x >= LABEL)
			t->column = m.x - LABEL;
	}
}

/* Return: 1 to end, 0, or -errno with fail() set. */
static int take_key(struct tui *t, int key)
{
	int page = LINES - 4;

	switch (key) {
	case 'q':
	case 3:
		return 1;
	case '1':
	case '2':
	case '3':
	case '4':
		t->page = (enum page)(key - '1');
		return 0;
	case '\t':
		t->page = (t->page + 1) % NR_PAGES;
		return 0;
	case KEY_UP:
	case 'k':
		move_down(t, -1);
		return 0;
	case KEY_DOWN:
	case 'j':
		move_down(t, 1);
		return 0;
	case KEY_PPAGE:
		move_down(t, -page);
		return 0;
	case KEY_NPAGE:
		move_down(t, page);
		return 0;
	case KEY_HOME:
		t->entry = 0;
		return 0;
	case KEY_END:
		move_entry(t, INT32_MAX);
		return 0;
	case KEY_LEFT:
		move_column(t, -1);
		return 0;
	case KEY_RIGHT:
		move_column(t, 1);
		return 0;
	case 'a':
		pan(t, -canvas(t) / 4);
		return 0;
	case 'd':
		pan(t, canvas(t) / 4);
		return 0;
	case '+':
	case '=':
	case 'w':
		zoom(t, 0.5);
		return 0;
	case '-':
	case 's':
		zoom(t, 2);
		return 0;
	case '0':
		show_range(t, t->c->first, t->c->last);
		return 0;
	case '/':
		ask_search(t);
		return search_on(t);
	case 'n':
		return search_on(t);
	case '\n':
	case KEY_ENTER:
		return t->page == REPORT ? go_there(t) : 0;
	case KEY_MOUSE:
		take_mouse(t);
		return 0;
	default:
		return 0;
	}
}

/* Show the new columns of a live recording. The choice stays if it still exists. */
static void renew(struct tui *t)
{
	const struct columns *c = t->live->again(t->live->arg);
	bool all = t->from <= t->c->first && t->to >= t->c->last;

	if (!c)
		return;
	t->c = c;
	t->track = t->track < c->nr_tracks ? t->track : 0;
	t->row = t->row < c->tracks[t->track].nr_rows ? t->row : 0;
	move_entry(t, 0);
	show_range(t, all ? c->first : t->from, all ? c->last : t->to);
	t->live->forget(t->live->arg);
}

static void begin(struct tui *t)
{
	const struct columns *c = t->c;

	t->from = c->first;
	t->to = c->last > c->first ? c->last : c->first + 1;
	while (t->track + 1 < c->nr_tracks && !c->tracks[t->track].nr_rows)
		t->track++;
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	curs_set(0);
	set_escdelay(50);
	mousemask(BUTTON1_CLICKED | BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
	start_color();
	use_default_colors();
	for (short i = 1; i <= NR_COLOURS; i++)
		init_pair(i, i, -1);
}

/*
 * The next key; or ERR after @ms milliseconds (-1: no limit), or, with *@gone set, when the
 * terminal is gone. SIGWINCH, for a change of size, is blocked except during the wait here: getch()
 * alone would miss one that comes just before it waits. @waiting: the signal mask during the wait.
 */
static int next_key(int ms, const sigset_t *waiting, bool *gone)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	int key, n = -1;

	*gone = false;
	timeout(0);
	while ((key = getch()) == ERR && !*gone) {
		*gone = n > 0;
		if (!*gone)
			n = ppoll(&in, 1, ms < 0 ? NULL : &time, waiting);
		if (!n)
			break;
	}
	return key;
}

int tui_run(const struct columns *c, const struct tui_live *live)
{
	sigset_t size_changes, waiting;
	bool gone = false;
	struct tui t = {.c = c, .live = live, .page = live ? FUNCTIONS : TIMELINE};
	SCREEN *screen;
	int ret = 0;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return fail(ENOTTY, "tui: stdin and stdout must be a terminal");
	setlocale(LC_CTYPE, "");
	out_terminal(false); /* tui_text_clean() cleans names; ncurses writes the rest */
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return fail(EINVAL, "tui: the terminal TERM=%s is not known",
			    getenv("TERM") ? getenv("TERM") : "");
	set_term(screen);
	sigemptyset(&size_changes);
	sigaddset(&size_changes, SIGWINCH);
	pthread_sigmask(SIG_BLOCK, &size_changes, &waiting);
	begin(&t);
	while (!ret) {
		int key;

		ret = draw(&t);
		if (ret)
			break;
		key = next_key(live ? LIVE_MS : -1, &waiting, &gone);
		if (gone)
			ret = 1;
		else if (key == ERR)
			renew(&t);
		else
			ret = take_key(&t, key);
	}
	endwin();
	delscreen(screen);
	pthread_sigmask(SIG_SETMASK, &waiting, NULL);
	return ret < 0 ? ret : 0;
}
