/* SPDX-License-Identifier: MIT */
/*
 * See region_calls.h. In system calls that libc makes, each argument that is an address of watched
 * memory is replaced by the alias's address. So are addresses in vectors and messages, as far as
 * there is room for a copy; longer vectors are cut, as short reads and writes are allowed. The
 * program's own memory is unchanged.
 *
 * SIGSEGV: a call that blocks it does not block it in the kernel, as the engine needs it. The
 * thread's wish is stored, and calls return the old mask with it. Masks of handlers are treated the
 * same way.
 *
 * Futexes: a thread waits at the alias. A wake goes to both addresses, as another thread may have
 * waited since before the memory was watched.
 *
 * Not seen: system calls that are not libc's; addresses that the kernel keeps (robust lists, rseq,
 * io_uring, aio).
 *
 * Any context. fork: the child has the same. Tests: tests/engine/tracers/mmiotrace.
 */
#include "engine/sources/region_calls.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "arch_access.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/process/area.h"
#include "engine/process/thread_list.h"
#include "engine/sources/mask.h"
#include "engine/sources/syscall.h"

#define SEGV	      (UINT64_C(1) << (SIGSEGV - 1))
#define NPTL_SIGNALS  (UINT64_C(3) << 31) /* libc lets no program block these */
#define NR_SIGNALS    64u
#define MESSAGE_WORDS 7u /* words of struct msghdr */

/* Words that are stored for a call. */
enum {
	WORD_BUSY, /* an alias is in use */
	WORD_MASK, /* the old mask had SIGSEGV, as the program sees it */
	WORD_MESSAGE,
	WORD_DATA, /* from here on: the copy that the kernel gets instead of the program's data */
};
#define DATA_WORDS (SYSCALLS_WORDS - WORD_DATA)

uint32_t region_calls_busy;

static uint64_t handler_masks; /* a bit for each signal: the mask of its handler has SIGSEGV */

/* Words of the kernel's struct sigaction. */
enum { ACTION_HANDLER, ACTION_FLAGS, ACTION_RESTORER, ACTION_MASK, ACTION_WORDS };

static uint64_t reachable(uint64_t at)
{
	const uint64_t alias = region_alias(at);

	return alias ? alias : at;
}

static int take_words(uint64_t at, uint64_t *to, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (arch_access_get_word(&to[i], (const void *)reachable(at + 8 * i)))
			return -EFAULT;
	return 0;
}

static void change_arg(uint64_t *arg, uint64_t *words)
{
	const uint64_t alias = region_alias(*arg);

	if (!alias)
		return;
	*arg = alias;
	words[WORD_BUSY] = 1;
}

/*
 * Copy a vector with aliases. @at: the program's address of it, *@nr: its length; both are
 * replaced. @room: words at @to.
 */
static void change_vector(uint64_t *at, uint64_t *nr, uint64_t *to, uint32_t room, uint64_t *words)
{
	const uint32_t n = *nr < room / 2 ? (uint32_t)*nr : room / 2;
	uint32_t i;

	if (!n || take_words(*at, to, 2 * n))
		return;
	for (i = 0; i < n; i++)
		if (region_alias(to[2 * i]))
			break;
	if (i == n)
		return;
	for (i = 0; i < n; i++)
		change_arg(&to[2 * i], words);
	*at = (uint64_t)to;
	*nr = n;
}

/* Words of struct msghdr: name, its length, vector, its length, control, its length, flags. */
static void change_message(uint64_t *arg, uint64_t *words)
{
	uint64_t *m = words + WORD_DATA, before[MESSAGE_WORDS];

	if (take_words(*arg, m, MESSAGE_WORDS))
		return;
	memcpy(before, m, sizeof(before));
	change_arg(&m[0], words);
	change_arg(&m[4], words);
	change_vector(&m[2], &m[3], m + MESSAGE_WORDS, DATA_WORDS - MESSAGE_WORDS, words);
	if (!memcmp(before, m, sizeof(before)))
		return;
	words[WORD_MESSAGE] = 1;
	*arg = (uint64_t)m;
}

/* Replace a mask by a copy without SIGSEGV. */
static void change_mask(uint64_t *arg, uint64_t *copy)
{
	if (!*arg || take_words(*arg, copy, 1) || !(*copy & SEGV))
		return;
	*copy &= ~SEGV;
	*arg = (uint64_t)copy;
}

