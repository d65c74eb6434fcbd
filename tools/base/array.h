/* SPDX-License-Identifier: MIT */
/* Arrays that grow by one, and sorted ones. */
#ifndef VESTIGE_TOOLS_ARRAY_H
#define VESTIGE_TOOLS_ARRAY_H

#include <errno.h>
#include <stdlib.h>

/*
 * ARRAY_ROOM() - make room for one more element in a malloced array; a full array doubles.
 * @array: the pointer to it. @nr: its elements. @room: the elements that fit, 0 at first.
 * @first: the first value of @room. Arguments are evaluated more than once.
 * Value: 0, or -ENOMEM without fail(), and then nothing has changed.
 */
#define ARRAY_ROOM(array, nr, room, first)                                                         \
	({                                                                                         \
		int err_ = 0;                                                                      \
                                                                                                   \
		if ((nr) == (room)) {                                                              \
			size_t room_ = (room) ? (size_t)(room)*2 : (first);                        \
			void *more_ = reallocarray((array), room_, sizeof(*(array)));              \
                                                                                                   \
			if (more_) {                                                               \
				(array) = more_;                                                   \
				(room) = (__typeof__(room))room_;                                  \
			} else {                                                                   \
				err_ = -ENOMEM;                                                    \
			}                                                                          \
		}                                                                                  \
		err_;                                                                              \
	})

/*
 * LOWER_BOUND() - the first row of a sorted array that is not before a value.
 * @i: a name for the index. @from, @end: the rows that are looked at: [@from, @end).
 * @before: an expression of @i: true for the rows before the value, false from there on.
 * Value: the row's index; @end if all are before it.
 */
#define LOWER_BOUND(i, from, end, before)                                                          \
	({                                                                                         \
		size_t lo_ = (from), hi_ = (end);                                                  \
                                                                                                   \
		while (lo_ < hi_) {                                                                \
			size_t i = lo_ + (hi_ - lo_) / 2;                                          \
                                                                                                   \
			if (before)                                                                \
				lo_ = i + 1;                                                       \
			else                                                                       \
				hi_ = i;                                                           \
		}                                                                                  \
		lo_;                                                                               \
	})

#endif
