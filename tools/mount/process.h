/* SPDX-License-Identifier: MIT */
/* A traced process as a directory of the mount: its area, its tree of files. */
#ifndef VESTIGE_TOOLS_MOUNT_PROCESS_H
#define VESTIGE_TOOLS_MOUNT_PROCESS_H

#include <pthread.h>
#include <sys/types.h>

#include "tools/mount/areas.h"
#include "tools/mount/branch.h"
#include "tools/mount/claims.h"
#include "tools/target/file_tree.h"
#include "tools/target/raw.h"
#include "tools/target/target.h"

/* Shared by the requests that are under way and the files that are open; see process_get(). */
struct process {
	unsigned int refs; /* under the table's lock */
	struct process *next;
	struct target t; /* t.alive is as it was when it was found: ask process_lives() */
	bool ended;	 /* for good; by atomic access, as what follows: */
	bool no_hists;	 /* it has ended and left no histograms */
	int fd;		 /* of the area */
	int top_fd;	 /* of an instance: of its process's area; else -1 */
	dev_t dev;
	ino_t ino;
	uid_t uid;
	struct area_header head; /* as it was when it was found */

	pthread_mutex_t lock; /* of what follows */
	struct file_tree tree;
	bool has_tree;
	struct branch branch;
	struct raw *raw; /* while trace_pipe_raw is open, so many times: */
	unsigned int nr_raw;
	unsigned int nr_open; /* files */
	struct claims claims;
};

/*
 * process_get() - the process of @pid; a live one before dead ones, the youngest before others.
 * @instance: that one of its instances, NULL the process itself; each has a struct of its own.
 * Return: it, to be given back with process_put(); NULL with *@err set to -errno.
 */
struct process *process_get(int pid, const char *instance, int *err);

/* process_get_file() - that of an area, dead or alive. Return: as process_get(). */
struct process *process_get_file(const struct area_file *file, int *err);
struct process *process_ref(struct process *p);
void process_put(struct process *p);

/*
 * process_claim() - become the one who reads a CPU's trace_pipe, UINT32_MAX: all of them.
 * Return: 0 or -EBUSY. To be given back with process_unclaim().
 */
int process_claim(struct process *p, unsigned int cpu);
void process_unclaim(struct process *p, unsigned int cpu);
/*
 * process_raw_get() - what serves trace_pipe_raw of all CPUs; the caller joins @cpu.
 * Return: 0 or -errno. To be given back with process_raw_put().
 */
int process_raw_get(struct process *p, unsigned int cpu, struct raw **out);
void process_raw_put(struct process *p, unsigned int cpu);
bool process_has_pipes(struct process *p);

/* A file of it was opened, or closed: an instance with open files cannot be removed. */
void process_opened(struct process *p, int change);

/*
 * process_mkdir(), process_rmdir() - make or remove an instance. Return: 0 or -errno: EBUSY files of
 * it are open.
 */
int process_mkdir(struct process *p, const char *instance);
int process_rmdir(struct process *p, const char *instance);

/* One that has ended is asked no more. */
bool process_lives(struct process *p);

/* May its area have histograms? */
bool process_has_hists(struct process *p);

/* Is its area's file still there; does it live, too? */
bool process_has_area(const struct process *p);
bool process_is_current(struct process *p);

/*
 * process_list() - each process that has an area, once.
 * @put: returns non-zero to stop.
 */
void process_list(int (*put)(void *arg, int pid), void *arg);

/* A file that no folder lists: /proc/kallsyms as it would be if programs were kernels. */
#define PROCESS_KALLSYMS ".kallsyms"

/* What a path names, as it was when it was looked up. */
struct process_file {
	bool is_dir;
	bool rendered;
	mode_t mode;	  /* permission bits */
	unsigned int cpu; /* UINT32_MAX: none */
	char name[128];	  /* the last part of its path */
};

/* What file_tree_find() and file_tree_list() say, of the tree as it is now. */
int process_find(struct process *p, const char *path, struct process_file *file);
/* An option, as it is now (enum area_option). */
bool process_option(const struct process *p, int option);

/* What a file reads as, as the area tells it; "" when it does not. */
void process_text(struct process *p, const char *path, char *buf, size_t bytes);
int process_files(struct process *p, const char *dir,
		  int (*put)(void *arg, const char *name, bool is_dir), void *arg);

#endif
