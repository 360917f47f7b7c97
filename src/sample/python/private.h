/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files that read Python share. All data may be inconsistent or hostile: each function returns false for an
 * implausible number, and every loop has a bound. */
#ifndef SP_SAMPLE_PYTHON_PRIVATE_H
#define SP_SAMPLE_PYTHON_PRIVATE_H

#include "base/arena.h"
#include "sample/python/python.h"
#include "sample/python/offsets.h"
#include "sample/python/snapshot.h"

enum {
	CODE_BYTES = 256,  /* maximum number of bytes read of a code object */
	FRAME_BYTES = 128, /* of a frame */
	STATE_BYTES = 512, /* of a thread state */
	HEAD_BYTES = 80,   /* of a str or dict */
	LOCKS = 64,
};

/* Distinguishes a code object from another one that replaced it at the same address. */
struct sp_identity {
	uint64_t type, filename, name, qualname, lines, instructions;
	int32_t first_line, flags;
};

struct sp_line_end {
	uint32_t end, line; /* instructions up to that offset, in bytes, belong to that line; 0: no line */
};

struct sp_code {
	struct sp_python_code is; /* first field: the struct that callers see */
	struct sp_identity identity;
	const struct sp_line_end *lines;
	uint32_t n_lines;
	uint64_t seen; /* number of the read in which its identity was last compared */
	/* number of the read in which it was made; 0: a later read confirmed that it existed all the time */
	uint64_t made;
};

/* Table from addresses to the current code objects. */
struct sp_codes {
	struct sp_code **slots; /* owned; the entries are in the arena */
	size_t n, mask;
};

/* A raw frame, before its code is resolved. */
struct sp_seen {
	uint64_t frame, code, globals, instruction;
	uint32_t copy; /* without the GIL: the number of its copy of the instructions */
	bool entry;
};

/* What is stored about a thread, so that the next read needs one system call. All of these are guesses. */
struct sp_memo {
	uint64_t state;
	uint64_t cframe;
	uint64_t root;    /* its outermost frame */
	uint64_t end;     /* the frame at which the last read ended, */
	unsigned ends;    /* and the number of successive reads that ended there */
	uint64_t *blocks; /* owned; addresses of the memory blocks of its frames, the innermost first */
	size_t n_blocks, blocks_capacity;
	struct sp_seen
	    *separate; /* owned; frames of the last read, the outermost first, if they were not all copied together */
	size_t n_apart, apart_capacity;
};

struct sp_task {
	pid_t id, inner; /* inner: id in the pid namespace of the process */
};

struct sp_python {
	const struct sp_target *t;
	unsigned version;
	bool without_gil; /* the free-threaded build */
	bool gil_is_on;   /* in that build */
	struct sp_offsets at;
	size_t code_bytes, frame_bytes, state_bytes; /* sizes of the prefixes that contain all needed fields */
	uint64_t runtime, runtime_bytes;             /* address and size of _PyRuntime */
	uint64_t code_type, text_type;               /* 0: not found yet */
	uint64_t name_key;                           /* address of the interned text "__name__" */
	uint64_t locks[LOCKS];                       /* of interpreters with a separate lock */
	unsigned n_locks;
	char *directory; /* owned: current directory; NULL: unknown */
	char *began;     /* owned: PWD of its environment; NULL: not set */
	struct sp_arena arena;
	struct sp_codes codes;
	uint64_t internal[4]; /* code objects that belong to the interpreter itself, which cause no events */
	unsigned n_internal;
	uint64_t read;         /* number of stacks that were read */
	struct sp_memo *memos; /* owned */
	size_t n_memos, memos_capacity;
	struct sp_task *tasks; /* owned */
	size_t n_tasks;
	uint32_t ident_tid;   /* offset of the thread's id in struct pthread; 0: unknown */
	bool nested;          /* it has a separate pid namespace */
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

/* The text of a str object as UTF-8, in the arena; a character that cannot be encoded becomes \udc80. NULL: not a str
 * object. */
const char *sp_object_text(struct sp_python *p, uint64_t at);
/* The contents of a bytes object, *n bytes, to be freed with free(); NULL: not a bytes object. */
unsigned char *sp_object_bytes(struct sp_python *p, uint64_t at, size_t *n);
/* The module of a frame: __name__ in its globals, "unknown" without __name__; NULL: inconsistent. */
const char *sp_object_module(struct sp_python *p, uint64_t globals);
bool sp_object_is_code(struct sp_python *p, uint64_t type);

/* ---- lines.c ---- */

/* The line table of a code object, in the arena; NULL: no memory. raw: co_lnotab of 3.9, otherwise co_linetable. */
const struct sp_line_end *sp_lines_decode(struct sp_python *p, const unsigned char *raw, size_t n, uint32_t first_line,
                                          uint32_t *n_lines);
uint32_t sp_line_at(const struct sp_code *c, int64_t offset);

/* ---- code.c ---- */

/* Since 3.12, frames of the interpreter itself are between those of Python functions (hook/frames.h). If one is found
 * for the first time, the read fails with -EAGAIN, and the code is known from then on. */
static inline bool sp_codes_is_internal(const struct sp_python *p, uint64_t code)
{
	for (unsigned i = 0; i < p->n_internal; i++)
		if (p->internal[i] == code)
			return true;
	return false;
}
/* Checks that the code of each frame has not changed, and finds or makes its entry. Returns 0; 1: an entry was made,
 * whose texts may belong to a later object unless the next read still finds it in a frame; -EAGAIN: not all are code
 * objects. */
int sp_codes_resolve(struct sp_python *p, const struct sp_seen *seen, size_t n, struct sp_python_frame *out);

/* ---- stack.c ---- */

void sp_stacks_free(struct sp_python *p);

/* ---- source.c ---- */

/* Before 3.11: the qualified name of the code `name` that begins at this line of the file, owned by the sources; NULL:
 * not found in the file. */
const char *sp_sources_qualname(struct sp_python *p, const char *file, const char *name, uint32_t first_line);
void sp_sources_free(struct sp_sources *s);

#endif
