/* SPDX-License-Identifier: MIT */
/* Patterns of function names, as the source and as the object has them. */
#include "cm.h"

#include <stdlib.h>
#include <string.h>

#include "tools/code/demangle.h"
#include "tools/code/name_pattern.h"

static enum name_match source(const char *pattern, const char *symbol)
{
	struct name_pattern p;
	enum name_match found;

	assert_true(name_pattern_init(&p, pattern, strlen(pattern)));
	found = name_pattern_source(&p, symbol);
	name_pattern_free(&p);
	return found;
}

static bool raw(const char *pattern, const char *symbol)
{
	struct name_pattern p;
	bool found;

	assert_true(name_pattern_init(&p, pattern, strlen(pattern)));
	found = name_pattern_raw(&p, symbol);
	name_pattern_free(&p);
	return found;
}

static bool has_cxx(void)
{
	char *name = demangle("_Z4leafi", DEMANGLE_FULL);

	free(name);
	return name != NULL;
}

static void test_source(void **state)
{
	static const struct {
		const char *pattern, *symbol;
		enum name_match want;
	} cases[] = {
		{"leaf", "_Z4leafi", NAME_EXACT},
		{"leaf(int)", "_Z4leafi", NAME_EXACT},
		{"leaf( int )", "_Z4leafi", NAME_EXACT},
		{"leaf(char)", "_Z4leafi", NAME_NO},
		{"lea*", "_Z4leafi", NAME_GLOB},
		{"leaf(*)", "_Z4leafi", NAME_GLOB},
		{"lea", "_Z4leafi", NAME_NO},
		{"leaf", "_Z4leafi.isra.0", NAME_EXACT},
		{"leaf(int)", "_ZL4leafi.isra.0", NAME_EXACT},
		{"leaf", "_ZN2ns4leafEi", NAME_NO},
		{"ns::leaf", "_ZN2ns4leafEi", NAME_EXACT},
		{"ns::*", "_ZN2ns4leafEi", NAME_GLOB},
		{"ns::*", "_ZN3ns24leafEi", NAME_NO},
		{"*::leaf", "_ZN2ns4leafEi", NAME_GLOB},
		{"ns::leaf(int)", "_ZN2ns4leafEi", NAME_EXACT},
		{"ns::Box::get", "_ZN2ns3BoxIlE3getEl", NAME_EXACT},
		{"ns::Box<long>::get", "_ZN2ns3BoxIlE3getEl", NAME_EXACT},
		{"ns::Box<long>::get(long)", "_ZN2ns3BoxIlE3getEl", NAME_EXACT},
		{"ns::Box<*>::get", "_ZN2ns3BoxIlE3getEl", NAME_GLOB},
		{"shared", "_Z6sharedIiET_S0_", NAME_EXACT},
		{"shared<int>", "_Z6sharedIiET_S0_", NAME_EXACT},
		{"shared<int>(int)", "_Z6sharedIiET_S0_", NAME_EXACT},
		{"int shared<int>(int)", "_Z6sharedIiET_S0_", NAME_EXACT},
		{"(anonymous namespace)::f", "_ZN12_GLOBAL__N_11fEv", NAME_EXACT},
		{"(anonymous namespace)::f()", "_ZN12_GLOBAL__N_11fEv", NAME_EXACT},
		{"foo()::{lambda()#1}::operator()() const", "_ZZ3foovENKUlvE_clEv", NAME_EXACT},
		{"operator new", "_Znwm", NAME_EXACT},
		{"operator new(unsigned long)", "_Znwm", NAME_EXACT},
		{"A::operator bool", "_ZN1AcvbEv", NAME_EXACT},
		{"A::operator*", "_ZN1AmlERKS_", NAME_EXACT},
		{"A::operator<", "_ZNK1AltERKS_", NAME_EXACT},
		{"A::operator<(A const&) const", "_ZNK1AltERKS_", NAME_EXACT},
		{"A::A", "_ZN1AC2Ev", NAME_EXACT},
		{"A::~A()", "_ZN1AD0Ev", NAME_EXACT},
		{"std::vector<int, std::allocator<int> >::push_back",
		 "_ZNSt6vectorIiSaIiEE9push_backERKi", NAME_EXACT},
		{"std::*", "_ZNSt6vectorIiSaIiEE9push_backERKi", NAME_GLOB},
		{"leaf", "leaf", NAME_NO}, /* the object's own name */
		{"_Z4leafi", "_Z4leafi", NAME_NO},
	};

	if (!has_cxx())
		skip();
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (source(cases[i].pattern, cases[i].symbol) != cases[i].want)
			fail_msg("%s and %s: %d", cases[i].pattern, cases[i].symbol,
				 (int)source(cases[i].pattern, cases[i].symbol));
}

