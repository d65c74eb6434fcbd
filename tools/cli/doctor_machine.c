/* SPDX-License-Identifier: MIT */
/*
 * See doctor_machine.h. The table `checks` has a row for each thing. A check fills in its state,
 * and returns whether that is the best possible. Tests: tests/cli/test_doctor.py.
 */
#include "tools/cli/doctor_machine.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <tracefs.h>
#include <unistd.h>

#include "abi/area.h"
#include "tools/base/fail.h"
#include "tools/base/proc_pid.h"
#include "tools/target/areas_dir.h"
#include "tools/text/json.h"
#include "tools/text/out.h"

#define CAP_SYS_PTRACE_BIT 19
#define CAP_SYS_ADMIN_BIT  21
#define CAP_PERFMON_BIT	   38
#define MIB		   (UINT64_C(1) << 20)

struct state {
	char is[160];
	bool denied; /* this user has no permission to see or use it */
};

static void say(struct state *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void say(struct state *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->is, sizeof(s->is), fmt, ap);
	va_end(ap);
}

/* A small file's first line. Return: whether it could be read. */
static bool line_of(const char *path, char *line, size_t bytes)
{
	FILE *f = fopen(path, "re");
	bool got = f && fgets(line, (int)bytes, f);

	if (got)
		line[strcspn(line, "\n")] = '\0';
	if (f)
		fclose(f);
	return got;
}

static long number_of(const char *path, long otherwise)
{
	char line[64];

	return line_of(path, line, sizeof(line)) ? strtol(line, NULL, 10) : otherwise;
}

static bool has_cap(unsigned int bit)
{
	struct proc_status s;

	return !proc_status(getpid(), &s) && s.effective_caps >> bit & 1;
}

static bool check_user(struct state *s)
{
	say(s, "user %u%s%s%s", (unsigned int)geteuid(),
	    has_cap(CAP_SYS_ADMIN_BIT) ? ", CAP_SYS_ADMIN" : "",
	    has_cap(CAP_SYS_PTRACE_BIT) ? ", CAP_SYS_PTRACE" : "",
	    has_cap(CAP_PERFMON_BIT) ? ", CAP_PERFMON" : "");
	return has_cap(CAP_SYS_ADMIN_BIT);
}

static bool check_ptrace(struct state *s)
{
	long scope = number_of("/proc/sys/kernel/yama/ptrace_scope", -1);

	if (scope < 0) {
		say(s, "this kernel has no Yama: processes of the same user can be attached to");
		return true;
	}
	say(s, "kernel.yama.ptrace_scope = %ld", scope);
	return !scope || (scope < 3 && has_cap(CAP_SYS_PTRACE_BIT));
}

static bool check_perf(struct state *s)
{
	long level = number_of("/proc/sys/kernel/perf_event_paranoid", -2);

	if (level == -2) {
		say(s, "this kernel has no perf events");
		return false;
	}
	say(s, "kernel.perf_event_paranoid = %ld", level);
	return level <= 1 || has_cap(CAP_PERFMON_BIT) || has_cap(CAP_SYS_ADMIN_BIT);
}

/* @name: of the file for the user. */
static bool may_access(struct state *s, const char *path, int how, const char *name)
{
	bool ok = !access(path, how);

	s->denied = !ok && (errno == EACCES || errno == EPERM);
	say(s, "%s: %s", name, ok ? "there" : strerror(errno));
	return ok;
}

static bool check_tracefs(struct state *s)
{
	const char *dir = tracefs_tracing_dir();
	char path[512];

	if (!dir) {
		say(s, "not mounted");
		return false;
	}
	snprintf(path, sizeof(path), "%s/instances", dir);
	if (!may_access(s, path, W_OK, path))
		return false;
	say(s, "%s", dir);
	return true;
}

/* @file: of tracefs. */
static bool has_tracefs_file(struct state *s, const char *file)
{
	const char *dir = tracefs_tracing_dir();
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir ? dir : "/sys/kernel/tracing", file);
	return may_access(s, path, F_OK, file);
}

static bool check_kernel_profiler(struct state *s)
{
	return has_tracefs_file(s, "function_profile_enabled");
}

static bool check_kernel_kprobes(struct state *s)
{
	return has_tracefs_file(s, "kprobe_events");
}

static bool check_symbols(struct state *s)
{
	long level = number_of("/proc/sys/kernel/kptr_restrict", 0);

	say(s, "kernel.kptr_restrict = %ld", level);
	return !level || (level == 1 && geteuid() == 0);
}

static bool check_clock(struct state *s)
{
	char name[64] = "unknown";

	line_of("/sys/devices/system/clocksource/clocksource0/current_clocksource", name,
		sizeof(name));
	say(s, "clock source %s", name);
	return !strcmp(name, "tsc") || !strcmp(name, "arch_sys_counter");
}

/*
 * Without the folder the engine in a program that is started with LD_PRELOAD makes no area,
 * silently.
 */
static bool check_areas(struct state *s)
{
	struct areas_dir dir;
	int err = areas_dir_find(&dir, geteuid());

	if (err) {
		say(s, "%s", err == -ENOENT ? "made when the first program starts" : fail_text());
		return err == -ENOENT;
	}
	say(s, "%s", dir.path);
	areas_dir_close(&dir);
	return true;
}

static bool check_room(struct state *s)
{
	const char *env = getenv("VESTIGE_DIR"), *dir = env && *env ? env : "/dev/shm";
	struct statvfs fs;
	uint64_t free_mib;

	if (statvfs(dir, &fs)) {
		say(s, "%s: %s", dir, strerror(errno));
		return false;
	}
	free_mib = (uint64_t)fs.f_bavail * fs.f_frsize / MIB;
	say(s, "%" PRIu64 " MiB free in %s", free_mib, dir);
	return free_mib >= 256;
}

