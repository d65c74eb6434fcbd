/* SPDX-License-Identifier: MIT */
/* DT_NEEDED of a program's dynamic section, read by libelf. Tests: tests/engine/sanitizer. */
#include "tools/code/elf_needed.h"

#include <gelf.h>
#include <stdio.h>
#include <string.h>

static void search(Elf *elf, Elf_Scn *scn, size_t strings, const char *prefix, char *name,
		   size_t bytes)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	GElf_Dyn dyn;

	for (int i = 0; data && gelf_getdyn(data, i, &dyn); i++) {
		const char *s;

		if (dyn.d_tag != DT_NEEDED)
			continue;
		s = elf_strptr(elf, strings, dyn.d_un.d_val);
		if (s && !strncmp(s, prefix, strlen(prefix))) {
			snprintf(name, bytes, "%s", s);
			return;
		}
	}
}

void elf_needed(int fd, const char *prefix, char *name, size_t bytes)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	Elf *elf;

	*name = '\0';
	if (elf_version(EV_CURRENT) == EV_NONE)
		return;
	elf = elf_begin(fd, ELF_C_READ, NULL);
	while (elf && !*name && (scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &shdr) && shdr.sh_type == SHT_DYNAMIC)
			search(elf, scn, shdr.sh_link, prefix, name, bytes);
	elf_end(elf);
}
