/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SP_BASE_UTF8_H
#define SP_BASE_UTF8_H

#include <stddef.h>

/* Length of the well-formed UTF-8 sequence at p, 0 if there is none. n > 0. */
size_t sp_utf8_sequence(const unsigned char *p, size_t n);

#endif
