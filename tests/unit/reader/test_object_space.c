/* SPDX-License-Identifier: MIT */
/* Objects and their names: of files that the compiler makes here, against nm. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_area.h"
#include "tools/area/meta.h"
#include "tools/area/object_space.h"
#include "tools/code/elf_code.h"

static char noted[4200];

static void keep_note(const char *line)
{
	snprintf(noted, sizeof(noted), "%s", line);
}

static void run(const char *cmd)
{
	if (system(cmd))
		fail_msg("%s", cmd);
}

static const char *const source =
	"#include <stdio.h>\n"
	"#include <stdlib.h>\n"
	"int plain(int x) { return x + 1; }\n"
	"int __weird(int x) { return x + 2; }\n"
	"int longer_name(int x) __attribute__((alias(\"__weird\")));\n"
	"int nice(int x) __attribute__((alias(\"__weird\")));\n"
	"static __attribute__((noinline)) void hidden(void) { puts(\"x\"); }\n"
	"int main(int c, char **v) { hidden(); abort(); }\n";

static void build(const char *name, const char *flags)
{
	char cmd[1000];
	FILE *f = fopen(fake_path("s.c"), "w");

	fputs(source, f);
	fclose(f);
	snprintf(cmd, sizeof(cmd), "cc -w -O1 -fno-ipa-icf -Wl,--build-id %s -o %s %s", flags,
		 fake_path(name), fake_path("s.c"));
	run(cmd);
}

/* Tables that name one object, as an engine would. */
struct fake_meta {
	struct meta meta;
	struct area_object object;
	struct area_function functions[4];
	char path[200];
};

static void describe(struct fake_meta *m, const char *name)
{
	struct elf_code code = {0};

	memset(m, 0, sizeof(*m));
	snprintf(m->path, sizeof(m->path), "%s", fake_path(name));
	assert_int_equal(elf_code_load(m->path, &code), 0);
	assert_int_equal(code.build_id_bytes, 20);
	m->object.build_id_bytes = 20;
	memcpy(m->object.build_id, code.build_id, 20);
	m->object.dev = code.dev;
	m->object.ino = code.ino;
	m->object.mtime_ns = code.mtime_ns;
	m->meta.nr_objects = 1;
	m->meta.objects = &m->object;
	m->meta.functions = m->functions;
	m->meta.strings = m->path;
	m->meta.string_bytes = sizeof(m->path);
	elf_code_free(&code);
}

static struct symbols *load(struct fake_meta *m, uint64_t *base)
{
	struct object_space *s = object_space_new();
	struct symbols *symbols = symbols_new();

	noted[0] = '\0';
	assert_int_equal(object_space_add(s, &m->meta, 0), 0);
	assert_int_equal(object_space_assign(s), 0);
	*base = object_space_base(s, 0);
	assert_int_equal(object_space_load(s, symbols, keep_note), 0);
	object_space_free(s);
	return symbols;
}

static void names_are_those_of_nm(void **state)
{
	struct fake_meta m;
	struct symbols *s;
	char cmd[1200], type, name[200];
	uint64_t base;
	unsigned long addr;
	unsigned int nr = 0;
	FILE *nm;

	build("prog", "");
	describe(&m, "prog");
	s = load(&m, &base);
	snprintf(cmd, sizeof(cmd), "nm %s", m.path);
	nm = popen(cmd, "r");
	while (fgets(cmd, sizeof(cmd), nm)) {
		const struct symbol *sym;

		if (sscanf(cmd, "%lx %c %199s", &addr, &type, name) != 3)
			continue;
		if (strcmp(name, "main") && strcmp(name, "plain") && strcmp(name, "hidden") &&
		    strcmp(name, "_start") && strcmp(name, "nice"))
			continue;
		sym = symbols_find(s, base + addr);
		assert_string_equal(sym->name, name);
		assert_true(sym->addr == base + addr);
		assert_null(sym->module);
		assert_int_equal(sym->type, type);
		nr++;
	}
	pclose(nm);
	assert_int_equal(nr, 5);
	assert_string_equal(noted, "");
	symbols_free(s);
}

static const struct symbol *find_name(struct symbols *s, const char *name)
{
	for (size_t i = 0; i < symbols_count(s); i++)
		if (!strcmp(symbols_at(s, i)->name, name))
			return symbols_at(s, i);
	return NULL;
}

