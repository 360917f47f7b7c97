# SPDX-License-Identifier: BSD-3-Clause
"""spartito compile: starts a compiler with options that make the compiled functions measurable.

The compiler replaces this process, so that output, signals and exit status are those of the compiler."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

from spartito.base.messages import Refused, complain, reason
from spartito.options.kinds import Usage, parse
from spartito.options.recording import COMPILE

# for each language: variables that name the compiler, and the default compiler
COMPILERS = {"cc": ("SPARTITO_CC", "CC", "cc"), "c++": ("SPARTITO_CXX", "CXX", "c++"), "fc": ("SPARTITO_FC", "FC", "gfortran")}
# Functions in these files are not instrumented: they belong to the language and to libraries, and are inlined everywhere.
OTHERS = ("/usr/include/", "/include/c++/", "/lib/gcc/", "/include/python3", "/numpy/core/include/", "/numpy/_core/include/",
          "/pybind11/", "/nanobind/", "/Eigen/")  # fmt: skip
HELPERS = ("__Pyx_",)  # name prefixes of Cython's helper functions, which are not instrumented
# options with which the compiler generates no code, and with which it does not link
NO_CODE = {"-E", "-M", "-MM", "-fsyntax-only"}
NO_LINK = {*NO_CODE, "-c", "-S", "-r", "--emit-llvm"}
# options whose value is the next word, which is not an input file
WITH_VALUE = {"-o", "-x", "-I", "-L", "-D", "-U", "-l", "-include", "-imacros", "-isystem", "-iquote", "-idirafter", "-MF", "-MT",
              "-MQ", "-Xlinker", "-Xpreprocessor", "-Xassembler", "-Xclang", "-T", "-u", "-z", "-e", "-J", "-arch", "-target",
              "--param", "-aux-info", "-mllvm", "-G", "-A", "-B", "--sysroot", "-isysroot", "-iprefix", "-soname"}  # fmt: skip


def _is_ours(words: list[str]) -> bool:
    """Whether the command of a compiler is this wrapper. A build uses it with CC="spartito compile cc"."""
    names = [os.path.basename(w) for w in words]
    return any(n == "spartito" or n.startswith("spartito-") for n in names)


def _compiler(language: str, chosen: object) -> list[str]:
    *variables, default = COMPILERS[language]
    for text, where in [(chosen, "--compiler"), *((os.environ.get(name), name) for name in variables)]:
        if not text:
            continue
        try:
            words = shlex.split(str(text))
        except ValueError as e:
            raise Refused(f"{where}: {text}: {e}", 2) from None
        if words and not _is_ours(words):
            return words
        if where == "--compiler" or where.startswith("SPARTITO_"):
            raise Refused(f"{where}: {text}: name a compiler that is not spartito's", 2)
    return [default]


def _has_input(words: list[str]) -> bool:
    """Whether there is an input to compile or link, and not only an option such as --version or -print-search-dirs."""
    expected = False
    for word in words:
        if expected:
            expected = False
        elif word in WITH_VALUE:
            expected = True
        elif word == "-" or word.startswith("@") or not word.startswith("-"):
            return True
    return False


def _is_clang(compiler: list[str]) -> bool:
    name = os.path.basename(compiler[0])
    if "clang" in name:
        return True
    if "gcc" in name or "g++" in name or "gfortran" in name:
        return False
    try:
        version = subprocess.run([*compiler, "--version"], capture_output=True, check=False, errors="replace", text=True)
    except OSError:
        return False  # starting the compiler will report the error
    return "clang" in version.stdout or "LLVM" in version.stdout


def _native(name: str) -> str:
    import spartito

    for place in spartito.__path__:
        path = os.path.join(place, "native", name)
        if os.path.isfile(path):
            return path
    raise Refused(f"{name} is missing: install Spartito again")


def instrumented(compiler: list[str], words: list[str]) -> list[str]:
    """The compiler's arguments, with the options that its steps (compile, link, both or none) need."""
    given = set(words)
    if not _has_input(words):
        return words
    before: list[str] = []
    after: list[str] = []
    if not given & NO_CODE:
        # in front, so that options of the caller override them
        if _is_clang(compiler):
            # clang has no option to exclude functions; this one excludes inlined functions
            before = ["-g", "-finstrument-functions-after-inlining"]
        else:
            before = ["-g", "-finstrument-functions"]
            before.append("-finstrument-functions-exclude-file-list=" + ",".join(OTHERS))
            before.append("-finstrument-functions-exclude-function-list=" + ",".join(HELPERS))
    if not given & NO_LINK:
        if given & {"-static", "-static-pie"}:
            complain("a static executable cannot be measured: linked without Spartito's object")
            return [*before, *words]
        # -x none: an -x option of the caller would apply to this object file, too
        after = ["-x", "none", _native("spartito_native.o"), "-ldl"]
        if not given & {"-shared", "-dynamiclib"}:
            after.append("-Wl,--dynamic-list=" + _native("exported.list"))
    return [*before, *words, *after]


def main(values: dict[str, object], operands: list[str]) -> int:
    if not operands or operands[0] not in COMPILERS:
        raise Usage(f"name the language first: spartito compile {'|'.join(COMPILERS)} arguments of the compiler…")
    language, *operands = operands
    # Spartito's options may also follow the language, as in CC="spartito compile cc --verbose"
    more, operands = parse(COMPILE, operands)
    values = {**values, **more}
    compiler = _compiler(language, values.get("compiler"))
    words = operands
    if not values.get("nocompiler") and os.environ.get("SPARTITO_WRAPPER", "on") != "off":
        words = instrumented(compiler, operands)
    if values.get("verbose") or values.get("dry_run"):
        sys.stderr.write(shlex.join([*compiler, *words]) + "\n")
        sys.stderr.flush()
    if values.get("dry_run"):
        return 0
    try:
        os.execvp(compiler[0], [*compiler, *words])
    except FileNotFoundError:
        raise Refused(f"{compiler[0]}: command not found", 127) from None
    except OSError as e:
        raise Refused(f"{compiler[0]}: cannot be started: {reason(e)}", 126) from None
    return 0


def _as_program(language: str) -> int:
    from spartito.cli.main import main as command_line

    return command_line(["compile", language, *sys.argv[1:]])


def cc() -> int:
    return _as_program("cc")


def cxx() -> int:
    return _as_program("c++")


def fc() -> int:
    return _as_program("fc")
