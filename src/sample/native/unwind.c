/* SPDX-License-Identifier: BSD-3-Clause */
#include "sample/native/unwind.h"

#include "base/regular.h"

#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	DEEPEST = 16,           /* maximum stack depth of an expression */
	MAX_OPERATIONS = 256,   /* maximum length of an expression */
	MAX_HEADER = 64 << 20,  /* maximum bytes of .eh_frame_hdr */
	SORTED_RELATIVE = 0x3b, /* DW_EH_PE_datarel | DW_EH_PE_sdata4: the encoding that all linkers write */
	HEADER = 12             /* bytes before its table */
};

/* Entry of .eh_frame_hdr: begin of a code range, relative to the header. */
struct place {
	int32_t code, entry;
};

struct sp_unwind {
	int fd;
	Elf *elf;          /* owned */
	Dwarf_CFI *frames; /* owned: .eh_frame */
	Dwarf *debug;      /* owned, or NULL */
	Dwarf_CFI *debug_frames;
	uint64_t header;     /* address of .eh_frame_hdr */
	struct place *table; /* owned */
	size_t n;
};

/* ---- tables ---- */

static void read_header(struct sp_unwind *u)
{
	size_t n = 0;
	GElf_Phdr p;
	if (elf_getphdrnum(u->elf, &n))
		return;
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(u->elf, (int)i, &p) || p.p_type != PT_GNU_EH_FRAME || p.p_filesz < HEADER ||
		    p.p_filesz > MAX_HEADER)
			continue;
		Elf_Data *d = elf_getdata_rawchunk(u->elf, (int64_t)p.p_offset, p.p_filesz, ELF_T_BYTE);
		const unsigned char *b = d ? d->d_buf : NULL;
		uint32_t count;
		if (!b || b[0] != 1 || b[2] != DW_EH_PE_udata4 || b[3] != SORTED_RELATIVE)
			return;
		memcpy(&count, b + 8, sizeof count);
		if (count > (p.p_filesz - HEADER) / sizeof(struct place) ||
		    !(u->table = malloc((count + 1) * sizeof *u->table)))
			return;
		memcpy(u->table, b + HEADER, count * sizeof *u->table);
		u->n = count;
		u->header = p.p_vaddr;
		return;
	}
}

