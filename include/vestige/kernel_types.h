/* SPDX-License-Identifier: MIT */
/*
 * The kernel's names of types. With them the kernel's headers of events, and headers in the same
 * style, compile without a change. <vestige/tracepoint.h> includes this file.
 *
 * A program that has a different type of one of these names, such as u64, defines
 * VESTIGE_NO_KERNEL_TYPES before it includes any header of vestige. Then none of these types is
 * defined. Widths are as in the kernel's include/linux/types.h. dev_t and other types that libc has
 * too are libc's.
 */
#ifndef VESTIGE_KERNEL_TYPES_H
#define VESTIGE_KERNEL_TYPES_H
#pragma GCC system_header

#ifndef VESTIGE_NO_KERNEL_TYPES
#include <linux/types.h> /* __u8 to __s64, __le16 to __be64 */
#include <stdint.h>
#include <sys/types.h>

/* In a conflict with a type of the program, the compiler shows the line with its comment. */
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
