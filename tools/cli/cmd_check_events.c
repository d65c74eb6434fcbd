/* SPDX-License-Identifier: MIT */
/*
 * `vestige check-events`: finds the events of a target that libtraceevent cannot parse. Tests:
 * tests/cli/test_dump.py.
 */
#include "tools/cli/cmd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <traceevent/event-parse.h>

#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/cli/control.h"
#include "tools/reader/formats.h"
#include "tools/text/json.h"

struct flags {
	struct control_which which;
	bool no_plugins, json;
};

static const struct flag flags[] = {
	{'N', NULL, NULL, "no plug-ins of libtraceevent", NULL, offsetof(struct flags, no_plugins)},
	{0, "json", NULL, "as JSON: all that were looked at, and those that cannot be parsed", NULL,
	 offsetof(struct flags, json)},
	FLAGS_END};

static int keep(void *arg, const char *text, size_t bytes)
{
	return fwrite(text, 1, bytes, arg) == bytes ? 0 : -ENOMEM;
}

/*
 * A file of the target, or with @path NULL the names of all; NULL: it cannot be read. To be freed.
 */
static char *text_of(struct target *t, const char *path, size_t *bytes)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, bytes);
	struct out o;
	int err;

	if (!f)
		return NULL;
	err = out_init_sink(&o, keep, f);
	if (!err) {
		err = path ? t->ops->print(t, path, &o) : t->ops->names(t, &o);
		if (out_end(&o))
			err = -ENOMEM;
	}
	if (fclose(f) || err) {
		free(text);
		return NULL;
	}
	return text;
}

/* The system and the event of `events/SYSTEM/EVENT/format`. */
static bool is_format(const char *path, char system[128], char event[128])
{
	int end = 0;

	return sscanf(path, "events/%127[^/]/%127[^/]/format%n", system, event, &end) == 2 && end &&
	       !path[end];
}

/*
 * Say each format that is not parsed; @j: NULL, or as the array of an object. Return: how many;
 * -errno with fail() set.
 */
static int check(struct target *t, struct tep_handle *tep, struct json *j, unsigned int *nr)
{
	char system[128], event[128], name[512], *names, *rest, *path;
	struct formats all = {0};
	struct dat_layout layout = {.as_is = true};
	bool *wanted = malloc(65536);
	size_t bytes;
	int bad = 0, ret = 0;

	names = rest = text_of(t, NULL, &bytes);
	if (!wanted || !names)
		ret = names ? fail(ENOMEM, "out of memory") : -EIO;
	while (!ret && (path = strsep(&rest, "\n"))) {
		char *text = is_format(path, system, event) ? text_of(t, path, &bytes) : NULL;

		if (text && formats_add(&all, &layout, system, text, bytes))
			ret = fail(ENOMEM, "out of memory");
	}
	if (!ret) {
		memset(wanted, true, 65536);
		ret = formats_parse(&all, tep, wanted);
	}
	for (size_t i = 0; !ret && i < all.nr; i++) {
		struct tep_event *ev = tep_find_event(tep, all.at[i].id);

		if (ev && !(ev->flags & TEP_EVENT_FL_FAILED))
			continue;
		snprintf(name, sizeof(name), "%s:%.*s", all.at[i].system,
			 (int)strcspn(all.at[i].text + 6, "\n"), all.at[i].text + 6);
		if (j)
			json_text(j, NULL, name);
		else
			printf("%s: its format cannot be parsed\n", name);
		bad++;
	}
	*nr = (unsigned int)all.nr;
	formats_free(&all);
	free(names);
	free(wanted);
	return ret ? ret : bad;
}

static int check_json(struct target *t, struct tep_handle *tep, unsigned int *nr)
{
	struct json j = {0};
	struct out o;
	int ret, err;

	if (out_init(&o, STDOUT_FILENO))
		return fail(ENOMEM, "out of memory");
	j.o = &o;
	json_open(&j, NULL, '{');
	json_open(&j, "failed", '[');
	ret = check(t, tep, &j, nr);
	json_close(&j, ']');
	json_number(&j, "formats", *nr);
	json_close(&j, '}');
	out_text(&o, "\n");
	err = out_end_stdout(&o, ret < 0 ? ret : 0, "the list");
	return err ? err : ret;
}

static int run(const struct command *c, int argc, char **argv)
{
	struct flags opt = {0};
	int status = options_parse(c, (void *[]){&opt.which, &opt}, &argc, &argv);
	struct tep_plugin_list *plugins;
	struct tep_handle *tep;
	unsigned int nr = 0;
	struct target *t;
	int ret;

	if (status >= 0)
		return status;
	if (argc)
		return options_wrong(c, "there are no arguments; one is %s", argv[0]);
	ret = control_open(&t, &opt.which, false);
	if (ret)
		return cmd_end(ret);
	tep = tep_alloc();
	if (!tep) {
		target_put(t);
		return cmd_end(fail(ENOMEM, "out of memory"));
	}
	tep_set_loglevel(TEP_LOG_NONE);
	tep_set_long_size(tep, (int)sizeof(long));
	if (opt.no_plugins)
		tep_set_flag(tep, TEP_DISABLE_PLUGINS);
	plugins = tep_load_plugins(tep);
	ret = opt.json ? check_json(t, tep, &nr) : check(t, tep, NULL, &nr);
	if (plugins)
		tep_unload_plugins(plugins, tep);
	tep_free(tep);
	target_put(t);
	if (ret > 0 && opt.json)
		return CMD_FAILURE;
	if (ret > 0) {
		note("%d of %u formats cannot be parsed", ret, nr);
		return CMD_FAILURE;
	}
	return cmd_end(ret);
}

const struct command command_check_events = {
	.name = "check-events",
	.words = "",
	.what = "say which events' formats cannot be parsed",
	.help = "Parse the formats of all events of a process, or of the kernel, "
		"with\nlibtraceevent, as tools that read recordings do. Print the events that it "
		"cannot parse;\nnothing if it can parse all.\n",
	.flags = (const struct flag *const[]){control_flags, flags, NULL},
	.run = run,
};
