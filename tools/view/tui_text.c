/* SPDX-License-Identifier: MIT */
/* See tui_text.h. Tests: tests/cli/test_tui.py. */
#include "tools/view/tui_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/base/control_byte.h"

const char *tui_text_time(uint64_t ns, char buf[32])
{
	static const struct {
		double ns;
		const char *name;
	} units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}};

	for (size_t i = 0; i < 3; i++)
		if ((double)ns >= units[i].ns) {
			snprintf(buf, 32, "%.3f %s", (double)ns / units[i].ns, units[i].name);
			return buf;
		}
	snprintf(buf, 32, "%" PRIu64 " ns", ns);
	return buf;
}

const char *tui_text_tick(uint64_t ns, uint64_t step, char buf[40])
{
	static const struct {
		uint64_t ns;
		int digits;
		const char *name;
	} units[] = {{1000000000, 9, "s"}, {1000000, 6, "ms"}, {1000, 3, "us"}};
	uint64_t of = 1;
	int digits;

	for (size_t i = 0; i < 3; i++) {
		if (ns < units[i].ns)
			continue;
		for (digits = units[i].digits; digits && of * 100 <= step; digits--)
			of *= 10;
		snprintf(buf, 40, "%.*f %s", digits, (double)ns / (double)units[i].ns,
			 units[i].name);
		return buf;
	}
	snprintf(buf, 40, "%" PRIu64 " ns", ns);
	return buf;
}

void tui_text_clean(char *out, size_t room, const char *text)
{
	snprintf(out, room, "%s", text);
	control_clean(out, strlen(out), '?');
}

void tui_text_title(const struct track *track, size_t row, char *out, size_t room)
{
	static const char *const kinds[TRACK_NR_KINDS] = {
		[TRACK_STATES] = " st", [TRACK_EVENTS] = " ev"};
	const char *kind = kinds[track->kind] ? kinds[track->kind] : "";
	char name[32], id[16];
	size_t has;

	tui_text_clean(name, sizeof(name), track->name);
	if (track->kind == TRACK_CPU || track->kind == TRACK_CPU_EVENTS) {
		snprintf(out, room, "CPU %d%s", (int)track->id,
			 track->kind == TRACK_CPU ? "" : " events");
		return;
	}
	if (row) {
		snprintf(out, room, "  %zu", row);
		return;
	}
	snprintf(id, sizeof(id), "-%d", (int)track->id);
	has = strlen(id) + strlen(kind);
	snprintf(out, room, "%.*s%s%s", has < room - 1 ? (int)(room - 1 - has) : 0, name, id, kind);
}
