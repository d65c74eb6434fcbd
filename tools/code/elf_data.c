/* SPDX-License-Identifier: MIT */
/* See elf_data.h. Each call reads all symbols. Tests: tests/engine/events/preemptoff. */
#include "tools/code/elf_data.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool find_in(Elf *e, Elf_Scn *scn, const GElf_Shdr *sh, uint64_t addr, char *to,
		    size_t bytes)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n = data && sh->sh_entsize ? data->d_size / sh->sh_entsize : 0;
	GElf_Sym sym;

	for (size_t i = 1; i < n && gelf_getsym(data, (int)i, &sym); i++) {
		const char *name = elf_strptr(e, sh->sh_link, sym.st_name);
		uint64_t at = addr - sym.st_value;

		if (GELF_ST_TYPE(sym.st_info) != STT_OBJECT || sym.st_shndx == SHN_UNDEF || !name ||
		    addr < sym.st_value || at >= (sym.st_size ? sym.st_size : 1))
			continue;
		if (at)
			snprintf(to, bytes, "%.*s+0x%" PRIx64, (int)strcspn(name, "@"), name, at);
		else
			snprintf(to, bytes, "%.*s", (int)strcspn(name, "@"), name);
		return true;
	}
	return false;
}

int elf_data_name(const char *path, uint64_t addr, char *name, size_t bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	Elf *e;

	name[0] = '\0';
	if (fd < 0)
		return -errno;
	elf_version(EV_CURRENT);
	e = elf_begin(fd, ELF_C_READ, NULL);
	while (e && !name[0] && (scn = elf_nextscn(e, scn)))
		if (gelf_getshdr(scn, &sh) &&
		    (sh.sh_type == SHT_SYMTAB || sh.sh_type == SHT_DYNSYM))
			find_in(e, scn, &sh, addr, name, bytes);
	elf_end(e);
	close(fd);
	return 0;
}
