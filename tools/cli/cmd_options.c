/* SPDX-License-Identifier: MIT */
/*
 * `vestige options`: the values for -O of `report`. Tests: tests/cli/test_dump.py,
 * tests/cli/test_json.py.
 */
#include "tools/cli/cmd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/report/report.h"
#include "tools/target/target.h"
#include "tools/text/graph_text.h"
#include "tools/text/json.h"
#include "tools/text/out.h"

struct flags {
	bool json;
};

static const struct flag flags[] = {
	{0, "json", NULL, "the options as JSON", NULL, offsetof(struct flags, json)}, FLAGS_END};

static void put_text(struct out *o)
{
	const char *name;

	report_plugin_options(o);
	out_text(o, "\nOf --format=trace, `no` before it turns one off:\n");
	for (unsigned int i = 0; (name = graph_option_name(i)); i++)
		out_printf(o, "  %s\n", name);
}

/* Of the text: lines `NAME:\tVALUE` of one option, between lines of dashes. */
static void put_plugins(struct json *j, char *text)
{
	bool open = false;

	for (char *line; (line = strsep(&text, "\n"));) {
		char *value = strstr(line, ":\t");

		if (!value && open)
			json_close(j, '}');
		else if (value && !open)
			json_open(j, NULL, '{');
		open = value != NULL;
		if (!value)
			continue;
		*value = '\0';
		json_text(j, line + strspn(line, " "), value + 2);
	}
}

static int put_json(struct out *o)
{
	struct target_text text = {0};
	struct json j = {.o = o};
	struct out kept;
	const char *name;

	if (out_init_sink(&kept, target_text_add, &text))
		return fail(ENOMEM, "out of memory");
	report_plugin_options(&kept);
	if (out_end(&kept) || !text.at) {
		free(text.at);
		return fail(ENOMEM, "out of memory");
	}
	json_open(&j, NULL, '{');
	json_open(&j, "plugins", '[');
	put_plugins(&j, text.at);
	json_close(&j, ']');
	json_open(&j, "trace", '[');
	for (unsigned int i = 0; (name = graph_option_name(i)); i++)
		json_text(&j, NULL, name);
	json_close(&j, ']');
	json_close(&j, '}');
	out_text(o, "\n");
	free(text.at);
	return 0;
}

static int run(const struct command *c, int argc, char **argv)
{
	struct flags f = {0};
	void *to[] = {&f};
	int status = options_parse(c, to, &argc, &argv), err = 0;
	struct out o;

	if (status >= 0)
		return status;
	if (out_init(&o, STDOUT_FILENO))
		return cmd_end(fail(ENOMEM, "out of memory"));
	if (f.json)
		err = put_json(&o);
	else
		put_text(&o);
	return cmd_end(out_end_stdout(&o, err, "the options"));
}

const struct command command_options = {
	.name = "options",
	.words = "",
	.what = "list the options that report -O takes",
	.help = "List the options of `vestige report -O`: the options of libtraceevent's plug-ins, "
		"and the\nkernel's for function_graph.\n",
	.flags = (const struct flag *const[]){flags, NULL},
	.run = run,
};
