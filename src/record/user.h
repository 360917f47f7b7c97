/* SPDX-License-Identifier: BSD-3-Clause */
/* User regions and values, from any language. The functions do nothing while nothing is recorded. */
#ifndef SP_RECORD_USER_H
#define SP_RECORD_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/format.h"
#include "record/definitions.h"

/* The source location of a user region. function: it is an ordinary region of a Python function that the program
 * records explicitly. */
struct sp_user_location {
	struct sp_text group, file; /* group: stored as the region's module; if the name begins with the group and a
	                               colon, that part is removed */
	uint32_t line;
	bool function;
};
/* Returns the region of that name, which it defines at first use, or 0 if there is no space. A function's region is
 * found by `key`, because names of functions are not unique. */
uint32_t sp_user_region(struct sp_text key, struct sp_text name, const struct sp_user_location *place);
/* Enter and leave a region; region 0 counts a loss. Leaving returns whether the region was open; true if it is not
 * recorded. begin and end do the same by name, of n bytes. */
void sp_user_enter(uint32_t region);
bool sp_user_leave(uint32_t region);
void sp_user_begin(const char *name, size_t n);
bool sp_user_end(const char *name, size_t n);
/* Records a counter, parameter or marker at the current time; texts are UTF-8 of n (m) bytes. */
void sp_user_value(unsigned kind, enum sp_raw_extra what, const char *name, size_t n, uint64_t value);
void sp_user_string(const char *name, size_t n, const char *value, size_t m);
void sp_user_marker(const char *text, size_t n);

#endif
