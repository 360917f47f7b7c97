/* SPDX-License-Identifier: BSD-3-Clause */
/* Definitions in the file: regions, metrics, names, meta data. */
#ifndef SP_RECORD_DEFINITIONS_H
#define SP_RECORD_DEFINITIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/format.h"

struct sp_text {
	const char *p;
	size_t n;
};
int sp_define(unsigned kind, unsigned flags, uint32_t a, uint32_t b, const struct sp_text *text, int n);
/* Region 1 of every process: call paths for which there was no room; region 2 where the depth of the profile is
 * limited: calls that are deeper. */
enum { SP_REGION_COLLAPSED_ID = 1, SP_REGION_DEEPER_ID = 2 };
/* Defines these two, before any other. With the process lock held; false: no room. */
bool sp_define_fixed(void);
/* In the place of an id: the filter leaves the region out. */
#define SP_REGION_LEFT_OUT UINT32_MAX
/* The same with all functions that it calls: entered and left as a region is, to know how long that lasts. */
#define SP_REGION_HIDES (UINT32_MAX - 1)
/* A new region id; 0 if it could not be defined (counted). */
uint32_t sp_define_region(struct sp_text module, struct sp_text name, struct sp_text file, uint32_t line,
                          unsigned flags);
/* A column for a metric, before the first node of the process is made: sync ones first. Its number, or -1 (no room). */
int sp_define_metric(const char *name, const char *unit, int exponent, const char *what, unsigned flags);
/* The META record of calls beyond `label_limit`: a child of fork counts its own. */
#define SP_META_MISSING_LABELS "missing_labels"
void sp_define_meta(const char *key, const char *value, size_t n);
/* As sp_define(); returns where the first text lies in the file, to be renewed there, or NULL. */
void *sp_define_live(unsigned kind, unsigned flags, uint32_t a, uint32_t b, const struct sp_text *text, int n);
/* The id of a name among those of its kind (COUNTER, PARAMETER or STRING), made at first use. */
uint32_t sp_define_name(unsigned kind, const char *p, size_t n);
/* Into room bytes: text with every byte that is not UTF-8 as Python's backslashreplace has it; returns its length. */
size_t sp_escape(char *out, size_t room, const char *text, size_t n);
/* Regions that are found by a key instead of an address, SP_KEY_… telling whose keys they are: the id, or 0: not
 * defined yet; and their definition, text as for sp_define_region; flags SP_REGION_LEFT_OUT: none, the filter leaves it
 * out. */
enum { SP_KEY_USER = 0x100, SP_KEY_PARAMETER };
uint32_t sp_define_find(unsigned kind, const char *key, size_t n);
uint32_t sp_define_keyed(unsigned kind, const char *key, size_t n, const struct sp_text text[3], uint32_t line,
                         unsigned flags);
void sp_define_forget(void);
/* Copies the definitions that a child shares with its parent into the child's new file. */
int sp_define_inherit(struct sp_raw_chunk *const *from, const uint64_t *used, size_t n);

#endif
