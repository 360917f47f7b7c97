/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files that read Python have in common. Everything read may be torn or hostile: each function says false
 * rather than trusting a number, and every loop has a bound. */
#ifndef SP_SAMPLE_PYTHON_PRIVATE_H
#define SP_SAMPLE_PYTHON_PRIVATE_H

#include "base/arena.h"
#include "sample/python/python.h"
#include "sample/python/offsets.h"
#include "sample/python/snapshot.h"

enum {
	CODE_BYTES = 256,  /* of a code object that are looked at, at most */
	FRAME_BYTES = 128, /* of a frame */
	STATE_BYTES = 512, /* of a thread state */
	HEAD_BYTES = 80,   /* of a str or dict */
	LOCKS = 64,
};

/* What tells one code object from another that took its place. */
struct sp_identity {
	uint64_t type, filename, name, qualname, lines, instructions;
	int32_t first_line, flags;
};

struct sp_line_end {
	uint32_t end, line; /* instructions up to that offset, in bytes, are of that line; 0: of none */
};

struct sp_code {
	struct sp_python_code is; /* first: what the caller has */
	struct sp_identity identity;
	const struct sp_line_end *lines;
	uint32_t n_lines;
	uint64_t seen; /* the read in which its identity was compared */
	uint64_t made; /* the read in which it was made, or 0: a later one saw that it was there all the time */
};

/* By address: the code object that is there now. */
struct sp_codes {
	struct sp_code **slots; /* owned; the entries are in the arena */
	size_t n, mask;
};

/* A raw frame, before its code is looked at. */
struct sp_seen {
	uint64_t frame, code, globals, instruction;
	bool entry;
};

/* What is remembered of a thread, so that the next read is one call. All of it are guesses. */
struct sp_memo {
	uint64_t state;
	uint64_t cframe;
	uint64_t root;    /* its outermost frame */
	uint64_t end;     /* the one at which the last read ended, */
	unsigned ends;    /* and how many before it in succession, itself included */
	uint64_t *blocks; /* owned; of the memory that its frames were in, the innermost first */
	size_t n_blocks, room_blocks;
	struct sp_seen
	    *apart; /* owned; frames of the last read, the outermost first, where not all were copied together */
	size_t n_apart, room_apart;
};

struct sp_task {
	pid_t id, inner; /* inner: in the pid namespace of the process */
};

struct sp_python {
	const struct sp_target *t;
	unsigned version;
	struct sp_offsets at;
	size_t code_bytes, frame_bytes, state_bytes; /* that hold the fields that are needed */
	uint64_t runtime, runtime_bytes;             /* address of _PyRuntime, and how much that is */
	uint64_t code_type, text_type;               /* 0: not met yet */
	uint64_t name_key;                           /* the interned text "__name__" */
	uint64_t locks[LOCKS];                       /* of interpreters that have one of their own */
	unsigned n_locks;
	char *directory; /* owned: where it is now; NULL: not known */
	char *began;     /* owned: PWD of its environment; NULL: not set */
	struct sp_arena arena;
	struct sp_codes codes;
	uint64_t internal[4]; /* code objects of the interpreter's own, of which no event tells */
	unsigned n_internal;
	uint64_t read;         /* counts the stacks that were read */
	struct sp_memo *memos; /* owned */
	size_t n_memos, room_memos;
	struct sp_task *tasks; /* owned */
	size_t n_tasks;
	uint32_t ident_tid;   /* where struct pthread has the thread's id; 0: not known */
	bool nested;          /* it has a pid namespace of its own */
	struct sp_seen *seen; /* owned */
	size_t room_seen;
	struct sp_snapshot snapshot;
	struct sp_sources *sources; /* owned */
};

static inline uint64_t sp_u64(const void *bytes, uint32_t offset)
{
	uint64_t v;
	__builtin_memcpy(&v, (const char *)bytes + offset, sizeof v);
	return v;
}

static inline uint32_t sp_u32(const void *bytes, uint32_t offset)
{
	uint32_t v;
	__builtin_memcpy(&v, (const char *)bytes + offset, sizeof v);
	return v;
}

/* ---- objects.c ---- */

/* The text of a str object as UTF-8, owned by the arena, what cannot be encoded as \udc80; NULL: it is none. */
const char *sp_object_text(struct sp_python *p, uint64_t at);
/* n bytes of a bytes object, to be freed; NULL: it is none. */
unsigned char *sp_object_bytes(struct sp_python *p, uint64_t at, size_t *n);
/* The module of a frame: __name__ of its globals, "unknown" without; NULL: torn. */
const char *sp_object_module(struct sp_python *p, uint64_t globals);
bool sp_object_is_code(struct sp_python *p, uint64_t type);

/* ---- lines.c ---- */

/* The table of lines of a code object, in the arena; NULL: no memory. raw: co_lnotab of 3.9, co_linetable. */
const struct sp_line_end *sp_lines_decode(struct sp_python *p, const unsigned char *raw, size_t n, uint32_t first_line,
                                          uint32_t *n_lines);
uint32_t sp_line_at(const struct sp_code *c, int64_t offset);

/* ---- code.c ---- */

/* From 3.12 on frames of the interpreter's own stand between those of Python functions, as hook/frames.h has it. One
 * that is met for the first time is -EAGAIN, and known from then on. */
static inline bool sp_codes_is_internal(const struct sp_python *p, uint64_t code)
{
	for (unsigned i = 0; i < p->n_internal; i++)
		if (p->internal[i] == code)
			return true;
	return false;
}
/* Looks whether the code of each frame is still what it was, and finds or makes what is known of it.
 * 0; 1: some was made, and its texts may be of whatever came after it, unless the next read finds it in a frame still;
 * -EAGAIN: not all are code objects. */
int sp_codes_resolve(struct sp_python *p, const struct sp_seen *seen, size_t n, struct sp_python_frame *out);

/* ---- stack.c ---- */

void sp_stacks_free(struct sp_python *p);

/* ---- source.c ---- */

/* Before 3.11: the qualified name of the code that is called `name` and begins at that line of the file, owned by the
 * sources; NULL: the file does not tell. */
const char *sp_sources_qualname(struct sp_python *p, const char *file, const char *name, uint32_t first_line);
void sp_sources_free(struct sp_sources *s);

#endif
