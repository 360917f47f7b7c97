/* SPDX-License-Identifier: BSD-3-Clause */
/* Everything that may be asked of a model; aborts where it contradicts itself. */
#ifndef SP_FUZZ_LOOK_H
#define SP_FUZZ_LOOK_H

struct sp_model;

void look_at(const struct sp_model *m);
void look_view(const struct sp_model *m); /* a part of it */

#endif
