/* SPDX-License-Identifier: MIT */
/*
 * Threads that existed before a late engine. To see their ends like other threads' ends, by the
 * destructor of a pthread key, each needs a value of that key; libc has a function only for the
 * calling thread. The words that this function changes in a thread's memory are found by
 * comparison, in the thread that loads the engine, and must be the expected ones: the two words of
 * a key's slot, and a flag. The same is then written for the other threads. Their memory is found
 * by the list of robust mutexes, which libc registers with the kernel for each thread
 * (get_robust_list(2)).
 *
 * dlopen() gives the engine's thread-local variables their values in each thread of libc's list. A
 * thread is prepared before it is in that list: one that is between the two then has zeros, and
 * would follow a NULL pointer. It gets the values later: by itself where it makes a thread or ends,
 * and from the agent before a client's request.
 *
 * All reads and writes of another thread's memory are system calls, which fail if the thread has
 * ended meanwhile and its memory is gone. A thread that was just made has no list until its first
 * instructions have run: they are waited for. Tests: tests/cli/test_attach.py.
 */
#include "engine/core/thread_unseen.h"

#include <errno.h>
#include <link.h>
#include <sys/uio.h>

#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/process/thread_list.h"
#include "engine/ring/ring.h"
#include "engine/ring/ring_ctl.h"

#define WORDS	      256u		   /* words of struct pthread that are searched */
#define MAX_HEAD      4096		   /* greatest offset of the robust list's head in it */
#define START_NS      UINT64_C(2000000000) /* longest wait for all threads' first instructions */
#define PAUSE_NS      200000
#define LOOK_PAUSE_NS 2000000
#define LOOK_NS	      UINT64_C(10000000000) /* a thread's maker is not without a CPU for longer */
/* mostly not longer than this; each thread that was without the variables begins it anew */
#define SETTLE_NS UINT64_C(50000000)

/* The engine's thread-local variables. */
static struct tls {
	const void *image; /* their first values */
	size_t bytes;	   /* of those that are not zero; 0: not known */
	uint64_t offset;   /* from struct pthread */
	long head;	   /* offset of the robust list's head in it */
	uint32_t tid;	   /* offset of the thread's id in it */
	uint64_t until;	   /* of the looks for threads without them */
	uint64_t settled;  /* all threads that were being made are there then */
	uint8_t zeros[1024];
} tls;

struct unseen {
	uint32_t slot, flag; /* offsets in struct pthread */
	uint64_t until;	     /* of the wait for threads that are new */
	uint64_t words[2];   /* the slot's words */
};

static long head_of(int tid)
{
	long head = 0, bytes = 0;

	return arch_syscall(SYS_get_robust_list, tid, (long)&head, (long)&bytes, 0, 0, 0) ? 0
											  : head;
}

/* Whether a thread is to run and has used less than a tick of CPU time. */
static int is_starting(int tid)
{
	char text[512], state;

	if (thread_list_read(tid, "stat", text, sizeof(text)) <= 0)
		return 0;
	state = *thread_list_stat(text, STAT_STATE);
	return (state == 'R' || state == 'D') &&
	       str_starts(thread_list_stat(text, STAT_UTIME), "0 0 ");
}

/* The same for a thread that may have been made just now; waits for it until @until at most. */
static long head_of_new(int tid, uint64_t until)
{
	long head;

	while (!(head = head_of(tid)) && is_starting(tid) && sys_now_ns() < until)
		sys_sleep_ns(PAUSE_NS);
	return head;
}

static int copy(long nr, uint64_t at, void *data, size_t bytes)
{
	struct iovec mine = {data, bytes}, its = {(void *)at, bytes};

	return arch_syscall(nr, sys_getpid(), (long)&mine, 1, (long)&its, 1, 0) == (long)bytes;
}

/* The byte of a word that has changed from 0 to 1, if no other differs; 8: there is none. */
static uint32_t flag_byte(uint64_t before, uint64_t after)
{
	uint32_t i;

	for (i = 0; i < 8; i++)
		if (before + (UINT64_C(1) << 8 * i) == after && !(before >> 8 * i & 0xff))
			return i;
	return 8;
}

static int compare(struct unseen *u, const uint64_t *before, const uint64_t *after,
		   const void *value)
{
	uint32_t i, nr = 0, flags = 0;

	for (i = 0; i < WORDS; i++) {
		if (before[i] == after[i])
			continue;
		nr++;
		if (i + 1 < WORDS && !before[i] && !before[i + 1] &&
		    after[i + 1] == (uint64_t)value) {
			u->slot = 8 * i++;
			u->words[0] = after[i - 1];
			u->words[1] = after[i];
			nr++;
		} else if (flag_byte(before[i], after[i]) < 8) {
			u->flag = 8 * i + flag_byte(before[i], after[i]);
			flags++;
		}
	}
	return nr == 3 && flags == 1 && u->slot;
}

/* The offset of ring_ctl in the first values, which has the same pointer in each element. */
static size_t offset_of_ctl(const uint64_t *image, size_t words)
{
	size_t i, run = 0;

	for (i = 0; i < words && run < RING_MAX; i++)
		run = image[i] == (uint64_t)&ring_null_ctl ? run + 1 : 0;
	return run == RING_MAX ? (i - run) * 8 : SIZE_MAX;
}

