/* SPDX-License-Identifier: MIT */
/*
 * A program that takes locks in orders that it knows; no run of it deadlocks, since the threads
 * come one after the other. One command a line, and `done` when its threads have ended:
 *
 *	abba		two threads, two static mutexes
 *	three		three threads, three mutexes of one allocation each, in a circle
 *	philosophers	five threads, five forks of one array: one line initialises all
 *	boxes		two boxes with two mutexes each: one is locked in one order, one in the
 *			other
 *	wrapped		two sorts of locks in both orders, each of four locks in one: the program
 *			has functions of its own that initialise and take a lock
 *	found		the same, with locks that a constant initialises
 *	kept		one sort of lock, in one order of the locks, of a function that makes and
 *			takes them
 *	try		ordered as it should be, and with trylock and timedlock against it
 *	readers		readers of two rwlocks in both orders, one reader within itself
 *	readwrite	the same where each waits for a writer's lock
 *	recursive	a recursive mutex within itself with another one between
 *	condition	waits for a condition with the mutex and no other lock
 *	reuse		heap memory that is one sort of lock and later another one
 *	many N		N thousand mutexes, made, taken in pairs and destroyed
 *	forgotten N	N thousand mutexes, made by a constant, taken, and released by free() alone
 *	reload		one.so and two.so, loaded and unloaded one after the other
 *	fork		a child does the rounds that follow
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FN __attribute__((noipa))

pthread_mutex_t first_lock = PTHREAD_MUTEX_INITIALIZER, second_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t outer_lock = PTHREAD_MUTEX_INITIALIZER, inner_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t left_lock = PTHREAD_RWLOCK_INITIALIZER, right_lock = PTHREAD_RWLOCK_INITIALIZER;
pthread_rwlock_t north_lock = PTHREAD_RWLOCK_INITIALIZER, south_lock = PTHREAD_RWLOCK_INITIALIZER;
pthread_mutex_t within_lock = PTHREAD_MUTEX_INITIALIZER, again_lock;
pthread_mutex_t cond_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

struct pair {
	const char *name;
	pthread_mutex_t *first, *second;
};

FN static void take_second(const struct pair *p)
{
	pthread_mutex_lock(p->second);
	pthread_mutex_unlock(p->second);
}

FN static void take_both(const struct pair *p)
{
	pthread_mutex_lock(p->first);
	take_second(p);
	pthread_mutex_unlock(p->first);
}

static void *take_pair(void *arg)
{
	const struct pair *p = arg;

	if (p->name)
		pthread_setname_np(pthread_self(), p->name);
	take_both(p);
	return NULL;
}

static void in_thread(void *(*fn)(void *), void *arg)
{
	pthread_t t;

	if (pthread_create(&t, NULL, fn, arg))
		abort();
	pthread_join(t, NULL);
}

FN static void abba(void)
{
	struct pair forth = {"forth", &first_lock, &second_lock},
		    back = {"back", &second_lock, &first_lock};

	for (int i = 0; i < 3; i++) {
		in_thread(take_pair, &forth);
		in_thread(take_pair, &back);
	}
}

FN static pthread_mutex_t *new_mutex(void)
{
	pthread_mutex_t *m = malloc(sizeof(*m));

	return m;
}

FN static void three(void)
{
	pthread_mutex_t *m[3] = {new_mutex(), new_mutex(), new_mutex()};

	pthread_mutex_init(m[0], NULL);
	pthread_mutex_init(m[1], NULL);
	pthread_mutex_init(m[2], NULL);
	for (int i = 0; i < 3; i++) {
		struct pair p = {NULL, m[i], m[(i + 1) % 3]};

		in_thread(take_pair, &p);
	}
	for (int i = 0; i < 3; i++) {
		pthread_mutex_destroy(m[i]);
		free(m[i]);
	}
}

FN static void philosophers(void)
{
	pthread_mutex_t forks[5];

	for (int i = 0; i < 5; i++)
		pthread_mutex_init(&forks[i], NULL);
	for (int i = 0; i < 5; i++) {
		struct pair p = {"philosopher", &forks[i], &forks[(i + 1) % 5]};

		in_thread(take_pair, &p);
	}
	for (int i = 0; i < 5; i++)
		pthread_mutex_destroy(&forks[i]);
}

struct box {
	pthread_mutex_t lid, content;
};

FN static struct box *new_box(void)
{
	struct box *b = malloc(sizeof(*b));

	pthread_mutex_init(&b->lid, NULL);
	pthread_mutex_init(&b->content, NULL);
	return b;
}

FN static void boxes(void)
{
	struct box *a = new_box(), *b = new_box();
	struct pair one = {NULL, &a->lid, &a->content}, two = {NULL, &b->content, &b->lid};

	in_thread(take_pair, &one);
	in_thread(take_pair, &two);
	free(a);
	free(b);
}

/* What everything below calls, and a layer above that. */
FN static void own_mutex_init(pthread_mutex_t *m)
{
	pthread_mutex_init(m, NULL);
}

