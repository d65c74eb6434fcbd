/* SPDX-License-Identifier: MIT */
/* See libcall.h. Tests: tests/cli/test_libcall.py. */
#include "tools/record/libcall.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/code/elf_code.h"

#define NAME_MAX_BYTES 63u /* of an event */

/*
 * Arguments by their order, of those in registers. Types: s a string, of which 64 bytes at most are
 * read; d int, l long, u unsigned long, x and p hexadecimal (32 and 64 bits), - is left out.
 * The result has the same types, and behind it what a call that fails returns, with errno: ! is -1,
 * 0 is NULL. A function without a result is not followed to its return: it has none, does not
 * return, or looks up its caller (dlopen(), dlsym()).
 */
static const struct {
	const char *name, *args, *result;
} formats[] = {
	{"abort", "", ""},
	{"accept", "fd=d", "d!"},
	{"access", "path=s,mode=x", "d!"},
	{"atoi", "text=s", "d"},
	{"bind", "fd=d", "d!"},
	{"calloc", "nr=u,bytes=u", "p0"},
	{"chdir", "path=s", "d!"},
	{"chmod", "path=s,mode=x", "d!"},
	{"close", "fd=d", "d!"},
	{"closedir", "dir=p", "d!"},
	{"connect", "fd=d", "d!"},
	{"creat", "path=s,mode=x", "d!"},
	{"dlopen", "path=s,flags=x", ""},
	{"dlsym", "handle=p,name=s", ""},
	{"dup", "fd=d", "d!"},
	{"dup2", "fd=d,to=d", "d!"},
	{"execv", "path=s", "d!"},
	{"execve", "path=s", "d!"},
	{"execvp", "path=s", "d!"},
	{"exit", "status=d", ""},
	{"fclose", "file=p", "d!"},
	{"fdopen", "fd=d,mode=s", "p0"},
	{"fflush", "file=p", "d!"},
	{"fopen", "path=s,mode=s", "p0"},
	{"fopen64", "path=s,mode=s", "p0"},
	{"fprintf", "file=p,format=s", "d"},
	{"fputs", "text=s,file=p", "d!"},
	{"fread", "to=p,bytes=u,nr=u,file=p", "u"},
	{"free", "at=p", ""},
	{"fseek", "file=p,offset=l,whence=d", "d!"},
	{"fstat", "fd=d", "d!"},
	{"fsync", "fd=d", "d!"},
	{"ftruncate", "fd=d,bytes=l", "d!"},
	{"ftruncate64", "fd=d,bytes=l", "d!"},
	{"fwrite", "from=p,bytes=u,nr=u,file=p", "u"},
	{"getenv", "name=s", "s"},
	{"getopt_long", "argc=d,-,options=s", "d"},
	{"kill", "pid=d,signal=d", "d!"},
	{"listen", "fd=d,backlog=d", "d!"},
	{"lseek", "fd=d,offset=l,whence=d", "l!"},
	{"lseek64", "fd=d,offset=l,whence=d", "l!"},
	{"lstat", "path=s", "d!"},
	{"lstat64", "path=s", "d!"},
	{"malloc", "bytes=u", "p0"},
	{"memchr", "at=p,byte=x,bytes=u", "p"},
	{"memcmp", "a=p,b=p,bytes=u", "d"},
	{"memcpy", "to=p,from=p,bytes=u", "p"},
	{"memmove", "to=p,from=p,bytes=u", "p"},
	{"memset", "at=p,byte=x,bytes=u", "p"},
	{"mkdir", "path=s,mode=x", "d!"},
	{"mmap", "at=p,bytes=u,prot=x,flags=x,fd=d,offset=l", "p!"},
	{"mmap64", "at=p,bytes=u,prot=x,flags=x,fd=d,offset=l", "p!"},
	{"munmap", "at=p,bytes=u", "d!"},
	{"open", "path=s,flags=x,mode=x", "d!"},
	{"open64", "path=s,flags=x,mode=x", "d!"},
	{"openat", "dirfd=d,path=s,flags=x,mode=x", "d!"},
	{"openat64", "dirfd=d,path=s,flags=x,mode=x", "d!"},
	{"opendir", "path=s", "p0"},
	{"poll", "fds=p,nr=u,timeout=d", "d!"},
	{"popen", "command=s,mode=s", "p0"},
	{"pread", "fd=d,to=p,bytes=u,offset=l", "l!"},
	{"pread64", "fd=d,to=p,bytes=u,offset=l", "l!"},
	{"printf", "format=s", "d"},
	{"pthread_create", "thread=p,attr=p,start=p,arg=p", "d"},
	{"pthread_join", "thread=p", "d"},
	{"pthread_mutex_lock", "mutex=p", "d"},
	{"pthread_mutex_unlock", "mutex=p", "d"},
	{"putenv", "text=s", "d!"},
	{"puts", "text=s", "d"},
	{"pwrite", "fd=d,from=p,bytes=u,offset=l", "l!"},
	{"pwrite64", "fd=d,from=p,bytes=u,offset=l", "l!"},
	{"qsort", "at=p,nr=u,bytes=u,compare=p", ""},
	{"read", "fd=d,to=p,bytes=u", "l!"},
	{"readlink", "path=s,to=p,bytes=u", "l!"},
	{"realloc", "at=p,bytes=u", "p0"},
	{"recv", "fd=d,to=p,bytes=u,flags=x", "l!"},
	{"remove", "path=s", "d!"},
	{"rename", "from=s,to=s", "d!"},
	{"rmdir", "path=s", "d!"},
	{"send", "fd=d,from=p,bytes=u,flags=x", "l!"},
	{"setenv", "name=s,value=s,replace=d", "d!"},
	{"setlocale", "category=d,locale=s", "s"},
	{"sleep", "seconds=u", "u"},
	{"snprintf", "to=p,bytes=u,format=s", "d"},
	{"socket", "domain=d,type=x,protocol=d", "d!"},
	{"sprintf", "to=p,format=s", "d"},
	{"sscanf", "text=s,format=s", "d"},
	{"stat", "path=s", "d!"},
	{"stat64", "path=s", "d!"},
	{"strcasecmp", "a=s,b=s", "d"},
	{"strcat", "to=s,from=s", "p"},
	{"strchr", "text=s,byte=x", "p"},
	{"strcmp", "a=s,b=s", "d"},
	{"strcpy", "to=p,from=s", "p"},
	{"strdup", "text=s", "p0"},
	{"strlen", "text=s", "u"},
	{"strncmp", "a=s,b=s,bytes=u", "d"},
	{"strncpy", "to=p,from=s,bytes=u", "p"},
	{"strrchr", "text=s,byte=x", "p"},
	{"strstr", "text=s,part=s", "p"},
	{"strtol", "text=s,end=p,base=d", "l"},
	{"strtoul", "text=s,end=p,base=d", "u"},
	{"symlink", "target=s,path=s", "d!"},
	{"system", "command=s", "d!"},
	{"unlink", "path=s", "d!"},
	{"unsetenv", "name=s", "d!"},
	{"usleep", "us=u", "d!"},
	{"waitpid", "pid=d,status=p,options=x", "d!"},
	{"write", "fd=d,from=p,bytes=u", "l!"},
};

