/* SPDX-License-Identifier: MIT */
/*
 * The text files of uftrace's folder: task.txt has its sessions (runs of a program) and threads,
 * sid-ID.map the objects of a session, OBJECT.sym an object's symbols, events.txt the names of a
 * program's own events. A .sym file is read when an address of its object is first looked up.
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
 * @folder: a descriptor, borrowed until uftrace_names_free(). @relative: addresses in .sym files
 * are relative to the start of the object.
 * Return: 0 or -errno with fail() set.
 */
int uftrace_names_open(int folder, bool relative, struct uftrace_names **out);
void uftrace_names_free(struct uftrace_names *n);

/* The threads, in the order of the file. */
size_t uftrace_names_tasks(const struct uftrace_names *n, const struct uftrace_task **tasks);

/* The base name of the last program of @pid; "" unknown. */
const char *uftrace_names_comm(const struct uftrace_names *n, int64_t pid);

/* Whether @addr is in an object that @pid had mapped at time @ts. */
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

/*
 * Open a regular file of the folder. Return: a descriptor; -ENOENT without fail(), or -errno with
 * it.
 */
int uftrace_names_file(int folder, const char *name);

#endif
