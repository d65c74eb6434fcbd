/* SPDX-License-Identifier: MIT */
/*
 * Finds traced processes: image.h. The folder belongs to the user (areas_dir.h), but names in it
 * prove nothing: /proc says whether a process lives. agent_client.c talks to the process itself.
 * Tests: tests/cli/test_control.py.
 */
#include "tools/target/image.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi/agent.h"
#include "abi/area.h"
#include "tools/area/area.h"
#include "tools/base/fail.h"
#include "tools/base/proc_pid.h"
#include "tools/target/foreign.h"
#include "tools/target/no_area.h"
#include "tools/target/process_env.h"

#define START_MS 6000 /* longer than the engine's start waits for its agent */

/* The letter of a process's state: 'S' if its main thread has ended and others live on. */
static char state_of(const struct proc_stat *s)
{
	return s->state == 'Z' && s->threads > 1 ? 'S' : s->state;
}

bool image_lives(int pid, unsigned long long start)
{
	struct proc_stat s;

	return proc_stat(pid, &s) && s.start == start && !strchr("ZX", state_of(&s));
}

void image_watch(int pid, unsigned long long start, struct image_watch *w)
{
	/*
	 * The start time is read after pidfd_open(). If the PID was used again in between, the
	 * pidfd belongs to the earlier process, which has ended, so it never shows a live process.
	 */
	w->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	w->stat_fd = proc_stat_open(pid);
	if (image_watch_state(w, start) != 'Z')
		return;
	image_unwatch(w);
}

void image_unwatch(struct image_watch *w)
{
	if (w->pidfd >= 0)
		close(w->pidfd);
	if (w->stat_fd >= 0)
		close(w->stat_fd);
	*w = IMAGE_NO_WATCH;
}

bool image_watch_runs(const struct image_watch *w)
{
	struct pollfd p = {.fd = w->pidfd, .events = POLLIN};

	return w->pidfd >= 0 && !poll(&p, 1, 0);
}

char image_watch_state(const struct image_watch *w, unsigned long long start)
{
	struct proc_stat s;
	char state;

	if (w->stat_fd < 0 || !proc_stat_at(w->stat_fd, &s) || s.start != start)
		return 'Z';
	state = state_of(&s);
	return state == 'X' ? 'Z' : state == 't' ? 'T' : state;
}

static bool lives_still(const void *target)
{
	const struct image *t = target;

	return image_lives(t->pid, t->start);
}

struct followed image_followed(const struct image *t)
{
	return (struct followed){
		.path = t->path, .dev = t->dev, .ino = t->ino, .lives = lives_still, .arg = t};
}

bool image_answers(int pid, unsigned long long start)
{
	struct proc_stat s;

	return proc_stat(pid, &s) && s.start == start && !strchr("ZXTt", state_of(&s));
}

void image_await_start(const struct image *t, int fd)
{
	const off_t at = offsetof(struct area_header, state);
	uint32_t state;

	for (int ms = 0; ms < START_MS; ms++) {
		if (pread(fd, &state, sizeof(state), at) != (ssize_t)sizeof(state) ||
		    state != AREA_STARTING || !image_answers(t->pid, t->start))
			break;
		poll(NULL, 0, 1);
	}
}

bool image_has_ended(int pid, unsigned long long start)
{
	struct proc_stat s;

	if (proc_stat(pid, &s))
		return s.start != start || strchr("ZX", state_of(&s));
	return kill(pid, 0) && errno == ESRCH;
}

bool image_stopped(int pid)
{
	struct proc_status its, tracers;
	struct proc_stat s;

	if (!proc_stat(pid, &s))
		return false;
	if (s.state != 't')
		return s.state == 'T';
	/* the engine's own child holds it for a moment (engine/process/stop_machine.h) */
	return proc_status(pid, &its) || proc_status(its.tracer, &tracers) || tracers.parent != pid;
}

bool image_parse_name(const char *name, int *pid, unsigned long long *start, bool *is_socket)
{
	unsigned long long n;
	char *end;

	if (!isdigit((unsigned char)*name))
		return false;
	errno = 0;
	n = strtoull(name, &end, 10);
	if (errno || !n || n > INT_MAX || *end != '.' || !isdigit((unsigned char)end[1]))
		return false;
	*pid = (int)n;
	*start = strtoull(end + 1, &end, 10);
	*is_socket = !strcmp(end, AGENT_SUFFIX);
	return !errno && (*is_socket || !*end);
}

/* The PID of process @pid in its own PID namespace; @pid itself if the process is gone. */
static int inner_pid(int pid)
{
	struct proc_status s;

	return !proc_status(pid, &s) && s.inner_pid > 0 ? s.inner_pid : pid;
}

bool image_other_root(int pid)
{
	struct stat mine, its;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/root/.", pid);
	return !stat("/.", &mine) && !stat(path, &its) &&
	       (mine.st_dev != its.st_dev || mine.st_ino != its.st_ino);
}

