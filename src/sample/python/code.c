/* SPDX-License-Identifier: BSD-3-Clause */
/* Code objects by address. Another code object may have replaced one at its address. */
#include "sample/python/private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BATCH = 64 };
/* co_flags */
enum { GENERATOR = 0x20, COROUTINE = 0x80, ITERABLE_COROUTINE = 0x100, ASYNC_GENERATOR = 0x200 };

static size_t slot_of(const struct sp_codes *c, uint64_t address)
{
	size_t i = (size_t)((address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20) & c->mask;
	while (c->slots[i] && c->slots[i]->is.address != address)
		i = (i + 1) & c->mask;
	return i;
}

static bool reserve(struct sp_codes *c)
{
	if (c->slots && 2 * c->n <= c->mask)
		return true;
	size_t capacity = c->slots ? 2 * (c->mask + 1) : 1024;
	struct sp_codes more = {calloc(capacity, sizeof *more.slots), c->n, capacity - 1};
	if (!more.slots)
		return false;
	for (size_t i = 0; c->slots && i <= c->mask; i++)
		if (c->slots[i])
			more.slots[slot_of(&more, c->slots[i]->is.address)] = c->slots[i];
	free(c->slots);
	*c = more;
	return true;
}

static struct sp_identity identity_of(const struct sp_python *p, const char *bytes)
{
	return (struct sp_identity){
	    .type = sp_u64(bytes, p->at.object_type),
	    .filename = sp_u64(bytes, p->at.code_filename),
	    .name = sp_u64(bytes, p->at.code_name),
	    .qualname = p->version >= 0x030b ? sp_u64(bytes, p->at.code_qualname) : 0,
	    .lines = sp_u64(bytes, p->at.code_lines),
	    .instructions = p->version >= 0x030b ? 0 : sp_u64(bytes, p->at.code_instructions),
	    .first_line = (int32_t)sp_u32(bytes, p->at.code_first_line),
	    .flags = (int32_t)sp_u32(bytes, p->at.code_flags),
	};
}

/* The file name as the recorder makes it. Relative names count from the directory in which the program started. That is
 * the current directory, unless the program has changed it and was started by a shell. */
static const char *file_of(struct sp_python *p, uint64_t at)
{
	const char *name = sp_object_text(p, at);
	char *here = NULL, *there = NULL;
	if (!name || !*name || *name == '/' || *name == '<' || !p->directory ||
	    asprintf(&here, "%s/%s", p->directory, name) < 0)
		return name;
	if (p->began && access(here, F_OK) && asprintf(&there, "%s/%s", p->began, name) > 0 && !access(there, F_OK)) {
		free(here);
		here = there;
		there = NULL;
	}
	const char *copy = sp_arena_copy(&p->arena, here, strlen(here));
	free(here);
	free(there);
	return copy;
}

static const char *qualname_of(struct sp_python *p, const struct sp_identity *i, const char *file, const char *name)
{
	if (p->version >= 0x030b)
		return sp_object_text(p, i->qualname);
	const char *found = i->first_line > 0 ? sp_sources_qualname(p, file, name, (uint32_t)i->first_line) : NULL;
	return found ? found : name;
}

static bool read_lines(struct sp_python *p, struct sp_code *c)
{
	size_t n = 0;
	unsigned char *raw = sp_object_bytes(p, c->identity.lines, &n);
	if (raw)
		c->lines = sp_lines_decode(p, raw, n, c->is.first_line, &c->n_lines);
	free(raw);
	return c->lines;
}

/* Makes an entry; NULL: not a code object, or inconsistent. */
static struct sp_code *make(struct sp_python *p, uint64_t address, const struct sp_identity *i, uint64_t globals)
{
	struct sp_code *c = sp_arena_zalloc(&p->arena, 1, sizeof *c);
	if (!c || !sp_object_is_code(p, i->type))
		return NULL;
	c->identity = *i;
	c->made = p->read;
	c->is.address = address;
	c->is.first_line = i->first_line > 0 ? (uint32_t)i->first_line : 0;
	c->is.coroutine = i->flags & (COROUTINE | ITERABLE_COROUTINE);
	c->is.generator = i->flags & (GENERATOR | ASYNC_GENERATOR);
	const char *name = sp_object_text(p, i->name);
	c->is.file = file_of(p, i->filename);
	c->is.qualname = name && c->is.file ? qualname_of(p, i, c->is.file, name) : NULL;
	c->is.module = c->is.qualname ? sp_object_module(p, globals) : NULL;
	return c->is.module && read_lines(p, c) ? c : NULL;
}

/* Whether the code is a constant of the interpreter itself; remembers it then. */
static bool is_internal(struct sp_python *p, uint64_t address, bool constant)
{
	if (!constant || p->n_internal == sizeof p->internal / sizeof *p->internal)
		return false;
	p->internal[p->n_internal++] = address;
	return true;
}

/* Whether the code contains no traceable instructions: nothing in it belongs to the program. */
static bool is_untraceable(const struct sp_python *p, const char *bytes)
{
	return p->version >= 0x030c && sp_u32(bytes, p->at.code_traceable) >= sp_u64(bytes, p->at.object_size);
}

/* Whether it is the code of an internal frame of 3.12, whose `owner` may not be set yet. */
static bool is_trampoline(const struct sp_code *c)
{
	return !strcmp(c->is.qualname, "<interpreter trampoline>");
}

/* Entries whose identity was not yet compared in this read. */
struct batch {
	size_t n;
	const struct sp_seen *seen[BATCH];
	char bytes[BATCH][CODE_BYTES];
};

/* Whether two reads found the same texts. */
static bool is_same(const struct sp_code *a, const struct sp_code *b)
{
	return !memcmp(&a->identity, &b->identity, sizeof a->identity) && !strcmp(a->is.file, b->is.file) &&
	       !strcmp(a->is.qualname, b->is.qualname) && !strcmp(a->is.module, b->is.module) &&
	       a->n_lines == b->n_lines && !memcmp(a->lines, b->lines, a->n_lines * sizeof *a->lines);
}

/* Whether a stored entry is valid. A code object may be freed, and its texts replaced, before they are read; then it is
 * in no frame of the thread any more, so an entry must be confirmed by the next read. */
static bool is_known(const struct sp_python *p, const struct sp_code *c, const struct sp_identity *identity)
{
	return c && !memcmp(&c->identity, identity, sizeof *identity) && (!c->made || c->made + 1 == p->read);
}

static bool check(struct sp_python *p, struct batch *b)
{
	struct iovec to[BATCH], from[BATCH];
	if (!b->n)
		return true;
	for (size_t i = 0; i < b->n; i++) {
		to[i] = (struct iovec){b->bytes[i], p->code_bytes};
		from[i] = (struct iovec){(void *)(uintptr_t)b->seen[i]->code, p->code_bytes};
	}
	if (sp_target_read_many(p->t, to, from, b->n) != b->n)
		return false;
	for (size_t i = 0; i < b->n; i++) {
		const struct sp_identity identity = identity_of(p, b->bytes[i]);
		struct sp_code **slot = &p->codes.slots[slot_of(&p->codes, b->seen[i]->code)];
		if (is_known(p, *slot, &identity)) {
			(*slot)->made = 0;
		} else {
			const uint64_t code = b->seen[i]->code;
			if (sp_object_is_code(p, identity.type) && is_internal(p, code, is_untraceable(p, b->bytes[i])))
				return false;
			struct sp_code *c = make(p, code, &identity, b->seen[i]->globals);
			if (!c || is_internal(p, code, is_trampoline(c)))
				return false;
			p->codes.n += !*slot;
			if (*slot && is_same(*slot, c))
				(*slot)->made = 0;
			else
				*slot = c;
		}
		(*slot)->seen = p->read;
		if (!reserve(&p->codes))
			return false;
	}
	b->n = 0;
	return true;
}

/* Without the GIL: finds the address of the first instruction of the copies that n <= BATCH frames run. co_tlbc is a
 * pointer to an array of pointers, after their number. */
static bool find_copies(const struct sp_python *p, const struct sp_seen *seen, size_t n, uint64_t begins[BATCH])
{
	uint64_t arrays[BATCH];
	struct iovec to[BATCH], from[BATCH];
	for (size_t i = 0; i < n; i++) {
		to[i] = (struct iovec){&arrays[i], 8};
		from[i] = (struct iovec){(void *)(uintptr_t)(seen[i].code + p->at.code_copies), 8};
	}
	if (sp_target_read_many(p->t, to, from, n) != n)
		return false;
	for (size_t i = 0; i < n; i++) {
		to[i] = (struct iovec){&begins[i], 8};
		from[i] = (struct iovec){(void *)(uintptr_t)(arrays[i] + 8 + UINT64_C(8) * seen[i].copy), 8};
	}
	return sp_target_read_many(p->t, to, from, n) == n;
}

/* begin: the address of the first instruction, since 3.11. */
static int64_t offset_of(const struct sp_python *p, const struct sp_seen *s, uint64_t begin)
{
	if (p->version < 0x030a)
		return (int32_t)s->instruction;
	if (p->version < 0x030b)
		return 2 * (int64_t)(int32_t)s->instruction;
	return (int64_t)(s->instruction - begin);
}

int sp_codes_resolve(struct sp_python *p, const struct sp_seen *seen, size_t n, struct sp_python_frame *out)
{
	struct batch b;
	uint64_t begins[BATCH];
	b.n = 0;
	if (!reserve(&p->codes))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct sp_code *c = p->codes.slots[slot_of(&p->codes, seen[i].code)];
		if (c && c->seen == p->read)
			continue;
		if (c)
			c->seen = p->read; /* already requested */
		b.seen[b.n++] = &seen[i];
		if (b.n == BATCH && !check(p, &b))
			return -EAGAIN;
	}
	if (!check(p, &b))
		return -EAGAIN;
	int made = 0;
	for (size_t i = 0; i < n; i++) {
		const bool copies = p->at.frame_copy != SP_NO_OFFSET;
		if (copies && i % BATCH == 0 && !find_copies(p, seen + i, n - i < BATCH ? n - i : BATCH, begins))
			return -EAGAIN;
		const uint64_t begin = copies ? begins[i % BATCH] : seen[i].code + p->at.code_instructions;
		struct sp_code *c = p->codes.slots[slot_of(&p->codes, seen[i].code)];
		made |= c->made != 0;
		out[i] = (struct sp_python_frame){
		    .code = &c->is,
		    .line = sp_line_at(c, offset_of(p, &seen[i], begin)),
		    .frame = seen[i].frame,
		    .entry = seen[i].entry,
		};
	}
	return made;
}
