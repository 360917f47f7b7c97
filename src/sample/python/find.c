/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the interpreter of a process and its version. */
#include "sample/python/private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/elf.h"

enum {
	OLDEST = 0x0309,
	NEWEST = 0x030f,
	REPORTING = 0x030d,      /* the first version with _Py_DebugOffsets */
	RELEASE_CANDIDATE = 0xc, /* PY_RELEASE_LEVEL of the version's 32 bits */
	SAID = 96,
	LOCK_BYTES = 208 /* bytes: at least the size of struct _gil_runtime_state */
};
#define VERSIONS "Spartito knows CPython 3.9 to 3.15"

/* ---- the interpreter's own offsets, since 3.13 ---- */

/* _Py_DebugOffsets is an array of 64-bit words; this table has their indices. */
static const struct {
	size_t field;                                /* offset in struct sp_offsets */
	unsigned char index[NEWEST - REPORTING + 1]; /* of 3.13, 3.14 and 3.15 */
} reported[] = {
    {offsetof(struct sp_offsets, runtime_interpreters), {5, 5, 5}},
    {offsetof(struct sp_offsets, interpreter_next), {8, 8, 8}},
    {offsetof(struct sp_offsets, interpreter_threads), {9, 9, 9}},
    {offsetof(struct sp_offsets, interpreter_gil), {14, 15, 15}},
    {offsetof(struct sp_offsets, thread_next), {21, 24, 24}},
    {offsetof(struct sp_offsets, thread_interpreter), {22, 25, 25}},
    {offsetof(struct sp_offsets, thread_frame), {23, 26, 26}},
    {offsetof(struct sp_offsets, thread_ident), {24, 27, 30}},
    {offsetof(struct sp_offsets, thread_native), {25, 28, 31}},
    {offsetof(struct sp_offsets, frame_previous), {29, 32, 40}},
    {offsetof(struct sp_offsets, frame_code), {30, 33, 41}},
    {offsetof(struct sp_offsets, frame_instruction), {31, 34, 42}},
    {offsetof(struct sp_offsets, frame_owner), {33, 36, 44}},
    {offsetof(struct sp_offsets, code_filename), {35, 40, 48}},
    {offsetof(struct sp_offsets, code_name), {36, 41, 49}},
    {offsetof(struct sp_offsets, code_qualname), {37, 42, 50}},
    {offsetof(struct sp_offsets, code_lines), {38, 43, 51}},
    {offsetof(struct sp_offsets, code_first_line), {39, 44, 52}},
    {offsetof(struct sp_offsets, code_instructions), {43, 48, 56}},
    {offsetof(struct sp_offsets, type_name), {47, 53, 61}},
    {offsetof(struct sp_offsets, type_flags), {49, 55, 63}},
    {offsetof(struct sp_offsets, dict_keys), {57, 67, 79}},
    {offsetof(struct sp_offsets, bytes_data), {66, 76, 88}},
    {offsetof(struct sp_offsets, text_state), {68, 78, 90}},
    {offsetof(struct sp_offsets, text_length), {69, 79, 91}},
    {offsetof(struct sp_offsets, text_ascii), {70, 80, 92}},
};