FN static void base_mutex_init(pthread_mutex_t *m)
{
	own_mutex_init(m);
	__asm__ volatile("" ::: "memory");
}

FN static int own_mutex_lock(pthread_mutex_t *m)
{
	int err = pthread_mutex_lock(m);

	__asm__ volatile("" ::: "memory");
	return err;
}

FN static pthread_mutex_t *new_table(int init)
{
	pthread_mutex_t *m = new_mutex();

	*m = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	if (init) {
		base_mutex_init(m);
	} else {
		own_mutex_lock(m);
		pthread_mutex_unlock(m);
	}
	return m;
}

FN static pthread_mutex_t *new_row(int init)
{
	pthread_mutex_t *m = new_mutex();

	*m = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	if (init) {
		base_mutex_init(m);
	} else {
		own_mutex_lock(m);
		pthread_mutex_unlock(m);
	}
	return m;
}

static void *own_pair(void *arg)
{
	const struct pair *p = arg;

	own_mutex_lock(p->first);
	own_mutex_lock(p->second);
	pthread_mutex_unlock(p->second);
	pthread_mutex_unlock(p->first);
	return NULL;
}

FN static void wrapped(int init)
{
	pthread_mutex_t *table[2] = {new_table(init), new_table(init)};
	pthread_mutex_t *row[2] = {new_row(init), new_row(init)};
	struct pair one = {NULL, table[0], row[0]}, two = {NULL, row[1], table[1]};

	in_thread(own_pair, &one);
	in_thread(own_pair, &two);
	for (int i = 0; i < 2; i++) {
		free(table[i]);
		free(row[i]);
	}
}

FN static void kept(void)
{
	pthread_mutex_t *table[3] = {new_table(1), new_table(1), new_table(0)};
	struct pair one = {NULL, table[0], table[1]}, two = {NULL, table[1], table[2]};

	in_thread(own_pair, &one);
	in_thread(own_pair, &two);
	for (int i = 0; i < 3; i++)
		free(table[i]);
}

FN static void try_ordered(void)
{
	struct timespec later;

	clock_gettime(CLOCK_REALTIME, &later);
	later.tv_sec += 10;
	pthread_mutex_lock(&outer_lock);
	pthread_mutex_lock(&inner_lock);
	pthread_mutex_unlock(&inner_lock);
	pthread_mutex_unlock(&outer_lock);

	pthread_mutex_lock(&inner_lock);
	if (!pthread_mutex_trylock(&outer_lock))
		pthread_mutex_unlock(&outer_lock);
	if (!pthread_mutex_timedlock(&outer_lock, &later))
		pthread_mutex_unlock(&outer_lock);
	pthread_mutex_unlock(&inner_lock);
}

FN static void read_both(pthread_rwlock_t *a, pthread_rwlock_t *b, int write)
{
	pthread_rwlock_rdlock(a);
	if (write)
		pthread_rwlock_wrlock(b);
	else
		pthread_rwlock_rdlock(b);
	pthread_rwlock_unlock(b);
	pthread_rwlock_unlock(a);
}

FN static void readers(void)
{
	read_both(&left_lock, &right_lock, 0);
	read_both(&right_lock, &left_lock, 0);
	read_both(&left_lock, &left_lock, 0);
}

FN static void recursive(void)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&again_lock, &a);
	pthread_mutex_lock(&again_lock);
	pthread_mutex_lock(&within_lock);
	pthread_mutex_lock(&again_lock);
	pthread_mutex_unlock(&again_lock);
	pthread_mutex_unlock(&within_lock);
	pthread_mutex_unlock(&again_lock);
	pthread_mutex_destroy(&again_lock);
}

