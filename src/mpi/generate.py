# SPDX-License-Identifier: BSD-3-Clause
"""Generates C and assembler from the table functions.list, at build time. Only `wrappers` needs an MPI: it reads the types
of parameters from mpi.h.

    generate.py names TABLE OUT                  functions.h: an enumeration, and SP_MPI_TABLE(X)
    generate.py real TABLE OUT                   real.h: PMPI_… is the function of the MPI in the process, found at run time
    generate.py trampolines TABLE OUT            trampolines.S, for x86_64 and aarch64
    generate.py wrappers TABLE OUT COMPILER...   wrappers.c; the compiler's options include the path of mpi.h
"""

from __future__ import annotations

import re
import subprocess
import sys
import zlib

ROLES = {
    "other": "OTHER",
    "p2p": "POINT2POINT",
    "barrier": "BARRIER",
    "one2all": "ONE2ALL",
    "all2one": "ALL2ONE",
    "all2all": "ALL2ALL",
    "coll": "COLL_OTHER",
    "rma": "RMA",
    "atomic": "ATOMIC",
    "alloc": "ALLOCATE",
    "io": "FILE_IO",
}
LICENCE = "/* SPDX-License-Identifier: BSD-3-Clause */\n/* Made by generate.py from functions.list. */\n"


class Function:
    """One function; a variant for large counts is a separate function with the same region."""

    __slots__ = ("after", "before", "groups", "missing", "name", "parameters", "region", "role")

    def __init__(self, line: str) -> None:
        columns = [part.strip() for part in line.split("|")]
        self.name, groups, role = columns[0].split()
        self.role = ROLES[role]
        self.groups = groups.split("+")
        self.parameters = columns[1].split() if len(columns) > 1 else []
        self.before = columns[2] if len(columns) > 2 else ""
        self.after = columns[3] if len(columns) > 3 else ""
        self.missing = "+" in self.name
        self.region = self.name = self.name.rstrip("*+")

    def large(self) -> Function:
        other = Function.__new__(Function)
        for slot in Function.__slots__:
            setattr(other, slot, getattr(self, slot))
        other.name += "_c"
        other.missing = True
        return other

    def by_hand(self) -> bool:
        return self.before == "by hand"


def table(path: str) -> list[Function]:
    functions = []
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            text = line.split("#")[0].strip()
            if not text:
                continue
            try:
                one = Function(text)
            except (KeyError, ValueError) as e:
                raise SystemExit(f"{path}:{number}: cannot be read ({e})") from None
            functions.append(one)
            if "*" in text.split()[0]:
                functions.append(one.large())
    return functions


def names(functions: list[Function]) -> str:
    check = zlib.crc32(" ".join(f.name for f in functions).encode())
    rows = []
    for f in functions:
        groups = " | ".join("SP_MPI_GROUP_" + g.upper() for g in f.groups)
        rows.append(f"\tX({f.name}, {f.region}, {groups}, SP_RAW_MPI_{f.role}, {int(f.missing)})")
    enum = "".join(f"\tSP_MPI_F_{f.name},\n" for f in functions)
    lines = " \\\n".join(["#define SP_MPI_TABLE(X)", *rows])
    return (
        f"{LICENCE}#ifndef SP_MPI_FUNCTIONS_H\n#define SP_MPI_FUNCTIONS_H\n\n"
        f"enum {{\n{enum}\tSP_MPI_FUNCTIONS\n}};\n"
        f"#define SP_MPI_CHECK 0x{check:08x}u /* tells tables apart */\n\n"
        f"/* name, name of the region, groups, role, may be missing */\n{lines}\n\n#endif\n"
    )


def real(functions: list[Function]) -> str:
    lines = [f"#define PMPI_{f.name} ((__typeof__(&PMPI_{f.name}))sp_mpi_real[SP_MPI_F_{f.name}])\n" for f in functions]
    return (
        f'{LICENCE}#ifndef SP_MPI_REAL_H\n#define SP_MPI_REAL_H\n\n#include <mpi.h>\n\n#include "functions.h"\n\n'
        "/* NULL: this MPI has none */\n"
        f"extern void *sp_mpi_real[SP_MPI_FUNCTIONS];\n\n{''.join(lines)}\n#endif\n"
    )


