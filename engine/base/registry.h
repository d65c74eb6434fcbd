/* SPDX-License-Identifier: MIT */
/*
 * Lists that the linker makes. A member registers itself in the file that defines it, so a new
 * member needs only a new file. In the header of the list:
 *
 *	REGISTRY(vestige_tracers, const struct tracer);
 *	#define TRACER_REGISTER(self) REGISTRY_ADD(vestige_tracers, self)
 *
 * The list is a section of pointers; their order is not defined. A list without a member
 * does not link.
 */
#ifndef VESTIGE_BASE_REGISTRY_H
#define VESTIGE_BASE_REGISTRY_H

/* Declare the list @name of objects of @type. */
#define REGISTRY(name, type)                                                                       \
	extern type *const __start_##name[] __attribute__((visibility("hidden")));                 \
	extern type *const __stop_##name[] __attribute__((visibility("hidden")))

/* Register @object, a variable with static storage. */
#define REGISTRY_ADD(name, object)                                                                 \
	static __typeof__(object) *const object##_registered                                       \
		__attribute__((used, section(#name))) = &(object)

/* For each member: @at points to a pointer to it. */
#define REGISTRY_EACH(name, at) for ((at) = __start_##name; (at) < __stop_##name; (at)++)

#endif
