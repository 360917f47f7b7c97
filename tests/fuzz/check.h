/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes every report of a model; aborts if the model is inconsistent. */
#ifndef SP_FUZZ_CHECK_H
#define SP_FUZZ_CHECK_H

struct sp_model;

void check_model(const struct sp_model *m);
void check_view(const struct sp_model *m); /* called by check_model */

#endif
