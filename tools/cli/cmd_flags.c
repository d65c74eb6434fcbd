/* SPDX-License-Identifier: MIT */
/*
 * vestige flags: finds the flags by which the user's compiler makes functions traceable. It does
 * not use the compiler's name and version: it builds a program of two files, and the engine scans
 * the result.
 *
 * In C++ both files have the same COMDAT function, in different sizes, and each file begins with a
 * function of its own: g++ 12 with -fpatchable-function-entry cannot link that.
 * Tests: tests/cli/test_flags.py.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/base/child.h"
#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/cli/cmd.h"
#include "tools/record/inspect.h"

#define MAX_WORDS 256

/* The best first. */
static const struct choice {
	const char *compile, *link;
	bool script;	    /* and with the linker script */
	const char *remark; /* printed if this choice works */
} choices[] = {
	{"-fpatchable-function-entry=6", "", false, NULL},
	{"-fpatchable-function-entry=6", "", true, NULL},
	{"-pg -mfentry", "", false,
	 "compile with these and link without -pg: linked with it, the program profiles itself"},
	{"-finstrument-functions", "", false,
	 "each call costs two more while nothing is traced; other flags do not work here"},
	{"-pg", "", false,
	 "compile with it and link without: linked with it, the program profiles itself. "
	 "There is no function_graph"},
};
#define NR_CHOICES (sizeof(choices) / sizeof(*choices))

static const char common[] =
	"int other(int);\n"
	"#ifdef __cplusplus\n"
	"template <typename T> __attribute__((noinline)) T shared(T n) { return MORE + 2 * n; }\n"
	"#else\n"
	"static __attribute__((noinline)) int shared(int n) { return MORE + 2 * n; }\n"
	"#endif\n";

static const struct {
	const char *begin, *end;
} files[] = {
	{"#define MORE 0\n", "__attribute__((noinline)) int own(int n) { return n + 1; }\n"
			     "int main(int argc, char **argv)\n"
			     "{ (void)argv; return !(other(argc) + own(argc) + shared(argc)); }\n"},
	{"#define MORE (n % 3 ? 3 * n : n / 5)\n",
	 "__attribute__((noinline)) int own_too(int n) { return n + 2; }\n"
	 "int other(int n) { return own_too(n) + shared(n); }\n"},
};
/* Of main, other, own, own_too and shared: how many remain if some are merged or inlined. */
#define MIN_FUNCTIONS 3

struct trial {
	char dir[1024]; /* of the files that we make */
	char **compiler;
	const char *source[2]; /* names of the two files */
	bool verbose;
	bool interrupted;
	char script[PATH_MAX]; /* "": there is none */
};

struct words {
	const char *word[MAX_WORDS];
	unsigned int nr;
};

static void add(struct words *w, const char *word)
{
	if (w->nr < MAX_WORDS - 1)
		w->word[w->nr++] = word;
}

/* The words of @text, which is taken apart. */
static void add_all(struct words *w, char *text)
{
	for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
		add(w, word);
}

/* Return: its exit status, 127 when there is no such program. */
static int run(struct trial *t, const struct words *w)
{
	char *const *argv = (char *const *)w->word;
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t defaults;
	int status = 0, err;
	pid_t pid;

	if (t->verbose) {
		fputc('+', stderr);
		for (unsigned int i = 0; i < w->nr; i++)
			fprintf(stderr, " %s", w->word[i]);
		fputc('\n', stderr);
	}
	if (posix_spawn_file_actions_init(&actions) || posix_spawnattr_init(&attr))
		return 127;
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGINT);
	posix_spawnattr_setsigdefault(&attr, &defaults);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	if (t->verbose)
		posix_spawn_file_actions_adddup2(&actions, 2, 1);
	else
		posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	if (!t->verbose)
		posix_spawn_file_actions_adddup2(&actions, 1, 2);
	err = posix_spawnp(&pid, argv[0], &actions, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	if (err)
		return 127;
	status = child_wait(pid);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGINT)
		t->interrupted = true;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static struct words compiler_words(const struct trial *t)
{
	struct words w = {{0}, 0};

	for (char **word = t->compiler; *word; word++)
		add(&w, *word);
	return w;
}