# The dynamic linker resolves a symbol once for each object that uses it, and calls sp_mpi_indirect() for its address: NULL
# if this MPI has no such function, because a program that checks for it must see that; otherwise the trampoline, a jump
# through sp_mpi_targets. Its entries first point to code that calls sp_mpi_first(), which sets them. That code saves
# the registers that may contain arguments of the function.
X86_64 = """
.macro FUNCTION name, number
	.globl MPI_\\name
	.type MPI_\\name, %gnu_indirect_function
MPI_\\name:
	.cfi_startproc
	endbr64
	movl $\\number, %edi
	jmp sp_mpi_indirect
	.cfi_endproc
	.size MPI_\\name, . - MPI_\\name
	.type trampoline_\\number, %function
trampoline_\\number:
	.cfi_startproc
	endbr64
	jmpq *(sp_mpi_targets + 8 * \\number)(%rip)
	.cfi_endproc
	.size trampoline_\\number, . - trampoline_\\number
	.type first_\\number, %function
first_\\number:
	.cfi_startproc
	endbr64
	movl $\\number, %r11d
	jmp first
	.cfi_endproc
	.size first_\\number, . - first_\\number
.endm

	.type first, %function
first:
	.cfi_startproc
	pushq %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	movq %rsp, %rbp
	.cfi_def_cfa_register %rbp
	andq $-16, %rsp
	subq $192, %rsp
	movq %rdi, (%rsp)
	movq %rsi, 8(%rsp)
	movq %rdx, 16(%rsp)
	movq %rcx, 24(%rsp)
	movq %r8, 32(%rsp)
	movq %r9, 40(%rsp)
	movq %rax, 48(%rsp)
	movups %xmm0, 64(%rsp)
	movups %xmm1, 80(%rsp)
	movups %xmm2, 96(%rsp)
	movups %xmm3, 112(%rsp)
	movups %xmm4, 128(%rsp)
	movups %xmm5, 144(%rsp)
	movups %xmm6, 160(%rsp)
	movups %xmm7, 176(%rsp)
	movl %r11d, %edi
	call sp_mpi_first
	movq %rax, %r11
	movq (%rsp), %rdi
	movq 8(%rsp), %rsi
	movq 16(%rsp), %rdx
	movq 24(%rsp), %rcx
	movq 32(%rsp), %r8
	movq 40(%rsp), %r9
	movq 48(%rsp), %rax
	movups 64(%rsp), %xmm0
	movups 80(%rsp), %xmm1
	movups 96(%rsp), %xmm2
	movups 112(%rsp), %xmm3
	movups 128(%rsp), %xmm4
	movups 144(%rsp), %xmm5
	movups 160(%rsp), %xmm6
	movups 176(%rsp), %xmm7
	leave
	.cfi_def_cfa %rsp, 8
	.cfi_restore %rbp
	jmpq *%r11
	.cfi_endproc
	.size first, . - first
"""
AARCH64 = """
.macro FUNCTION name, number
	.globl MPI_\\name
	.type MPI_\\name, %gnu_indirect_function
MPI_\\name:
	.cfi_startproc
	hint 34 /* bti c */
	mov w0, #\\number
	b sp_mpi_indirect
	.cfi_endproc
	.size MPI_\\name, . - MPI_\\name
	.type trampoline_\\number, %function
trampoline_\\number:
	.cfi_startproc
	hint 34
	adrp x16, sp_mpi_targets + 8 * \\number
	add x16, x16, #:lo12:(sp_mpi_targets + 8 * \\number)
	ldar x16, [x16]
	br x16
	.cfi_endproc
	.size trampoline_\\number, . - trampoline_\\number
	.type first_\\number, %function
first_\\number:
	.cfi_startproc
	hint 34
	mov w17, #\\number
	b first
	.cfi_endproc
	.size first_\\number, . - first_\\number
.endm

	.type first, %function
first:
	.cfi_startproc
	stp x29, x30, [sp, #-224]!
	.cfi_def_cfa_offset 224
	.cfi_rel_offset x29, 0
	.cfi_rel_offset x30, 8
	mov x29, sp
	stp x0, x1, [sp, #16]
	stp x2, x3, [sp, #32]
	stp x4, x5, [sp, #48]
	stp x6, x7, [sp, #64]
	str x8, [sp, #80]
	stp q0, q1, [sp, #96]
	stp q2, q3, [sp, #128]
	stp q4, q5, [sp, #160]
	stp q6, q7, [sp, #192]
	mov w0, w17
	bl sp_mpi_first
	mov x16, x0
	ldp x0, x1, [sp, #16]
	ldp x2, x3, [sp, #32]
	ldp x4, x5, [sp, #48]
	ldp x6, x7, [sp, #64]
	ldr x8, [sp, #80]
	ldp q0, q1, [sp, #96]
	ldp q2, q3, [sp, #128]
	ldp q4, q5, [sp, #160]
	ldp q6, q7, [sp, #192]
	ldp x29, x30, [sp], #224
	.cfi_restore x29
	.cfi_restore x30
	.cfi_def_cfa_offset 0
	br x16
	.cfi_endproc
	.size first, . - first
"""


def trampolines(functions: list[Function]) -> str:
    calls = "".join(f"FUNCTION {f.name}, {i}\n" for i, f in enumerate(functions))
    lists = {
        "sp_mpi_trampolines": "".join(f"\t.quad trampoline_{i}\n" for i in range(len(functions))),
        "sp_mpi_targets": "".join(f"\t.quad first_{i}\n" for i in range(len(functions))),
    }
    data = "".join(
        f"\t.globl {name}\n\t.hidden {name}\n\t.type {name}, %object\n{name}:\n{words}\t.size {name}, . - {name}\n"
        for name, words in lists.items()
    )
    return (
        f"{LICENCE}\t.text\n#if defined(__x86_64__)\n{X86_64}\n#elif defined(__aarch64__)\n{AARCH64}\n#else\n"
        f"#error no trampolines for this processor\n#endif\n\n{calls}\n"
        f'\t.section .data.rel.local,"aw",%progbits\n\t.balign 8\n{data}\n\t.section .note.GNU-stack,"",%progbits\n'
    )


