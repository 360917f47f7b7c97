/* SPDX-License-Identifier: BSD-3-Clause */
/* Definitions in the file: regions, metrics, names, META records. Functions that define take the process lock, unless
 * noted. */
#ifndef SP_RECORD_DEFINITIONS_H
#define SP_RECORD_DEFINITIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/format.h"

/* A text of n bytes that need not end with NUL; not owned. */
struct sp_text {
	const char *p;
	size_t n;
};
/* Writes a definition record with n texts, which it copies. Returns 0 or a negative errno. */
int sp_define(unsigned kind, unsigned flags, uint32_t a, uint32_t b, const struct sp_text *text, int n);
/* Region 1 of every process holds the call paths for which there was no space. Region 2 exists if the depth of the
 * profile is limited and holds the deeper calls. */
enum { SP_REGION_COLLAPSED_ID = 1, SP_REGION_DEEPER_ID = 2 };
/* Defines these two before any other region. Call it with the process lock held. Returns false if there is no space. */
bool sp_define_fixed(void);
/* Takes the place of a region id: the filter excludes the region. */
#define SP_REGION_LEFT_OUT UINT32_MAX
/* Takes the place of a region id: the filter excludes the function and all functions that it calls. The recorder still
 * sees its enter and leave, to know how long this lasts. */
#define SP_REGION_HIDES (UINT32_MAX - 1)
/* Defines a region and returns its id; 0 if that fails (counted). */
uint32_t sp_define_region(struct sp_text module, struct sp_text name, struct sp_text file, uint32_t line,
                          unsigned flags);
/* Defines a metric column and returns its number, or -1 if there is no space. Call it before the process makes its
 * first node; metrics that are read at each enter and leave come first. Values are in units of 10^exponent `unit`. */
int sp_define_metric(const char *name, const char *unit, int exponent, const char *what, unsigned flags);
/* The META record that counts the calls beyond `label_limit`; a child of fork counts its own. */
#define SP_META_MISSING_LABELS "missing_labels"
/* META records with the name that multiprocessing or xdist gave the process, and with the function
 * ("module:qualname") that these libraries run in it; a child of fork has its own. */
#define SP_META_NAME  "name"
#define SP_META_ENTRY "entry"
/* Writes a META record; value has n bytes. */
void sp_define_meta(const char *key, const char *value, size_t n);
/* Like sp_define(), but returns the address of the first text in the mapped file, which the caller may update there;
 * NULL if there is no space. */
void *sp_define_live(unsigned kind, unsigned flags, uint32_t a, uint32_t b, const struct sp_text *text, int n);
/* Returns the id of a name of its kind (COUNTER, PARAMETER or STRING), which it defines at first use; 0 if it
 * cannot. */
uint32_t sp_define_name(unsigned kind, const char *p, size_t n);
/* Writes text to out, with each byte that is not UTF-8 escaped like Python's backslashreplace. At most `capacity`
 * bytes; returns the length. */
size_t sp_escape(char *out, size_t capacity, const char *text, size_t n);
/* Regions that are found by a key (n bytes) instead of a code object's address; SP_KEY_… names the sort of key.
 * sp_define_find() returns the id, or 0 if the region is not defined yet. sp_define_keyed() defines it at first use,
 * with the texts of sp_define_region(), and returns the id or 0. With the flags SP_REGION_LEFT_OUT it stores that
 * value as the id and writes no record: the filter excludes the region. */
enum { SP_KEY_USER = 0x100, SP_KEY_PARAMETER };
uint32_t sp_define_find(unsigned kind, const char *key, size_t n);
uint32_t sp_define_keyed(unsigned kind, const char *key, size_t n, const struct sp_text text[3], uint32_t line,
                         unsigned flags);
/* Forgets all names, keys and chunks of definitions: a new file begins. Needs the process lock. */
void sp_define_forget(void);
/* Copies the definitions that a child of fork shares with its parent into the child's new file: the first used[i]
 * bytes of each of n chunks. Returns 0 or a negative errno. Needs the process lock. */
int sp_define_inherit(struct sp_raw_chunk *const *from, const uint64_t *used, size_t n);

#endif
