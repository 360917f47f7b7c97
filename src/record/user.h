/* SPDX-License-Identifier: BSD-3-Clause */
/* User regions and values, from any language. No-ops while nothing is recorded. */
#ifndef SP_RECORD_USER_H
#define SP_RECORD_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/format.h"
#include "record/definitions.h"

/* Where a user region stands. function: it is an ordinary region of a Python function, recorded by hand. */
struct sp_place {
	struct sp_text group, file; /* group: the module, and the part of the name before a colon */
	uint32_t line;
	bool function;
};
/* The region of that name, made at first use; a function's is found by `key`, for names of functions repeat. 0: no
 * room. */
uint32_t sp_user_region(struct sp_text key, struct sp_text name, const struct sp_place *place);
/* region 0: a loss. Leaving says whether the region was open; true where it is not recorded. */
void sp_user_enter(uint32_t region);
bool sp_user_leave(uint32_t region);
void sp_user_begin(const char *name, size_t n);
bool sp_user_end(const char *name, size_t n);
void sp_user_value(unsigned kind, enum sp_raw_extra what, const char *name, size_t n, uint64_t value);
void sp_user_string(const char *name, size_t n, const char *value, size_t m);
void sp_user_marker(const char *text, size_t n);

#endif