/* Take the area of (@pid, @start) if it is a better choice than the current one in @t. */
static void consider(struct image *t, int pid, unsigned long long start)
{
	bool alive = image_lives(pid, start);

	if (t->pid && (t->alive > alive || (t->alive == alive && t->start > start)))
		return;
	t->pid = pid;
	t->start = start;
	t->alive = alive;
	t->inner = pid;
	t->named = start;
}

/*
 * The same for an area of another PID namespace or without a start time. Return: whether @pid has
 * it.
 */
static bool consider_foreign(struct image *t, int pid, int inner, unsigned long long start)
{
	struct proc_stat s;

	if (!proc_stat(pid, &s) || (start ? s.start != start : !image_other_root(pid)))
		return false;
	consider(t, pid, s.start);
	t->inner = inner;
	t->named = start;
	return true;
}

/* Look through the folder. Return: how many live processes there are. */
static unsigned int look(struct image *t, int wanted)
{
	int inner = wanted ? inner_pid(wanted) : 0;
	int fd = openat(t->dir.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), pid;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	unsigned long long start;
	unsigned int nr = 0;
	struct dirent *e;
	bool is_socket;

	while (d && (e = readdir(d))) {
		if (!image_parse_name(e->d_name, &pid, &start, &is_socket) || is_socket)
			continue;
		/* the PID in another namespace may also be the PID of another process */
		if (wanted && pid == inner && (inner != wanted || !start)) {
			nr += consider_foreign(t, wanted, inner, start);
			continue;
		}
		if (wanted ? pid != wanted : !image_lives(pid, start))
			continue;
		consider(t, pid, start);
		nr++;
	}
	if (d)
		closedir(d);
	return nr;
}

/* Whether libvestige.so is loaded in a process, from any path. */
static bool has_library(int pid)
{
	char path[32], line[PATH_MAX + 128];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, "/libvestige.so") != NULL;
	if (f)
		fclose(f);
	return found;
}

static int nothing_found(int pid)
{
	int err;

	if (!pid)
		return fail(ESRCH, "no traced process of yours lives: start one with `vestige "
				   "record`, or with LD_PRELOAD=libvestige.so");
	if (kill(pid, 0) && errno == ESRCH)
		return fail(ESRCH, "there is no process %d, and it left no area", pid);
	if (has_library(pid)) {
		err = no_area(pid);
		if (err)
			return err;
		return fail(ESRCH,
			    "process %d has libvestige.so, but its area is not where this command "
			    "looks: set VESTIGE_DIR for both, or for neither (a program may have "
			    "cleared its environment)",
			    pid);
	}
	return fail(ESRCH,
		    "process %d is not traced: it runs without libvestige.so (`vestige attach %d` "
		    "loads it), or with another VESTIGE_DIR",
		    pid, pid);
}

/* Open the folder of @uid and look there. Return: as look(), or -errno with fail() set. */
static int look_in(struct image *t, unsigned int uid, int pid)
{
	int err = areas_dir_find(&t->dir, uid), nr;

	if (err)
		return err == -ENOENT ? 0 : err;
	nr = (int)look(t, pid);
	if (!nr)
		areas_dir_close(&t->dir);
	return nr;
}

/* Look in the folder below the process's own root, named by the user id there. */
static int look_below(struct image *t, int pid)
{
	struct stat st;
	char path[64];
	int err, nr;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (stat(path, &st))
		return 0;
	err = areas_dir_below(&t->dir, pid, st.st_uid);
	if (err)
		return err == -ENOENT ? 0 : err;
	nr = (int)look(t, pid);
	if (!nr)
		areas_dir_close(&t->dir);
	return nr;
}

/* Look in the folder that its environment names, as seen from here; it may have another root. */
static int look_in_its(struct image *t, int pid)
{
	char *dir = process_is_secure(pid) ? NULL : process_env(pid, "VESTIGE_DIR");
	char path[PATH_MAX];
	struct stat st;
	int nr = 0;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (!dir || *dir != '/' || stat(path, &st) ||
	    snprintf(path, sizeof(path), "/proc/%d/root%s", pid, dir) >= (int)sizeof(path)) {
		free(dir);
		return 0;
	}
	if (!areas_dir_at(&t->dir, image_other_root(pid) ? path : dir, st.st_uid)) {
		nr = (int)look(t, pid);
		if (!nr)
			areas_dir_close(&t->dir);
	}
	free(dir);
	return nr;
}

/* The names of its area, from its process and instance. */
static void name_area(struct image *t)
{
	snprintf(t->process, sizeof(t->process), "%d.%llu", t->inner, t->named);
	if (t->instance[0])
		snprintf(t->name, sizeof(t->name), "%s%c%s", t->process, AREA_INSTANCE_MARK,
			 t->instance);
	else
		snprintf(t->name, sizeof(t->name), "%s", t->process);
	snprintf(t->path, sizeof(t->path), "%s/%s", t->dir.path, t->name);
}