static bool check_file_size(struct state *s)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_FSIZE, &r)) {
		say(s, "%s", strerror(errno));
		return true;
	}
	if (r.rlim_cur == RLIM_INFINITY)
		say(s, "ulimit -f unlimited");
	else
		say(s, "ulimit -f %" PRIu64 " MiB", (uint64_t)r.rlim_cur / MIB);
	return r.rlim_cur == RLIM_INFINITY || r.rlim_cur >= 512 * MIB;
}

static bool check_files(struct state *s)
{
	struct rlimit r = {0};

	getrlimit(RLIMIT_NOFILE, &r);
	say(s, "ulimit -n %" PRIu64, (uint64_t)r.rlim_cur);
	return r.rlim_cur >= 1024;
}

static bool check_core(struct state *s)
{
	struct rlimit r = {0};

	getrlimit(RLIMIT_CORE, &r);
	say(s, r.rlim_cur ? "ulimit -c is not 0" : "ulimit -c 0");
	return r.rlim_cur != 0;
}

static bool check_fuse(struct state *s)
{
	return may_access(s, "/dev/fuse", R_OK | W_OK, "/dev/fuse");
}

static bool check_maps(struct state *s)
{
	long maps = number_of("/proc/sys/vm/max_map_count", 65530);

	say(s, "vm.max_map_count = %ld", maps);
	return maps >= 65530;
}

#define TRACEFS_PERMISSION                                                                         \
	"run vestige as root, or mount tracefs with gid= and mode= for your group"

static const struct {
	const char *name;
	bool (*check)(struct state *s);
	const char *missing; /* the effect, if the state is not the best possible */
	const char *remedy;
	const char *permission; /* the remedy, if the user lacks permission */
} checks[] = {
	{"privileges", check_user, "the kernel's events (-k) and other users' processes",
	 "run vestige as root"},
	{"ptrace", check_ptrace, "`attach`, `record -P`, `top -P` of a process without the engine",
	 "sysctl kernel.yama.ptrace_scope=0, or CAP_SYS_PTRACE"},
	{"perf events", check_perf, "sched_switch and sched_waking of a program, and its stacks",
	 "sysctl kernel.perf_event_paranoid=1, or CAP_PERFMON"},
	{"tracefs", check_tracefs, "the kernel as a target: `record -k`, `show -k`, `top -k`",
	 "mount -t tracefs tracefs /sys/kernel/tracing, as root", TRACEFS_PERMISSION},
	{"kernel profiler", check_kernel_profiler, "functions of the kernel in `top -k`",
	 "a kernel with CONFIG_FUNCTION_PROFILER", TRACEFS_PERMISSION},
	{"kernel probes", check_kernel_kprobes, "kprobe_events of the kernel",
	 "a kernel with CONFIG_KPROBE_EVENTS", TRACEFS_PERMISSION},
	{"kernel names", check_symbols, "names of the kernel's functions in its stacks",
	 "sysctl kernel.kptr_restrict=0"},
	{"clock", check_clock,
	 "stamps in a few ns: each one is a call of the vdso or of the kernel",
	 "a machine whose kernel trusts its TSC (clocksource=tsc)"},
	{"areas", check_areas, "all of a program's tracing: the engine in it uses no such folder",
	 "a folder with mode 0700 that is the user's of the program"},
	{"room", check_room, "large buffers: recording stops growing where there is none",
	 "a larger /dev/shm, or VESTIGE_DIR on another file system"},
	{"size of files", check_file_size, "areas with room for all tables", "ulimit -f unlimited"},
	{"open files", check_files, "recording hundreds of processes", "ulimit -n 65536"},
	{"core files", check_core, "`vestige crash CORE`; the last records and the oops are kept",
	 "ulimit -c unlimited"},
	{"mappings", check_maps, "calls on thousands of stacks", "sysctl vm.max_map_count=65530"},
	{"FUSE", check_fuse, "`vestige mount` and `vestige enter`", "modprobe fuse",
	 "read and write permission on /dev/fuse, or run vestige as root"},
};
#define NR_CHECKS (sizeof(checks) / sizeof(*checks))

static void put_row(struct out *o, size_t i, bool json)
{
	struct state s = {"", false};
	bool ok = checks[i].check(&s);
	const char *remedy =
		s.denied && checks[i].permission ? checks[i].permission : checks[i].remedy;

	if (!json) {
		out_printf(o, "%-4s %-15s  %s\n", ok ? "ok" : "less", checks[i].name, s.is);
		if (!ok)
			out_printf(o, "%22smissing: %s\n%22sto change it: %s\n", "",
				   checks[i].missing, "", remedy);
		return;
	}
	out_printf(o, "%s{\"name\":", i ? "," : "");
	json_put(o, checks[i].name);
	out_printf(o, ",\"ok\":%s,\"is\":", ok ? "true" : "false");
	json_put(o, s.is);
	out_text(o, ",\"missing\":");
	json_put(o, ok ? NULL : checks[i].missing);
	out_text(o, ",\"remedy\":");
	json_put(o, ok ? NULL : remedy);
	out_text(o, "}");
}

int doctor_machine(bool json)
{
	struct out o;

	fflush(stdout);
	if (out_init(&o, STDOUT_FILENO))
		return fail(ENOMEM, "out of memory");
	out_text(&o, json ? "{\"checks\":[" : "");
	for (size_t i = 0; i < NR_CHECKS; i++)
		put_row(&o, i, json);
	out_text(&o, json ? "]}\n" : "");
	return out_end_stdout(&o, 0, "to stdout");
}
