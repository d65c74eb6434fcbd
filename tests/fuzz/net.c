/* SPDX-License-Identifier: MIT */
/*
 * The two ends of a recording that is sent to another host. The first byte says which end; the rest
 * is all that its peer sends, at once. A listener writes into a folder that is removed.
 */
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/net/listen.h"
#include "tools/net/msg.h"
#include "tools/net/net_io.h"
#include "tools/net/tsync.h"

#define MAX_SAID 60000u /* bytes that a socket takes without a reader */

static unsigned int nr_lines, nr_named;

static void take_report(void *arg, const char *file, const char *line)
{
	(void)arg;
	PROMISE(line && !strchr(line, '\n'));
	PROMISE(!file || (!strchr(file, '/') && file[0] != '.'));
	nr_lines++;
	nr_named += file != NULL;
}

/* Return: how many files there were. */
static unsigned int empty_folder(int dir)
{
	DIR *d = fdopendir(dup(dir));
	struct dirent *e;
	unsigned int n = 0;

	PROMISE(d);
	while ((e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) {
			PROMISE(!unlinkat(dir, e->d_name, 0));
			n++;
		}
	closedir(d);
	return n;
}

static void as_listener(int fd)
{
	char path[] = "/tmp/vestige-fuzz-XXXXXX";
	_Atomic uint64_t total = 0;
	struct listen_client c = {.fd = fd,
				  .name = "peer:1",
				  .prefix = "trace",
				  .max_bytes = 1 << 20,
				  .max_total = 1 << 20,
				  .total = &total,
				  .report = take_report};

	PROMISE(mkdtemp(path));
	c.dir = open(path, O_RDONLY | O_DIRECTORY);
	PROMISE(c.dir >= 0);
	nr_lines = nr_named = 0;
	listen_client_serve(&c);
	PROMISE(nr_lines == 1);
	PROMISE(empty_folder(c.dir) == nr_named);
	close(c.dir);
	PROMISE(!rmdir(path));
}

static void as_sender(int fd)
{
	uint8_t bytes[MSG_MAX_BYTES];
	uint16_t ports[16];
	struct tsync s;
	struct msg m;

	if (!tsync_answer(fd, &s))
		PROMISE(!s.error_ns);
	while (!net_read_msg(fd, bytes, &m, net_deadline()))
		for (uint32_t n = 1; n <= 16; n++)
			if (!msg_rinit(&m, n, ports))
				PROMISE(ports[n - 1]);
	close(fd);
}

/* Read and drop the data for the peer, so that it does not fill the socket. */
static void *listen_to(void *fd)
{
	char bytes[4096];

	while (recv(*(int *)fd, bytes, sizeof(bytes), 0) > 0)
		;
	return NULL;
}

static void run(const uint8_t *data, size_t n)
{
	pthread_t peer;
	int fds[2];

	if (!n)
		return;
	PROMISE(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds));
	n = n < MAX_SAID ? n : MAX_SAID;
	PROMISE(send(fds[1], data + 1, n - 1, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)n - 1);
	shutdown(fds[1], SHUT_WR);
	PROMISE(!pthread_create(&peer, NULL, listen_to, &fds[1]));
	if (data[0] & 1)
		as_sender(fds[0]);
	else
		as_listener(fds[0]);
	pthread_join(peer, NULL);
	close(fds[1]);
}

/* Mostly a number of a message, which is big-endian, or of a file, which is not. */
static void mutate(struct mangle *m)
{
	size_t at;

	if (m->n < 8 || !mangle_random(m, 4)) {
		mangle_any(m);
		return;
	}
	at = 1 + mangle_random(m, m->n - 1);
	if (mangle_random(m, 2)) {
		mangle_field(m, at, 1u << mangle_random(m, 4));
		return;
	}
	for (unsigned int i = 0; i < 4 && at + i < m->n; i++)
		m->p[at + i] = i == 3 ? (uint8_t)mangle_random(m, 256)
				      : (uint8_t)(mangle_random(m, 8) ? 0 : 255);
}

const struct fuzz_target fuzz_net = {"net", run, mutate};
