/* SPDX-License-Identifier: MIT */
/*
 * `vestige tui`: a recording, or what a process records, in a terminal. Tests:
 * tests/cli/test_tui.py.
 */
#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/cli/cmd.h"
#include "tools/cli/shown.h"
#include "tools/cli/view_flags.h"
#include "tools/view/tui.h"

static const struct flag flags[] = {FLAGS_END};

struct live {
	struct shown *shown;
	struct columns *before;
};

static const struct columns *again(void *arg)
{
	struct live *l = arg;

	return shown_refresh(l->shown, &l->before) ? l->shown->c : NULL;
}

static void forget(void *arg)
{
	struct live *l = arg;

	shown_forget(l->shown, l->before);
}

static int run(const struct command *c, int argc, char **argv)
{
	static struct shown shown; /* large, and the stack may be small */
	struct live live = {.shown = &shown};
	const struct tui_live how = {again, forget, &live};
	int status = shown_parse(&shown, NULL, c, argc, argv), ret = 0;

	if (status < 0) {
		ret = shown_read(&shown);
		if (!ret)
			ret = tui_run(shown.c, shown.target ? &how : NULL);
		if (ret)
			note("%s", fail_text());
	}
	shown_close(&shown);
	return status >= 0 ? status : ret ? CMD_FAILURE : 0;
}

const struct command command_tui = {
	.name = "tui",
	.words = "[FILE ...]",
	.what = "show a recording in the terminal",
	.help = "Show FILE (default: trace.dat), or several on one timeline, in a terminal of "
		"80x24 "
		"or more: the\ntimeline, the list, the functions of the range, and the facts about "
		"the file. With -P it shows\nthe functions that a process calls now.\n",
	.flags = (const struct flag *const[]){view_flags, shown_flags, flags, NULL},
	.run = run,
};