static void code_between_symbols_has_a_name_of_its_own(void **state)
{
	const struct symbol *puts_plt, *fini;
	struct fake_meta m;
	struct symbols *s;
	uint64_t base;

	build("prog", "");
	describe(&m, "prog");
	s = load(&m, &base);
	/* the plain name of three */
	assert_null(find_name(s, "__weird"));
	assert_null(find_name(s, "longer_name"));
	puts_plt = find_name(s, "puts@plt");
	assert_non_null(puts_plt);
	/* what lies behind the code is no function's */
	fini = find_name(s, "_fini");
	assert_non_null(fini);
	assert_string_equal(symbols_find(s, fini->addr + 0x1000)->name, ".end");
	symbols_free(s);
}

static void stripped_functions_are_distinct(void **state)
{
	struct elf_code code = {0};
	const struct symbol *sym;
	uint64_t base, plain = 0, main_addr = 0, hidden = 0, clones = 0;
	struct fake_meta m;
	struct symbols *s;
	char cmd[1200], want[32];

	build("prog", "");
	assert_int_equal(elf_code_load(fake_path("prog"), &code), 0);
	for (size_t i = 0; i < code.nr_symbols; i++) {
		if (!strcmp(code.symbols[i].name, "plain"))
			plain = code.symbols[i].addr;
		if (!strcmp(code.symbols[i].name, "main"))
			main_addr = code.symbols[i].addr;
		if (!strcmp(code.symbols[i].name, "hidden"))
			hidden = code.symbols[i].addr;
		if (!strcmp(code.symbols[i].name, "register_tm_clones"))
			clones = code.symbols[i].addr;
	}
	elf_code_free(&code);
	snprintf(cmd, sizeof(cmd), "strip -s %s", fake_path("prog"));
	run(cmd);
	describe(&m, "prog");
	m.meta.nr_functions = m.object.nr_functions = 2;
	m.functions[0].offset = (uint32_t)main_addr;
	m.functions[1].offset = (uint32_t)plain;
	s = load(&m, &base);
	sym = symbols_find(s, base + plain);
	snprintf(want, sizeof(want), "prog+0x%llx", (unsigned long long)plain);
	assert_string_equal(sym->name, want);
	assert_true(sym->addr == base + plain);
	sym = symbols_find(s, base + main_addr + 5);
	assert_true(sym->addr == base + main_addr);
	/* one that the engine has not found has a name of its own */
	snprintf(want, sizeof(want), "prog+0x%llx", (unsigned long long)hidden);
	assert_string_equal(symbols_find(s, base + hidden + 2)->name, want);
	/* crtbegin.o's have no unwinding entry: the section, not the PLT's last stub */
	assert_string_equal(symbols_find(s, base + clones + 2)->name, ".text");
	symbols_free(s);
}

/* Functions that the engine has not found: stacks have addresses in them. */
static void stripped_functions_begin_where_their_frames_do(void **state)
{
	static const char *const wanted[] = {"plain", "hidden", "main"};
	struct elf_code code = {0};
	struct fake_meta m;
	struct symbols *s;
	uint64_t base, addr[3] = {0};
	char cmd[1200], want[40];

	build("prog", "");
	assert_int_equal(elf_code_load(fake_path("prog"), &code), 0);
	assert_int_equal(code.nr_frames, 0);
	for (size_t i = 0; i < code.nr_symbols; i++)
		for (unsigned int k = 0; k < 3; k++)
			if (!strcmp(code.symbols[i].name, wanted[k]))
				addr[k] = code.symbols[i].addr;
	elf_code_free(&code);
	snprintf(cmd, sizeof(cmd), "strip -s %s", fake_path("prog"));
	run(cmd);
	describe(&m, "prog");
	s = load(&m, &base);
	for (unsigned int k = 0; k < 3; k++) {
		const struct symbol *sym = symbols_find(s, base + addr[k] + 3);

		assert_true(addr[k] != 0);
		snprintf(want, sizeof(want), "prog+0x%llx", (unsigned long long)addr[k]);
		assert_string_equal(sym->name, want);
		assert_true(sym->addr == base + addr[k]);
	}
	assert_non_null(find_name(s, "puts@plt"));
	/* crtbegin.o's functions have no entry, and nothing reaches into another object */
	assert_non_null(find_name(s, ".text"));
	assert_string_equal(symbols_find(s, base + 0x100000)->name, ".end");
	symbols_free(s);
	/* names of a debug file are enough */
	build("prog", "-g");
	snprintf(cmd, sizeof(cmd),
		 "objcopy --only-keep-debug %s %s.debug && strip -s %s && "
		 "objcopy --add-gnu-debuglink=%s.debug %s",
		 fake_path("prog"), fake_path("prog"), fake_path("prog"), fake_path("prog"),
		 fake_path("prog"));
	run(cmd);
	describe(&m, "prog");
	s = load(&m, &base);
	assert_non_null(find_name(s, "main"));
	snprintf(want, sizeof(want), "prog+0x%llx", (unsigned long long)addr[0]);
	assert_null(find_name(s, want));
	symbols_free(s);
}

