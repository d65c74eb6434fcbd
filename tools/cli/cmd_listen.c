/* SPDX-License-Identifier: MIT */
/* vestige listen: its flags (tools/net/listen.c does it). Tests: tests/cli/test_listen.py. */
#include <stddef.h>
#include <string.h>

#include "tools/cli/cmd.h"
#include "tools/cli/control.h"
#include "tools/net/listen.h"

#define MAX_CLIENTS 256
#define MAX_MB	    (UINT64_C(1) << 30)

struct words {
	struct listen_options o;
	const char *address;
	unsigned long long size_mb, total_mb;
};

static int take_port(const struct parsing *p, void *to, const char *value)
{
	unsigned long long n;
	int status = options_take_number(p, value, 0, UINT16_MAX, "not a port", &n);

	if (status)
		return status;
	((struct words *)to)->o.port = value;
	return 0;
}

static int take_prefix(const struct parsing *p, void *to, const char *value)
{
	if (!*value || *value == '.' || strchr(value, '/') || strlen(value) > 64)
		return options_bad(p, "not the beginning of a file's name", value);
	((struct words *)to)->o.prefix = value;
	return 0;
}

static int take_count(const struct parsing *p, void *to, const char *value)
{
	return options_take_number(p, value, 1, MAX_CLIENTS, "not a number of senders",
				   &((struct words *)to)->o.clients);
}

static int take_recordings(const struct parsing *p, void *to, const char *value)
{
	return options_take_number(p, value, 1, 1000000000, "not a number of recordings",
				   &((struct words *)to)->o.recordings);
}

static int take_mb(const struct parsing *p, void *to, const char *value)
{
	return options_take_number(p, value, 1, MAX_MB, "not a number of MB",
				   (unsigned long long *)((char *)to + p->flag->offset));
}

static const struct flag flags[] = {
	{'p', "port", "PORT", "listen at PORT; 0: at a free one, which is printed", take_port, 0},
	{0, "address", "HOST", "listen at this address of the machine (default: 127.0.0.1)", NULL,
	 offsetof(struct words, address)},
	{'d', NULL, "DIR", "write the files into DIR (default: the current folder)", NULL,
	 offsetof(struct words, o.dir)},
	{'o', NULL, "NAME", "write NAME.HOST:PORT.dat (default: trace)", take_prefix, 0},
	{'l', NULL, "FILE", "append what is printed to FILE", NULL, offsetof(struct words, o.log)},
	{'D', NULL, NULL, "go into the background", NULL, offsetof(struct words, o.daemon)},
	{0, "recordings", "N", "end after N recordings", take_recordings, 0},
	{0, "max-clients", "N", "take at most N recordings at a time (default: 16)", take_count, 0},
	{0, "max-size", "MB", "end a recording that is larger (default: 1024)", take_mb,
	 offsetof(struct words, size_mb)},
	{0, "max-total", "MB", "take no more than that in all (default: 8192)", take_mb,
	 offsetof(struct words, total_mb)},
	FLAGS_END};

static int run(const struct command *c, int argc, char **argv)
{
	struct words w = {.o = {.dir = ".", .prefix = "trace", .clients = 16},
			  .address = "127.0.0.1",
			  .size_mb = 1024,
			  .total_mb = 8192};
	int status = options_parse(c, (void *[]){&w}, &argc, &argv);

	if (status >= 0)
		return status;
	if (argc)
		return options_wrong(c, "it takes no arguments: %s", argv[0]);
	if (!w.o.port)
		return options_wrong(c, "name the port with -p");
	if (w.o.daemon && !w.o.log)
		return options_wrong(c, "-D: name a file with -l for what is printed");
	w.o.address = w.address;
	w.o.max_bytes = w.size_mb << 20;
	w.o.max_total = w.total_mb << 20;
	return cmd_end(listen_run(&w.o));
}

const struct command command_listen = {
	.name = "listen",
	.words = "",
	.what = "take recordings of other hosts, which record -N sends",
	.help = "Take recordings that `vestige record -N` and `trace-cmd record -N` send from "
		"other "
		"hosts,\nuntil Ctrl-C. Each becomes a file NAME.HOST:PORT.dat, with the listener's "
		"clock where\nthe sender is vestige.\n",
	.flags = (const struct flag *const[]){flags, NULL},
	.run = run,
};
