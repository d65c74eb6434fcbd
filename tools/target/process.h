/* SPDX-License-Identifier: MIT */
/* A traced process as a target: its area, its tree of files. */
#ifndef VESTIGE_TOOLS_PROCESS_H
#define VESTIGE_TOOLS_PROCESS_H

#include <pthread.h>
#include <sys/types.h>

#include "tools/target/agent_dir.h"
#include "tools/target/areas.h"
#include "tools/target/pipe_readers.h"
#include "tools/target/file_tree.h"
#include "tools/target/raw.h"
#include "tools/target/image.h"
#include "tools/target/target.h"

/* Shared by current requests and open files; see process_get(). */
struct process {
	struct target target;
	unsigned int refs; /* under the table's lock */
	struct process *next;
	struct image image; /* image.alive may be outdated: use process_lives() */
	bool ended;	    /* for good; atomic */
	bool no_hists;	    /* it has ended and left no histograms; atomic */
	struct image_watch watch;
	int fd;	    /* of the area */
	int top_fd; /* of an instance: of its process's area; else -1 */
	dev_t dev;
	ino_t ino;
	uid_t uid;
	struct area_header head; /* as it was when it was found */

	pthread_mutex_t lock; /* of what follows */
	struct file_tree tree;
	bool has_tree;
	struct agent_dir branch;
	struct raw *raw;      /* while trace_pipe_raw is open */
	unsigned int nr_raw;  /* how often it is open */
	unsigned int nr_open; /* files */
	struct pipe_readers pipe_readers;
};

/*
 * process_get() - the process of @pid; a live one before dead ones, the youngest before others.
 * @instance: the name of an instance; NULL: the process itself. Each has a struct of its own.
 * Return: it, to be released with process_put(); NULL with *@err set to -errno.
 */
struct process *process_get(int pid, const char *instance, int *err);

/* process_get_file() - the process of an area, dead or alive. Return: as process_get(). */
struct process *process_get_file(const struct area_file *file, int *err);
struct process *process_ref(struct process *p);
void process_put(struct process *p);
/* Close processes that are not in use and whose area is gone. */
void process_forget_gone(void);

/*
 * process_check_tracer() - check a write of @text to @path while trace_pipe is open: the tracer
 * cannot change then. Return: -EBUSY if the write would change it, else 0.
 */
int process_check_tracer(struct process *p, const char *path, const char *text, size_t n);

/*
 * A file of it was opened (@change: 1) or closed (-1). An instance with open files cannot be
 * removed.
 */
void process_opened(struct process *p, int change);

/*
 * process_mkdir(), process_rmdir() - make or remove an instance. Return: 0 or -errno: EBUSY: files
 * of it are open; EROFS: the process has ended.
 */
int process_mkdir(struct process *p, const char *instance);
int process_rmdir(struct process *p, const char *instance);

/* Does the process live? The result "ended" is remembered. */
bool process_lives(struct process *p);

/* May its area have histograms? */
bool process_has_hists(struct process *p);

/*
 * process_list() - each process that has an area, once.
 * @put: returns non-zero to stop.
 */
void process_list(int (*put)(void *arg, int pid), void *arg);

/* As file_tree_find() and file_tree_list(), in the current tree. */
int process_find(struct process *p, const char *path, struct target_file *file);
int process_files(struct process *p, const char *dir, target_put_file *put, void *arg);

/*
 * Print a control file: rendered, from the process, or from the text that a stopped or dead process
 * has left.
 */
int process_print(struct process *p, const char *path, struct out *o);

/* Print the paths of its control files and its instances, one a line. */
int process_names(struct process *p, struct out *o);

/* As targets_serve(). */
void processes_serve(bool on);

extern const struct target_ops process_ops;

#endif
