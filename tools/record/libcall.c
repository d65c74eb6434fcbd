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
 * The arguments that are in registers, in their order. Types: s: a string, of which at most 64
 * bytes are read; d: int; l: long; u: unsigned long; x and p: hexadecimal, 32 and 64 bits; -: left
 * out. The result has the same types, and behind it the value that a failed call returns with errno
 * set: !: -1; 0: NULL. A function without a result here has no event for its return: it returns
 * void, does not return, looks up its caller (dlopen(), dlsym()), or returns twice on one stack
 * (vfork()). Arguments that only some calls have are left out, such as open()'s mode, since the
 * register may have any value.
 */
static const struct {
	const char *name, *args, *result;
} formats[] = {
	{"_Exit", "status=d", ""},
	{"__fprintf_chk", "file=p,-,format=s", "d"},
	{"__isoc99_fscanf", "file=p,format=s", "d"},
	{"__isoc99_sscanf", "text=s,format=s", "d"},
	{"__memcpy_chk", "to=p,from=p,bytes=u", "p"},
	{"__memset_chk", "at=p,byte=x,bytes=u", "p"},
	{"__printf_chk", "-,format=s", "d"},
	{"__snprintf_chk", "to=p,bytes=u,-,-,format=s", "d"},
	{"__sprintf_chk", "to=p,-,-,format=s", "d"},
	{"__strcat_chk", "to=s,from=s", "p"},
	{"__strcpy_chk", "to=p,from=s", "p"},
	{"_exit", "status=d", ""},
	{"abort", "", ""},
	{"accept", "fd=d", "d!"},
	{"accept4", "fd=d,-,-,flags=x", "d!"},
	{"access", "path=s,mode=x", "d!"},
	{"alarm", "seconds=d", "d"},
	{"aligned_alloc", "align=u,bytes=u", "p0"},
	{"atoi", "text=s", "d"},
	{"atol", "text=s", "l"},
	{"basename", "path=s", "s"},
	{"bind", "fd=d", "d!"},
	{"bsearch", "key=p,at=p,nr=u,bytes=u,compare=p", "p"},
	{"calloc", "nr=u,bytes=u", "p0"},
	{"chdir", "path=s", "d!"},
	{"chmod", "path=s,mode=x", "d!"},
	{"chown", "path=s,uid=d,gid=d", "d!"},
	{"clock_gettime", "clock=d,to=p", "d!"},
	{"clock_nanosleep", "clock=d,flags=x,request=p", "d"},
	{"close", "fd=d", "d!"},
	{"closedir", "dir=p", "d!"},
	{"connect", "fd=d", "d!"},
	{"creat", "path=s,mode=x", "d!"},
	{"dirname", "path=s", "s"},
	{"dlclose", "handle=p", "d"},
	{"dlopen", "path=s,flags=x", ""},
	{"dlsym", "handle=p,name=s", ""},
	{"dup", "fd=d", "d!"},
	{"dup2", "fd=d,to=d", "d!"},
	{"dup3", "fd=d,to=d,flags=x", "d!"},
	{"epoll_create", "size=d", "d!"},
	{"epoll_create1", "flags=x", "d!"},
	{"epoll_ctl", "epoll=d,op=d,fd=d,event=p", "d!"},
	{"epoll_wait", "epoll=d,events=p,nr=d,timeout=d", "d!"},
	{"eventfd", "value=d,flags=x", "d!"},
	{"execl", "path=s", "d!"},
	{"execle", "path=s", "d!"},
	{"execlp", "path=s", "d!"},
	{"execv", "path=s", "d!"},
	{"execve", "path=s", "d!"},
	{"execvp", "path=s", "d!"},
	{"execvpe", "path=s", "d!"},
	{"exit", "status=d", ""},
	{"faccessat", "dirfd=d,path=s,mode=x,flags=x", "d!"},
	{"fchdir", "fd=d", "d!"},
	{"fchmod", "fd=d,mode=x", "d!"},
	{"fchown", "fd=d,uid=d,gid=d", "d!"},
	{"fclose", "file=p", "d!"},
	{"fcntl", "fd=d,command=d", "d!"},
	{"fcntl64", "fd=d,command=d", "d!"},
	{"fdatasync", "fd=d", "d!"},
	{"fdopen", "fd=d,mode=s", "p0"},
	{"fdopendir", "fd=d", "p0"},
	{"feof", "file=p", "d"},
	{"ferror", "file=p", "d"},
	{"fexecve", "fd=d", "d!"},
	{"fflush", "file=p", "d!"},
	{"fgetc", "file=p", "d"},
	{"fgets", "to=p,bytes=d,file=p", "p"},
	{"fileno", "file=p", "d!"},
	{"flock", "fd=d,op=x", "d!"},
	{"fopen", "path=s,mode=s", "p0"},
	{"fopen64", "path=s,mode=s", "p0"},
	{"fork", "", "d!"},
	{"fprintf", "file=p,format=s", "d"},
	{"fputc", "byte=d,file=p", "d"},
	{"fputs", "text=s,file=p", "d!"},
	{"fread", "to=p,bytes=u,nr=u,file=p", "u"},
	{"free", "at=p", ""},
	{"freeaddrinfo", "at=p", ""},
	{"freopen", "path=s,mode=s,file=p", "p0"},
	{"fscanf", "file=p,format=s", "d"},
	{"fseek", "file=p,offset=l,whence=d", "d!"},
	{"fseeko", "file=p,offset=l,whence=d", "d!"},
	{"fstat", "fd=d", "d!"},
	{"fstat64", "fd=d", "d!"},
	{"fstatat", "dirfd=d,path=s", "d!"},
	{"fstatfs", "fd=d", "d!"},
	{"fsync", "fd=d", "d!"},
	{"ftell", "file=p", "l!"},
	{"ftello", "file=p", "l!"},
	{"ftruncate", "fd=d,bytes=l", "d!"},
	{"ftruncate64", "fd=d,bytes=l", "d!"},
	{"fwrite", "from=p,bytes=u,nr=u,file=p", "u"},
	{"getaddrinfo", "host=s,service=s", "d"},
	{"getc", "file=p", "d"},
	{"getchar", "", "d"},
	{"getcwd", "to=p,bytes=u", "s0"},
	{"getdelim", "line=p,bytes=p,delimiter=d,file=p", "l!"},
	{"getegid", "", "d"},
	{"getenv", "name=s", "s"},
	{"geteuid", "", "d"},
	{"getgid", "", "d"},
	{"gethostname", "to=p,bytes=u", "d!"},
	{"getline", "line=p,bytes=p,file=p", "l!"},
	{"getopt", "argc=d,-,options=s", "d"},
	{"getopt_long", "argc=d,-,options=s", "d"},
	{"getpeername", "fd=d", "d!"},
	{"getpid", "", "d"},
	{"getppid", "", "d"},
	{"getpwnam", "name=s", "p"},
	{"getpwuid", "uid=d", "p"},
	{"getrandom", "to=p,bytes=u,flags=x", "l!"},
	{"getrlimit", "resource=d", "d!"},
	{"getrusage", "task=d", "d!"},
	{"getsockname", "fd=d", "d!"},
	{"getsockopt", "fd=d,level=d,option=d", "d!"},
	{"gettimeofday", "to=p", "d!"},
	{"getuid", "", "d"},
	{"gmtime", "time=p", "p"},
	{"inotify_add_watch", "fd=d,path=s,mask=x", "d!"},
	{"inotify_init1", "flags=x", "d!"},
	{"ioctl", "fd=d,request=x,arg=p", "d!"},
	{"isatty", "fd=d", "d0"},
	{"kill", "pid=d,signal=d", "d!"},
	{"lchown", "path=s,uid=d,gid=d", "d!"},
	{"link", "from=s,to=s", "d!"},
	{"listen", "fd=d,backlog=d", "d!"},
	{"localtime", "time=p", "p"},
	{"localtime_r", "time=p,to=p", "p"},
	{"longjmp", "env=p,value=d", ""},
	{"lseek", "fd=d,offset=l,whence=d", "l!"},
	{"lseek64", "fd=d,offset=l,whence=d", "l!"},
	{"lstat", "path=s", "d!"},
	{"lstat64", "path=s", "d!"},
	{"madvise", "at=p,bytes=u,advice=d", "d!"},
	{"malloc", "bytes=u", "p0"},
	{"memalign", "align=u,bytes=u", "p0"},
	{"memchr", "at=p,byte=x,bytes=u", "p"},
	{"memcmp", "a=p,b=p,bytes=u", "d"},
	{"memcpy", "to=p,from=p,bytes=u", "p"},
	{"memmove", "to=p,from=p,bytes=u", "p"},
	{"memset", "at=p,byte=x,bytes=u", "p"},
	{"mkdir", "path=s,mode=x", "d!"},
	{"mkdirat", "dirfd=d,path=s,mode=x", "d!"},
	{"mkdtemp", "template=s", "p0"},
	{"mkfifo", "path=s,mode=x", "d!"},
	{"mknod", "path=s,mode=x", "d!"},
	{"mkstemp", "template=s", "d!"},
	{"mkstemp64", "template=s", "d!"},
	{"mktime", "tm=p", "l"},
	{"mlock", "at=p,bytes=u", "d!"},
	{"mmap", "at=p,bytes=u,prot=x,flags=x,fd=d,offset=l", "p!"},
	{"mmap64", "at=p,bytes=u,prot=x,flags=x,fd=d,offset=l", "p!"},
	{"mprotect", "at=p,bytes=u,prot=x", "d!"},
	{"mremap", "at=p,bytes=u,to_bytes=u,flags=x", "p!"},
	{"msync", "at=p,bytes=u,flags=x", "d!"},
	{"munmap", "at=p,bytes=u", "d!"},
	{"nanosleep", "request=p,left=p", "d!"},
	{"open", "path=s,flags=x", "d!"},
	{"open64", "path=s,flags=x", "d!"},
	{"openat", "dirfd=d,path=s,flags=x", "d!"},
	{"openat64", "dirfd=d,path=s,flags=x", "d!"},
	{"opendir", "path=s", "p0"},
	{"openlog", "name=s,option=x,facility=x", ""},
	{"pathconf", "path=s,name=d", "l"},
	{"pause", "", "d!"},
	{"pclose", "file=p", "d!"},
	{"perror", "text=s", ""},
	{"pipe", "fds=p", "d!"},
	{"pipe2", "fds=p,flags=x", "d!"},
	{"poll", "fds=p,nr=u,timeout=d", "d!"},
	{"popen", "command=s,mode=s", "p0"},
	{"posix_memalign", "to=p,align=u,bytes=u", "d"},
	{"posix_spawn", "pid=p,path=s", "d"},
	{"posix_spawnp", "pid=p,path=s", "d"},
	{"ppoll", "fds=p,nr=u,timeout=p", "d!"},
	{"prctl", "option=d", "d!"},
	{"pread", "fd=d,to=p,bytes=u,offset=l", "l!"},
	{"pread64", "fd=d,to=p,bytes=u,offset=l", "l!"},
	{"preadv", "fd=d,vectors=p,nr=d,offset=l", "l!"},
	{"printf", "format=s", "d"},
	{"pselect", "nr=d,read=p,write=p,except=p,timeout=p", "d!"},
	{"pthread_cancel", "thread=p", "d"},
	{"pthread_cond_broadcast", "cond=p", "d"},
	{"pthread_cond_signal", "cond=p", "d"},
	{"pthread_cond_timedwait", "cond=p,mutex=p,until=p", "d"},
	{"pthread_cond_wait", "cond=p,mutex=p", "d"},
	{"pthread_create", "thread=p,attr=p,start=p,arg=p", "d"},
	{"pthread_detach", "thread=p", "d"},
	{"pthread_exit", "value=p", ""},
	{"pthread_getspecific", "key=d", "p"},
	{"pthread_join", "thread=p", "d"},
	{"pthread_key_create", "key=p,destructor=p", "d"},
	{"pthread_kill", "thread=p,signal=d", "d"},
	{"pthread_mutex_destroy", "mutex=p", "d"},
	{"pthread_mutex_init", "mutex=p,attr=p", "d"},
	{"pthread_mutex_lock", "mutex=p", "d"},
	{"pthread_mutex_trylock", "mutex=p", "d"},
	{"pthread_mutex_unlock", "mutex=p", "d"},
	{"pthread_rwlock_rdlock", "lock=p", "d"},
	{"pthread_rwlock_unlock", "lock=p", "d"},
	{"pthread_rwlock_wrlock", "lock=p", "d"},
	{"pthread_self", "", "p"},
	{"pthread_setspecific", "key=d,value=p", "d"},
	{"pthread_sigmask", "how=d,set=p,old=p", "d"},
	{"putc", "byte=d,file=p", "d"},
	{"putchar", "byte=d", "d"},
	{"putenv", "text=s", "d!"},
	{"puts", "text=s", "d"},
	{"pwrite", "fd=d,from=p,bytes=u,offset=l", "l!"},
	{"pwrite64", "fd=d,from=p,bytes=u,offset=l", "l!"},
	{"pwritev", "fd=d,vectors=p,nr=d,offset=l", "l!"},
	{"qsort", "at=p,nr=u,bytes=u,compare=p", ""},
	{"raise", "signal=d", "d"},
	{"rand", "", "d"},
	{"random", "", "l"},
	{"read", "fd=d,to=p,bytes=u", "l!"},
	{"readdir", "dir=p", "p"},
	{"readdir64", "dir=p", "p"},
	{"readlink", "path=s,to=p,bytes=u", "l!"},
	{"readlinkat", "dirfd=d,path=s,to=p,bytes=u", "l!"},
	{"readv", "fd=d,vectors=p,nr=d", "l!"},
	{"realloc", "at=p,bytes=u", "p0"},
	{"reallocarray", "at=p,nr=u,bytes=u", "p0"},
	{"realpath", "path=s,to=p", "s0"},
	{"recv", "fd=d,to=p,bytes=u,flags=x", "l!"},
	{"recvfrom", "fd=d,to=p,bytes=u,flags=x", "l!"},
	{"recvmsg", "fd=d,message=p,flags=x", "l!"},
	{"remove", "path=s", "d!"},
	{"rename", "from=s,to=s", "d!"},
	{"renameat", "fromfd=d,from=s,tofd=d,to=s", "d!"},
	{"rewind", "file=p", ""},
	{"rewinddir", "dir=p", ""},
	{"rmdir", "path=s", "d!"},
	{"sched_yield", "", "d!"},
	{"secure_getenv", "name=s", "s"},
	{"select", "nr=d,read=p,write=p,except=p,timeout=p", "d!"},
	{"sem_post", "sem=p", "d!"},
	{"sem_trywait", "sem=p", "d!"},
	{"sem_wait", "sem=p", "d!"},
	{"send", "fd=d,from=p,bytes=u,flags=x", "l!"},
	{"sendfile", "to=d,from=d,offset=p,bytes=u", "l!"},
	{"sendmsg", "fd=d,message=p,flags=x", "l!"},
	{"sendto", "fd=d,from=p,bytes=u,flags=x", "l!"},
	{"setbuf", "file=p,buffer=p", ""},
	{"setegid", "gid=d", "d!"},
	{"setenv", "name=s,value=s,replace=d", "d!"},
	{"seteuid", "uid=d", "d!"},
	{"setgid", "gid=d", "d!"},
	{"setlocale", "category=d,locale=s", "s"},
	{"setpgid", "pid=d,group=d", "d!"},
	{"setrlimit", "resource=d", "d!"},
	{"setsid", "", "d!"},
	{"setsockopt", "fd=d,level=d,option=d,value=p", "d!"},
	{"setuid", "uid=d", "d!"},
	{"setvbuf", "file=p,buffer=p,mode=d,bytes=u", "d"},
	{"shutdown", "fd=d,how=d", "d!"},
	{"sigaction", "signal=d,new=p,old=p", "d!"},
	{"signal", "signal=d,handler=p", "p!"},
	{"sigprocmask", "how=d,set=p,old=p", "d!"},
	{"sleep", "seconds=u", "u"},
	{"snprintf", "to=p,bytes=u,format=s", "d"},
	{"socket", "domain=d,type=x,protocol=d", "d!"},
	{"socketpair", "domain=d,type=x,protocol=d,fds=p", "d!"},
	{"sprintf", "to=p,format=s", "d"},
	{"srand", "seed=d", ""},
	{"sscanf", "text=s,format=s", "d"},
	{"stat", "path=s", "d!"},
	{"stat64", "path=s", "d!"},
	{"statfs", "path=s", "d!"},
	{"statvfs", "path=s", "d!"},
	{"stpcpy", "to=p,from=s", "p"},
	{"strcasecmp", "a=s,b=s", "d"},
	{"strcasestr", "text=s,part=s", "p"},
	{"strcat", "to=s,from=s", "p"},
	{"strchr", "text=s,byte=x", "p"},
	{"strchrnul", "text=s,byte=x", "p"},
	{"strcmp", "a=s,b=s", "d"},
	{"strcoll", "a=s,b=s", "d"},
	{"strcpy", "to=p,from=s", "p"},
	{"strcspn", "text=s,reject=s", "u"},
	{"strdup", "text=s", "p0"},
	{"strerror", "error=d", "s"},
	{"strftime", "to=p,bytes=u,format=s", "u"},
	{"strlen", "text=s", "u"},
	{"strncasecmp", "a=s,b=s,bytes=u", "d"},
	{"strncat", "to=s,from=s,bytes=u", "p"},
	{"strncmp", "a=s,b=s,bytes=u", "d"},
	{"strncpy", "to=p,from=s,bytes=u", "p"},
	{"strndup", "text=s,bytes=u", "p0"},
	{"strnlen", "text=s,bytes=u", "u"},
	{"strpbrk", "text=s,accept=s", "p"},
	{"strrchr", "text=s,byte=x", "p"},
	{"strsep", "text=p,delimiters=s", "p"},
	{"strsignal", "signal=d", "s"},
	{"strspn", "text=s,accept=s", "u"},
	{"strstr", "text=s,part=s", "p"},
	{"strtod", "text=s,end=p", ""},
	{"strtok", "text=s,delimiters=s", "p"},
	{"strtok_r", "text=s,delimiters=s,rest=p", "p"},
	{"strtol", "text=s,end=p,base=d", "l"},
	{"strtoll", "text=s,end=p,base=d", "l"},
	{"strtoul", "text=s,end=p,base=d", "u"},
	{"strtoull", "text=s,end=p,base=d", "u"},
	{"symlink", "target=s,path=s", "d!"},
	{"symlinkat", "target=s,dirfd=d,path=s", "d!"},
	{"sync", "", ""},
	{"syscall", "number=l", "l!"},
	{"sysconf", "name=d", "l"},
	{"syslog", "priority=d,format=s", ""},
	{"system", "command=s", "d!"},
	{"tcgetattr", "fd=d,to=p", "d!"},
	{"tcsetattr", "fd=d,when=d,from=p", "d!"},
	{"time", "to=p", "l"},
	{"tmpfile", "", "p0"},
	{"truncate", "path=s,bytes=l", "d!"},
	{"ttyname", "fd=d", "s0"},
	{"umask", "mask=x", "x"},
	{"uname", "to=p", "d!"},
	{"ungetc", "byte=d,file=p", "d"},
	{"unlink", "path=s", "d!"},
	{"unlinkat", "dirfd=d,path=s,flags=x", "d!"},
	{"unsetenv", "name=s", "d!"},
	{"usleep", "us=u", "d!"},
	{"utimes", "path=s", "d!"},
	{"vfork", "", ""},
	{"vfprintf", "file=p,format=s", "d"},
	{"vprintf", "format=s", "d"},
	{"vsnprintf", "to=p,bytes=u,format=s", "d"},
	{"vsprintf", "to=p,format=s", "d"},
	{"wait", "status=p", "d!"},
	{"wait3", "status=p,options=x", "d!"},
	{"wait4", "pid=d,status=p,options=x", "d!"},
	{"waitid", "type=d,id=d,info=p,options=x", "d!"},
	{"waitpid", "pid=d,status=p,options=x", "d!"},
	{"write", "fd=d,from=p,bytes=u", "l!"},
	{"writev", "fd=d,vectors=p,nr=d", "l!"},
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

/* Write one value in the form of dynamic_events. @name: @n bytes with the `=`. @type: as above. */
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

/*
 * Add a command that defines an event, and the one that removes it. @command: owned by @l in any
 * case.
 */
static int add_event(struct libcalls *l, char *command, const char *name, const char *suffix)
{
	size_t nr = l->nr;
	char *undo = NULL;

	if (!command || asprintf(&undo, "-:" LIBCALL_SYSTEM "/%s%s", name, suffix) < 0 ||
	    ARRAY_ROOM(l->commands, nr, l->room, 64) || ARRAY_ROOM(l->undo, nr, l->room_undo, 64)) {
		free(command);
		free(undo);
		return fail(ENOMEM, "out of memory");
	}
	l->commands[nr] = command;
	l->undo[nr] = undo;
	l->nr++;
	return 0;
}

/* The place of a stub for both events, and the values that they fetch there. */
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
		return fail(ENOMEM, "out of memory");
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
		return fail(ENOMEM, "out of memory");
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

	/* names of C++ and others may have characters that an event's name cannot have */
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

		/* calls of the C library's start files are not the program's */
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

bool libcall_is_named(const char *event)
{
	size_t n = strlen(LIBCALL_SYSTEM);

	return !strncmp(event, LIBCALL_SYSTEM, n) && (!event[n] || event[n] == ':');
}

int libcall_is_missing(const char *event)
{
	return fail(EINVAL, "-e %s: --libcall makes the events of the system libcall: add it",
		    event);
}
