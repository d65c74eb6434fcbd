/* SPDX-License-Identifier: MIT */
/*
 * KFT's configuration language: words, usually one entry a line, and comments from # to the end of
 * the line.
 *
 *	begin
 *	  trigger start|stop  entry FUNC | exit FUNC | time USECS
 *	  filter mintime USECS | maxtime USECS | noints | onlyints | funclist FUNC... fend
 *	  watch stack BYTES | worst-stack BYTES
 *	  logentries N
 *	  autorepeat | overwrite | untimed | prime
 *	end
 *
 * `new` may be in front of `begin`. FUNC is a name, or 0xADDRESS as in the program's file. Tests:
 * tests/cli/test_kft.py, tests/fuzz/kft.c.
 */
#ifndef VESTIGE_TOOLS_KFT_CONFIG_H
#define VESTIGE_TOOLS_KFT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/text/out.h"

#define KFT_LOG_ENTRIES	    20000u /* default of `logentries` */
#define KFT_MAX_LOG_ENTRIES (1u << 24)
#define KFT_MAX_FUNCTIONS   4096u
#define KFT_MAX_WATCH	    (UINT64_C(1) << 40) /* bytes */

enum kft_trigger_kind { KFT_NONE, KFT_ENTRY, KFT_EXIT, KFT_TIME };

struct kft_trigger {
	enum kft_trigger_kind kind;
	char *function;
	uint64_t us;
};

struct kft_config {
	struct kft_trigger start, stop;
	uint64_t min_us, max_us; /* 0: none */
	bool noints, onlyints, autorepeat, overwrite, untimed;
	uint64_t watch_bytes; /* log stacks with less free bytes than this; 0: no watch */
	bool watch_worst;     /* lower this limit each time to the free bytes of that stack */
	char **functions;     /* of funclist */
	size_t nr_functions, room;
	uint64_t log_entries;
};

/*
 * kft_config_parse() - read a configuration.
 * @text: ends with NUL; is written to. @name: of the file, for errors.
 * @config: gets it; zeroed by the caller, freed with kft_config_free() either way.
 * Return: 0; -EINVAL, -ENOTSUP or -ENOMEM with fail() set, which names the line.
 */
int kft_config_parse(char *text, const char *name, struct kft_config *config);
/* Read and parse the file @path. Return: as kft_config_parse(), or -errno of open() and read(). */
int kft_config_read(const char *path, struct kft_config *config);
void kft_config_free(struct kft_config *config);

/*
 * kft_config_name() - replace addresses of functions by names.
 * @program: the ELF file; NULL: there is none, and an address is an error.
 * Return: 0 or -errno with fail() set: ENOENT: no function begins there.
 */
int kft_config_name(struct kft_config *config, const char *program);

/* Print its entries, as `status` shows them. */
void kft_config_put(struct out *o, const struct kft_config *config);

#endif
