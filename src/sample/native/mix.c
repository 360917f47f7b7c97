/* SPDX-License-Identifier: BSD-3-Clause */
#include "sample/native/native.h"

/* The number of evaluator calls without a Python frame (yet, or any more). They are the innermost ones, if both stacks
 * are complete. */
static size_t without_frames(const struct sp_python_frame *python, size_t n_python,
                             const struct sp_native_frame *native, size_t n_native)
{
	size_t runs = 0, entries = 0;
	for (size_t i = 0; i < n_native; i++)
		runs += native[i].function && native[i].function->evaluator;
	for (size_t i = 0; i < n_python; i++)
		entries += python[i].entry;
	return runs > entries ? runs - entries : 0;
}

static void put(struct sp_mixed_frame *out, size_t capacity, size_t *n, const struct sp_python_frame *python,
                const struct sp_native_frame *native)
{
	if (*n < capacity)
		out[(*n)++] = (struct sp_mixed_frame){python, native};
}

size_t sp_native_mix(const struct sp_python_frame *python, size_t n_python, const struct sp_native_frame *native,
                     size_t n_native, bool complete, bool interpreter, struct sp_mixed_frame *out, size_t capacity)
{
	bool inside = n_python; /* functions of the interpreter were found, or will be */
	size_t n = 0, at = 0, skip = complete ? without_frames(python, n_python, native, n_native) : 0;
	for (size_t i = 0; i < n_native; i++) {
		const struct sp_native_function *f = native[i].function;
		if (f && f->evaluator && !skip) {
			bool entry = false;
			for (; at < n_python && !entry; at++) {
				put(out, capacity, &n, &python[at], NULL);
				entry = python[at].entry;
			}
		}
		skip -= f && f->evaluator && skip;
		inside |= f && f->interpreter;
		bool below = inside && at == n_python && f && f->begin;
		if (interpreter || (!below && !(f && f->interpreter)))
			put(out, capacity, &n, NULL, &native[i]);
	}
	for (; at < n_python; at++)
		put(out, capacity, &n, &python[at], NULL);
	return n;
}