static void change_procmask(uint64_t *args, uint64_t *words)
{
	uint64_t *copy = words + WORD_DATA, mask = 0;
	const uint64_t how = args[0];

	words[WORD_MASK] = (uint64_t)mask_wishes_segv();
	if (!args[1] || take_words(args[1], &mask, 1))
		return;
	change_mask(&args[1], copy);
	if (how == SIG_SETMASK)
		mask_wish_segv(!!(mask & SEGV));
	else if (mask & SEGV)
		mask_wish_segv(how == SIG_BLOCK);
	/* unblocking SIGSEGV does no harm */
}

static void change_action(uint64_t *args, uint64_t *words)
{
	uint64_t *a = words + WORD_DATA, bit = args[0] ? UINT64_C(1) << ((args[0] - 1) & 63) : 0;

	words[WORD_MASK] = !!(handler_masks & bit);
	if (!args[1] || args[0] > NR_SIGNALS || take_words(args[1], a, ACTION_WORDS))
		return;
	if (a[ACTION_MASK] & SEGV)
		__atomic_fetch_or(&handler_masks, bit, __ATOMIC_RELAXED);
	else
		__atomic_fetch_and(&handler_masks, ~bit, __ATOMIC_RELAXED);
	a[ACTION_MASK] &= ~SEGV;
	args[1] = (uint64_t)a;
}

static void change_futex(uint64_t *args, uint64_t *words)
{
	const uint64_t at = args[0];
	const int op = (int)args[1] & FUTEX_CMD_MASK;

	if (region_alias(at)) {
		if (op == FUTEX_WAKE || op == FUTEX_WAKE_BITSET || op == FUTEX_REQUEUE ||
		    op == FUTEX_CMP_REQUEUE || op == FUTEX_WAKE_OP)
			arch_raw_syscall(SYS_futex, (long)at, FUTEX_WAKE_PRIVATE, INT32_MAX, 0, 0,
					 0);
		else
			region_waits(at);
	}
	change_arg(&args[0], words);
	/* here the fourth argument is an address; for other operations it is a number */
	if (op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET || op == FUTEX_LOCK_PI)
		change_arg(&args[3], words);
	change_arg(&args[4], words);
}

static void change(uint64_t nr, uint64_t *args, uint64_t *words)
{
	uint64_t pair[2];
	uint32_t i;

	switch (nr) {
	case SYS_munmap:
	case SYS_mprotect:
	case SYS_pkey_mprotect:
	case SYS_remap_file_pages:
		region_change(args[0], args[0] + args[1]);
		return;
	case SYS_mremap:
		region_change(args[0], args[0] + (args[1] ? args[1] : 1));
		if (args[3] & MREMAP_FIXED)
			region_change(args[4], args[4] + args[2]);
		return;
	case SYS_mmap:
		if (args[3] & MAP_FIXED)
			region_change(args[0], args[0] + args[1]);
		return;
	case SYS_shmdt:
		region_change(args[0], args[0] + 1);
		return;
	case SYS_madvise:
	case SYS_msync:
	case SYS_mincore:
	case SYS_mlock:
	case SYS_mlock2:
	case SYS_munlock:
	case SYS_brk:
	case SYS_shmat:
	case SYS_mbind:
	case SYS_rt_sigreturn:
	case SYS_sigaltstack:
	case SYS_clone:
	case SYS_clone3:
	case SYS_vfork:
	case SYS_set_tid_address:
	case SYS_set_robust_list:
	case SYS_rseq:
	case SYS_exit:
	case SYS_exit_group:
		return;
	case SYS_futex:
		change_futex(args, words);
		return;
	case SYS_rt_sigprocmask:
		change_procmask(args, words);
		break;
	case SYS_rt_sigaction:
		change_action(args, words);
		break;
	case SYS_rt_sigsuspend:
		change_mask(&args[0], words + WORD_DATA);
		break;
	case SYS_ppoll:
		change_mask(&args[3], words + WORD_DATA);
		break;
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
		change_mask(&args[4], words + WORD_DATA);
		break;
	case SYS_pselect6:
		if (!args[5] || take_words(args[5], pair, 2))
			break;
		words[WORD_DATA] = pair[0];
		words[WORD_DATA + 1] = pair[1];
		change_mask(&words[WORD_DATA], words + WORD_DATA + 2);
		args[5] = (uint64_t)(words + WORD_DATA);
		break;
	case SYS_readv:
	case SYS_writev:
	case SYS_preadv:
	case SYS_pwritev:
	case SYS_preadv2:
	case SYS_pwritev2:
	case SYS_vmsplice:
		change_vector(&args[1], &args[2], words + WORD_DATA, DATA_WORDS, words);
		break;
	case SYS_sendmsg:
	case SYS_recvmsg:
		change_message(&args[1], words);
		break;
	default:
		break;
	}
	for (i = 0; i < 6; i++)
		change_arg(&args[i], words);
}

