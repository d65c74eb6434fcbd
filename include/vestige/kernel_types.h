/* SPDX-License-Identifier: MIT */
/*
 * The names that the kernel has for types, so that its headers of events compile as they are, and
 * those that are written after their model. <vestige/tracepoint.h> includes it.
 *
 * A program that has another u64 of its own defines VESTIGE_NO_KERNEL_TYPES before it includes
 * anything of vestige's: then there are none of these. Widths are the kernel's
 * (include/linux/types.h there), but for dev_t and the other types that libc has too: those are
 * libc's.
 */
#ifndef VESTIGE_KERNEL_TYPES_H
#define VESTIGE_KERNEL_TYPES_H
#pragma GCC system_header

#ifndef VESTIGE_NO_KERNEL_TYPES
#include <linux/types.h> /* __u8 to __s64, __le16 to __be64 */
#include <stdint.h>
#include <sys/types.h>

/* In a conflict with a type of the program, the compiler shows the line. */
/* clang-format off */
#ifndef u8
typedef uint8_t u8;			/* another one of yours: define VESTIGE_NO_KERNEL_TYPES */
#endif
#ifndef u16
typedef uint16_t u16;			/* another one of yours: define VESTIGE_NO_KERNEL_TYPES */
#endif
#ifndef u32
typedef uint32_t u32;			/* another one of yours: define VESTIGE_NO_KERNEL_TYPES */
#endif
#ifndef u64
typedef uint64_t u64;			/* another one of yours: define VESTIGE_NO_KERNEL_TYPES */
#endif
#ifndef s8
typedef int8_t s8;			/* another one of yours: define VESTIGE_NO_KERNEL_TYPES */
#endif
#ifndef s16
typedef int16_t s16;			/* another one of yours: define VESTIGE_NO_KERNEL_TYPES */
#endif
#ifndef s32
typedef int32_t s32;			/* another one of yours: define VESTIGE_NO_KERNEL_TYPES */
#endif
#ifndef s64
typedef int64_t s64;			/* another one of yours: define VESTIGE_NO_KERNEL_TYPES */
#endif

/* memory */
typedef unsigned int gfp_t;		/* another one of yours: define VESTIGE_NO_KERNEL_TYPES */
typedef unsigned int slab_flags_t;	/* another one of yours: define VESTIGE_NO_KERNEL_TYPES */
typedef unsigned int vm_fault_t;	/* another one of yours: define VESTIGE_NO_KERNEL_TYPES */
typedef unsigned long vm_flags_t;	/* another one of yours: define VESTIGE_NO_KERNEL_TYPES */
typedef unsigned long pgoff_t;		/* another one of yours: define VESTIGE_NO_KERNEL_TYPES */
typedef uint64_t phys_addr_t;		/* another one of yours: define VESTIGE_NO_KERNEL_TYPES */
typedef uint64_t dma_addr_t;		/* another one of yours: define VESTIGE_NO_KERNEL_TYPES */
typedef uint64_t resource_size_t;	/* another one of yours: define VESTIGE_NO_KERNEL_TYPES */

/* files and blocks */
typedef unsigned short umode_t;		/* another one of yours: define VESTIGE_NO_KERNEL_TYPES */
typedef unsigned int fmode_t;		/* another one of yours: define VESTIGE_NO_KERNEL_TYPES */
typedef uint32_t errseq_t;		/* another one of yours: define VESTIGE_NO_KERNEL_TYPES */
typedef uint64_t sector_t;		/* another one of yours: define VESTIGE_NO_KERNEL_TYPES */
typedef uint32_t blk_opf_t;		/* another one of yours: define VESTIGE_NO_KERNEL_TYPES */
typedef uint8_t blk_status_t;		/* another one of yours: define VESTIGE_NO_KERNEL_TYPES */

/* time */
typedef int64_t ktime_t;		/* another one of yours: define VESTIGE_NO_KERNEL_TYPES */
typedef int64_t time64_t;		/* another one of yours: define VESTIGE_NO_KERNEL_TYPES */

#ifndef TASK_COMM_LEN
#define TASK_COMM_LEN 16
#endif
/* clang-format on */
#endif
#endif