/* Reads _Py_DebugOffsets. Returns 0: it does not exist, 1: read; or a negative errno. */
static int ask(struct sp_python *p, char *why, size_t n)
{
	uint64_t words[SAID];
	if (!sp_target_read(p->t, p->runtime, words, sizeof words) || memcmp(words, "xdebugpy", 8))
		return 0;
	p->version = (unsigned)(words[1] >> 16);
	p->without_gil = words[2] & 1;
	const struct sp_offsets *row = sp_offsets_of(p->version, p->without_gil);
	if (!row && p->without_gil && p->version <= NEWEST) {
		snprintf(why, n,
		         "process %d runs the free-threaded build of Python %u.%u, which Spartito does not know",
		         (int)p->t->pid, p->version >> 8, p->version & 0xff);
		return -ENOTSUP;
	}
	if (!row || p->version < REPORTING) /* decide() says it */
		return 1;
	/* alpha and beta releases: the offsets change until the release candidate */
	if ((words[1] >> 4 & 0xf) < RELEASE_CANDIDATE) {
		snprintf(why, n, "process %d runs a pre-release of Python %u.%u, which Spartito does not know",
		         (int)p->t->pid, p->version >> 8, p->version & 0xff);
		return -ENOTSUP;
	}
	p->at = *row;
	for (size_t i = 0; i < sizeof reported / sizeof *reported; i++) {
		uint64_t offset = words[reported[i].index[p->version - REPORTING]];
		if (offset < 1 << 20)
			*(uint32_t *)((char *)&p->at + reported[i].field) = (uint32_t)offset;
	}
	return 1;
}

/* ---- version ---- */

/* The version in "python3.9" or "cpython-39-x86_64": 0x0309; 0: no version in the text. */
static unsigned version_in(const char *text)
{
	const char *p = strstr(text, "python3."), *digits = p ? p + 8 : NULL;
	if (!p && (p = strstr(text, "cpython-3")))
		digits = p + 9;
	unsigned minor = digits ? (unsigned)strtoul(digits, NULL, 10) : 0;
	return minor && minor < 100 ? 0x0300 | minor : 0;
}

static unsigned version_of_files(const struct sp_mappings *m)
{
	unsigned version = 0;
	for (size_t i = 0; i < m->n && !version; i++)
		version = version_in(m->all[i].path);
	return version;
}

/* Whether the first interpreter and its first thread refer to each other. */
static bool fits(const struct sp_python *p, const struct sp_offsets *at)
{
	uint64_t interpreter, thread, back;
	return sp_target_read(p->t, p->runtime + at->runtime_interpreters, &interpreter, 8) && interpreter &&
	       sp_target_read(p->t, interpreter + at->interpreter_threads, &thread, 8) && thread &&
	       sp_target_read(p->t, thread + at->thread_interpreter, &back, 8) && back == interpreter;
}

static int check(struct sp_python *p, char *why, size_t n)
{
	uint64_t interpreter = 0;
	if (fits(p, &p->at))
		return 0;
	if (sp_target_read(p->t, p->runtime + p->at.runtime_interpreters, &interpreter, 8) && !interpreter) {
		snprintf(why, n, "Python in process %d has not started yet, or has ended", (int)p->t->pid);
		return -ENOENT;
	}
	snprintf(why, n, "Python %u.%u in process %d is built in a way that Spartito does not know", p->version >> 8,
	         p->version & 0xff, (int)p->t->pid);
	return -ENOENT; /* nothing is consistent while the interpreter starts, either */
}

/* Determines the version: from a symbol of the interpreter's object file, the names of files, or which offsets fit. */
static int decide(struct sp_python *p, uint64_t of_symbol, const struct sp_mappings *m, char *why, size_t n)
{
	uint64_t hex = 0;
	int r = ask(p, why, n);
	if (r < 0)
		return r;
	if (!r && of_symbol && sp_target_read(p->t, of_symbol, &hex, sizeof hex))
		p->version = (unsigned)(hex >> 16) & 0xffff;
	if (!p->version)
		p->version = version_of_files(m);
	for (unsigned v = OLDEST; !p->version && v <= NEWEST; v++)
		if (fits(p, sp_offsets_of(v, false)))
			p->version = v;
	const struct sp_offsets *row = sp_offsets_of(p->version, p->without_gil);
	if (!row) {
		if (p->version)
			snprintf(why, n, "process %d runs Python %u.%u; " VERSIONS, (int)p->t->pid, p->version >> 8,
			         p->version & 0xff);
		else
			snprintf(why, n, "cannot determine which Python runs in process %d; " VERSIONS, (int)p->t->pid);
		return -ENOTSUP;
	}
	if (r == 0)
		p->at = *row;
	return check(p, why, n);
}

