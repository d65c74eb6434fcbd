/* SPDX-License-Identifier: MIT */
/*
 * `replay TARGET N FOLDER`: each file of the corpus, then N mutations of it, the same in every run.
 * Needs no fuzzer. An input that ends the program is named on stderr.
 */
#include "fuzz.h"

#include <dirent.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define INPUT_BYTES (1u << 18)

static char what[400];
static const struct fuzz_target *target;
static uint8_t input[INPUT_BYTES], buf[INPUT_BYTES];
static size_t input_bytes;

static void name_input(int sig)
{
	ssize_t n = write(2, what, strlen(what));

	(void)n;
	signal(sig, SIG_DFL);
	raise(sig);
}

/* A block of exactly that size, so that a sanitizer sees one byte too far. */
static void run(const uint8_t *data, size_t n)
{
	uint8_t *exact = malloc(n ? n : 1);

	PROMISE(exact);
	memcpy(exact, data, n);
	target->run(exact, n);
	free(exact);
}

static size_t load(const char *path)
{
	FILE *f = fopen(path, "rb");
	size_t n = f ? fread(input, 1, sizeof(input), f) : 0;

	if (f)
		fclose(f);
	PROMISE(f);
	return n;
}

int main(int argc, char **argv)
{
	struct dirent **names;
	unsigned long mutations, nr = 0, i;
	char path[4096];
	int n, k;

	target = argc == 4 ? fuzz_target_find(argv[1]) : NULL;
	if (!target) {
		fprintf(stderr, "usage: replay TARGET MUTATIONS FOLDER\n");
		return 2;
	}
	mutations = strtoul(argv[2], NULL, 10);
	signal(SIGSEGV, name_input);
	signal(SIGABRT, name_input);
	signal(SIGFPE, name_input);
	signal(SIGBUS, name_input);
	/* the readers report each damaged file; a message of a sanitizer or PROMISE must be seen */
	n = scandir(argv[3], &names, NULL, alphasort);
	for (k = 0; k < n; k++) {
		snprintf(path, sizeof(path), "%s/%s", argv[3], names[k]->d_name);
		if (names[k]->d_name[0] != '.') {
			input_bytes = load(path);
			for (i = 0; i <= mutations; i++, nr++) {
				struct mangle m = {buf, input_bytes, sizeof(buf), i * 1000003 + 1};
				unsigned int times = i ? 1 + (unsigned int)mangle_random(&m, 4) : 0;

				snprintf(what, sizeof(what), "replay: %s, mutation %lu\n",
					 names[k]->d_name, i);
				memcpy(buf, input, input_bytes);
				while (times--)
					target->mutate(&m);
				run(buf, m.n);
			}
		}
		free(names[k]);
	}
	if (n >= 0)
		free(names);
	printf("%s: %lu inputs, %lu changes while they were read, %lu records\n", argv[1], nr,
	       fuzz_file_changes, fuzz_file_records);
	if (!nr) {
		fprintf(stderr, "replay: no file in %s\n", argv[3]);
		return 1;
	}
	/* a linker that sent no read our way, or a corpus that is refused at once, tests nothing */
	if (target != &fuzz_control && target != &fuzz_probes && target != &fuzz_events &&
	    target != &fuzz_synth && target != &fuzz_insn && target != &fuzz_entries &&
	    target != &fuzz_inject && target != &fuzz_blk && target != &fuzz_net &&
	    target != &fuzz_kft && target != &fuzz_ways && mutations &&
	    ((!fuzz_file_changes && target != &fuzz_uftrace && target != &fuzz_ctf) ||
	     !fuzz_file_records)) {
		fprintf(stderr,
			"replay: no file was changed while it was read, or none had records\n");
		return 1;
	}
	return 0;
}
