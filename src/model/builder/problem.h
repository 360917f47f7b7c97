/* SPDX-License-Identifier: BSD-3-Clause */
/* Damage that was found, and texts in a model's arena. */
#ifndef SP_MODEL_BUILDER_PROBLEM_H
#define SP_MODEL_BUILDER_PROBLEM_H

#include <stddef.h>

#include "base/err.h"
#include "model/model.h"
#include "model/str.h"

/* Adds a problem to the model: damage that leaves something to read. If there is no memory, this problem and all later
 * ones are dropped. */
void sp_model_problem(struct sp_model *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sp_model_add_problem(struct sp_model *m, const char *text); /* text: the complete line */
int sp_model_no_memory(struct sp_err *e);
/* Copies n bytes into the model's arena and adds a NUL; .p is NULL if there is no memory */
struct sp_str sp_model_str(struct sp_model *m, const char *p, size_t n);

#endif
