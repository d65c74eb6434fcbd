/* SPDX-License-Identifier: MIT */
/*
 * A program that counts what it asks of malloc() and its kind. One command a line:
 *
 *	go		each function once or more; says how many kmalloc and kfree that makes;
 *			with a word behind it, without pvalloc() and what else is only glibc's
 *	load FLAGS	dlopen() of ./mem_lib.so, whose constructor allocates, lazily ('l'), at
 *			once, or with its own functions first ('d'); and what it does when it is
 *			called
 *	unload		dlclose()
 *	words		a sum of all words by which the objects but the engine call each other
 *	storm N		N thousand pairs in each of 4 threads, a handler allocating nothing
 *			meanwhile
 *	churn N		N times dlopen(), a call and dlclose() in each of two threads, two others
 *			allocate
 *	fork		the same as go in a child
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static unsigned long nr_alloc, nr_free;
static void *volatile last;

NOINLINE void *take_one(size_t bytes)
{
	nr_alloc++;
	last = malloc(bytes);
	return last;
}

NOINLINE void give_one(void *p)
{
	nr_free++;
	last = p;
	free(last);
}

/* realloc() is a release and an allocation, but of nothing it is no release. */
NOINLINE void *change_one(void *p, size_t bytes)
{
	nr_free += p != NULL;
	nr_alloc++;
	last = p;
	return realloc(last, bytes);
}

/* @libc: they are glibc's, which keep errno where nothing is wrong. */
static void round_of_all(int libc)
{
	void *p, *aligned;
	volatile size_t huge = PTRDIFF_MAX;

	give_one(take_one(100));
	p = change_one(NULL, 10);
	p = change_one(p, 100000);
	errno = 1234;
	/* fails, and the block is still there: its kfree is taken back */
	if (libc && (change_one(p, huge) || errno != ENOMEM))
		abort();
	give_one(p);
	errno = 1234;
	last = calloc(3, 5);
	nr_alloc++;
	give_one(last);
	last = memalign(64, 10);
	nr_alloc++;
	give_one(last);
	last = aligned_alloc(64, 128);
	nr_alloc++;
	give_one(last);
	if (posix_memalign(&aligned, 64, 10))
		abort();
	nr_alloc++;
	give_one(aligned);
	last = valloc(10);
	nr_alloc++;
	give_one(last);
	if (libc) {
		last = pvalloc(10);
		nr_alloc++;
		give_one(last);
	}
	/* libc's own calls of malloc() and realloc() */
	last = strdup("a word");
	nr_alloc++;
	give_one(last);
	last = reallocarray(NULL, 3, 5);
	nr_alloc++;
	give_one(last);
	give_one(NULL);
	if (libc && errno != 1234)
		abort();
	/* fails */
	nr_alloc++;
	last = malloc(huge);
	if (last || errno != ENOMEM)
		abort();
}

static uint64_t sum_of(const ElfW(Rela) * r, size_t bytes, uint64_t bias)
{
	uint64_t sum = 0;

	for (; r && bytes >= sizeof(*r); bytes -= sizeof(*r), r++)
		if (ELF64_R_TYPE(r->r_info) == R_X86_64_JUMP_SLOT ||
		    ELF64_R_TYPE(r->r_info) == R_X86_64_GLOB_DAT)
			sum = sum * 31 + *(const uint64_t *)(bias + r->r_offset);
	return sum;
}

