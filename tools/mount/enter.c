/* SPDX-License-Identifier: MIT */
/*
 * See enter.h. In the namespace these are mounted:
 *
 *	our tree	over the real tracefs: libtracefs finds the folder by its line in
 *			/proc/mounts, and a FUSE mount cannot have the type tracefs
 *	TARGET_KALLSYMS	over /proc/kallsyms, from which readers take names
 *	plain files	over the sysctls that clients write, so the kernel's do not change; over
 *			those that the process has, too, the process's files
 *
 * All files are on a tmpfs of the namespace, so nothing is left behind. Tests: tests/tracefs/.
 */
#include "tools/mount/enter.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/base/child.h"
#include "tools/base/fail.h"
#include "tools/mount/mount.h"
#include "tools/target/areas_dir.h"
#include "tools/target/target.h"

#define TRACEFS	 "/sys/kernel/tracing"
#define SYSCTLS	 "/proc/sys/kernel"
#define READY_MS 10000

/* Files that clients write, and their initial contents. */
static const struct {
	const char *path, *text;
} sysctls[] = {
	{"/proc/sys/kernel/ftrace_enabled", "1\n"},
	{"/proc/sys/kernel/kptr_restrict", "0\n"},
	{"/proc/sys/kernel/sched_rt_runtime_us", "950000\n"},
};

/* Sysctls that the process has as a control file, which is mounted over the kernel's. */
static const struct {
	const char *file, *name; /* below SYSCTLS */
} forwarded[] = {
	{"stack_tracer_enabled", "stack_tracer_enabled"},
	{"ftrace_dump_on_oops", "ftrace_dump_on_oops"},
};

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644), err = 0;
	ssize_t n = (ssize_t)strlen(text);

	if (fd < 0 || write(fd, text, (size_t)n) != n)
		err = fail_errno(errno, "cannot write %s", path);
	if (fd >= 0)
		close(fd);
	return err;
}

