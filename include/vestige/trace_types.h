/* SPDX-License-Identifier: MIT */
/* Types and strings for the macros of events. Not to be included by programs. */
#ifndef VESTIGE_TRACE_TYPES_H
#define VESTIGE_TRACE_TYPES_H
#pragma GCC system_header

#include <vestige/tracepoint.h>
/* clang-format off */

/* Whether a type is signed; char counts as unsigned, as in the kernel. */
#ifdef __cplusplus
template <class T, bool is_enum = __is_enum(T)> struct vestige_signed_ {
	static const bool value = (T)-1 < (T)1;
};
template <class T> struct vestige_signed_<T, true> : vestige_signed_<__underlying_type(T)> {};
template <class T> struct vestige_signed_<T *, false> {
	static const bool value = false;
};
template <> struct vestige_signed_<char, false> {
	static const bool value = false;
};
template <> struct vestige_signed_<bool, false> {
	static const bool value = false;
};
#define VESTIGE_SIGNED_(type) vestige_signed_<type>::value
#else
#define VESTIGE_SIGNED_(type)                                                                      \
	(((type)-1 < (type)1) && !__builtin_types_compatible_p(type, char))
#endif

/*
 * A string, which a record holds as the length and offset of a copy; and the form in which a record
 * holds an argument of a type.
 */
#ifdef __cplusplus
template <class T> struct vestige_held_ {
	typedef T held;
	static const bool is_string = false;
};
template <> struct vestige_held_<char *> {
	typedef uint32_t held;
	static const bool is_string = true;
};
template <> struct vestige_held_<const char *> {
	typedef uint32_t held;
	static const bool is_string = true;
};
#define VESTIGE_SLOT_(type)	 vestige_held_<type>::held
#define VESTIGE_IS_STRING_(type) vestige_held_<type>::is_string
#else
#define VESTIGE_IS_STRING_(type)                                                                   \
	(__builtin_types_compatible_p(type, char *) || __builtin_types_compatible_p(type, const char *))
#define VESTIGE_SLOT_(type)                                                                        \
	__typeof__(*__builtin_choose_expr(VESTIGE_IS_STRING_(type), (uint32_t *)0, (type *)0))
#endif

#define VESTIGE_NULL_STRING_ "(null)"

/* The length and offset of a part, and the offset of the next one. */
static inline VESTIGE_NOTRACE_ uint32_t vestige_part_(int *size, size_t start, size_t bytes)
{
	uint32_t word = (uint32_t)(start + (size_t)*size) | (uint32_t)bytes << 16;

	*size += (int)(bytes < 0x10000 ? bytes : 0x10000); /* longer ones are refused */
	return word;
}

static inline VESTIGE_NOTRACE_ size_t vestige_string_bytes_(const void *s)
{
	return s ? strlen((const char *)s) + 1 : sizeof(VESTIGE_NULL_STRING_);
}

static inline VESTIGE_NOTRACE_ size_t vestige_vstring_bytes_(const char *fmt, va_list *ap)
{
	va_list copy;
	int n;

	va_copy(copy, *ap);
	n = vsnprintf(NULL, 0, fmt, copy);
	va_end(copy);
	return n < 0 ? 1 : n < 256 ? (size_t)n + 1 : 256;
}

static inline VESTIGE_NOTRACE_ void vestige_put_string_(void *to, uint32_t bytes, const void *from)
{
	if (!bytes)
		return;
	if (!from)
		from = VESTIGE_NULL_STRING_;
	memcpy(to, from, bytes - 1);
	((char *)to)[bytes - 1] = 0;
}

#define VESTIGE_BITMAP_BYTES_(bits) (((size_t)(bits) + 63) / 64 * 8)

/* clang-format on */
#endif