static void a_changed_file_gives_no_names(void **state)
{
	struct fake_meta m;
	struct symbols *s;
	uint64_t base, again;

	build("prog", "");
	describe(&m, "prog");
	m.meta.nr_functions = m.object.nr_functions = 1;
	m.functions[0].offset = 0x1139;
	s = load(&m, &base);
	symbols_free(s);
	build("prog", "-O2 -DX -fno-pie -no-pie");
	s = load(&m, &again);
	assert_true(base == again);
	assert_non_null(strstr(noted, "not the one that ran"));
	assert_null(find_name(s, "main"));
	assert_string_equal(symbols_find(s, base + 0x1139)->name, "prog+0x1139");
	assert_string_equal(symbols_find(s, base + 0x100)->name, "prog:changed");
	unlink(fake_path("prog"));
	symbols_free(s);
	s = load(&m, &again);
	assert_non_null(strstr(noted, "No such file"));
	assert_string_equal(symbols_find(s, base + 0x100)->name, "prog:unreadable");
	symbols_free(s);
}

/* Ranges: by identity alone, apart from each other, whatever the order. */
static void ranges(void **state)
{
	enum { N = 3000 };
	static struct area_object rows[N];
	struct meta m = {
		.nr_objects = N, .objects = rows, .strings = (char[]){0}, .string_bytes = 1};
	struct object_space *one = object_space_new(), *two = object_space_new();
	static uint64_t bases[N];
	static int numbers[N];

	for (uint32_t i = 0; i < N; i++) {
		rows[i].build_id_bytes = 20;
		memcpy(rows[i].build_id, &i, 4);
	}
	for (uint32_t i = 0; i < N; i++)
		numbers[i] = object_space_add(one, &m, i);
	/* the same object again is no other */
	assert_int_equal(object_space_add(one, &m, 5), numbers[5]);
	assert_int_equal(object_space_assign(one), 0);
	for (uint32_t i = 0; i < N; i++)
		bases[i] = object_space_base(one, numbers[i]);
	for (uint32_t i = N; i-- > 0;)
		numbers[i] = object_space_add(two, &m, i);
	assert_int_equal(object_space_assign(two), 0);
	for (uint32_t i = 0; i < N; i++) {
		assert_true(object_space_base(two, numbers[i]) == bases[i]);
		assert_int_equal(bases[i] & 0xffffffff, 0);
		assert_true(bases[i] >> 59 == 1);
		for (uint32_t j = 0; j < i; j++)
			if (bases[i] == bases[j])
				fail_msg("objects %u and %u share a range", i, j);
	}
	object_space_free(one);
	object_space_free(two);
}

static uint64_t base_of(uint32_t id)
{
	struct area_object row = {.build_id_bytes = 20};
	char nothing = '\0';
	struct meta m = {.nr_objects = 1, .objects = &row, .strings = &nothing, .string_bytes = 1};
	struct object_space *s = object_space_new();
	uint64_t base;

	memcpy(row.build_id, &id, 4);
	object_space_add(s, &m, 0);
	object_space_assign(s);
	base = object_space_base(s, 0);
	object_space_free(s);
	return base;
}

struct based {
	uint64_t base;
	uint32_t id;
};

