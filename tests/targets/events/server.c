/* SPDX-License-Identifier: MIT */
/*
 * A busy server with a fault: four threads look up accounts, each in a cache of its own, and one of
 * them, once in some ten thousand requests, keeps a line that it should have dropped. A later
 * request for that account, if it comes at all, gets another's balance. Serves from the line `go`
 * to the line `stop`; then prints the first such request: `failed ID KEY LINE`, ID
 * of the request that kept the line.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <vestige/event.h>

VESTIGE_EVENT(server, request, (uint64_t, id), (uint32_t, key));
VESTIGE_EVENT(server, cache_hit, (uint64_t, id), (uint32_t, line), (uint32_t, balance));
VESTIGE_EVENT(server, cache_kept, (uint64_t, id), (uint32_t, line));
VESTIGE_EVENT(server, reply, (uint64_t, id), (uint32_t, balance));
VESTIGE_EVENT(server, failed, (uint64_t, id), (uint32_t, key), (int, error));

#define WORKERS 4
#define LINES	64u
#define KEYS	256u
#define FAULTY	2

static int serving = 1;
static uint64_t first_id, first_kept;
static uint32_t first_key;

struct worker {
	unsigned int number;
	uint64_t random;
	uint32_t key[LINES], balance[LINES];
	uint64_t kept[LINES]; /* by which request, 0: none */
};

static uint32_t next(struct worker *w)
{
	w->random = w->random * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(w->random >> 33);
}

static uint32_t balance_of(uint32_t key)
{
	return key * 3 + 1;
}

static void serve(struct worker *w, uint64_t id)
{
	uint32_t key = 1 + next(w) % KEYS, line = key % LINES;

	trace_request(id, key);
	if (w->key[line] == key) {
		trace_cache_hit(id, line, w->balance[line]);
	} else if (w->number == FAULTY && next(w) % 10000 == 0) {
		/* the fault: the line gets the new key and keeps the old balance */
		trace_cache_kept(id, line);
		w->key[line] = key;
		w->kept[line] = id;
	} else {
		w->key[line] = key;
		w->balance[line] = balance_of(key);
		w->kept[line] = 0;
	}
	if (w->balance[line] == balance_of(key) || w->kept[line] == id) {
		trace_reply(id, w->balance[line]);
		return;
	}
	if (!first_id) {
		first_id = id;
		first_key = key;
		first_kept = w->kept[line];
	}
	trace_failed(id, key, 5);
	w->key[line] = 0;
}

static void *work(void *arg)
{
	static struct worker workers[WORKERS];
	struct worker *w = &workers[(uintptr_t)arg];
	char name[16];

	w->number = (unsigned int)(uintptr_t)arg;
	w->random = w->number + 1;
	snprintf(name, sizeof(name), "worker/%u", w->number);
	pthread_setname_np(pthread_self(), name);
	for (uint64_t i = 1; __atomic_load_n(&serving, __ATOMIC_RELAXED); i++)
		serve(w, i * WORKERS + w->number);
	return NULL;
}

int main(void)
{
	pthread_t threads[WORKERS];
	char line[16];

	if (!fgets(line, sizeof(line), stdin))
		return 1;
	for (uintptr_t i = 0; i < WORKERS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i))
			return 1;
	puts("done 0");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	__atomic_store_n(&serving, 0, __ATOMIC_RELAXED);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	printf("failed %llu %u %llu\n", (unsigned long long)first_id, first_key,
	       (unsigned long long)first_kept);
	return 0;
}
