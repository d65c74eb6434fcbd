/* SPDX-License-Identifier: MIT */
/* A program that includes a header of events with the kernel's types, and nothing before it but
 * what OWN says. */
#ifdef OWN_SAME
#include <stdint.h>
typedef uint32_t u32;
typedef int64_t s64;
#elif defined(OWN_OTHER)
#define VESTIGE_NO_KERNEL_TYPES
#include <linux/types.h>
#include <sys/types.h>
typedef unsigned int u32;
typedef unsigned char u8;
typedef unsigned long long u64, sector_t;
typedef long long s64, ktime_t;
typedef unsigned int gfp_t;
typedef unsigned short umode_t;
typedef unsigned long pgoff_t;
#define TASK_COMM_LEN 16
#elif defined(OWN_MACROS)
#define u32 unsigned int
#define s64 long
#endif

#define CREATE_TRACE_POINTS
#include "ktypes.h"

#ifdef OWN_AFTER
typedef uint32_t u32;
typedef int64_t s64;
#endif

int main(void)
{
	char line[16];

	while (fgets(line, sizeof(line), stdin)) {
		trace_ktypes_io(1, 1u << 31, 4096, -5, 0x10, 0x1234);
		puts("done 0");
		fflush(stdout);
	}
	return 0;
}