static int by_base(const void *a, const void *b)
{
	const struct based *x = a, *y = b;

	return x->base < y->base ? -1 : x->base > y->base;
}

/* Two build-ids that hash alike: the same two ranges in both orders. */
static void ranges_that_collide(void **state)
{
	enum { N = 60000 };
	static struct based all[N];
	unsigned int nr = 0;

	for (uint32_t i = 0; i < N; i++)
		all[i] = (struct based){base_of(i), i};
	qsort(all, N, sizeof(*all), by_base);
	for (uint32_t i = 1; i < N; i++) {
		uint64_t got[2][2];

		if (all[i].base != all[i - 1].base)
			continue;
		nr++;
		for (int order = 0; order < 2; order++) {
			struct area_object rows[2] = {{.build_id_bytes = 20},
						      {.build_id_bytes = 20}};
			char nothing = '\0';
			struct meta m = {.nr_objects = 2,
					 .objects = rows,
					 .strings = &nothing,
					 .string_bytes = 1};
			struct object_space *s = object_space_new();

			memcpy(rows[order].build_id, &all[i].id, 4);
			memcpy(rows[!order].build_id, &all[i - 1].id, 4);
			object_space_add(s, &m, 0);
			object_space_add(s, &m, 1);
			object_space_assign(s);
			got[order][0] = object_space_base(s, order);
			got[order][1] = object_space_base(s, !order);
			object_space_free(s);
		}
		assert_true(got[0][0] == got[1][0]);
		assert_true(got[0][1] == got[1][1]);
		assert_true(got[0][0] != got[0][1]);
	}
	assert_true(nr > 0);
}

static void libraries_have_their_name(void **state)
{
	struct fake_meta m;
	struct symbols *s;
	struct object_space *space = object_space_new();
	struct area_object rows[2];

	build("libx.so.1", "-shared -fPIC");
	describe(&m, "libx.so.1");
	rows[0] = (struct area_object){.build_id_bytes = 4, .path = 199};
	rows[1] = m.object;
	m.meta.nr_objects = 2;
	m.meta.objects = rows;
	assert_int_equal(object_space_add(space, &m.meta, 0), 0);
	assert_int_equal(object_space_add(space, &m.meta, 1), 1);
	assert_int_equal(object_space_assign(space), 0);
	s = symbols_new();
	assert_int_equal(object_space_load(space, s, keep_note), 0);
	assert_string_equal(find_name(s, "plain")->module, "libx.so.1");
	symbols_free(s);
	object_space_free(space);
}

/* Bytes at random in an ELF file: the sanitizers watch. */
static void damage(const char *flags)
{
	struct stat st;
	char *bytes;
	int fd;

	build("prog", flags);
	fd = open(fake_path("prog"), O_RDWR);
	fstat(fd, &st);
	bytes = malloc((size_t)st.st_size);
	assert_int_equal(pread(fd, bytes, (size_t)st.st_size, 0), st.st_size);
	srandom(5);
	for (int round = 0; round < 800; round++) {
		struct elf_code code = {0};
		struct elf_start start;

		for (int i = 0; i < 3; i++) {
			off_t at = i == 0 ? random() % 1000 : random() % st.st_size;
			char c = (char)random();

			/* section headers lie at the end */
			if (i == 2)
				at = st.st_size - 1 - random() % 2000;
			pwrite(fd, &c, 1, at);
		}
		if (!elf_code_load(fake_path("prog"), &code))
			elf_code_free(&code);
		elf_start_read(fd, "prog", &start);
		assert_int_equal(pwrite(fd, bytes, (size_t)st.st_size, 0), st.st_size);
	}
	close(fd);
	free(bytes);
}

static void damaged_files(void **state)
{
	damage("");
	damage("-s");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_those_of_nm),
		cmocka_unit_test(code_between_symbols_has_a_name_of_its_own),
		cmocka_unit_test(stripped_functions_are_distinct),
		cmocka_unit_test(stripped_functions_begin_where_their_frames_do),
		cmocka_unit_test(a_changed_file_gives_no_names),
		cmocka_unit_test(ranges),
		cmocka_unit_test(ranges_that_collide),
		cmocka_unit_test(libraries_have_their_name),
		cmocka_unit_test(damaged_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
