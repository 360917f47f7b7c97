/* SPDX-License-Identifier: BSD-3-Clause */
/* The records of definitions in a raw file (load/define.c). */
#ifndef SP_MODEL_BUILDER_DEFINITION_H
#define SP_MODEL_BUILDER_DEFINITION_H

#include <stdint.h>

#include "model/str.h"
#include "reader/reader.h"

/* define.c. Calls each() for every definition in a part of a raw file. The texts point into the file; at: offset of the
 * record in the file. A result of each() other than 0 ends the loop and becomes the return value. */
#define SP_META_OBJECT "object " /* prefix of the key of a META record that gives the build id of an object file */
typedef int sp_definition_fn(void *arg, const struct sp_raw_def *d, uint64_t at, const struct sp_str part[4]);
int sp_walk_definitions(struct sp_raw_file *f, const struct sp_raw_part *p, sp_definition_fn *each, void *arg);

#endif