static int add_words(struct dl_phdr_info *info, size_t size, void *arg)
{
	const ElfW(Rela) *rela = NULL, *jump = NULL;
	size_t rela_bytes = 0, jump_bytes = 0;
	const ElfW(Dyn) * d;
	uint64_t *sum = arg;
	int i;

	(void)size;
	if (strstr(info->dlpi_name, "vestige") || strstr(info->dlpi_name, "vdso"))
		return 0;
	for (i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
			continue;
		d = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
		for (; d->d_tag; d++) {
			const void *at = (const void *)d->d_un.d_ptr;

			rela = d->d_tag == DT_RELA ? at : rela;
			jump = d->d_tag == DT_JMPREL ? at : jump;
			rela_bytes = d->d_tag == DT_RELASZ ? d->d_un.d_val : rela_bytes;
			jump_bytes = d->d_tag == DT_PLTRELSZ ? d->d_un.d_val : jump_bytes;
		}
	}
	*sum += sum_of(rela, rela_bytes, info->dlpi_addr) +
		sum_of(jump, jump_bytes, info->dlpi_addr);
	return 0;
}

#define THREADS 4

static volatile int stop_signals;

static void handler(int sig)
{
	int had = errno;

	(void)sig;
	errno = had;
}

static void *storm(void *arg)
{
	long n = (long)arg, i;
	void *p[16] = {NULL};

	for (i = 0; i < n; i++) {
		free(p[i % 16]);
		p[i % 16] = malloc((size_t)(i % 300));
	}
	for (i = 0; i < 16; i++)
		free(p[i]);
	return NULL;
}

static void *send_signals(void *arg)
{
	while (!stop_signals) {
		kill(getpid(), SIGUSR1);
		usleep(100);
	}
	return arg;
}

static void all_threads(long n)
{
	pthread_t t[THREADS], s;
	int i;

	stop_signals = 0;
	signal(SIGUSR1, handler);
	pthread_create(&s, NULL, send_signals, NULL);
	for (i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, storm, (void *)n);
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	stop_signals = 1;
	pthread_join(s, NULL);
}

static void *churn(void *arg)
{
	long n = (long)arg;

	while (n--) {
		void *lib = dlopen("./mem_lib.so", n & 1 ? RTLD_LAZY : RTLD_NOW);
		int (*call)(void);

		*(void **)&call = dlsym(lib, "lib_call");
		if (call() != 3)
			abort();
		dlclose(lib);
	}
	return NULL;
}

static void churn_all(long n)
{
	pthread_t t[THREADS];
	int i;

	for (i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, i < 2 ? churn : storm, (void *)(i < 2 ? n : 1000 * n));
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

int main(void)
{
	static char line[100], in[100], out[1000];
	void *lib = NULL;
	int (*call)(void);
	uint64_t sum;
	int status;

	setvbuf(stdin, in, _IOLBF, sizeof(in));
	setvbuf(stdout, out, _IOLBF, sizeof(out));
	while (fgets(line, sizeof(line), stdin)) {
		nr_alloc = nr_free = 0;
		if (!strncmp(line, "go", 2)) {
			round_of_all(line[2] == '\n');
		} else if (!strncmp(line, "load", 4)) {
			lib = dlopen("./mem_lib.so", line[5] == 'l'   ? RTLD_LAZY
						     : line[5] == 'd' ? RTLD_NOW | RTLD_DEEPBIND
								      : RTLD_NOW);
			*(void **)&call = dlsym(lib, "lib_call");
			nr_alloc = 3;
			nr_free = (unsigned long)call();
		} else if (!strncmp(line, "unload", 6)) {
			dlclose(lib);
		} else if (!strncmp(line, "storm", 5)) {
			all_threads(atol(line + 5) * 1000);
			nr_alloc = (unsigned long)(THREADS * 1000 * atol(line + 5));
			nr_free = nr_alloc + THREADS * 16;
		} else if (!strncmp(line, "churn", 5)) {
			churn_all(atol(line + 5));
		} else if (!strncmp(line, "fork", 4)) {
			if (!fork()) {
				round_of_all(1);
				_exit(0);
			}
			if (wait(&status) < 0 || status)
				abort();
		} else if (!strncmp(line, "words", 5)) {
			sum = 0;
			dl_iterate_phdr(add_words, &sum);
			nr_alloc = sum;
		}
		printf("done %lu %lu\n", nr_alloc, nr_free);
	}
	return 0;
}
