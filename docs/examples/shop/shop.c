/* SPDX-License-Identifier: MIT */
/*
 * shop - the server of the manual: three workers handle orders, one of which is slow now and then.
 *
 *	gcc -O2 -g -fpatchable-function-entry=6 -I. -o shop shop.c -pthread
 *
 *	./shop			until SIGTERM or Ctrl-C
 *	./shop SECONDS
 *	./shop hang		two of its threads wait for each other
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#define CREATE_TRACE_POINTS
#include "shop-events.h"

#define FN	   __attribute__((noinline))
#define NR_WORKERS 3

static const char *const items[] = {"tea", "coffee", "sugar", "bread"};
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t price_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t stock_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_filled = PTHREAD_COND_INITIALIZER;
static int nr_ordered, nr_taken;
static volatile unsigned prices;
static volatile sig_atomic_t closed;

/* A search through a list that has no index: some CPU time. */
FN static void search(int rounds)
{
	for (int i = 0; i < rounds * 1000; i++)
		prices = prices * 31 + 7;
}

FN static void check_order(const char *item)
{
	search((int)strlen(item));
}

/* The fault of this shop: it makes the list of prices anew under the lock that all orders need. */
FN static void renew_prices(void)
{
	search(4000);
}

FN static int find_price(int number)
{
	pthread_mutex_lock(&price_lock);
	if (number % 100 == 0)
		renew_prices();
	search(1);
	int cents = (int)(prices % 1000);
	pthread_mutex_unlock(&price_lock);
	return cents;
}

FN static void write_receipt(int number, int cents)
{
	char *text = malloc(64);
	snprintf(text, 64, "%d: %d.%02d", number, cents / 100, cents % 100);
	free(text);
}

FN static void handle_order(int number)
{
	const char *item = items[number % 4];
	trace_order(number, item);
	check_order(item);
	int cents = find_price(number);
	write_receipt(number, cents);
	trace_paid(number, cents);
}

FN static int take_order(void)
{
	pthread_mutex_lock(&queue_lock);
	while (nr_taken == nr_ordered && !closed)
		pthread_cond_wait(&queue_filled, &queue_lock);
	int number = closed ? -1 : nr_taken++;
	pthread_mutex_unlock(&queue_lock);
	return number;
}

static void *work(void *name)
{
	pthread_setname_np(pthread_self(), name);
	for (int number; (number = take_order()) >= 0;)
		handle_order(number);
	return NULL;
}

FN static void take_both(pthread_mutex_t *first, pthread_mutex_t *second)
{
	pthread_mutex_lock(first);
	sleep(1);
	pthread_mutex_lock(second);
}

static void *count_stock(void *name)
{
	pthread_setname_np(pthread_self(), name);
	take_both(&stock_lock, &price_lock);
	return NULL;
}

static void close_shop(int sig)
{
	(void)sig;
	closed = 1;
}

int main(int argc, char **argv)
{
	static char names[NR_WORKERS][16];
	pthread_t threads[NR_WORKERS], counter;
	signal(SIGTERM, close_shop);
	signal(SIGINT, close_shop);
	if (argc > 1 && !strcmp(argv[1], "hang")) {
		pthread_create(&counter, NULL, count_stock, "counter");
		take_both(&price_lock, &stock_lock);
	}
	for (int i = 0; i < NR_WORKERS; i++) {
		snprintf(names[i], sizeof(names[i]), "worker-%d", i);
		pthread_create(&threads[i], NULL, work, names[i]);
	}
	struct timespec now, end;
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += argc > 1 ? atoi(argv[1]) : 1000000;
	while (!closed) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec > end.tv_sec ||
		    (now.tv_sec == end.tv_sec && now.tv_nsec >= end.tv_nsec))
			break;
		usleep(1000);
		pthread_mutex_lock(&queue_lock);
		nr_ordered++;
		pthread_cond_signal(&queue_filled);
		pthread_mutex_unlock(&queue_lock);
	}
	pthread_mutex_lock(&queue_lock);
	closed = 1;
	pthread_cond_broadcast(&queue_filled);
	pthread_mutex_unlock(&queue_lock);
	for (int i = 0; i < NR_WORKERS; i++)
		pthread_join(threads[i], NULL);
	printf("%d orders\n", nr_taken);
	return 0;
}