/* dlpi_tls_data is NULL: this thread has not asked libc for the address of a variable. */
static int find_tls(struct dl_phdr_info *info, size_t bytes, void *data)
{
	const uint64_t here = (uint64_t)find_tls - info->dlpi_addr;
	const ElfW(Phdr) *own = NULL, *image = NULL, *p = info->dlpi_phdr;
	size_t at;

	(void)bytes;
	(void)data;
	for (; p < info->dlpi_phdr + info->dlpi_phnum; p++) {
		if (p->p_type == PT_LOAD && here - p->p_vaddr < p->p_memsz)
			own = p;
		if (p->p_type == PT_TLS)
			image = p;
	}
	if (!own)
		return 0;
	if (!image || image->p_filesz > sizeof(tls.zeros))
		return 1;
	tls.image = (void *)(info->dlpi_addr + image->p_vaddr);
	at = offset_of_ctl(tls.image, image->p_filesz / 8);
	if (at != SIZE_MAX) {
		tls.offset = (uint64_t)ring_ctl - at - (uint64_t)pthread_self();
		tls.bytes = image->p_filesz;
	}
	return 1;
}

/*
 * The struct pthread of another thread whose list of robust mutexes is at @head. 0: the calling
 * thread's, or the program has registered another list, or the thread has ended.
 */
static uint64_t self_of(int tid, long head)
{
	uint64_t self = (uint64_t)(head - tls.head);
	int own = 0;

	if (!head || tid == sys_gettid() ||
	    !copy(SYS_process_vm_readv, self + tls.tid, &own, sizeof(own)))
		return 0;
	return own == tid ? self : 0;
}

/* Give a thread the engine's variables, if it has none. @self: its struct pthread. */
static void give_tls(uint64_t self)
{
	uint8_t now[sizeof(tls.zeros)];

	if (tls.bytes && copy(SYS_process_vm_readv, self + tls.offset, now, tls.bytes) &&
	    !memcmp(now, tls.zeros, tls.bytes) &&
	    copy(SYS_process_vm_writev, self + tls.offset, (void *)(uintptr_t)tls.image, tls.bytes))
		tls.settled = sys_now_ns() + SETTLE_NS;
}

void threads_unseen_own(void)
{
	if (tls.bytes)
		memcpy((uint8_t *)pthread_self() + tls.offset, tls.image, tls.bytes);
}

static int give_one(int tid, void *data)
{
	uint64_t self = self_of(tid, head_of(tid));

	(void)data;
	if (self)
		give_tls(self);
	return 0;
}

void threads_unseen_look(void)
{
	while (tls.bytes && sys_now_ns() < tls.until) {
		thread_list_each(give_one, NULL);
		if (sys_now_ns() >= tls.settled)
			return;
		sys_sleep_ns(LOOK_PAUSE_NS);
	}
}

static int mark(int tid, void *data)
{
	struct unseen *u = data;
	uint64_t self = self_of(tid, head_of_new(tid, u->until));
	uint8_t yes = 1;

	if (!self)
		return 0;
	give_tls(self);
	if (copy(SYS_process_vm_writev, self + u->slot, u->words, sizeof(u->words)))
		copy(SYS_process_vm_writev, self + u->flag, &yes, 1);
	return 0;
}

struct stacks {
	/*
	 * offset in struct pthread of three words: the block's address, its size, the guard's size
	 */
	uint32_t at;
	long head;
	uint64_t until;
	void (*known)(uint64_t lo, uint64_t bytes);
};

/* Find the three words that have the bounds which libc reports for the calling thread. */
static int find_stack_words(struct stacks *s)
{
	const uint64_t *self = (const uint64_t *)pthread_self();
	pthread_attr_t attr;
	size_t bytes = 0;
	void *lo = NULL;
	uint32_t i, nr = 0;

	if (pthread_getattr_np(pthread_self(), &attr))
		return 0;
	pthread_attr_getstack(&attr, &lo, &bytes);
	pthread_attr_destroy(&attr);
	for (i = 0; i + 2 < WORDS && bytes; i++) {
		if (self[i] + self[i + 1] != (uint64_t)lo + bytes ||
		    self[i + 1] - self[i + 2] != bytes)
			continue;
		s->at = 8 * i;
		nr++;
	}
	return nr == 1;
}

static int report_stack(int tid, void *data)
{
	const struct stacks *s = data;
	long head = head_of_new(tid, s->until);
	uint64_t at = (uint64_t)(head - s->head), words[3];

	/* the main thread's stack is not libc's, and its words are 0 */
	if (head && tid != sys_gettid() &&
	    copy(SYS_process_vm_readv, at + s->at, words, sizeof(words)) &&
	    words[0] + words[1] > at && words[0] + words[2] < at && words[2] < words[1])
		s->known(words[0] + words[2], at - words[0] - words[2]);
	return 0;
}

int threads_unseen_stacks(void (*known)(uint64_t lo, uint64_t bytes))
{
	struct stacks s = {.head = head_of(0) - (long)pthread_self(), .known = known};

	if (s.head < 0 || s.head > MAX_HEAD || !find_stack_words(&s))
		return -ENOTSUP;
	s.until = sys_now_ns() + START_NS;
	return thread_list_each(report_stack, &s);
}

int threads_unseen_mark(pthread_key_t key, const void *value, uint32_t tid_offset)
{
	const uint64_t *self = (const uint64_t *)pthread_self();
	uint64_t before[WORDS], after[WORDS];
	struct unseen u = {0};

	tls.head = head_of(0) - (long)self;
	tls.tid = tid_offset;
	memcpy(before, self, sizeof(before));
	pthread_setspecific(key, value);
	memcpy(after, self, sizeof(after));
	if (!tid_offset || tls.head < 0 || tls.head > MAX_HEAD ||
	    !compare(&u, before, after, value))
		return -ENOTSUP;
	tls.until = sys_now_ns() + LOOK_NS;
	tls.settled = sys_now_ns() + SETTLE_NS;
	dl_iterate_phdr(find_tls, NULL);
	u.until = sys_now_ns() + START_NS;
	return thread_list_each(mark, &u);
}
