/* SPDX-License-Identifier: MIT */
/*
 * See debug_file.h. Not by dwfl_standard_find_debuginfo(), whose open() waits for ever if another
 * user has put a FIFO where .gnu_debuglink points. Tests: tests/cli/test_views.py.
 */
#include "tools/code/debug_file.h"

#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "tools/base/open_regular.h"
#include "tools/base/read_at.h"
#include "tools/code/debuginfod.h"

#define DEBUG_DIR    "/usr/lib/debug/.build-id"
#define BUILD_ID_MAX 64

/* Formats for a debug link: the length and the text of the object's folder, the link's name. */
static const char *const links[] = {"%.*s%s", "%.*s.debug/%s", "/usr/lib/debug%.*s%s"};
#define NR_LINKS (sizeof(links) / sizeof(*links))

unsigned int elf_build_id(Elf *e, unsigned char *id)
{
	size_t n = 0;
	GElf_Phdr ph;

	elf_getphdrnum(e, &n);
	for (size_t i = 0; i < n; i++) {
		GElf_Nhdr nh;
		size_t name, desc, at = 0;
		Elf_Data *data;

		if (!gelf_getphdr(e, (int)i, &ph) || ph.p_type != PT_NOTE)
			continue;
		data = elf_getdata_rawchunk(e, (int64_t)ph.p_offset, ph.p_filesz,
					    ph.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
		while (data && (at = gelf_getnote(data, at, &nh, &name, &desc)) > 0) {
			if (nh.n_type != NT_GNU_BUILD_ID || nh.n_namesz != 4 ||
			    memcmp((char *)data->d_buf + name, "GNU", 4) ||
			    nh.n_descsz > BUILD_ID_MAX)
				continue;
			memcpy(id, (char *)data->d_buf + desc, nh.n_descsz);
			return nh.n_descsz;
		}
	}
	return 0;
}

/* Does a file of @bytes have this CRC-32, as .gnu_debuglink has it? No, if it cannot be read. */
static bool has_crc(int fd, uint64_t bytes, uint32_t crc)
{
	unsigned char buf[16384];
	uLong sum = crc32(0, NULL, 0);

	for (uint64_t at = 0; at < bytes;) {
		size_t n = bytes - at < sizeof(buf) ? (size_t)(bytes - at) : sizeof(buf);

		if (read_at(fd, buf, n, at))
			return false;
		sum = crc32(sum, buf, (uInt)n);
		at += n;
	}
	return sum == crc;
}

static bool has_build_id(int fd, const struct debug_file_of *of)
{
	unsigned char id[BUILD_ID_MAX];
	Elf *e = elf_begin(fd, ELF_C_READ, NULL);
	bool same;

	same = e && elf_build_id(e, id) == of->build_id_bytes &&
	       !memcmp(id, of->build_id, of->build_id_bytes);
	elf_end(e);
	return same;
}

static int open_by_build_id(const struct debug_file_of *of, struct stat *st)
{
	char path[sizeof(DEBUG_DIR) + 2 * BUILD_ID_MAX + 16];
	size_t at;

	if (of->build_id_bytes < 2 || of->build_id_bytes > BUILD_ID_MAX)
		return -1;
	at = (size_t)sprintf(path, DEBUG_DIR "/%02x/", of->build_id[0]);
	for (size_t i = 1; i < of->build_id_bytes; i++)
		at += (size_t)sprintf(path + at, "%02x", of->build_id[i]);
	strcpy(path + at, ".debug");
	return open_regular(path, st);
}

static int open_link(const struct debug_file_of *of, const char *format, struct stat *st)
{
	const char *slash = of->path ? strrchr(of->path, '/') : NULL;
	int dir = slash ? (int)(slash - of->path) + 1 : 0;
	char path[PATH_MAX + NAME_MAX + 32];

	if (!of->path || !of->link || !*of->link || strlen(of->link) > NAME_MAX ||
	    strchr(of->link, '/') || dir > PATH_MAX)
		return -1;
	snprintf(path, sizeof(path), format, dir, of->path, of->link);
	return open_regular(path, st);
}

int debug_file_next(const struct debug_file_of *of, unsigned int *place)
{
	while (*place < NR_LINKS + 2) {
		unsigned int at = (*place)++;
		struct stat st = {0};
		bool same;
		int fd;

		if (at == 0)
			fd = open_by_build_id(of, &st);
		else if (at <= NR_LINKS)
			fd = open_link(of, links[at - 1], &st);
		else
			fd = debuginfod_open(of->build_id, of->build_id_bytes);
		if (fd < 0)
			continue;
		same = of->build_id_bytes ? has_build_id(fd, of)
					  : has_crc(fd, (uint64_t)st.st_size, of->crc);
		if (same)
			return fd;
		close(fd);
	}
	return -1;
}

/*
 * libdwfl asks for the debug file of the module (@link is the name in .gnu_debuglink), and then,
 * with a path and no CRC, for the file with the parts that dwz took out of that one.
 */
int debug_file_find(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
		    const char *path, const char *link, GElf_Word crc, char **found)
{
	struct debug_file_of of = {.path = path, .link = link, .crc = crc};
	unsigned int place = 0;
	GElf_Addr addr;
	struct stat st;
	int n;

	if (link && strchr(link, '/')) {
		if (crc || (!stat(link, &st) && !S_ISREG(st.st_mode)))
			return -1;
		return dwfl_standard_find_debuginfo(module, userdata, name, base, path, link, crc,
						    found);
	}
	n = dwfl_module_build_id(module, &of.build_id, &addr);
	of.build_id_bytes = n > 0 ? (size_t)n : 0;
	return debug_file_next(&of, &place);
}
