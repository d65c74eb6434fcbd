/* SPDX-License-Identifier: MIT */
/*
 * Names of C++ and Rust functions. The long forms are what c++filt prints of these names, but for
 * Rust's hashes of crates' builds and the types of constants.
 */
#include "cm.h"

#include <stdlib.h>
#include <string.h>

#include "tools/code/demangle.h"
#include "tools/code/symbols.h"

static const struct {
	const char *symbol, *full, *brief;
} names[] = {
	{"_RNvC6_123foo3bar", "123foo::bar", "123foo::bar"},
	{"_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
	 "utf8_idents::საჭმელად_გემრიელი_სადილი", "utf8_idents::საჭმელად_გემრიელი_სადილი"},
	{"_RNCNCNgCs6DXkGYLi8lr_2cc5spawn00B5_", "cc::spawn::{closure#0}::{closure#0}",
	 "cc::spawn::{closure#0}::{closure#0}"},
	{"_RNCINkXs25_NgCsbmNqQUJIY6D_4core5sliceINyB9_4IterhENuNgNoBb_4iter8iterator8Iterator9"
	 "rpositionNCNgNpB9_6memchr7memrchrs_0E0Bb_",
	 "<core::slice::Iter<u8> as core::iter::iterator::Iterator>::rposition::"
	 "<core::slice::memchr::memrchr::{closure#1}>::{closure#0}",
	 "<core::slice::Iter<u8> as core::iter::iterator::Iterator>::rposition::{closure#0}"},
	{"_RINbNbCskIICzLVDPPb_5alloc5alloc8box_freeDINbNiB4_5boxed5FnBoxuEp6OutputuEL_ECs1iopQbuB"
	 "iw2_3std",
	 "alloc::alloc::box_free::<dyn alloc::boxed::FnBox<(), Output = ()>>",
	 "alloc::alloc::box_free"},
	{"_RMC0INtC8arrayvec8ArrayVechKj7b_E", "<arrayvec::ArrayVec<u8, 123>>",
	 "<arrayvec::ArrayVec<u8, 123>>"},
	{"_RMCs4fqI2P2rA04_13const_genericINtB0_4BoolKb1_E", "<const_generic::Bool<true>>",
	 "<const_generic::Bool<true>>"},
	{"_RMCs4fqI2P2rA04_13const_genericINtB0_4CharKc76_E", "<const_generic::Char<'v'>>",
	 "<const_generic::Char<'v'>>"},
	{"_ZN4core3ptr85drop_in_place$LT$std..rt..lang_start$LT$$LP$$RP$$GT$..$u7b$$u7b$closure$"
	 "u7d$$u7d$$GT$17h0123456789abcdefE",
	 "core::ptr::drop_in_place<std::rt::lang_start<()>::{{closure}}>",
	 "core::ptr::drop_in_place<std::rt::lang_start<()>::{{closure}}>"},
	{"_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
	 "3bar17h930b740aa94f1d3aE",
	 "<Test + 'static as foo::Bar<Test>>::bar", "<Test + 'static as foo::Bar<Test>>::bar"},
};

/* These need the C++ library. */
static const struct {
	const char *symbol, *full, *brief;
} cxx[] = {
	{"_Z1fi", "f(int)", "f"},
	{"_Z3a<<v", "a<<()", "a"}, /* not of a compiler: it hung */
	{"_ZNK2ns5Class6methodEPKcRKi", "ns::Class::method(char const*, int const&) const",
	 "ns::Class::method"},
	{"_ZNSt6vectorIiSaIiEE9push_backERKi",
	 "std::vector<int, std::allocator<int> >::push_back(int const&)", "std::vector::push_back"},
	{"_Z2mkIiESt6vectorIT_SaIS1_EEPFS1_iES3_",
	 "std::vector<int, std::allocator<int> > mk<int>(int (*)(int), "
	 "std::vector<int, std::allocator<int> >)",
	 "mk"},
	{"_ZN1VltERKS_", "V::operator<(V const&)", "V::operator<"},
	{"_ZN1VlsIiEEbT_", "bool V::operator<< <int>(int)", "V::operator<<"},
	{"_ZN1VptEv", "V::operator->()", "V::operator->"},
	{"_ZN1VclEi", "V::operator()(int)", "V::operator()"},
	{"_ZN1VcvbEv", "V::operator bool()", "V::operator bool"},
	{"_ZN1VnwEm", "V::operator new(unsigned long)", "V::operator new"},
	{"_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const",
	 "main::{lambda#1}::operator()"},
	{"_ZN12_GLOBAL__N_13hidEv", "(anonymous namespace)::hid()", "(anonymous namespace)::hid"},
	{"_ZThn16_N1D1fEv", "non-virtual thunk to D::f()", "non-virtual thunk to D::f"},
	{"_Z1fi.cold", "f(int) [clone .cold]", "f"},
	{"_ZN1AD0Ev", "A::~A()", "A::~A"},
};

