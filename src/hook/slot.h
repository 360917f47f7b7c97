/* SPDX-License-Identifier: BSD-3-Clause */
/* The slot: one word that Spartito stores in each code object, decided at the code's first event. */
#ifndef SP_HOOK_SLOT_H
#define SP_HOOK_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "hook/frames.h"

enum {
	SP_SLOT_REGION = 1,
	SP_SLOT_HINT = 2,  /* a pointer to the qualified name, found in the enclosing code (before 3.11) */
	SP_SLOT_LABEL = 2, /* with SP_SLOT_REGION: the region depends on the call, see label.c */
	SP_SLOT_FILTERED = 4,
	SP_SLOT_WATCH = 8, /* its enter has a further effect: see watch.c */
	SP_SLOT_GENERATOR = 16,
	SP_SLOT_LINES = 32,     /* its lines are recorded; then it has a region even if it is filtered */
	SP_SLOT_LIBRARY = 64,   /* with memory recording: not one of the program's own functions */
	SP_SLOT_GENERATION = 8, /* shift; 24 bits, so that a later measurement decides again */
	SP_SLOT_ID = 32         /* shift */
};
#define SP_SLOT_MASK UINT64_C(0xffffff0f)

/* Without the GIL other threads may be writing these words. The interpreter stores a code object's new extra data with
 * release order, and frees the old data when no thread can be reading it. */
#ifdef Py_GIL_DISABLED
#define SP_SHARED_WORD _Atomic
#define SP_SHARED(x)   __atomic_load_n(&(x), __ATOMIC_ACQUIRE)
#else
#define SP_SHARED_WORD
#define SP_SHARED(x) (x)
#endif

extern SP_SHARED_WORD uint64_t sp_slot_ok; /* (slot & SP_SLOT_MASK) of a region without special cases */
extern Py_ssize_t sp_slot_index;           /* of the slot in the code objects' extra data */

/* Returns the slot of a code object; 0 if it is not set yet. */
static inline uint64_t sp_slot_of(const PyCodeObject *code)
{
	const struct {
		Py_ssize_t n;
		void *extra[];
	} *e = SP_SHARED(code->co_extra);
	return SP_LIKELY(e && e->n > sp_slot_index) ? (uint64_t)SP_SHARED(e->extra[sp_slot_index]) : 0;
}

/* Whether the slot is decided in this measurement. */
static inline bool sp_slot_is_decided(uint64_t slot)
{
	return (slot & (SP_SLOT_MASK & ~UINT64_C(0xe))) == sp_slot_ok;
}

/* Decided and excluded: neither the function nor the C functions that it calls are recorded. */
static inline bool sp_slot_is_filtered(uint64_t slot)
{
	return slot & SP_SLOT_FILTERED &&
	       (slot & (SP_SLOT_MASK & ~UINT64_C(0xe))) == (sp_slot_ok & SP_SLOT_MASK & ~UINT64_C(0xe));
}

/* A generator of Spartito (spartito/user.py): not recorded, but user regions that it opens are suspended with it. */
static inline bool sp_slot_is_hidden(uint64_t slot)
{
	return slot & SP_SLOT_GENERATOR && slot & SP_SLOT_WATCH && !(slot >> SP_SLOT_ID);
}

#endif