FN static void wait_condition(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	pthread_mutex_lock(&cond_lock);
	pthread_cond_timedwait(&condition, &cond_lock, &now);
	pthread_mutex_unlock(&cond_lock);
}

FN static void first_use(pthread_mutex_t *m)
{
	pthread_mutex_lock(m);
	pthread_mutex_unlock(m);
}

FN static void other_use(pthread_mutex_t *m)
{
	pthread_mutex_lock(m);
	pthread_mutex_unlock(m);
}

/* Two sorts of locks, always in one order; each address is both in turn. */
FN static void reuse(void)
{
	for (int i = 0; i < 2; i++) {
		pthread_mutex_t *m[2];

		for (int k = 0; k < 2; k++) {
			m[k] = malloc(200);
			*m[k] = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
		}
		if (m[i] > m[!i]) {
			pthread_mutex_t *t = m[0];

			m[0] = m[1];
			m[1] = t;
		}
		first_use(m[0]);
		other_use(m[1]);
		pthread_mutex_lock(m[0]);
		pthread_mutex_lock(m[1]);
		pthread_mutex_unlock(m[1]);
		pthread_mutex_unlock(m[0]);
		free(m[0]);
		free(m[1]);
	}
}

FN static void many(long thousands)
{
	pthread_mutex_t *m = malloc(1000 * sizeof(*m));

	for (long n = 0; n < thousands; n++) {
		for (int i = 0; i < 1000; i++)
			pthread_mutex_init(&m[i], NULL);
		for (int i = 0; i + 1 < 1000; i++) {
			struct pair p = {NULL, &m[i], &m[i + 1]};

			take_both(&p);
		}
		for (int i = 0; i < 1000; i++)
			pthread_mutex_destroy(&m[i]);
	}
	free(m);
}

FN static void forgotten(long thousands)
{
	for (long n = 0; n < thousands * 1000; n++) {
		pthread_mutex_t *m = malloc(sizeof(*m));

		*m = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
		pthread_mutex_lock(m);
		pthread_mutex_unlock(m);
		free(m);
	}
}

/* Two libraries, one after the other and mostly at one place, each with a lock of its own. */
static void reload(void)
{
	static const char *const names[] = {"./one.so", "./two.so"};
	int i;

	for (i = 0; i < 2; i++) {
		void *library = dlopen(names[i], RTLD_NOW);
		void (*take)(pthread_mutex_t *, int) = NULL;

		if (library)
			*(void **)&take = dlsym(library, "take_with_own");
		if (!take)
			abort();
		take(&first_lock, i);
		dlclose(library);
	}
}

/* The child does the rounds that follow. The parent waits for it. */
static void go_on_as_child(void)
{
	int status = 0;
	pid_t child = fork();

	if (!child)
		return;
	waitpid(child, &status, 0);
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

int main(void)
{
	char line[64], word[32];

	while (fgets(line, sizeof(line), stdin)) {
		long n = 0;

		if (sscanf(line, "%31s %ld", word, &n) < 1)
			continue;
		if (!strcmp(word, "abba"))
			abba();
		else if (!strcmp(word, "three"))
			three();
		else if (!strcmp(word, "philosophers"))
			philosophers();
		else if (!strcmp(word, "boxes"))
			boxes();
		else if (!strcmp(word, "wrapped"))
			wrapped(1);
		else if (!strcmp(word, "found"))
			wrapped(0);
		else if (!strcmp(word, "kept"))
			kept();
		else if (!strcmp(word, "try"))
			try_ordered();
		else if (!strcmp(word, "readers"))
			readers();
		else if (!strcmp(word, "readwrite")) {
			read_both(&north_lock, &south_lock, 1);
			read_both(&south_lock, &north_lock, 1);
		} else if (!strcmp(word, "recursive"))
			recursive();
		else if (!strcmp(word, "condition"))
			wait_condition();
		else if (!strcmp(word, "reuse"))
			reuse();
		else if (!strcmp(word, "many"))
			many(n);
		else if (!strcmp(word, "forgotten"))
			forgotten(n);
		else if (!strcmp(word, "fork"))
			go_on_as_child();
		else if (!strcmp(word, "reload"))
			reload();
		puts("done 0");
		fflush(stdout);
	}
	return 0;
}