bool sp_unwind_begin(const struct sp_unwind *u, uint64_t address, uint64_t *begin)
{
	size_t low = 0, high = u->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (u->header + (uint64_t)(int64_t)u->table[middle].code <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return false;
	*begin = u->header + (uint64_t)(int64_t)u->table[low - 1].code;
	return true;
}

struct sp_unwind *sp_unwind_open(const char *path)
{
	elf_version(EV_CURRENT);
	struct sp_unwind *u = calloc(1, sizeof *u);
	if (!u)
		return NULL;
	u->fd = sp_open_regular(AT_FDCWD, path);
	/* not mapped: if another process truncated the file, this one would be killed */
	u->elf = u->fd >= 0 ? elf_begin(u->fd, ELF_C_READ, NULL) : NULL;
	if (u->elf) {
		u->frames = dwarf_getcfi_elf(u->elf);
		u->debug = dwarf_begin_elf(u->elf, DWARF_C_READ, NULL);
		u->debug_frames = u->debug ? dwarf_getcfi(u->debug) : NULL;
		read_header(u);
	}
	if (u->frames || u->debug_frames)
		return u;
	sp_unwind_close(u);
	return NULL;
}

void sp_unwind_close(struct sp_unwind *u)
{
	if (!u)
		return;
	if (u->debug)
		dwarf_end(u->debug);
	if (u->frames)
		dwarf_cfi_end(u->frames);
	if (u->elf)
		elf_end(u->elf);
	if (u->fd >= 0)
		close(u->fd);
	free(u->table);
	free(u);
}

/* ---- rows ---- */

static bool fits(uint64_t n)
{
	return (int64_t)n == (int32_t)n;
}

/* Stores an expression in the row. Returns its number, or -1. */
static int keep(struct sp_row *row, int which, const Dwarf_Op *ops, size_t n)
{
	if (n > MAX_OPERATIONS)
		return -1;
	if (!row->expressions && !(row->expressions = calloc(SP_EXPRESSIONS, sizeof *row->expressions)))
		return -1;
	row->expressions[which] = (struct sp_expression){ops, n};
	return which;
}

static void set_rule(struct sp_row *row, int i, enum sp_rule rule, uint64_t offset)
{
	row->rule[i] = fits(offset) ? rule : SP_RULE_LOST;
	row->offset[i] = (int32_t)offset;
}

static void read_rule(struct sp_row *row, int i, const Dwarf_Op *ops, size_t n, const Dwarf_Op *mine)
{
	if (!n) {
		set_rule(row, i, ops ? SP_RULE_LOST : SP_RULE_SAME, 0);
		return;
	}
	bool value = ops[n - 1].atom == DW_OP_stack_value;
	size_t m = n - value;
	if (m == 1 && ops[0].atom == DW_OP_call_frame_cfa)
		set_rule(row, i, value ? SP_RULE_IS : SP_RULE_AT, 0);
	else if (m == 2 && ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom == DW_OP_plus_uconst)
		set_rule(row, i, value ? SP_RULE_IS : SP_RULE_AT, ops[1].number);
	else if (m == 1 && ops[0].atom == DW_OP_regx && ops[0].number < SP_REGS)
		set_rule(row, i, SP_RULE_REGISTER, ops[0].number);
	else if (ops != mine && keep(row, i + 1, ops, n) >= 0)
		set_rule(row, i, SP_RULE_COMPUTED, (uint64_t)i + 1);
	else
		set_rule(row, i, SP_RULE_LOST, 0);
}

static bool read_base(struct sp_row *row, const Dwarf_Op *ops, size_t n)
{
	row->base = SP_REGS;
	if (n == 1 && ops[0].atom == DW_OP_bregx) {
		/* not an expression: ops is a part of the frame, which is freed */
		row->base = (uint8_t)ops[0].number;
		row->base_offset = (int32_t)ops[0].number2;
		return ops[0].number < SP_REGS && fits(ops[0].number2);
	}
	if (n == 1 && ops[0].atom >= DW_OP_breg0 && ops[0].atom < DW_OP_breg0 + SP_REGS && fits(ops[0].number)) {
		row->base = (uint8_t)(ops[0].atom - DW_OP_breg0);
		row->base_offset = (int32_t)ops[0].number;
		return true;
	}
	return n && keep(row, 0, ops, n) == 0;
}

void sp_unwind_row(struct sp_unwind *u, uint64_t address, struct sp_row *row)
{
	Dwarf_Frame *f = NULL;
	Dwarf_Op mine[4], *ops;
	size_t n;
	memset(row, 0, sizeof *row);
	if (!(u->frames && !dwarf_cfi_addrframe(u->frames, address, &f)) &&
	    !(u->debug_frames && !dwarf_cfi_addrframe(u->debug_frames, address, &f)))
		return;
	row->found = dwarf_frame_info(f, NULL, NULL, &row->signal) == SP_REG_PC && !dwarf_frame_cfa(f, &ops, &n) &&
	             read_base(row, ops, n);
	for (int i = 0; row->found && i < SP_REGS; i++) {
		if (dwarf_frame_register(f, i, mine, &ops, &n))
			set_rule(row, i, SP_RULE_LOST, 0);
		else
			read_rule(row, i, ops, n, mine);
	}
	if (row->rule[SP_REG_RSP] == SP_RULE_SAME || row->rule[SP_REG_RSP] == SP_RULE_LOST)
		set_rule(row, SP_REG_RSP, SP_RULE_IS, 0);
	row->last = row->rule[SP_REG_PC] == SP_RULE_LOST;
	free(f);
}

/* ---- expressions ---- */

struct machine {
	const struct sp_registers *r;
	uint64_t base; /* the frame's address */
	sp_unwind_read *read;
	void *user;
	uint64_t stack[DEEPEST];
	size_t n;
};

static bool push(struct machine *m, uint64_t value)
{
	if (m->n == DEEPEST)
		return false;
	m->stack[m->n++] = value;
	return true;
}

static bool push_register(struct machine *m, uint64_t number, uint64_t offset)
{
	return number < SP_REGS && m->r->known >> number & 1 && push(m, m->r->value[number] + offset);
}

static bool binary(struct machine *m, unsigned atom)
{
	if (m->n < 2)
		return false;
	uint64_t b = m->stack[--m->n], *a = &m->stack[m->n - 1];
	switch (atom) {
	case DW_OP_plus:
		*a += b;
		return true;
	case DW_OP_minus:
		*a -= b;
		return true;
	case DW_OP_and:
		*a &= b;
		return true;
	case DW_OP_or:
		*a |= b;
		return true;
	case DW_OP_mul:
		*a *= b;
		return true;
	case DW_OP_shl:
		*a = b < 64 ? *a << b : 0;
		return true;
	case DW_OP_shr:
		*a = b < 64 ? *a >> b : 0;
		return true;
	case DW_OP_ge:
		*a = (int64_t)*a >= (int64_t)b;
		return true;
	case DW_OP_gt:
		*a = (int64_t)*a > (int64_t)b;
		return true;
	case DW_OP_le:
		*a = (int64_t)*a <= (int64_t)b;
		return true;
	case DW_OP_lt:
		*a = (int64_t)*a < (int64_t)b;
		return true;
	case DW_OP_eq:
		*a = *a == b;
		return true;
	case DW_OP_ne:
		*a = *a != b;
		return true;
	default:
		return false;
	}
}

/* Evaluates the operations that compilers and the C library write; fails for others. */
static bool operate(struct machine *m, const Dwarf_Op *o)
{
	if (o->atom >= DW_OP_lit0 && o->atom <= DW_OP_lit31)
		return push(m, o->atom - DW_OP_lit0);
	if (o->atom >= DW_OP_breg0 && o->atom <= DW_OP_breg31)
		return push_register(m, o->atom - DW_OP_breg0, o->number);
	switch (o->atom) {
	case DW_OP_addr:
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_const2u:
	case DW_OP_const2s:
	case DW_OP_const4u:
	case DW_OP_const4s:
	case DW_OP_const8u:
	case DW_OP_const8s:
	case DW_OP_constu:
	case DW_OP_consts:
		return push(m, o->number);
	case DW_OP_bregx:
		return push_register(m, o->number, o->number2);
	case DW_OP_call_frame_cfa:
		return push(m, m->base);
	case DW_OP_dup:
		return m->n && push(m, m->stack[m->n - 1]);
	case DW_OP_plus_uconst:
		return m->n && (m->stack[m->n - 1] += o->number, true);
	case DW_OP_deref:
		return m->n && m->read(m->user, m->stack[m->n - 1], &m->stack[m->n - 1]);
	case DW_OP_nop:
	case DW_OP_stack_value:
		return true;
	default:
		return binary(m, o->atom);
	}
}

static bool compute(const struct sp_expression *e, struct machine *m, uint64_t *out)
{
	const Dwarf_Op *ops = e->operations;
	m->n = 0;
	for (size_t i = 0; i < e->n; i++)
		if (!operate(m, &ops[i]))
			return false;
	*out = m->n ? m->stack[m->n - 1] : 0;
	return m->n;
}

/* ---- steps ---- */

/* The value of a register in the caller; false: unknown. */
static bool apply(const struct sp_row *row, int i, const struct sp_registers *r, struct machine *m, uint64_t *out)
{
	uint64_t offset = (uint64_t)(int64_t)row->offset[i];
	const struct sp_expression *e;
	switch (row->rule[i]) {
	case SP_RULE_SAME:
		*out = r->value[i];
		return r->known >> i & 1;
	case SP_RULE_AT:
		return m->read(m->user, m->base + offset, out);
	case SP_RULE_IS:
		*out = m->base + offset;
		return true;
	case SP_RULE_REGISTER:
		*out = r->value[offset];
		return r->known >> offset & 1;
	case SP_RULE_COMPUTED:
		e = &row->expressions[offset];
		return compute(e, m, out) && (((const Dwarf_Op *)e->operations)[e->n - 1].atom == DW_OP_stack_value ||
		                              m->read(m->user, *out, out));
	default:
		return false;
	}
}

bool sp_unwind_step(const struct sp_row *row, struct sp_registers *r, sp_unwind_read *read, void *user)
{
	struct sp_registers caller;
	struct machine m = {.r = r, .read = read, .user = user};
	if (!row->found || row->last)
		return false;
	if (row->base < SP_REGS) {
		if (!(r->known >> row->base & 1))
			return false;
		m.base = r->value[row->base] + (uint64_t)(int64_t)row->base_offset;
	} else if (!compute(&row->expressions[0], &m, &m.base)) {
		return false;
	}
	caller.known = 0;
	for (int i = 0; i < SP_REGS; i++)
		if (apply(row, i, r, &m, &caller.value[i]))
			caller.known |= 1u << i;
	*r = caller;
	return (r->known >> SP_REG_PC & 1) && (r->known >> SP_REG_RSP & 1);
}
