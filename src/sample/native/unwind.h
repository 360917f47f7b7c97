/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds a frame's caller with the rows of an object file's call frame information (.eh_frame, .debug_frame). libdw
 * reads a row once for each address; it is stored in a form that takes a few ns to apply. x86-64's registers have the
 * numbers that DWARF gives them. */
#ifndef SP_SAMPLE_NATIVE_UNWIND_H
#define SP_SAMPLE_NATIVE_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SP_REG_RBP = 6, SP_REG_RSP = 7, SP_REG_PC = 16, SP_REGS = 17 };

struct sp_registers {
	uint64_t value[SP_REGS];
	uint32_t known; /* a bit for each known register */
};

enum sp_rule {
	SP_RULE_SAME,
	SP_RULE_LOST,
	SP_RULE_AT,       /* value in memory, `offset` bytes from the frame's address (its CFA) */
	SP_RULE_IS,       /* value is the frame's address + offset */
	SP_RULE_REGISTER, /* value in register `offset` */
	SP_RULE_COMPUTED  /* value of expression `offset` of the row */
};

struct sp_expression {
	const void *operations; /* Dwarf_Op[n] of libdw */
	size_t n;
};

enum { SP_EXPRESSIONS = SP_REGS + 1 };
struct sp_row {
	bool found;   /* a row was found */
	bool signal;  /* the frame that a signal handler returns to: it was interrupted, and did not call */
	bool last;    /* it has no caller */
	uint8_t base; /* register from which the frame's address is computed; SP_REGS: expression 0 */
	int32_t base_offset;
	uint8_t rule[SP_REGS];
	int32_t offset[SP_REGS];
	struct sp_expression *expressions; /* owned, including the expressions of all rules; or NULL */
};

struct sp_unwind; /* the tables of one object file */
/* Opens the tables of an object file. NULL: it contains no tables, or no memory. */
struct sp_unwind *sp_unwind_open(const char *path);
void sp_unwind_close(struct sp_unwind *u);
/* Finds the row for an address of the file; the caller frees row->expressions. */
void sp_unwind_row(struct sp_unwind *u, uint64_t address, struct sp_row *row);
/* The begin of the code range with one table that contains the address, usually a function; for an address behind all
 * ranges that of the last one. Returns false if unknown. */
bool sp_unwind_begin(const struct sp_unwind *u, uint64_t address, uint64_t *begin);

/* sp_unwind_step() changes a frame's registers to those of its caller. read: reads 8 bytes of the process. Returns
 * false if a needed value is unknown. */
typedef bool sp_unwind_read(void *user, uint64_t at, uint64_t *value);
bool sp_unwind_step(const struct sp_row *row, struct sp_registers *r, sp_unwind_read *read, void *user);

#endif
