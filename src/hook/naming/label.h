/* SPDX-License-Identifier: BSD-3-Clause */
/* Labels: label.c finds the region of a call, values.c reads and formats its arguments. */
#ifndef SP_HOOK_NAMING_LABEL_H
#define SP_HOOK_NAMING_LABEL_H

#include "hook/frames.h"
#include "record/definitions.h"

/* ---- label.c ---- */

bool sp_label_any(void); /* whether the settings request labels */
/* Whether each call of a function has a separate label: it takes arguments and does not belong to the standard
 * library, unless a filter item includes it. */
bool sp_label_by_call(const PyCodeObject *code, const char *module, const char *name, const char *file);
/* Returns the name of a function's region without the values of arguments; owned, NULL without memory. */
char *sp_label_of_code(const PyCodeObject *code, struct sp_text name, const char *file, size_t *n);
/* Registers a function whose calls have separate labels, by its plain region. Returns false without memory. */
bool sp_label_add(uint32_t region, PyCodeObject *code, struct sp_text module, struct sp_text name, struct sp_text file,
                  uint32_t line, unsigned flags);

/* ---- values.c ---- */

/* One argument of a function: its position in frames and its name. */
struct sp_argument {
	int index;  /* index among the frame's variables */
	bool cell;  /* the frame may keep it in a cell */
	char *name; /* owned; "n", "*args", "**kwargs" */
};
/* The arguments of a function. */
struct sp_arguments {
	struct sp_argument *all; /* owned; in the order of the label */
	int n;
};
int sp_arguments_of(struct sp_arguments *a, PyCodeObject *code,
                    int n); /* n arguments; returns 0, or -1 without memory */
void sp_arguments_free(struct sp_arguments *a);

/* The values of a call, as far as its label shows them. Calls with different values here have different labels. */
struct sp_values {
	uint16_t n;
	bool cut; /* the values were truncated */
	unsigned char bytes[480];
};

/* Sets the types whose __repr__ may be called: names separated by commas, blanks or newlines. Returns 0, or -1 with
 * MemoryError. */
int sp_values_start(const char *types);
/* Packs the values of a call; f: its frame. May run the __repr__ of the types set above. */
void sp_values_of(struct sp_values *v, const struct sp_arguments *a, sp_frame *f);
bool sp_values_same(const struct sp_values *a, const struct sp_values *b);
uint64_t sp_values_hash(const struct sp_values *v);
struct sp_values *sp_values_copy(const struct sp_values *v); /* only as large as needed; free with free() */

/* Formatted values. */
struct sp_values_text {
	char *p; /* owned; NULL: no memory */
	size_t n;
};
/* Returns "(n=5, *args=(1, 2))", in the format of inspect.formatargvalues(). */
struct sp_values_text sp_values_text(const struct sp_values *v, const struct sp_arguments *a);

#endif
