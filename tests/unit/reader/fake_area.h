/* SPDX-License-Identifier: MIT */
/* Areas that no engine made: well-formed ones, to be broken by a test. */
#ifndef VESTIGE_TESTS_FAKE_AREA_H
#define VESTIGE_TESTS_FAKE_AREA_H

#include <stddef.h>
#include <stdint.h>

#include "abi/area.h"
#include "abi/page.h"
#include "tools/reader/reader.h"

#define FAKE_BIAS UINT64_C(0x555500000000)

struct fake {
	unsigned char *bytes;
	size_t size;
	struct area_header *head;
	unsigned int cpu_pages;
};

/*
 * A live area with CLOCK_MONOTONIC stamps, one object at FAKE_BIAS, functions at offsets 0x1000 +
 * 16 * id, one task (100, "fake") and @cpu_pages free pages a CPU, in discard mode.
 */
struct fake *fake_new(unsigned int nr_cpus, unsigned int cpu_pages, unsigned int nr_functions);
void fake_free(struct fake *f);

/* Entry @i of a table. */
void *fake_row(struct fake *f, enum area_table_id id, uint32_t i);

/* Page @i of @cpu is taken by thread @tid. Return: its head, for counts of losses. */
struct page_head *fake_take(struct fake *f, unsigned int cpu, unsigned int i, int32_t tid,
			    uint64_t base);
/* Append to it. */
void fake_word(struct fake *f, unsigned int cpu, unsigned int i, uint64_t word);
void fake_call(struct fake *f, unsigned int cpu, unsigned int i, uint32_t stamp, uint32_t id,
	       uint64_t parent);
/* It is complete. */
void fake_publish(struct fake *f, unsigned int cpu, unsigned int i);

/* A word of a record. */
uint64_t fake_record(unsigned int kind, uint32_t id, uint32_t stamp);

/* Write the first @bytes (0: all) of it into a new file. Return: its name, the same each time. */
const char *fake_write(struct fake *f, size_t bytes);
/* The same folder's file @name. The folder goes at exit. */
const char *fake_path(const char *name);

/*
 * Read a reader to its end, checking that no stream goes back. Return: records; *@lost: their sum.
 */
uint64_t fake_read_all(struct reader *r, uint64_t *lost);

#endif
