/* SPDX-License-Identifier: BSD-3-Clause */
/* How to find a frame's caller: the rows of an object file's call frame information (.eh_frame, .debug_frame), read by
 * libdw once for each place of the code, kept in a form that costs some ns to apply. x86-64's registers, by the numbers
 * that DWARF gives them. */
#ifndef SP_SAMPLE_NATIVE_UNWIND_H
#define SP_SAMPLE_NATIVE_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SP_REG_RBP = 6, SP_REG_RSP = 7, SP_REG_PC = 16, SP_REGS = 17 };

struct sp_registers {
	uint64_t value[SP_REGS];
	uint32_t known; /* a bit for each */
};

enum sp_rule {
	SP_RULE_SAME,
	SP_RULE_LOST,
	SP_RULE_AT,       /* stands in memory, `offset` bytes from the frame's address (its CFA) */
	SP_RULE_IS,       /* is the frame's address + offset */
	SP_RULE_REGISTER, /* is in register `offset` */
	SP_RULE_COMPUTED  /* expression `offset` of the row */
};

struct sp_expression {
	const void *operations; /* Dwarf_Op[n], of libdw */
	size_t n;
};

enum { SP_EXPRESSIONS = SP_REGS + 1 };
struct sp_row {
	bool found;   /* there is a row */
	bool signal;  /* the frame that a signal's handler returns to: what it interrupted was no call */
	bool last;    /* no one called it */
	uint8_t base; /* register that the frame's address is computed from; SP_REGS: expression 0 */
	int32_t base_offset;
	uint8_t rule[SP_REGS];
	int32_t offset[SP_REGS];
	struct sp_expression *expressions; /* owned, with those of all rules, or NULL */
};

struct sp_unwind; /* the tables of one object file */
/* NULL: it has none, or no memory. */
struct sp_unwind *sp_unwind_open(const char *path);
void sp_unwind_close(struct sp_unwind *u);
/* The row for an address of the file; row->expressions is the caller's to free. */
void sp_unwind_row(struct sp_unwind *u, uint64_t address, struct sp_row *row);
/* Where the piece of code with one table begins that the address lies in: a function, mostly. false: not known. */
bool sp_unwind_begin(const struct sp_unwind *u, uint64_t address, uint64_t *begin);

/* Turns a frame's registers into its caller's. read: 8 bytes of the process. false: what it needs is not known. */
typedef bool sp_unwind_read(void *user, uint64_t at, uint64_t *value);
bool sp_unwind_step(const struct sp_row *row, struct sp_registers *r, sp_unwind_read *read, void *user);

#endif