/* For a user: become root of a user namespace. The folder of areas is named by the real uid. */
static int own_users(void)
{
	unsigned int uid = geteuid(), gid = getegid();
	struct areas_dir areas;
	char map[64];
	int err;

	if (!uid)
		return 0;
	err = areas_dir_find(&areas, uid);
	if (err && err != -ENOENT)
		return err;
	if (!err) {
		areas_dir_close(&areas);
		if (setenv("VESTIGE_DIR", areas.path, 1))
			return fail(ENOMEM, "out of memory");
	}
	if (unshare(CLONE_NEWUSER))
		return fail_errno(errno, "cannot make a user namespace: become root");
	err = write_file("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "0 %u 1", uid);
	if (!err)
		err = write_file("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "0 %u 1", gid);
	return err ? err : write_file("/proc/self/gid_map", map);
}

/*
 * The mount point of a tracefs: TRACEFS, where one is mounted if there is none. If that is refused,
 * another mount point of one. A user who is not root cannot reach the one in debugfs, nor can the
 * clients.
 */
static int find_tracefs(char *dir, size_t bytes)
{
	FILE *f = setmntent("/proc/self/mounts", "r");
	struct mntent *m;

	*dir = '\0';
	while (f && (m = getmntent(f)))
		if (!strcmp(m->mnt_type, "tracefs") && !access(m->mnt_dir, F_OK) &&
		    (!*dir || !strcmp(m->mnt_dir, TRACEFS)))
			snprintf(dir, bytes, "%s", m->mnt_dir);
	if (f)
		endmntent(f);
	/* clients look at TRACEFS first */
	if (strcmp(dir, TRACEFS) != 0 && !mount("tracefs", TRACEFS, "tracefs", 0, NULL))
		snprintf(dir, bytes, "%s", TRACEFS);
	if (!*dir)
		return fail_errno(errno, "no tracefs is mounted and none can be: as root, mount -t "
					 "tracefs tracefs " TRACEFS);
	return 0;
}

/* Mount an empty folder over the one that contains @at, if this user may not enter that. */
static int cover_closed(const char *dir, const char *at)
{
	char folder[PATH_MAX];
	char *end;

	snprintf(folder, sizeof(folder), "%s", at);
	end = strrchr(folder, '/');
	if (!end || end == folder)
		return -1;
	*end = '\0';
	if (mount("tmpfs", folder, "tmpfs", 0, "mode=755") || mkdir(at, 0755))
		return -1;
	return mount(dir, at, NULL, MS_BIND, NULL);
}

/* Mount @dir over each other tracefs, too: a client may look there. */
static int cover_others(const char *dir)
{
	FILE *f = setmntent("/proc/self/mounts", "r");
	struct mntent *m;
	int err = 0, bad;

	while (f && !err && (m = getmntent(f))) {
		if (strcmp(m->mnt_type, "tracefs") || !strcmp(m->mnt_dir, dir))
			continue;
		bad = mount(dir, m->mnt_dir, NULL, MS_BIND, NULL);
		if (bad && errno == EACCES)
			bad = cover_closed(dir, m->mnt_dir);
		/* a mount that another one hides cannot be reached: ENOENT */
		if (bad && errno != ENOENT)
			err = fail_errno(errno, "cannot mount over %s", m->mnt_dir);
	}
	if (f)
		endmntent(f);
	return err;
}

static int bind_file(const char *from, const char *over)
{
	if (access(over, F_OK))
		return 0;
	return mount(from, over, NULL, MS_BIND, NULL)
		       ? fail_errno(errno, "cannot mount over %s", over)
		       : 0;
}

/* Make the files that are mounted over the kernel's; @dir is our tmpfs. */
static int stand_in(const char *dir)
{
	char path[PATH_MAX];
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(sysctls) / sizeof(*sysctls); i++) {
		snprintf(path, sizeof(path), "%s/%zu", dir, i);
		err = write_file(path, sysctls[i].text);
		if (!err)
			err = bind_file(path, sysctls[i].path);
	}
	return err;
}

/* Bind-mount a sysctl of the kernel under the same name in @dir. Return: 0 or -errno. */
static int bring_sysctl(const char *dir, const char *name)
{
	char from[PATH_MAX], to[PATH_MAX];
	struct stat st;
	int err;

	snprintf(from, sizeof(from), SYSCTLS "/%s", name);
	snprintf(to, sizeof(to), "%s/%s", dir, name);
	if (stat(from, &st))
		return 0; /* gone meanwhile */
	err = S_ISDIR(st.st_mode) ? mkdir(to, 0755) : mknod(to, S_IFREG | 0644, 0);
	if (err || mount(from, to, NULL, MS_BIND | MS_REC, NULL))
		return fail_errno(errno, "cannot mount over %s", to);
	return 0;
}

/*
 * Mount a folder over SYSCTLS that has all its files, and @missing. The kernel may lack that
 * sysctl, and no process can make a file in /proc.
 */
static int widen_sysctls(const char *missing)
{
	char dir[] = "/tmp/vestige-enter-XXXXXX", path[PATH_MAX];
	struct dirent *e;
	int err = 0;
	DIR *d;

	if (!mkdtemp(dir))
		return fail_errno(errno, "cannot make a folder in /tmp");
	if (mount("vestige", dir, "tmpfs", 0, "mode=0755"))
		err = fail_errno(errno, "cannot mount a tmpfs");
	d = err ? NULL : opendir(SYSCTLS);
	while (d && !err && (e = readdir(d)))
		if (e->d_name[0] != '.')
			err = bring_sysctl(dir, e->d_name);
	if (d)
		closedir(d);
	snprintf(path, sizeof(path), "%s/%s", dir, missing);
	if (!err)
		err = write_file(path, "0\n");
	if (!err && mount(dir, SYSCTLS, NULL, MS_BIND | MS_REC, NULL))
		err = fail_errno(errno, "cannot mount over " SYSCTLS);
	umount2(dir, MNT_DETACH);
	rmdir(dir);
	return err;
}

/* Mount the process's files over the kernel's. @dir: the process's tree. */
static int forward(const char *dir)
{
	char from[PATH_MAX], over[PATH_MAX];
	int err;

	snprintf(from, sizeof(from), "%s/" TARGET_KALLSYMS, dir);
	err = bind_file(from, "/proc/kallsyms");
	for (size_t i = 0; !err && i < sizeof(forwarded) / sizeof(*forwarded); i++) {
		snprintf(from, sizeof(from), "%s/%s", dir, forwarded[i].file);
		snprintf(over, sizeof(over), SYSCTLS "/%s", forwarded[i].name);
		if (access(from, F_OK))
			continue;
		if (access(over, F_OK))
			err = widen_sysctls(forwarded[i].name);
		if (!err)
			err = bind_file(from, over);
	}
	return err;
}

static int private_files(void)
{
	char dir[] = "/tmp/vestige-enter-XXXXXX";
	int err;

	if (!mkdtemp(dir))
		return fail_errno(errno, "cannot make a folder in /tmp");
	if (mount("vestige", dir, "tmpfs", 0, "mode=0700")) {
		err = fail_errno(errno, "cannot mount a tmpfs");
	} else {
		err = stand_in(dir);
		/* the bind mount stays */
		umount2(dir, MNT_DETACH);
	}
	rmdir(dir);
	return err;
}

/* Serve in a child until we end. @server: its pid. */
static int serve(const char *dir, const char *name, pid_t *server)
{
	const struct mount_options how = {
		.dir = dir, .foreground = true, .target = name, .fsname = "tracefs"};
	pid_t parent = getpid();

	*server = fork();
	if (*server < 0)
		return fail_errno(errno, "cannot start the server");
	if (!*server) {
		int err;

		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != parent)
			_exit(1);
		/* Ctrl-C must reach the command alone */
		setpgid(0, 0);
		err = mount_serve(&how);
		if (err)
			fprintf(stderr, "vestige: %s\n", fail_text());
		_exit(err ? 1 : 0);
	}
	for (int ms = 0; ms < READY_MS; ms += 10) {
		if (mount_is_ours(dir))
			return 0;
		if (waitpid(*server, NULL, WNOHANG) == *server) {
			*server = 0;
			return fail(EIO, "the server did not start");
		}
		poll(NULL, 0, 10);
	}
	return fail(ETIMEDOUT, "the server did not start");
}