def prototypes(command: list[str]) -> dict[str, list[str]]:
    """Returns the parameters of each function that mpi.h declares, as written there."""
    done = subprocess.run(
        [*command, "-E", "-P", "-x", "c", "-include", "mpi.h", "/dev/null"], capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"mpi.h cannot be read: {done.stderr.strip()}")
    text = re.sub(r"__attribute__\s*\(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\)", "", done.stdout)
    found = {}
    for statement in text.split(";"):
        m = re.search(r"\bint\s+PMPI_(\w+)\s*\(([^()]*)\)\s*$", statement)
        if m:
            found[m.group(1)] = [" ".join(p.split()) for p in m.group(2).split(",")]
    return found


def _named(declared: list[str], given: list[str], function: str) -> tuple[list[str], list[str]]:
    """Returns the parameters with the table's names (or a0, a1 …), and only their names."""
    if declared == ["void"]:
        return [], []
    typed, alone = [], []
    for i, text in enumerate(declared):
        if text == "...":
            typed.append(text)
            continue
        m = re.fullmatch(r"(.*[\s*])(\w*)((?:\s*\[[^\]]*\])*)", text if re.search(r"[\s*]", text) else text + " ")
        if not m:
            raise SystemExit(f"MPI_{function}: cannot read the parameter {text!r} of mpi.h")
        name = given[i] if i < len(given) else f"a{i}"
        typed.append(f"{m.group(1)}{name}{m.group(3)}")
        alone.append(name)
    if given and len(given) != len(declared):
        raise SystemExit(f"MPI_{function}: functions.list names {len(given)} parameters, mpi.h has {len(declared)}")
    return typed, alone


def _calls(text: str) -> str:
    """sent(dest, tag); more(x)  ->  two statements with c as the first argument."""
    lines = []
    for call in filter(None, (part.strip() for part in text.split(";"))):
        m = re.fullmatch(r"(\w+)\((.*)\)", call)
        if not m:
            raise SystemExit(f"functions.list: {call!r} is no call")
        lines.append(f"\tsp_mpi_{m.group(1)}(c{', ' if m.group(2) else ''}{m.group(2)});\n")
    return "".join(lines)


def _wrapper(f: Function, declared: list[str]) -> str:
    typed, alone = _named(declared, f.parameters, f.name)
    own = ""
    if "status" in alone and re.search(r"\bstatus\b", f.after):
        own = "\tMPI_Status own;\n\tif (status == MPI_STATUS_IGNORE)\n\t\tstatus = &own;\n"
    if "statuses" in alone:
        own = "\tif (statuses == MPI_STATUSES_IGNORE)\n\t\tstatuses = sp_mpi_statuses(n);\n"
    call = f"PMPI_{f.name}({', '.join(alone)})"
    return (
        f"static int wrap_{f.name}({', '.join(typed) or 'void'})\n{{\n"
        f"\tstruct sp_mpi_call call, *const c = &call;\n"
        f"\tif (!sp_mpi_begin(c, SP_MPI_F_{f.name}))\n\t\treturn {call};\n"
        f"{own}{_calls(f.before)}\tsp_mpi_returned(c, {call});\n{_calls(f.after)}\treturn sp_mpi_end(c);\n}}\n\n"
    )


def wrappers(functions: list[Function], command: list[str]) -> str:
    declared = prototypes(command)
    text, rows = [], []
    for f in functions:
        if f.name not in declared:
            if not f.missing:
                raise SystemExit(f"mpi.h does not declare MPI_{f.name}, which functions.list does not mark with a plus")
            continue
        if f.by_hand():
            rows.append(f"\t[SP_MPI_F_{f.name}] = (void *)sp_mpi_wrap_{f.name},\n")
        else:
            text.append(_wrapper(f, declared[f.name]))
            rows.append(f"\t[SP_MPI_F_{f.name}] = (void *)wrap_{f.name},\n")
    if len(rows) < 300:
        raise SystemExit(f"mpi.h declares {len(rows)} of the functions only: it is not one of MPI 3")
    return (
        f'{LICENCE}#include "mpi/calls/file.h"\n#include "mpi/calls/rma.h"\n\n'
        f'#pragma GCC diagnostic ignored "-Wdeprecated-declarations"\n\n{"".join(text)}'
        f"void *const sp_mpi_wrappers[SP_MPI_FUNCTIONS] = {{\n{''.join(rows)}}};\n"
    )


def main() -> None:
    what, path, out, *command = sys.argv[1:]
    functions = table(path)
    made = {
        "names": lambda: names(functions),
        "real": lambda: real(functions),
        "trampolines": lambda: trampolines(functions),
        "wrappers": lambda: wrappers(functions, command),
    }[what]()
    with open(out, "w", encoding="utf-8") as f:
        f.write(made)


main()
