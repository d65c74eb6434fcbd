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
 */
static const struct {
	const char *name, *args;
} formats[] = {
	{"abort", ""},
	{"accept", "fd=d"},
	{"access", "path=s,mode=x"},
	{"atoi", "text=s"},
	{"bind", "fd=d"},
	{"calloc", "nr=u,bytes=u"},
	{"chdir", "path=s"},
	{"chmod", "path=s,mode=x"},
	{"close", "fd=d"},
	{"closedir", "dir=p"},
	{"connect", "fd=d"},
	{"creat", "path=s,mode=x"},
	{"dlopen", "path=s,flags=x"},
	{"dlsym", "handle=p,name=s"},
	{"dup", "fd=d"},
	{"dup2", "fd=d,to=d"},
	{"execv", "path=s"},
	{"execve", "path=s"},
	{"execvp", "path=s"},
	{"exit", "status=d"},
	{"fclose", "file=p"},
	{"fdopen", "fd=d,mode=s"},
	{"fflush", "file=p"},
	{"fopen", "path=s,mode=s"},
	{"fopen64", "path=s,mode=s"},
	{"fprintf", "file=p,format=s"},
	{"fputs", "text=s,file=p"},
	{"fread", "to=p,bytes=u,nr=u,file=p"},
	{"free", "at=p"},
	{"fseek", "file=p,offset=l,whence=d"},
	{"fstat", "fd=d"},
	{"fsync", "fd=d"},
	{"ftruncate", "fd=d,bytes=l"},
	{"ftruncate64", "fd=d,bytes=l"},
	{"fwrite", "from=p,bytes=u,nr=u,file=p"},
	{"getenv", "name=s"},
	{"getopt_long", "argc=d,-,options=s"},
	{"kill", "pid=d,signal=d"},
	{"listen", "fd=d,backlog=d"},
	{"lseek", "fd=d,offset=l,whence=d"},
	{"lseek64", "fd=d,offset=l,whence=d"},
	{"lstat", "path=s"},
	{"lstat64", "path=s"},
	{"malloc", "bytes=u"},
	{"memchr", "at=p,byte=x,bytes=u"},
	{"memcmp", "a=p,b=p,bytes=u"},
	{"memcpy", "to=p,from=p,bytes=u"},
	{"memmove", "to=p,from=p,bytes=u"},
	{"memset", "at=p,byte=x,bytes=u"},
	{"mkdir", "path=s,mode=x"},
	{"mmap", "at=p,bytes=u,prot=x,flags=x,fd=d,offset=l"},
	{"mmap64", "at=p,bytes=u,prot=x,flags=x,fd=d,offset=l"},
	{"munmap", "at=p,bytes=u"},
	{"open", "path=s,flags=x,mode=x"},
	{"open64", "path=s,flags=x,mode=x"},
	{"openat", "dirfd=d,path=s,flags=x,mode=x"},
	{"openat64", "dirfd=d,path=s,flags=x,mode=x"},
	{"opendir", "path=s"},
	{"poll", "fds=p,nr=u,timeout=d"},
	{"popen", "command=s,mode=s"},
	{"pread", "fd=d,to=p,bytes=u,offset=l"},
	{"pread64", "fd=d,to=p,bytes=u,offset=l"},
	{"printf", "format=s"},
	{"pthread_create", "thread=p,attr=p,start=p,arg=p"},
	{"pthread_join", "thread=p"},
	{"pthread_mutex_lock", "mutex=p"},
	{"pthread_mutex_unlock", "mutex=p"},
	{"putenv", "text=s"},
	{"puts", "text=s"},
	{"pwrite", "fd=d,from=p,bytes=u,offset=l"},
	{"pwrite64", "fd=d,from=p,bytes=u,offset=l"},
	{"qsort", "at=p,nr=u,bytes=u,compare=p"},
	{"read", "fd=d,to=p,bytes=u"},
	{"readlink", "path=s,to=p,bytes=u"},
	{"realloc", "at=p,bytes=u"},
	{"recv", "fd=d,to=p,bytes=u,flags=x"},
	{"remove", "path=s"},
	{"rename", "from=s,to=s"},
	{"rmdir", "path=s"},
	{"send", "fd=d,from=p,bytes=u,flags=x"},
	{"setenv", "name=s,value=s,replace=d"},
	{"setlocale", "category=d,locale=s"},
	{"sleep", "seconds=u"},
	{"snprintf", "to=p,bytes=u,format=s"},
	{"socket", "domain=d,type=x,protocol=d"},
	{"sprintf", "to=p,format=s"},
	{"sscanf", "text=s,format=s"},
	{"stat", "path=s"},
	{"stat64", "path=s"},
	{"strcasecmp", "a=s,b=s"},
	{"strcat", "to=s,from=s"},
	{"strchr", "text=s,byte=x"},
	{"strcmp", "a=s,b=s"},
	{"strcpy", "to=p,from=s"},
	{"strdup", "text=s"},
	{"strlen", "text=s"},
	{"strncmp", "a=s,b=s,bytes=u"},
	{"strncpy", "to=p,from=s,bytes=u"},
	{"strrchr", "text=s,byte=x"},
	{"strstr", "text=s,part=s"},
	{"strtol", "text=s,end=p,base=d"},
	{"strtoul", "text=s,end=p,base=d"},
	{"symlink", "target=s,path=s"},
	{"system", "command=s"},
	{"unlink", "path=s"},
	{"unsetenv", "name=s"},
	{"usleep", "us=u"},
	{"waitpid", "pid=d,status=p,options=x"},
	{"write", "fd=d,from=p,bytes=u"},
};

