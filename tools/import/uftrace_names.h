/* SPDX-License-Identifier: MIT */
/*
 * The text files of uftrace's folder: task.txt has its sessions (a program that was run) and
 * threads, sid-ID.map the objects of a session, OBJECT.sym an object's symbols, events.txt the names
 * of a program's own events. A .sym file is read when an address of its object is asked for.
 */
#ifndef VESTIGE_TOOLS_UFTRACE_NAMES_H
#define VESTIGE_TOOLS_UFTRACE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct uftrace_names;

struct uftrace_task {
	int64_t pid, tid;
	bool repeated; /* one of the same tid is before it */
};

/*
 * @folder: borrowed until it is freed. @relative: symbols count from their object's beginning.
 * Return: 0 or -errno with fail() set.
 */
int uftrace_names_open(int folder, bool relative, struct uftrace_names **out);
void uftrace_names_free(struct uftrace_names *n);

/* The threads, in the order of the file. */
size_t uftrace_names_tasks(const struct uftrace_names *n, const struct uftrace_task **tasks);

/* The base name of the program that @pid ran last; "" unknown. */
const char *uftrace_names_comm(const struct uftrace_names *n, int64_t pid);

/* Whether @addr lies in an object that @pid had at @ts. */
bool uftrace_names_known(struct uftrace_names *n, int64_t pid, uint64_t ts, uint64_t addr);

/*
 * uftrace_names_find() - the function of an address.
 * @name: gets its name, `<ADDRESS>` where there is no symbol; borrowed until the next call.
 * @object: gets its object's base name; NULL of the program itself.
 * Return: 0 or -errno with fail() set.
 */
int uftrace_names_find(struct uftrace_names *n, int64_t pid, uint64_t ts, uint64_t addr,
		       const char **name, const char **object);

/* The name of an event of the program or of uftrace itself; borrowed until the next call. */
const char *uftrace_names_event(struct uftrace_names *n, uint64_t id);

/* A regular file of the folder, to be read; -ENOENT without fail(), or -errno with it. */
int uftrace_names_file(int folder, const char *name);

#endif
