/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as an object file with symbols and call frame information, and as the stack to unwind with these: none of
 * it is trusted. The input is xored to a valid object, the vDSO. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/elf.h"
#include "sample/native/unwind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OBJECT = 8192, STEP = 61, DEPTH = 32 };

static const uint8_t *stack;
static size_t stack_size;

static bool read_word(void *user, uint64_t at, uint64_t *value)
{
	(void)user;
	if (stack_size < 8 || at > stack_size - 8)
		return false;
	memcpy(value, stack + at, 8);
	return true;
}

static void steps(struct sp_unwind *u, uint64_t address)
{
	struct sp_registers r = {.known = (1u << SP_REGS) - 1};
	for (int i = 0; i < SP_REGS; i++)
		r.value[i] = address % (stack_size + 1);
	r.value[SP_REG_PC] = address;
	for (int i = 0; i < DEPTH; i++) {
		struct sp_row row;
		uint64_t begin;
		sp_unwind_row(u, r.value[SP_REG_PC], &row);
		bool more = sp_unwind_step(&row, &r, read_word, NULL);
		free(row.expressions);
		sp_unwind_begin(u, r.value[SP_REG_PC], &begin);
		if (!more)
			return;
	}
}

/* libelf 0.188 leaks memory for some damaged files */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libelf.so\nleak:libdw.so\n";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned char whole[OBJECT];
	char path[64];
	uint64_t begin;
	memcpy(whole, (const void *)getauxval(AT_SYSINFO_EHDR), OBJECT);
	/* pairs of an offset and the bits that change there */
	size_t i = 0;
	for (; i + 3 <= size && i < 3 * 64; i += 3)
		whole[(data[i] | data[i + 1] << 8) % OBJECT] ^= data[i + 2];
	stack = data + i;
	stack_size = size - i;
	int fd = memfd_create("object", MFD_CLOEXEC);
	if (fd < 0 || write(fd, whole, OBJECT) != OBJECT)
		abort();
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	struct sp_unwind *u = sp_unwind_open(path);
	for (uint64_t at = 0; u && at < OBJECT; at += STEP)
		steps(u, at);
	sp_unwind_close(u);
	struct sp_elf *e = sp_elf_open(path);
	for (uint64_t at = 0; e && at < OBJECT; at += STEP)
		sp_elf_function_around(e, at, &begin);
	sp_elf_free(e);
	close(fd);
	return 0;
}