static const char *args_of(const char *name, const char **result)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		if (!strcmp(formats[i].name, name)) {
			*result = formats[i].result;
			return formats[i].args;
		}
	}
	*result = "";
	return "";
}

/* One value, as dynamic_events has it. @name: @n bytes with the `=`. @type: as above. */
static void put_value(FILE *f, const char *name, size_t n, char type, const char *from)
{
	static const char types[] = "dluxp";
	static const char *const words[] = {"s32", "s64", "u64", "x32", "x64"};
	const char *at = strchr(types, type);

	if (type == 's')
		fprintf(f, " %.*s+0(%s):string64", (int)n, name, from);
	else if (at && *at)
		fprintf(f, " %.*s%s:%s", (int)n, name, from, words[at - types]);
}

static void put_args(FILE *f, const char *args)
{
	static const char *const regs[] = {"%di", "%si", "%dx", "%cx", "%r8", "%r9"};

	for (size_t i = 0; *args && i < sizeof(regs) / sizeof(*regs); i++) {
		size_t n = strcspn(args, ",");

		put_value(f, args, n - 1, args[n - 1], regs[i]);
		args += n + (args[n] == ',');
	}
}

static void put_result(FILE *f, const char *result)
{
	put_value(f, "ret=", 4, result[0] == 's' ? 'p' : result[0], "$retval");
	if (result[0] == 's')
		put_value(f, "text=", 5, 's', "$retval");
	if (result[1])
		put_value(f, "errno=", 6, 'd', result[1] == '!' ? "$errno" : "$errno_null");
}

