/* SPDX-License-Identifier: MIT */
/* Events in one line each, C and C++. Answers each line with `done N`. */
#include <vestige/event.h>

enum colour { RED, GREEN };

VESTIGE_EVENT(shop, opened);
VESTIGE_EVENT(shop, order, (int, number), (const char *, item));
VESTIGE_EVENT(shop, paid, (unsigned long, cents), (char *, who), (short, discount),
	      (enum colour, colour), (const void *, till), (bool, cash), (unsigned char, coins),
	      (const char *, note));

int main(void)
{
	char line[64], who[] = "me";
	int i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; fgets(line, sizeof(line), stdin); i++) {
		trace_opened();
		trace_order(i, i & 1 ? "tea" : NULL);
		trace_paid(1000000000000ul + (unsigned long)i, who, (short)-i, GREEN,
			   (void *)0x1234, true, 250, "a note");
		printf("done %d\n", 3);
	}
	return 0;
}
