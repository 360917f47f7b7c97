/* SPDX-License-Identifier: BSD-3-Clause */
/* Output files that are gzipped when their name says so. */
#ifndef SP_WRITE_COMMON_PACKED_H
#define SP_WRITE_COMMON_PACKED_H

#include "write/common/out.h"

/* As sp_out_open(); what is written to a path that ends with .gz is packed on the way. */
int sp_packed_open(struct sp_out *o, const char *path, struct sp_err *e);

#endif
