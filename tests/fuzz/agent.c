/* SPDX-License-Identifier: MIT */
/*
 * Requests to the agent of this process itself, whose engine reports its coverage to libFuzzer. An
 * input has several requests, each with two bytes of length in front. After each request the
 * process calls functions, makes events, uses memory and makes system calls, under the settings of
 * that request.
 *
 * Promises: each connection ends, with one of the protocol's replies or none; the functions'
 * results are right; and after all requests the process still takes good requests.
 */
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <vestige/event.h>

#include "abi/agent.h"

#define MAX_PATHS    4096u
#define MAX_REQUESTS 8
#define TRACED	     __attribute__((noinline, patchable_function_entry(6)))
#define FILE_OF(at)  (strrchr(at, '/') ? strrchr(at, '/') + 1 : (at))

VESTIGE_EVENT(fuzz, fuzzed, (int, number), (const char *, text));

static struct sockaddr_un address = {.sun_family = AF_UNIX};
static char paths[MAX_PATHS][AGENT_PATH_BYTES];
static uint32_t nr_paths;
static int changed; /* by what was asked since it began anew */
static uint8_t answer[sizeof(struct agent_reply) + AGENT_MAX_PAYLOAD + 1];

static TRACED int inner(int x)
{
	__asm__ volatile("" : "+r"(x));
	return 3 * x + 1;
}

static TRACED int outer(int x)
{
	int y = inner(x);

	__asm__ volatile("" : "+r"(y));
	return y + 7;
}

static TRACED void work(void)
{
	for (int i = 0; i < 5; i++) {
		char *p = malloc(100 + (size_t)i);

		__asm__ volatile("" : "+r"(p));
		PROMISE(p && outer(i) == 3 * i + 8);
		free(p);
		trace_fuzzed(i, "some text");
	}
	PROMISE(getppid() > 0);
}