/* The offset in the file of an address; 0: it is not there. */
static uint64_t offset_of(Elf *e, uint64_t addr)
{
	size_t nr = 0;
	GElf_Phdr ph;

	elf_getphdrnum(e, &nr);
	for (size_t i = 0; i < nr; i++)
		if (gelf_getphdr(e, (int)i, &ph) && ph.p_type == PT_LOAD &&
		    addr - ph.p_vaddr < ph.p_filesz)
			return ph.p_offset + (addr - ph.p_vaddr);
	return 0;
}

/* A command that defines an event, and the one that undoes it; both are taken over. */
static int add_event(struct libcalls *l, char *command, const char *name, const char *suffix)
{
	size_t nr = l->nr;
	char *undo = NULL;

	if (!command || asprintf(&undo, "-:" LIBCALL_SYSTEM "/%s%s", name, suffix) < 0 ||
	    ARRAY_ROOM(l->commands, nr, l->room, 64) || ARRAY_ROOM(l->undo, nr, l->room_undo, 64)) {
		free(command);
		free(undo);
		return fail(ENOMEM, "no memory");
	}
	l->commands[nr] = command;
	l->undo[nr] = undo;
	l->nr++;
	return 0;
}

/* Where the stub is, as both events name it, and what they fetch there. */
struct stub {
	const char *path;
	uint64_t offset;
	char name[NAME_MAX_BYTES + 1];
};

static int add_entry(struct libcalls *l, const struct stub *s, const char *args)
{
	char *command = NULL;
	size_t bytes;
	FILE *f = open_memstream(&command, &bytes);

	if (!f)
		return fail(ENOMEM, "no memory");
	fprintf(f, "p:" LIBCALL_SYSTEM "/%s %s:0x%" PRIx64, s->name, s->path, s->offset);
	put_args(f, args);
	if (fclose(f)) {
		free(command);
		command = NULL;
	}
	return add_event(l, command, s->name, "");
}

static int add_return(struct libcalls *l, const struct stub *s, const char *result)
{
	char *command = NULL;
	size_t bytes;
	FILE *f = open_memstream(&command, &bytes);

	if (!f)
		return fail(ENOMEM, "no memory");
	fprintf(f, "r:" LIBCALL_SYSTEM "/%s" LIBCALL_RETURN " %s:0x%" PRIx64, s->name, s->path,
		s->offset);
	put_result(f, result);
	if (fclose(f)) {
		free(command);
		command = NULL;
	}
	return add_event(l, command, s->name, LIBCALL_RETURN);
}

static int add_one(struct libcalls *l, const char *path, uint64_t offset, const char *symbol)
{
	struct stub s = {.path = path, .offset = offset};
	size_t n = strcspn(symbol, "@");
	const char *args, *result;
	int err;

	/* what C++ and others have in names is not in an event's */
	if (!n || n > NAME_MAX_BYTES || isdigit((unsigned char)symbol[0]))
		return 0;
	for (size_t i = 0; i < n; i++)
		s.name[i] = isalnum((unsigned char)symbol[i]) ? symbol[i] : '_';
	s.name[n] = '\0';
	args = args_of(s.name, &result);
	err = add_entry(l, &s, args);
	return err || !*result ? err : add_return(l, &s, result);
}

int libcall_add(struct libcalls *l, const char *path)
{
	static const unsigned char endbr[4] = {0xf3, 0x0f, 0x1e, 0xfa};
	struct elf_code code = {0};
	unsigned char begin[4];
	int fd, err;
	Elf *e;

	if (strpbrk(path, " \t\n,;:\"#"))
		return fail(
			EINVAL,
			"--libcall: %s: a path with a blank, a comma, a colon, a semicolon, # or "
			"quotes: give the program another name by a link",
			path);
	err = elf_code_load(path, &code);
	if (err)
		return err;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	e = fd < 0 || elf_version(EV_CURRENT) == EV_NONE ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	for (size_t i = 0; e && i < code.nr_symbols && !err; i++) {
		const struct elf_symbol *s = &code.symbols[i];
		uint64_t offset = s->rank == 3 ? offset_of(e, s->addr) : 0;

		/* what the start files call is not the program's */
		if (!offset || !strncmp(s->name, "__cxa_finalize@", 15))
			continue;
		/* the jump behind it is longer */
		if (pread(fd, begin, sizeof(begin), (off_t)offset) == sizeof(begin) &&
		    !memcmp(begin, endbr, sizeof(endbr)))
			offset += sizeof(endbr);
		err = add_one(l, path, offset, s->name);
	}
	elf_end(e);
	if (fd >= 0)
		close(fd);
	elf_code_free(&code);
	return err;
}