/* Run the command. Return: its exit status. */
static int run(char **argv)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return 126;
	if (!pid) {
		execvp(argv[0], argv);
		status = errno == ENOENT ? 127 : 126;
		fprintf(stderr, "vestige: cannot run %s: %s\n", argv[0], strerror(errno));
		_exit(status);
	}
	/* signals of the terminal are for the command */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	status = child_wait(pid);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int enter_run(const char *name, char **argv, int *status)
{
	char dir[PATH_MAX];
	pid_t server = 0;
	int err = own_users();

	if (!err && unshare(CLONE_NEWNS))
		err = fail_errno(errno, "cannot make a mount namespace: become root");
	if (!err && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		err = fail_errno(errno, "cannot make the mounts private");
	if (!err)
		err = private_files();
	if (!err)
		err = find_tracefs(dir, sizeof(dir));
	if (!err)
		err = serve(dir, name, &server);
	if (!err)
		err = cover_others(dir);
	if (!err)
		err = forward(dir);
	if (!err)
		*status = run(argv);
	if (server > 0) {
		umount2("/proc/kallsyms", MNT_DETACH);
		/* the server unmounts by itself, and prints an error if the mount is gone */
		kill(server, SIGTERM);
		child_wait(server);
		umount2(dir, MNT_DETACH);
	}
	return err;
}