static void test_rust(void **state)
{
	assert_int_equal(source("cc::spawn::*", "_RNCNCNgCs6DXkGYLi8lr_2cc5spawn00B5_"), NAME_GLOB);
	assert_int_equal(
		source("alloc::alloc::box_free",
		       "_RINbNbCskIICzLVDPPb_5alloc5alloc8box_freeDINbNiB4_5boxed5FnBoxuEp6Output"
		       "uEL_ECs1iopQbuBiw2_3std"),
		NAME_EXACT);
	assert_int_equal(
		source("core::ptr::*",
		       "_ZN4core3ptr85drop_in_place$LT$std..rt..lang_start$LT$$LP$$RP$$GT$..$u7b$"
		       "$u7b$closure$u7d$$u7d$$GT$17h0123456789abcdefE"),
		NAME_GLOB);
}

static void test_raw(void **state)
{
	assert_true(raw("lea*", "leaf"));
	assert_true(raw("_Z4leafi", "_Z4leafi"));
	assert_false(raw("leaf", "_Z4leafi"));
	assert_true(name_pattern_is_source("ns::f", 5));
	assert_true(name_pattern_is_source("f(int)", 6));
	assert_true(name_pattern_is_source("~A", 2));
	assert_false(name_pattern_is_source("f:traceoff", 10));
	assert_false(name_pattern_is_source("par*", 4));
}

static void words_are(const char *text, const char *between, const char *const *want)
{
	size_t at = 0, bytes;
	const char *word;

	while ((word = name_pattern_word(text, strlen(text), between, &at, &bytes))) {
		assert_non_null(*want);
		assert_int_equal(bytes, strlen(*want));
		assert_memory_equal(word, *want, bytes);
		want++;
	}
	assert_null(*want);
}

static void test_words(void **state)
{
	words_are(" a  b\n\tc ", NAME_PATTERN_BLANKS, (const char *[]){"a", "b", "c", NULL});
	words_are("a,b", NAME_PATTERN_BLANKS, (const char *[]){"a,b", NULL});
	words_are("a,b(int, char),c", ",", (const char *[]){"a", "b(int, char)", "c", NULL});
	words_are("f(int, char) g", NAME_PATTERN_BLANKS,
		  (const char *[]){"f(int, char)", "g", NULL});
	words_are("A::f(int) const g(int) const", NAME_PATTERN_BLANKS,
		  (const char *[]){"A::f(int) const", "g(int) const", NULL});
	words_are("f(int) constant", NAME_PATTERN_BLANKS,
		  (const char *[]){"f(int)", "constant", NULL});
	words_are("operator new x", NAME_PATTERN_BLANKS,
		  (const char *[]){"operator new", "x", NULL});
	words_are("operator delete[] operator< y", NAME_PATTERN_BLANKS,
		  (const char *[]){"operator delete[]", "operator<", "y", NULL});
	words_are("(anonymous namespace)::f b", NAME_PATTERN_BLANKS,
		  (const char *[]){"(anonymous namespace)::f", "b", NULL});
	words_are("v<a, b>::f b", NAME_PATTERN_BLANKS, (const char *[]){"v<a, b>::f", "b", NULL});
	/* brackets that do not close are letters */
	words_are("f( b", NAME_PATTERN_BLANKS, (const char *[]){"f(", "b", NULL});
	words_are("f(\nb)", NAME_PATTERN_BLANKS, (const char *[]){"f(", "b)", NULL});
	words_are("a->b c", NAME_PATTERN_BLANKS, (const char *[]){"a->b", "c", NULL});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_source),
		cmocka_unit_test(test_rust),
		cmocka_unit_test(test_raw),
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
