/* SPDX-License-Identifier: MIT */
/*
 * A file with the name of our area exists: the area of the image that exec replaced, or of another
 * engine in this process; or the area of a process of another PID namespace, where containers share
 * /dev/shm. Constructor context, or a fork's child. Tests: tests/engine/fire/leftovers.
 */
#include "engine/process/area_impl.h"

#include <errno.h>

#include "abi/agent.h"
#include "engine/arch/sys.h"
#include "engine/base/mem.h"
#include "engine/base/seq_buf.h"

#define FEW_REPLACED 8u
#define MAX_TRIES    64u

static const char second_engine[] = "another engine in this process sleeps: this one was first\n";
static const char second_process[] =
	"a process of another PID namespace with the same id and start "
	"time is not traced: give it a VESTIGE_DIR of its own\n";

/* Add a line to the vestige_status of the engine that was first: this one does nothing. */
static void note_in_first(const struct area_header *head, const char *line)
{
	const uint32_t n = (uint32_t)strlen(line);
	const struct area_table *t = &head->tables[AREA_STATUS];
	uint64_t at = (uint64_t)((const uint8_t *)&t->count - (const uint8_t *)head);
	uint32_t count = t->count + n;
	int fd = area_check_file_limit(t->offset + count);

	if (!fd)
		fd = sys_open(area_file(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (count <= t->capacity && sys_pwrite(fd, line, n, t->offset + t->count) == (long)n)
		sys_pwrite(fd, &count, sizeof(count), at);
	sys_close(fd);
}

/*
 * Keep the area of the image that exec replaced, if it has records that no reader has taken. It
 * becomes the area of a dead process: its name gets a slightly earlier start time (the first free
 * one). `vestige record` has the file open and needs no name. Instances with records are kept, too.
 * A session makes its instances anew, so there an image with instances leaves nothing. Return: 0;
 * -errno: the area must be removed.
 */
static int keep_replaced(const struct area_header *head, int fd)
{
	const uint64_t at = head->tables[AREA_BUFFERS].offset;
	char name[AREA_PATH_BYTES + 24];
	struct area_buffer top;
	struct seq_buf s;
	size_t dir = area_name_at(area_file());
	uint64_t ticks;
	uint32_t i;
	int err = -ENODATA;

	if ((head->session[0] && (head->recorder || head->nr_instances)) ||
	    sys_pread(fd, &top, sizeof(top), at) != (long)sizeof(top) ||
	    (!top.take_seq && !AREA_TABLE(head, AREA_HISTS)->count &&
	     !(head->nr_instances && area_replaced_instances_hold())))
		return -ENODATA;
	for (i = 1; i <= MAX_TRIES && err; i++) {
		/* the first few one by one; then at random, so that thousands cost little each */
		ticks = i <= FEW_REPLACED ? i
					  : head->image_id[i % 16] +
						    256u * (head->image_id[(i + 1) % 16] % 16u) + i;
		if (ticks >= head->start_time)
			break;
		seq_init(&s, name, sizeof(name) - 1);
		str_copy(name, dir + 1, area_file());
		s.len = dir;
		seq_putu(&s, (uint64_t)sys_getpid());
		seq_putc(&s, '.');
		seq_putu(&s, head->start_time - ticks);
		name[s.len] = 0;
		err = sys_rename_new(area_file(), name);
		if (err != -EEXIST)
			break;
	}
	if (!err && head->nr_instances)
		area_keep_replaced_instances(name + dir);
	return err;
}

/*
 * Remove the socket of the agent that exec ended; this process may never make a socket of that
 * name.
 */
static void drop_replaced_socket(void)
{
	char path[AREA_PATH_BYTES + sizeof(AGENT_SUFFIX)];
	size_t n = str_copy(path, AREA_PATH_BYTES, area_file());

	str_copy(path + n, sizeof(AGENT_SUFFIX), AGENT_SUFFIX);
	sys_unlink(path);
}

int area_make_room(const struct area_header *own)
{
	struct area_header head;
	int fd = sys_open(area_file(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	int is_area, is_theirs, is_ours, kept = 0;

	if (fd < 0)
		return fd;
	/* another process is about to fill it in: an image that exec replaces has done that */
	if (sys_read(fd, &head, sizeof(head)) != (long)sizeof(head) || !head.magic) {
		sys_close(fd);
		return -EEXIST;
	}
	is_area = head.magic == AREA_MAGIC;
	is_theirs = is_area && head.pid_ns != own->pid_ns;
	is_ours = is_area && !is_theirs && !memcmp(head.image_id, own->image_id, 16);
	if (is_area && !is_theirs && !is_ours) {
		drop_replaced_socket();
		kept = !keep_replaced(&head, fd);
	}
	sys_close(fd);
	if (kept)
		return 0;
	if (is_theirs || is_ours) {
		note_in_first(&head, is_ours ? second_engine : second_process);
		return -EEXIST;
	}
	if (is_area && head.nr_instances)
		area_drop_replaced_instances();
	return sys_unlink(area_file());
}