static const char *args_of(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (!strcmp(formats[i].name, name))
			return formats[i].args;
	return "";
}

/* As dynamic_events has them. */
static void put_args(FILE *f, const char *args)
{
	static const char *const regs[] = {"di", "si", "dx", "cx", "r8", "r9"};

	for (size_t i = 0; *args && i < sizeof(regs) / sizeof(*regs); i++) {
		size_t n = strcspn(args, ",");

		switch (args[n - 1]) {
		case 's':
			fprintf(f, " %.*s+0(%%%s):string64", (int)n - 1, args, regs[i]);
			break;
		case 'd':
			fprintf(f, " %.*s%%%s:s32", (int)n - 1, args, regs[i]);
			break;
		case 'l':
			fprintf(f, " %.*s%%%s:s64", (int)n - 1, args, regs[i]);
			break;
		case 'u':
			fprintf(f, " %.*s%%%s:u64", (int)n - 1, args, regs[i]);
			break;
		case 'x':
			fprintf(f, " %.*s%%%s:x32", (int)n - 1, args, regs[i]);
			break;
		case 'p':
			fprintf(f, " %.*s%%%s:x64", (int)n - 1, args, regs[i]);
			break;
		default:
			break;
		}
		args += n + (args[n] == ',');
	}
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

static int add_one(struct libcalls *l, const char *path, uint64_t offset, const char *symbol)
{
	char name[NAME_MAX_BYTES + 1], *command = NULL, *undo = NULL;
	size_t bytes, n = strcspn(symbol, "@"), nr = l->nr;
	FILE *f;

	/* what C++ and others have in names is not in an event's */
	if (!n || n > NAME_MAX_BYTES || isdigit((unsigned char)symbol[0]))
		return 0;
	for (size_t i = 0; i < n; i++)
		name[i] = isalnum((unsigned char)symbol[i]) ? symbol[i] : '_';
	name[n] = '\0';
	f = open_memstream(&command, &bytes);
	if (!f)
		return fail(ENOMEM, "no memory");
	fprintf(f, "p:" LIBCALL_SYSTEM "/%s %s:0x%" PRIx64, name, path, offset);
	put_args(f, args_of(name));
	if (fclose(f) || asprintf(&undo, "-:" LIBCALL_SYSTEM "/%s", name) < 0 ||
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