/* The call counts as busy before it looks for an alias. */
static void before(uint64_t nr, uint64_t *args, uint64_t *words)
{
	words[WORD_BUSY] = words[WORD_MASK] = words[WORD_MESSAGE] = 0;
	__atomic_fetch_add(&region_calls_busy, 1, __ATOMIC_SEQ_CST);
	change(nr, args, words);
	if (!words[WORD_BUSY])
		__atomic_fetch_sub(&region_calls_busy, 1, __ATOMIC_SEQ_CST);
}

static void after(uint64_t nr, uint64_t ret, const uint64_t *args, uint64_t *words)
{
	uint64_t *m;

	if (words[WORD_BUSY])
		__atomic_fetch_sub(&region_calls_busy, 1, __ATOMIC_SEQ_CST);
	if (sys_failed((long)ret))
		return;
	if (nr == SYS_rt_sigprocmask && args[2] && words[WORD_MASK])
		*(uint64_t *)args[2] |= SEGV;
	if (nr == SYS_rt_sigaction && args[2] && words[WORD_MASK])
		((uint64_t *)args[2])[ACTION_MASK] |= SEGV;
	if (nr == SYS_recvmsg && words[WORD_MESSAGE]) {
		m = (uint64_t *)args[1];
		*(uint32_t *)&m[1] = (uint32_t)words[WORD_DATA + 1];
		m[5] = words[WORD_DATA + 5];
		*(uint32_t *)&m[6] = (uint32_t)words[WORD_DATA + 6];
	}
}

static const struct syscalls_changer changer = {.before = before, .after = after};

static void note_enter(uint64_t nr, const uint64_t *args)
{
	(void)nr;
	(void)args;
}

static void note_exit(uint64_t nr, uint64_t ret)
{
	(void)nr;
	(void)ret;
}

static struct syscall_listener listener = {.enter.call = note_enter, .exit.call = note_exit};

/*
 * Whether a thread of the program has SIGSEGV blocked. The engine's own threads block all signals
 * and do not count.
 */
static int is_blocked(int tid, void *arg)
{
	static const char label[] = "\nSigBlk:\t";
	char text[2048];
	long n = thread_list_read(tid, "status", text, sizeof(text));
	uint64_t mask = 0;
	long i, k;

	(void)arg;
	for (i = 0; i + (long)sizeof(label) + 16 <= n; i++)
		if (!memcmp(text + i, label, sizeof(label) - 1))
			break;
	if (n <= 0 || i + (long)sizeof(label) + 16 > n)
		return 0;
	for (k = i + (long)sizeof(label) - 1; k < n && text[k] != '\n'; k++)
		mask = mask << 4 | hex_digit(text[k]);
	return mask & SEGV && !(mask & NPTL_SIGNALS);
}

/* Change the masks of the installed handlers. @on: to masks without SIGSEGV. */
static void switch_handlers(int on)
{
	struct sys_action a;
	uint32_t sig;

	for (sig = 1; sig <= NR_SIGNALS; sig++) {
		const uint64_t bit = UINT64_C(1) << (sig - 1);

		if (sig == SIGKILL || sig == SIGSTOP || sys_get_action((int)sig, &a))
			continue;
		if (on ? !(a.mask & SEGV) : !(handler_masks & bit))
			continue;
		handler_masks = on ? handler_masks | bit : handler_masks & ~bit;
		a.mask = on ? a.mask & ~SEGV : a.mask | SEGV;
		sys_set_action((int)sig, &a);
	}
}

int region_calls_start(void)
{
	int err = syscall_listen(&listener, SYSCALLS_MAX, 1);

	if (err)
		return err;
	store_release(&syscalls_changer, &changer);
	if (thread_list_each(is_blocked, NULL) > 0) {
		area_status("mmiotrace: a thread has SIGSEGV blocked", NULL, 0);
		region_calls_stop();
		return -EBUSY;
	}
	switch_handlers(1);
	return 0;
}

void region_calls_stop(void)
{
	store_release(&syscalls_changer, NULL);
	switch_handlers(0);
	syscall_listen(&listener, SYSCALLS_MAX, 0);
}
