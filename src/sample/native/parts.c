/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of a function. A compiler may move code of a function that it considers rare to another place. In a stripped
 * file this part has no symbol, and it may be nearly all of the function: in the Python 3.14 and 3.15 of Debian sid the
 * symbol of the evaluator is that of about 1 % of its code. The call frame information has a separate range for a part,
 * and the function jumps into it. At the begin of a part the stack has the function's frame already, but at the begin
 * of a function it has the return address alone. */
#include "base/elf.h"
#include "sample/native/private.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_FUNCTION = 1 << 20, /* maximum bytes of a function that is searched */
	CANDIDATES = 64,
	ENOUGH = 4, /* jumps into a range that make it a part: other bytes may look like a jump */
	RETURN_ADDRESS = 8
};

struct candidate {
	uint64_t begin;
	size_t jumps;
};

/* Returns the number of bytes of a direct jump with a distance of 32 bits (x86-64: jmp E9, jcc 0F 80 to 0F 8F), or 0.
 */
static size_t jump_at(const unsigned char *code)
{
	return code[0] == 0xe9 ? 5 : code[0] == 0x0f && (code[1] & 0xf0) == 0x80 ? 6 : 0;
}

static void count(struct candidate *c, uint64_t begin)
{
	for (size_t i = 0; i < CANDIDATES; i++) {
		if (!c[i].jumps)
			c[i].begin = begin;
		if (c[i].begin == begin) {
			c[i].jumps++;
			return;
		}
	}
}

/* Whether a function begins there, or no range of code. */
static bool is_function(struct sp_unwind *u, uint64_t begin)
{
	struct sp_row row;
	sp_unwind_row(u, begin, &row);
	free(row.expressions);
	return !row.found || (row.base == SP_REG_RSP && row.base_offset == RETURN_ADDRESS);
}

void sp_parts_find(const char *path, struct sp_unwind *u, const char *function, struct sp_parts *out)
{
	struct candidate candidates[CANDIDATES] = {{0}};
	struct sp_elf_symbol f;
	out->n = 0;
	if (!u || !sp_elf_find(path, function, &f) || f.bytes > MAX_FUNCTION)
		return;
	unsigned char *code = calloc(1, f.bytes + 1); /* jump_at() reads two bytes */
	const size_t bytes = code && sp_elf_bytes(path, f.address, code, f.bytes) ? f.bytes : 0;
	for (size_t i = 0; i < bytes; i++) {
		const size_t n = jump_at(code + i);
		int32_t distance;
		uint64_t begin;
		if (!n || n > bytes - i)
			continue;
		memcpy(&distance, code + i + n - 4, sizeof distance);
		const uint64_t to = f.address + i + n + (uint64_t)(int64_t)distance;
		if (to - f.address >= f.bytes && sp_unwind_begin(u, to, &begin))
			count(candidates, begin);
	}
	free(code);
	for (size_t i = 0; i < CANDIDATES && out->n < sizeof out->begin / sizeof *out->begin; i++)
		if (candidates[i].jumps >= ENOUGH && !is_function(u, candidates[i].begin))
			out->begin[out->n++] = candidates[i].begin;
}

bool sp_parts_have(const struct sp_parts *p, uint64_t begin)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->begin[i] == begin)
			return true;
	return false;
}
