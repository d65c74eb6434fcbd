/* SPDX-License-Identifier: MIT */
/* KFT's logs and configurations, with numbers, words and lines changed: kd's table and trace. */
#include "fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/import/kft_log.h"
#include "tools/kft/kd.h"
#include "tools/kft/kft_config.h"

static int drop(void *arg, const char *text, size_t bytes)
{
	(void)arg;
	(void)text;
	(void)bytes;
	return 0;
}

static void print(struct view *v, const struct kd_options *opt)
{
	struct kd kd = {0};
	uint64_t calls = 0;
	uint8_t marks;
	struct out o;

	if (!kd_load(&kd, v, NULL, opt->trace) && !out_init_sink(&o, drop, NULL)) {
		(void)kd_print(&kd, opt, &o, &marks);
		(void)out_end(&o);
		for (size_t i = 0; i < kd.nr; i++)
			calls += kd.functions[i].count;
		PROMISE(calls + kd.nr_watches == kd.nr_calls);
		for (size_t i = 0; i < kd.nr_calls; i++)
			PROMISE(kd.calls[i].local <= kd.calls[i].ns);
	}
	kd_free(&kd);
}

/* A configuration that is taken is whole. */
static void configure(const uint8_t *data, size_t n)
{
	char *text = malloc(n + 1);
	struct kft_config config = {0};

	PROMISE(text);
	memcpy(text, data, n);
	text[n] = '\0';
	if (!kft_config_parse(text, "fuzz", &config)) {
		PROMISE(config.log_entries && config.log_entries <= KFT_MAX_LOG_ENTRIES);
		PROMISE(config.watch_bytes <= KFT_MAX_WATCH &&
			(config.watch_bytes || !config.watch_worst));
		PROMISE(config.start.kind == KFT_NONE || config.start.kind == KFT_TIME ||
			config.start.function);
		for (size_t i = 0; i < config.nr_functions; i++)
			PROMISE(*config.functions[i]);
	}
	kft_config_free(&config);
	free(text);
}

static void run(const uint8_t *data, size_t n)
{
	int fd = memfd_create("kft", 0);
	struct view v;
	char path[64], head[1024];
	size_t nr = n < sizeof(head) - 1 ? n : sizeof(head) - 1;

	configure(data, n);

	memcpy(head, data, nr);
	head[nr] = '\0';
	if (kft_log_is(head, nr) && fd >= 0 && write(fd, data, n) == (ssize_t)n) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		view_init(&v);
		v.path = path;
		fuzz_notes(0);
		print(&v, &(struct kd_options){.columns = KD_COLUMNS});
		print(&v, &(struct kd_options){.trace = true, .locals = true, .interlace = true});
		fuzz_notes(1);
	}
	close(fd);
}

static void mutate(struct mangle *m)
{
	static const char marks[] = "0123456789-- \n\t:=xR";
	uint64_t nr = mangle_random(m, 6) + 1;

	if (!mangle_random(m, 4) || !m->n) {
		mangle_any(m);
		return;
	}
	while (nr--)
		m->p[mangle_random(m, m->n)] = (uint8_t)marks[mangle_random(m, sizeof(marks) - 1)];
}

const struct fuzz_target fuzz_kft = {"kft", run, mutate};