static int dup_dir(struct image *t, const struct areas_dir *dir)
{
	t->dir.fd = fcntl(dir->fd, F_DUPFD_CLOEXEC, 0);
	return t->dir.fd < 0 ? fail_errno(errno, "%s", dir->path) : 0;
}

struct foreign {
	int nr, pid; /* live processes; the PID of the last one */
};

static int count_foreign(void *arg, int pid)
{
	struct foreign *f = arg;

	f->nr++;
	f->pid = pid;
	return 0;
}

int image_open(struct image *t, int pid)
{
	struct foreign foreign = {0};
	unsigned int uid = geteuid();
	char proc[64];
	struct stat st;
	int nr;

	memset(t, 0, sizeof(*t));
	t->dir.fd = -1;
	snprintf(proc, sizeof(proc), "/proc/%d", pid);
	if (pid && !uid && !stat(proc, &st))
		uid = st.st_uid;
	nr = look_in(t, uid, pid);
	/* a server's worker that has given up root keeps its area in root's folder */
	if (!nr && uid != geteuid())
		nr = look_in(t, geteuid(), pid);
	if (!nr && pid && image_other_root(pid))
		nr = look_below(t, pid);
	if (!nr && pid)
		nr = look_in_its(t, pid);
	if (nr >= 0 && !pid)
		foreign_list(count_foreign, &foreign);
	if (!nr && foreign.nr == 1)
		return image_open(t, foreign.pid);
	if (nr < 0 || (!nr && !foreign.nr))
		return nr ? nr : nothing_found(pid);
	if (!pid && nr + foreign.nr > 1) {
		image_close(t);
		return fail(EINVAL, "%d traced processes live: name one with -P PID",
			    nr + foreign.nr);
	}
	name_area(t);
	return 0;
}

int image_open_area(struct image *t, const struct areas_dir *dir, int pid, unsigned long long start,
		    const char *instance)
{
	memset(t, 0, sizeof(*t));
	t->dir = *dir;
	t->pid = t->inner = pid;
	t->start = t->named = start;
	t->alive = image_lives(pid, start);
	snprintf(t->instance, sizeof(t->instance), "%s", instance);
	name_area(t);
	return dup_dir(t, dir);
}

/* The image id in an area: after exec areas of earlier images may be left. */
static int read_image(const struct image *t, const char *name, uint8_t image[16])
{
	int fd = openat(t->dir.fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	ssize_t n;
	int err;

	if (fd < 0)
		return -errno;
	n = pread(fd, image, 16, offsetof(struct area_header, image_id));
	err = n < 0 ? -errno : n != 16 ? -ENOENT : 0;
	close(fd);
	return err;
}

int image_open_instance(const struct image *top, const char *name, struct image *t)
{
	uint8_t image[2][16];
	int err;

	if (strlen(name) >= sizeof(t->instance) || strchr(name, '/'))
		return fail_errno(ENOENT, "instances/%s", name);
	*t = *top;
	strcpy(t->instance, name);
	name_area(t);
	err = read_image(top, t->name, image[0]);
	if (!err)
		err = read_image(top, t->process, image[1]);
	if (!err && memcmp(image[0], image[1], sizeof(image[0])))
		err = -ENOENT;
	if (err)
		return fail_errno(-err, "instances/%s", name);
	return dup_dir(t, &top->dir);
}

void image_close(struct image *t)
{
	areas_dir_close(&t->dir);
}

bool image_functions(const struct image *t, const struct meta *m)
{
	struct image asked = *t;
	char *text;

	if (!meta_waits(m) || !image_answers(t->pid, t->start))
		return false;
	/* a file of the top instance with their number */
	asked.instance[0] = '\0';
	if (image_read(&asked, "dyn_ftrace_total_info", &text, NULL))
		return false;
	free(text);
	return true;
}

void image_drain(const struct image *t)
{
	struct image asked = *t;
	struct area_header head;
	uint64_t bytes;
	char *text;
	int fd = area_open(t->dir.fd, t->process, O_RDONLY, &bytes);
	bool late;

	if (fd < 0)
		return;
	late = pread(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
	       head.header_bytes >= sizeof(head) && head.late_records;
	close(fd);
	if (!late || !image_answers(t->pid, t->start))
		return;
	/* any file of the top instance that is short */
	asked.instance[0] = '\0';
	if (!image_read(&asked, "tracing_on", &text, NULL))
		free(text);
}

int image_tables(const struct image *t, struct meta **out)
{
	uint64_t bytes;
	int fd = area_open(t->dir.fd, t->process, O_RDONLY, &bytes), err;

	if (fd < 0)
		return fd;
	err = meta_load(fd, 0, bytes, t->path, out);
	close(fd);
	return err;
}

int image_meta(const struct image *t, struct meta **out)
{
	int err = image_tables(t, out);

	if (err || !image_functions(t, *out))
		return err;
	meta_free(*out);
	return image_tables(t, out);
}