/* Send the bytes, and nothing behind them. Return: how much came. */
static size_t ask(const void *bytes, size_t n)
{
	struct timeval limit = {.tv_sec = 15};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const struct agent_reply *reply = (const void *)answer;
	size_t at = 0;
	ssize_t got;

	PROMISE(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	PROMISE(!connect(fd, (struct sockaddr *)&address, sizeof(address)));
	while (n && (got = send(fd, bytes, n, MSG_NOSIGNAL)) > 0) {
		bytes = (const char *)bytes + got;
		n -= (size_t)got;
	}
	shutdown(fd, SHUT_WR);
	/* libFuzzer's alarm ends it too, as there is a limit; closed with something unread is an
	 * end as well */
	while ((got = recv(fd, answer + at, sizeof(answer) - at, 0)) > 0 ||
	       (got < 0 && errno == EINTR))
		at += got > 0 ? (size_t)got : 0;
	PROMISE(!got || errno == ECONNRESET);
	close(fd);
	if (at) {
		PROMISE(at >= sizeof(*reply) && at == sizeof(*reply) + reply->payload_bytes);
		PROMISE(reply->magic == AGENT_MAGIC && reply->version == AGENT_VERSION);
		PROMISE(reply->result <= 0 && reply->result > -4096);
		changed |= !reply->result;
	}
	return at;
}

/* A good request. Return: its result. */
static int request(enum agent_op op, const char *path, const char *text, uint32_t flags)
{
	struct {
		struct agent_request head;
		char text[512];
	} r = {.head = {AGENT_MAGIC, AGENT_VERSION, (uint16_t)op, flags, (uint32_t)strlen(text),
			""}};

	snprintf(r.head.path, sizeof(r.head.path), "%s", path);
	memcpy(r.text, text, r.head.payload_bytes);
	PROMISE(ask(&r, sizeof(r.head) + r.head.payload_bytes));
	return ((const struct agent_reply *)answer)->result;
}

static const char *answered_text(void)
{
	const struct agent_reply *reply = (const void *)answer;

	answer[sizeof(*reply) + reply->payload_bytes] = 0;
	return (const char *)(reply + 1);
}

/* All files beneath a folder; of many folders that are alike the first. */
static void list_paths(const char *folder)
{
	char *lines, *line, *rest, at[2 * AGENT_PATH_BYTES];
	int nr_folders = 0;

	PROMISE(!request(AGENT_LIST, folder, "", 0));
	lines = strdup(answered_text());
	for (line = strtok_r(lines, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		snprintf(at, sizeof(at), "%s%s%s", folder, *folder ? "/" : "", line + 7);
		if (strlen(at) >= AGENT_PATH_BYTES)
			continue;
		if (line[1] != '4' && nr_paths < MAX_PATHS)
			strcpy(paths[nr_paths++], at);
		else if (line[1] == '4' &&
			 (nr_folders++ < 4 || strstr(line + 7, "fuzz") || !strchr(folder, '/')))
			list_paths(at);
	}
	free(lines);
}

/* The process's own socket is there when its agent is. */
static void start(void)
{
	const char *areas = getenv("VESTIGE_DIR");
	char name[64];
	DIR *dir;

	if (nr_paths)
		return;
	PROMISE(areas);
	snprintf(name, sizeof(name), "%d.", getpid());
	while (!address.sun_path[0]) {
		const struct dirent *d;

		dir = opendir(areas);
		PROMISE(dir);
		while ((d = readdir(dir)))
			if (!strncmp(d->d_name, name, strlen(name)) &&
			    strstr(d->d_name, AGENT_SUFFIX))
				snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", areas,
					 d->d_name);
		closedir(dir);
		usleep(1000);
	}
	PROMISE(!request(AGENT_MKDIR, "instances/fuzz", "", 0));
	list_paths("");
	PROMISE(nr_paths > 300);
}

/* A file of commands has none any more. */
static void take_back(const char *path)
{
	char *lines, *line, *rest, command[500];

	if (request(AGENT_READ, path, "", 0))
		return;
	lines = strdup(answered_text());
	for (line = strtok_r(lines, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *end = strstr(line, " [");

		if (*line == '#')
			continue;
		if (end)
			*end = 0;
		snprintf(command, sizeof(command), "!%s", line);
		request(AGENT_WRITE, path, command, 0);
	}
	free(lines);
}

/* After any settings: nothing is traced, and a new setting works. */
static void begin_anew(const char (*touched)[AGENT_PATH_BYTES], int nr)
{
	static const struct {
		const char *path, *text;
	} writes[] = {
		{"current_tracer", "nop"},
		{"set_event", ""},
		{"tracing_on", "1"},
		{"set_ftrace_filter", ""},
		{"set_ftrace_notrace", ""},
		{"set_ftrace_pid", ""},
		{"function_profile_enabled", "0"},
		{"stack_tracer_enabled", "0"},
		{"vestige_paused", "0"},
		{"snapshot", "0"},
		{"buffer_size_kb", "64"},
		{"tracing_cpumask", "ffffffff"},
		{"trace_clock", "local"},
	};

	for (int i = 0; i < nr; i++)
		if (!strcmp(FILE_OF(touched[i]), "trigger"))
			take_back(touched[i]);
	for (size_t i = 0; i < sizeof(writes) / sizeof(writes[0]); i++)
		request(AGENT_WRITE, writes[i].path, writes[i].text, AGENT_TRUNCATE);
	request(AGENT_WRITE, "dynamic_events", "", AGENT_TRUNCATE);
	request(AGENT_RMDIR, "instances/fuzz", "", 0);
	PROMISE(!request(AGENT_MKDIR, "instances/fuzz", "", 0));
	PROMISE(!request(AGENT_READ, "current_tracer", "", 0) && !strcmp(answered_text(), "nop\n"));
	PROMISE(!request(AGENT_READ, "tracing_on", "", 0) && !strcmp(answered_text(), "1\n"));
}

static void run(const uint8_t *data, size_t n)
{
	char touched[MAX_REQUESTS][AGENT_PATH_BYTES];
	int nr = 0;
	size_t at = 0;

	start();
	while (n - at >= 2 && nr < MAX_REQUESTS) {
		size_t bytes = (size_t)data[at] | (size_t)data[at + 1] << 8;
		const size_t path_at = offsetof(struct agent_request, path);

		at += 2;
		if (bytes > n - at)
			bytes = n - at;
		ask(data + at, bytes);
		if (bytes >= sizeof(struct agent_request)) {
			memcpy(touched[nr], data + at + path_at, AGENT_PATH_BYTES);
			touched[nr++][AGENT_PATH_BYTES - 1] = 0;
		}
		at += bytes;
		work();
	}
	if (changed)
		begin_anew((const char(*)[AGENT_PATH_BYTES])touched, nr);
	changed = 0;
}

static const char *const words[] = {
	"0",
	"1",
	"2",
	"-1",
	"64",
	"70000",
	"99999999999",
	"nop",
	"function",
	"function_graph",
	"*",
	"outer",
	"inner",
	"work",
	"!",
	"outer:traceoff:3",
	"*:snapshot:1",
	"inner:stacktrace",
	"outer:dump",
	"*:mod:*",
	"fuzz:fuzzed",
	"*:*",
	"syscalls:sys_enter_getppid",
	"kmem:*",
	"traceon",
	"traceoff:2",
	"snapshot",
	"stacktrace:1 if number > 2",
	"enable_event:fuzz:fuzzed",
	"disable_event:kmem:kfree:3",
	"hist:keys=number",
	"hist:keys=text:vals=number",
	"hist:keys=common_stacktrace:sort=hitcount",
	"hist:keys=common_pid.execname:size=128",
	":name=n",
	":pause",
	":clear",
	":cont",
	":v=number",
	":onmatch(fuzz.fuzzed).two($v,text)",
	":onmax($v).save(number)",
	":onchange($v).snapshot()",
	"number == 3",
	"text ~ \"s*\"",
	"number > 1 && text != \"x\" || common_pid == 0",
	"two u64 n; char s[]",
	"s:two u64 n",
	"p:one outer a=%di b=$arg1:u8",
	"p:one inner+4 s=$comm",
	"r:two outer r=$retval",
	"f:three inner x=$arg1",
	"-:one",
	"p:probes/one outer",
	"e:four fuzz.fuzzed n=$number:u32",
	"nooverwrite",
	"stacktrace",
	"latency-format",
	"noirq-info",
	"funcgraph-retval",
	"func-args",
	"local",
	"global",
	"counter",
	"none",
	"x86-tsc",
	"mono",
	"number=5 text=\"abc\"",
	"B|1|name",
	"E|1",
	"C|1|n|5",
	"#",
	"\n",
	" ",
	"1 2 3",
	"self",
	"ffffffff",
	"3",
	"outer+3",
	"text.hex",
	"if",
	":0x10",
	"@outer",
	"$stack8",
	"+0(%di):string",
	"t:five fuzzed",
	"sched:*",
	"signal:*",
	"lock:*",
	"ftrace:*",
};

static size_t put_words(struct mangle *m, char *to, size_t room)
{
	size_t n = 0;

	for (uint64_t k = mangle_random(m, 4); k; k--) {
		const char *word = words[mangle_random(m, sizeof(words) / sizeof(words[0]))];

		if (strlen(word) + 1 < room - n)
			n += (size_t)sprintf(to + n, "%s%s", mangle_random(m, 3) ? "" : " ", word);
	}
	return n;
}

static void insert_request(struct mangle *m, size_t at)
{
	struct {
		uint8_t bytes[2];
		struct agent_request head;
		char text[300];
	} __attribute__((packed)) r = {.head = {AGENT_MAGIC, AGENT_VERSION, AGENT_WRITE, 0, 0, ""}};
	size_t bytes;

	if (!mangle_random(m, 4))
		r.head.op = (uint16_t)(1 + mangle_random(m, 7));
	r.head.flags = (uint32_t)mangle_random(m, 2);
	snprintf(r.head.path, sizeof(r.head.path), "%s", paths[mangle_random(m, nr_paths)]);
	r.head.payload_bytes = (uint32_t)put_words(m, r.text, sizeof(r.text));
	bytes = sizeof(r.head) + r.head.payload_bytes;
	r.bytes[0] = (uint8_t)bytes;
	r.bytes[1] = (uint8_t)(bytes >> 8);
	mangle_insert(m, at, &r, 2 + bytes);
}

static void mutate(struct mangle *m)
{
	size_t at = 0, begins[MAX_REQUESTS + 1];
	int nr = 0, which;

	start();
	while (nr < MAX_REQUESTS && at + 2 <= m->n) {
		begins[nr++] = at;
		at += 2 + mangle_get(m, at, 2);
	}
	begins[nr] = at < m->n ? at : m->n;
	which = (int)mangle_random(m, (uint64_t)nr + 1);
	switch (mangle_random(m, 8)) {
	case 0:
		mangle_any(m);
		break;
	case 1:
		if (which < nr)
			mangle_cut(m, begins[which], begins[which + 1] - begins[which]);
		break;
	default:
		insert_request(m, begins[which]);
	}
}

static const struct fuzz_target fuzz_agent = {"agent", run, mutate};

const struct fuzz_target *fuzz_target_find(const char *name)
{
	return strcmp(name, fuzz_agent.name) ? NULL : &fuzz_agent;
}