static void check(const char *symbol, enum demangle how, const char *want)
{
	char *got = demangle(symbol, how);

	assert_non_null(got);
	assert_string_equal(got, want);
	free(got);
}

static void test_rust(void **state)
{
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		check(names[i].symbol, DEMANGLE_FULL, names[i].full);
		check(names[i].symbol, DEMANGLE_SHORT, names[i].brief);
		assert_null(demangle(names[i].symbol, DEMANGLE_NONE));
	}
}

static void test_cxx(void **state)
{
	char *there = demangle("_Z1fi", DEMANGLE_FULL);

	if (!there)
		skip(); /* no C++ library on this machine */
	free(there);
	for (unsigned int i = 0; i < sizeof(cxx) / sizeof(cxx[0]); i++) {
		check(cxx[i].symbol, DEMANGLE_FULL, cxx[i].full);
		check(cxx[i].symbol, DEMANGLE_SHORT, cxx[i].brief);
	}
}

static void test_others(void **state)
{
	static const char *const plain[] = {
		"",    "main",	    "_",    "_Z",    "_R",    "_RN",
		"_ZN", "_ZN3fooE_", "_RB_", "_Rust", "_Z99f", "_ZN4core17h0123456789abcdeE"};

	for (unsigned int i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		assert_null(demangle_rust(plain[i], DEMANGLE_FULL));
		free(demangle(plain[i], DEMANGLE_FULL));
	}
}

/* What a hostile name may cost: a tuple of two references back, forty times over. */
static void test_bombs(void **state)
{
	char symbol[4000] = "_RINvC1a1bTuuE", *at = symbol + strlen(symbol);
	unsigned int last = 8;

	for (unsigned int i = 0; i < 40; i++) {
		static const char digits[] =
			"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
		unsigned int here = (unsigned int)(at - symbol) - 2, n = last - 1;

		at += sprintf(at, "TB%c%c_B%c%c_E", digits[n / 62], digits[n % 62], digits[n / 62],
			      digits[n % 62]);
		last = here;
	}
	strcpy(at, "E");
	assert_null(demangle(symbol, DEMANGLE_FULL));
	/* and a C++ one, whose parameters are pairs of the pair before */
	at = symbol + sprintf(symbol, "_Z1f1AIiiE");
	for (unsigned int i = 0; i < 60; i++)
		at += sprintf(at, i ? "S_IS%c_S%c_E" : "S_IS0_S0_E",
			      i < 10 ? (int)('0' + i) : (int)('A' + (i - 10) % 26),
			      i < 10 ? (int)('0' + i) : (int)('A' + (i - 10) % 26));
	free(demangle(symbol, DEMANGLE_FULL));
}

static void test_noise(void **state)
{
	uint64_t x = 88172645463325252;

	for (unsigned int round = 0; round < 200000; round++) {
		const char *from = names[round % (sizeof(names) / sizeof(names[0]))].symbol;
		char symbol[256];
		size_t n = strlen(from);

		memcpy(symbol, from, n + 1);
		for (unsigned int k = 0; k < 1 + round % 4; k++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			symbol[2 + x % (n - 2)] = from[2 + (x >> 20) % (n - 2)];
			if (x >> 40 & 1)
				symbol[2 + (x >> 41) % (n - 2)] = '\0';
		}
		free(demangle_rust(symbol, round & 1 ? DEMANGLE_FULL : DEMANGLE_SHORT));
	}
}

static void test_symbols(void **state)
{
	struct symbols *s = symbols_new();
	char *text = NULL;
	size_t bytes;
	FILE *f;

	symbols_add(s, 0x1000, 'T', "_RNvC6_123foo3bar", NULL);
	symbols_add(s, 0x2000, 'T', "plain", NULL);
	assert_string_equal(symbols_find(s, 0x1000)->name, "_RNvC6_123foo3bar");
	symbols_demangle(s, DEMANGLE_SHORT);
	assert_string_equal(symbols_find(s, 0x2004)->name, "plain");
	assert_string_equal(symbols_at(s, 0)->name, "123foo::bar");
	assert_string_equal(symbols_at(s, 0)->raw, "_RNvC6_123foo3bar");
	f = open_memstream(&text, &bytes);
	symbols_print_kallsyms(s, f);
	fclose(f);
	assert_non_null(strstr(text, "0000000000001000 T _RNvC6_123foo3bar\n"));
	free(text);
	symbols_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rust),   cmocka_unit_test(test_cxx),
		cmocka_unit_test(test_others), cmocka_unit_test(test_bombs),
		cmocka_unit_test(test_noise),  cmocka_unit_test(test_symbols),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