/* ---- location in memory ---- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* The address in memory of a symbol of the object file whose first mapping is m; 0: not found. */
static uint64_t address_of(const char *path, const struct sp_mapping *m, const char *symbol, uint64_t *bytes)
{
	struct sp_elf_symbol place;
	uint64_t begins;
	if (!sp_elf_find(path, symbol, &place) || !sp_elf_loaded_from(path, m->offset, &begins))
		return 0;
	*bytes = place.bytes;
	return place.address - begins + m->begin;
}

static bool is_first_of_its_file(const struct sp_mappings *m, size_t i)
{
	return m->all[i].path[0] == '/' && (!i || strcmp(m->all[i].path, m->all[i - 1].path));
}

static bool find_runtime(struct sp_python *p, const struct sp_mappings *m, uint64_t *of_version)
{
	char path[4200], executable[64], target[4096];
	uint64_t bytes;
	snprintf(executable, sizeof executable, "/proc/%d/exe", (int)p->t->pid);
	ssize_t length = readlink(executable, target, sizeof target - 1);
	target[length > 0 ? length : 0] = 0;
	for (size_t i = 0; i < m->n && !p->runtime; i++) {
		const struct sp_mapping *first = &m->all[i];
		if (!is_first_of_its_file(m, i) ||
		    (strcmp(first->path, target) && !strstr(base_name(first->path), "python")) ||
		    !sp_target_file(p->t, first, path, sizeof path))
			continue;
		p->runtime = address_of(path, first, "_PyRuntime", &p->runtime_bytes);
		if (!p->runtime)
			p->runtime = address_of(path, first, ".PyRuntime", &p->runtime_bytes);
		*of_version = p->runtime ? address_of(path, first, "Py_Version", &bytes) : 0;
	}
	return p->runtime;
}

static int explain_none(const struct sp_python *p, const struct sp_mappings *m, char *why, size_t n)
{
	const char *name = "";
	for (size_t i = m->n; i-- > 0;)
		if (m->all[i].path[0] == '/')
			name = m->all[i].path;
	for (size_t i = 0; i < m->n; i++)
		if (strstr(base_name(m->all[i].path), "pypy"))
			name = "PyPy";
	unsigned version = version_of_files(m);
	if (version && version < OLDEST)
		snprintf(why, n, "process %d runs Python 3.%u; " VERSIONS, (int)p->t->pid, version & 0xff);
	else if (strstr(base_name(name), "python2") || !strcmp(name, "PyPy"))
		snprintf(why, n, "process %d runs %s; " VERSIONS, (int)p->t->pid, base_name(name));
	else if (strstr(base_name(name), "python") || !*name) /* during exec() only the stack is mapped */
		snprintf(why, n, "process %d has loaded no Python yet (%s)", (int)p->t->pid, *name ? name : "no file");
	else
		snprintf(why, n, "process %d runs no Python (%s)", (int)p->t->pid, name);
	return -ENOENT;
}

/* ---- opening ---- */

/* Determines the read size of each struct. Returns false if it exceeds the buffer: then the interpreter's offsets are
 * wrong. */
