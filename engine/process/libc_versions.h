/* SPDX-License-Identifier: MIT */
/*
 * Versions of libc's symbols for libvestige.so, included before all files (engine/meson.build); in
 * libvestige.a scripts/one-object removes them. The linker takes the newest version of a name.
 * These names moved into libc.so.6 with new versions in glibc 2.32 and 2.34, and the old versions
 * still exist. An older glibc has them in libpthread and libdl, which a program with threads has
 * loaded. scripts/check-symbols fails if a version is newer than GLIBC_2.28.
 */
#ifndef VESTIGE_PROCESS_LIBC_VERSIONS_H
#define VESTIGE_PROCESS_LIBC_VERSIONS_H

#ifndef __ASSEMBLER__

#define LIBC_VERSION(name, version) __asm__(".symver " #name ", " #name "@GLIBC_" #version)

LIBC_VERSION(dlclose, 2.2.5);
LIBC_VERSION(dlopen, 2.2.5);
LIBC_VERSION(dlsym, 2.2.5);
LIBC_VERSION(pthread_attr_getstack, 2.2.5);
LIBC_VERSION(pthread_attr_getstacksize, 2.2.5);
LIBC_VERSION(pthread_attr_setstacksize, 2.2.5);
LIBC_VERSION(pthread_getattr_default_np, 2.18);
LIBC_VERSION(pthread_getattr_np, 2.2.5);
LIBC_VERSION(pthread_key_create, 2.2.5);
LIBC_VERSION(pthread_getspecific, 2.2.5);
LIBC_VERSION(pthread_setspecific, 2.2.5);
LIBC_VERSION(pthread_sigmask, 2.2.5);
LIBC_VERSION(pthread_tryjoin_np, 2.3.3);

#endif

#endif
