/* SPDX-License-Identifier: BSD-3-Clause */
/* Labels: label.c finds the region of a call, values.c reads and renders its arguments. */
#ifndef SP_HOOK_NAMING_LABEL_H
#define SP_HOOK_NAMING_LABEL_H

#include "hook/frames.h"
#include "record/definitions.h"

/* ---- label.c ---- */

bool sp_label_any(void); /* whether functions have labels */
/* Whether calls of a function have labels of their own: where it takes arguments, and is not one of the standard
 * library that nobody asked for. */
bool sp_label_by_call(const PyCodeObject *code, const char *module, const char *name, const char *file);
/* The name of the region of a function, without the values of arguments; owned, NULL without memory. */
char *sp_label_of_code(const PyCodeObject *code, struct sp_text name, const char *file, size_t *n);
/* Makes a function known whose calls have labels of their own, by its plain region. false: no memory. */
bool sp_label_add(uint32_t region, PyCodeObject *code, struct sp_text module, struct sp_text name, struct sp_text file,
                  uint32_t line, unsigned flags);

/* ---- values.c ---- */

/* Where the arguments of a function are in its frames, and what they are called. */
struct sp_argument {
	int index;  /* in the frame's variables */
	bool cell;  /* it may stand in a cell there */
	char *name; /* owned; "n", "*args", "**kwargs" */
};
struct sp_arguments {
	struct sp_argument *all; /* owned; in the order of the label */
	int n;
};
int sp_arguments_of(struct sp_arguments *a, PyCodeObject *code, int n); /* -1: no memory */
void sp_arguments_free(struct sp_arguments *a);

/* The values of a call, as far as its label shows them. What differs here has another label. */
struct sp_values {
	uint16_t n;
	bool cut; /* there was more */
	unsigned char bytes[480];
};

/* The types whose __repr__ may be called, by name, divided by commas, blanks or newlines. -1: no memory, an exception
 * is set. */
int sp_values_start(const char *types);
void sp_values_of(struct sp_values *v, const struct sp_arguments *a, sp_frame *f);
bool sp_values_same(const struct sp_values *a, const struct sp_values *b);
uint64_t sp_values_hash(const struct sp_values *v);
struct sp_values *sp_values_copy(const struct sp_values *v); /* no larger than needed; for free() */

struct sp_values_text {
	char *p; /* owned; NULL: no memory */
	size_t n;
};
/* "(n=5, *args=(1, 2))", as inspect.formatargvalues() writes it. */
struct sp_values_text sp_values_text(const struct sp_values *v, const struct sp_arguments *a);

#endif