static bool measure_rows(struct sp_python *p)
{
#define WIDER(bytes, name, width)                                                                                      \
	if (p->at.name != SP_NO_OFFSET && p->at.name + (width) > (bytes))                                              \
		(bytes) = p->at.name + (width);
	WIDER(p->code_bytes, code_first_line, 4)
	WIDER(p->code_bytes, code_filename, 8)
	WIDER(p->code_bytes, code_name, 8)
	WIDER(p->code_bytes, code_qualname, 8)
	WIDER(p->code_bytes, code_lines, 8)
	WIDER(p->code_bytes, code_traceable, 4)
	WIDER(p->code_bytes, object_size, 8)
	WIDER(p->frame_bytes, frame_previous, 8)
	WIDER(p->frame_bytes, frame_code, 8)
	WIDER(p->frame_bytes, frame_globals, 8)
	WIDER(p->frame_bytes, frame_instruction, p->version < 0x030b ? 4 : 8)
	WIDER(p->frame_bytes, frame_owner, 1)
	WIDER(p->frame_bytes, frame_generator, 8)
	WIDER(p->frame_bytes, frame_copy, 4)
	WIDER(p->state_bytes, thread_next, 8)
	WIDER(p->state_bytes, thread_interpreter, 8)
	WIDER(p->state_bytes, thread_frame, 8)
	WIDER(p->state_bytes, thread_ident, 8)
	WIDER(p->state_bytes, thread_native, 8)
#undef WIDER
	return p->code_bytes <= CODE_BYTES && p->frame_bytes <= FRAME_BYTES && p->state_bytes <= STATE_BYTES &&
	       p->at.text_state + 4 <= HEAD_BYTES && p->at.text_length + 8 <= HEAD_BYTES &&
	       p->at.object_size + 8 <= HEAD_BYTES && p->at.dict_keys + 8 <= HEAD_BYTES;
}

/* Finds the current directory, and the one in which a shell started the process. */
static void find_directories(struct sp_python *p)
{
	char path[64], now[4096], environment[1 << 16];
	snprintf(path, sizeof path, "/proc/%d/cwd", (int)p->t->pid);
	ssize_t n = readlink(path, now, sizeof now - 1);
	p->directory = n > 0 ? strndup(now, (size_t)n) : NULL;
	snprintf(path, sizeof path, "/proc/%d/environ", (int)p->t->pid);
	FILE *f = fopen(path, "re");
	size_t got = f ? fread(environment, 1, sizeof environment - 1, f) : 0;
	if (f)
		fclose(f);
	environment[got] = 0;
	for (const char *e = environment; e < environment + got && !p->began; e += strlen(e) + 1)
		if (!strncmp(e, "PWD=/", 5))
			p->began = strdup(e + 4);
}

int sp_python_open(struct sp_python **out, const struct sp_target *t, char *why, size_t n)
{
	struct sp_mappings m;
	uint64_t of_version = 0;
	struct sp_python *p = calloc(1, sizeof *p);
	*out = NULL;
	if (!p)
		return -ENOMEM;
	p->t = t;
	int r = sp_target_mappings(t, &m);
	if (r)
		snprintf(why, n, "process %d has ended", (int)t->pid);
	else if (!find_runtime(p, &m, &of_version))
		r = explain_none(p, &m, why, n);
	else
		r = decide(p, of_version, &m, why, n);
	sp_mappings_free(&m);
	if (!r && !measure_rows(p)) {
		snprintf(why, n, "Python in process %d says of itself what cannot be", (int)t->pid);
		r = -ENOTSUP;
	}
	if (!r) {
		find_directories(p);
		p->nested = sp_target_inner(t, t->pid) != t->pid;
	}
	if (r)
		sp_python_close(p);
	else
		*out = p;
	return r;
}

void sp_python_close(struct sp_python *p)
{
	if (!p)
		return;
	sp_arena_free(&p->arena);
	sp_sources_free(p->sources);
	free(p->directory);
	free(p->began);
	free(p->codes.slots);
	free(p->tasks);
	sp_stacks_free(p);
	free(p);
}

bool sp_python_in_lock(const struct sp_python *p, uint64_t address)
{
	bool is = address - p->runtime < p->runtime_bytes;
	for (unsigned i = 0; i < p->n_locks; i++)
		is |= address - p->locks[i] < LOCK_BYTES;
	return is;
}

bool sp_python_without_gil(const struct sp_python *p)
{
	return p->without_gil;
}

bool sp_python_has_gil(const struct sp_python *p)
{
	return !p->without_gil || p->gil_is_on;
}

unsigned sp_python_version(const struct sp_python *p)
{
	return p->version;
}
