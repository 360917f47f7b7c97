/* SPDX-License-Identifier: BSD-3-Clause */
/* Damage that was found, and texts in a model's arena. */
#ifndef SP_MODEL_BUILDER_PROBLEM_H
#define SP_MODEL_BUILDER_PROBLEM_H

#include <stddef.h>

#include "base/err.h"
#include "model/model.h"
#include "model/str.h"

/* Damage that leaves something to read. Text that finds no memory is dropped; so is what follows it. */
void sp_model_problem(struct sp_model *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sp_model_add_problem(struct sp_model *m, const char *text); /* a line that is ready */
int sp_model_no_memory(struct sp_err *e);
struct sp_str sp_model_str(struct sp_model *m, const char *p, size_t n); /* .p is NULL when there is no memory */

#endif
