/* SPDX-License-Identifier: MIT */
/* The area's reader, and histograms as text; a hostile process changes or cuts its area while it is
 * read. */
#include "fuzz.h"

#include <fcntl.h>
#include <unistd.h>

#include "tools/analysis/histogram_sum.h"
#include "tools/area/area.h"
#include "tools/reader/reader.h"
#include "tools/text/histogram_text.h"

static int drop_text(void *arg, const char *text, size_t bytes)
{
	(void)arg;
	PROMISE(text && bytes);
	return 0;
}

/* Every third address has a name. */
static int some_symbol(void *arg, uint64_t addr, bool offset, char *buf, size_t bytes)
{
	(void)arg;
	return addr % 3 ? 0
			: snprintf(buf, bytes, offset ? "some_function+0x1/0x2" : "some_function");
}

static void print_histogram(const struct histogram *h)
{
	const struct histogram_names names = {some_symbol, NULL};
	struct out o;

	PROMISE(!out_init_sink(&o, drop_text, NULL));
	histogram_print(h, histogram_has_addresses(h) ? &names : NULL, &o);
	PROMISE(!out_end(&o));
}

/* All histograms of an event, as text and each added to the others that are as it. */
static void read_histograms(int fd, const struct meta *m, uint64_t bytes, uint32_t event)
{
	struct histograms hs;

	if (!histograms_load(fd, m, bytes, meta_string(m, m->events[event].system),
			     meta_string(m, m->events[event].name), "input", &hs))
		for (uint32_t i = 0; i < hs.nr; i++) {
			for (uint32_t k = 0; k < hs.nr; k++)
				if (k != i)
					PROMISE(!histogram_add(&hs.at[i], &hs.at[k]));
			PROMISE(!histogram_sort(&hs.at[i]));
			print_histogram(&hs.at[i]);
		}
	histograms_free(&hs);
}

static void read_all_histograms(const char *path)
{
	struct meta *m;
	uint64_t bytes;
	int fd = area_open(AT_FDCWD, path, O_RDONLY, &bytes);

	if (fd < 0)
		return;
	if (!meta_load(fd, 0, bytes, "input", &m)) {
		for (uint32_t i = 0; i < m->nr_events && i < 4; i++)
			read_histograms(fd, m, bytes, i);
		meta_free(m);
	}
	close(fd);
}

static void run(const uint8_t *data, size_t n)
{
	fuzz_file_read(data, n, reader_open_area, 1);
	fuzz_file_use(data, n, read_all_histograms);
}

static void mutate(struct mangle *m)
{
	const size_t at = sizeof(struct fuzz_file);

	switch (mangle_random(m, 8)) {
	case 0:
		mangle_change(m);
		break;
	case 1:
		mangle_any(m);
		break;
	default:
		if (m->n > at)
			mangle_area(m, at, m->n - at);
	}
}

const struct fuzz_target fuzz_area = {"area", run, mutate};
