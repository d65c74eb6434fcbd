/* SPDX-License-Identifier: MIT */
/*
 * A process that wakes every 45 us and sleeps again at once, until its input ends.
 */
#include <poll.h>
#include <sys/prctl.h>
#include <time.h>

int main(void)
{
	const struct timespec t = {.tv_nsec = 45000};
	struct pollfd input = {.fd = 0, .events = POLLIN};

	prctl(PR_SET_TIMERSLACK, 1);
	do {
		for (int i = 0; i < 100; i++)
			nanosleep(&t, NULL);
	} while (poll(&input, 1, 0) == 0);
	return 0;
}