struct path {
	char text[PATH_MAX];
};

/* One of our files. */
static struct path path_of(const struct trial *t, const char *name)
{
	struct path p;

	snprintf(p.text, sizeof(p.text), "%s/%s", t->dir, name);
	return p;
}

static int compile(struct trial *t, const struct choice *c, bool second)
{
	const struct path source = path_of(t, t->source[second]);
	const struct path object = path_of(t, second ? "second.o" : "first.o");
	struct words w = compiler_words(t);
	char flags[64];

	snprintf(flags, sizeof(flags), "%s", c->compile);
	add_all(&w, flags);
	add(&w, "-c");
	add(&w, source.text);
	add(&w, "-o");
	add(&w, object.text);
	return run(t, &w);
}

static int link_both(struct trial *t, const char *flags)
{
	const struct path first = path_of(t, "first.o"), second = path_of(t, "second.o");
	const struct path program = path_of(t, "program");
	struct words w = compiler_words(t);
	char copy[PATH_MAX + 64];

	add(&w, first.text);
	add(&w, second.text);
	add(&w, "-o");
	add(&w, program.text);
	snprintf(copy, sizeof(copy), "%s", flags);
	add_all(&w, copy);
	return run(t, &w);
}

/* How many functions the engine finds in it. Return: that, or -errno with fail() set. */
static int look(const struct trial *t)
{
	struct path path = path_of(t, "program");
	char *argv[] = {path.text, NULL};
	struct launch l = {0};
	struct meta *m;
	int err, nr = 0;

	err = inspect_program(&l, argv, &m);
	if (err)
		return err;
	for (uint32_t i = 0; i < m->nr_functions; i++)
		nr += m->functions[i].object == 0;
	meta_free(m);
	return nr;
}

static void link_flags(const struct trial *t, const struct choice *c, char *out, size_t room)
{
	snprintf(out, room, "%s%s%s", c->link, c->script ? "-Wl,-T," : "",
		 c->script ? t->script : "");
}

/* Return: 1 it works, 0 it does not, -errno with fail() set. */
static int try(struct trial *t, const struct choice *c)
{
	char flags[PATH_MAX + 64];
	int nr;

	if (c->script && (!t->script[0] || strpbrk(t->script, " ,\t\n")))
		return 0;
	link_flags(t, c, flags, sizeof(flags));
	if (compile(t, c, false) || compile(t, c, true) || link_both(t, flags))
		return 0;
	nr = look(t);
	if (nr == -ENOTSUP) {
		/* linked with -static: this is no result about the flag */
		note("flags: not looked at by the engine: %s", fail_text());
		return 1;
	}
	if (t->verbose && nr >= 0)
		fprintf(stderr, "  the engine finds %d functions\n", nr);
	return nr < 0 ? nr : nr >= MIN_FUNCTIONS;
}

static int write_files(const struct trial *t)
{
	for (unsigned int i = 0; i < 2; i++) {
		const struct path path = path_of(t, t->source[i]);
		FILE *f = fopen(path.text, "we");

		if (!f || fputs(files[i].begin, f) < 0 || fputs(common, f) < 0 ||
		    fputs(files[i].end, f) < 0 || fclose(f))
			return fail_errno(errno, "cannot write %s", path.text);
	}
	return 0;
}

static void remove_dir(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	rmdir(dir);
}

/* SIGTERM or SIGHUP has come: the folder is removed first. */
static volatile sig_atomic_t is_ended;

static void note_end(int sig)
{
	(void)sig;
	is_ended = 1;
}

/* Return: the choice that works, or NULL with fail() set. */
static const struct choice *find(struct trial *t)
{
	struct words w = compiler_words(t);
	int err = write_files(t);
	const char *name;

	if (err)
		return NULL;
	add(&w, "--version");
	if (run(t, &w) == 127) {
		fail(ENOENT, "%s: no such compiler", t->compiler[0]);
		return NULL;
	}
	for (unsigned int i = 0; i < NR_CHOICES; i++) {
		err = try(t, &choices[i]);
		if (t->interrupted || is_ended)
			err = fail(EINTR, "flags: interrupted");
		if (err > 0)
			return &choices[i];
		if (err < 0)
			return NULL;
	}
	name = strrchr(t->compiler[0], '/');
	fail(ENOTSUP,
	     "no flag works with %s: `vestige record --unmodified` traces programs without one, "
	     "and `vestige flags -v %s` shows the messages%s",
	     t->compiler[0], t->compiler[0],
	     strcmp(name ? name + 1 : t->compiler[0], "rustc")
		     ? ""
		     : ". rustc has -Zpatchable-function-entry=6: nightly, or RUSTC_BOOTSTRAP=1");
	return NULL;
}

