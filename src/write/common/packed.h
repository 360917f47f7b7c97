/* SPDX-License-Identifier: BSD-3-Clause */
/* Output files that are gzipped if their names end with .gz. */
#ifndef SP_WRITE_COMMON_PACKED_H
#define SP_WRITE_COMMON_PACKED_H

#include "write/common/out.h"

/* As sp_out_open(); a file with a path that ends with .gz is compressed. */
int sp_packed_open(struct sp_out *o, const char *path, struct sp_err *e);

#endif
