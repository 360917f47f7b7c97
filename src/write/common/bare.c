/* SPDX-License-Identifier: BSD-3-Clause */
/* Bare names of functions. */
#include <string.h>

#include "write/common/bare.h"
#include "model/region.h"
#include "model/str.h"

/* "outer.<locals>.f(n=5)" becomes "f(n=5)", "[C.f][x.py:3]" becomes "[f][x.py:3]": the name of a function ends at its
 * arguments, its file or its line. */
static struct sp_str last_of_python(struct sp_arena *a, struct sp_str s)
{
	const size_t begin = s.n && s.p[0] == '[';
	size_t end = begin, dot = begin;

	while (end < s.n && !memchr("(:]", s.p[end], 3)) {
		if (s.p[end] == '.' && end + 1 < s.n)
			dot = end + 1;
		end++;
	}
	if (dot == begin || dot >= end)
		return s;
	if (!begin)
		return (struct sp_str){s.p + dot, s.n - dot};
	char *p = sp_arena_copy(a, s.p + dot - 1, s.n - dot + 1);
	if (!p)
		return s;
	p[0] = '[';
	return (struct sp_str){p, s.n - dot + 1};
}

/* "<built-in method math.sqrt>" becomes "sqrt", "<method 'append' of 'list' objects>" becomes "append". */
static struct sp_str last_of_c(struct sp_str s)
{
	static const char method[] = "<method '", built_in[] = "<built-in method ";
	const char *end;

	if (s.n > sizeof method && memcmp(s.p, method, sizeof method - 1) == 0) {
		const char *p = s.p + sizeof method - 1;
		end = memchr(p, '\'', s.n - (sizeof method - 1));
		return end ? (struct sp_str){p, (size_t)(end - p)} : s;
	}
	if (s.n <= sizeof built_in || memcmp(s.p, built_in, sizeof built_in - 1) != 0)
		return s;
	const char *p = s.p + sizeof built_in - 1, *dot;
	end = s.p + s.n - 1;
	while ((dot = memchr(p, '.', (size_t)(end - p))) && dot + 1 < end)
		p = dot + 1;
	return (struct sp_str){p, (size_t)(end - p)};
}

struct sp_str sp_bare_name(struct sp_arena *a, const struct sp_region *r)
{
	const struct sp_str s = r->qualname.n ? r->qualname : r->name;

	if (r->kind == SP_REGION_PYTHON)
		return last_of_python(a, s);
	return r->kind == SP_REGION_C ? last_of_c(s) : s;
}