struct options {
	bool compile_only, link_only;
};

static const struct flag flags[] = {{0, "cflags", NULL, "only the flags to compile with", NULL,
				     offsetof(struct options, compile_only)},
				    {0, "ldflags", NULL, "only the flags to link with", NULL,
				     offsetof(struct options, link_only)},
				    FLAGS_END};
static const struct flag verbose[] = {{'v', NULL, NULL,
				       "print what is tried, and the messages of the compiler",
				       NULL, offsetof(struct trial, verbose)},
				      FLAGS_END};

static int run_flags(const struct command *c, int argc, char **argv)
{
	static struct trial t;
	char first[] = "c++", other[] = "cc", link[PATH_MAX + 64];
	char *none[] = {first, NULL};
	const char *tmp = getenv("TMPDIR"), *name;
	struct options opt = {0};
	const struct choice *found;
	int status = options_parse(c, (void *[]){&opt, &t}, &argc, &argv);
	bool is_cxx;

	if (status >= 0)
		return status;
	if (opt.compile_only && opt.link_only)
		return options_wrong(c,
				     "--cflags or --ldflags; without them all flags are printed");
	if (argc > MAX_WORDS - 16)
		return options_wrong(c, "too many arguments: more than %d", MAX_WORDS - 16);
	t.compiler = argv;
	if (!argc) {
		t.compiler = none;
		if (!cmd_is_program(first))
			none[0] = other;
	}
	name = strrchr(t.compiler[0], '/');
	is_cxx = strstr(name ? name : t.compiler[0], "++") != NULL;
	t.source[0] = is_cxx ? "first.cc" : "first.c";
	t.source[1] = is_cxx ? "second.cc" : "second.c";
	if (launch_find_part("vestige.ld", t.script))
		t.script[0] = '\0';
	if (snprintf(t.dir, sizeof(t.dir), "%s/vestige-flags-XXXXXX", tmp && *tmp ? tmp : "/tmp") >=
		    (int)sizeof(t.dir) ||
	    !mkdtemp(t.dir)) {
		note("cannot make a folder in %s: set TMPDIR", tmp && *tmp ? tmp : "/tmp");
		return CMD_FAILURE;
	}
	/* Ctrl-C ends the compiler; we still remove the folder */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, note_end);
	signal(SIGHUP, note_end);
	found = find(&t);
	remove_dir(t.dir);
	if (!found) {
		note("%s", fail_text());
		return CMD_FAILURE;
	}
	link_flags(&t, found, link, sizeof(link));
	printf("%s%s%s\n", opt.link_only ? "" : found->compile,
	       *link && !opt.link_only && !opt.compile_only ? " " : "",
	       opt.compile_only ? "" : link);
	if (found->remark)
		note("%s", found->remark);
	return 0;
}

const struct command command_flags = {
	.name = "flags",
	.words = "[--] [COMPILER [FLAGS]]",
	.what = "print the compiler's flags that make functions traceable",
	.help = "Print the flags by which COMPILER makes functions that can be traced. It builds a "
		"small\nprogram with them, and the engine looks for its functions.\n",
	.more = "COMPILER is g++, clang++, gcc, clang or a similar one (default: c++). A\nname "
		"with ++ is tried with C++, others with C. FLAGS are your build's "
		"(-flto,\n-fuse-ld=gold), which the printed flags must work with.\n\n  g++ -O2 -g "
		"$(vestige flags g++) -o prog a.cc b.cc\n\nThe exit status is 1 when no flag "
		"works.\n",
	.flags = (const struct flag *const[]){flags, verbose, NULL},
	.runs_program = true,
	.run = run_flags,
};
