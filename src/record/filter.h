/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides which regions are recorded, once for each code object, and whether a function belongs to the program. */
#ifndef SP_RECORD_FILTER_H
#define SP_RECORD_FILTER_H

#include "base/owner/owner.h"

#include <stdbool.h>
#include <stddef.h>

struct sp_settings;

struct sp_filter;
/* Makes a filter from the settings filter, only_mine, own and scorep. owners: the directories that decide whose code a
 * function is, copied; NULL: none. Returns 0, or a negative errno with a sentence in why (of n bytes). */
int sp_filter_new(struct sp_filter **out, const struct sp_settings *s, const struct sp_owners *owners, char *why,
                  size_t n);
/* Frees f and the filters that it replaced; f may be NULL. */
void sp_filter_free(struct sp_filter *f);
/* f replaces the filter `before`, which other threads may still be using and which is freed together with f. f also
 * knows the directories of its scripts. */
void sp_filter_follow(struct sp_filter *f, struct sp_filter *before);
/* Makes a filter from patterns without signs, separated by newlines, that name functions, classes and modules. A
 * pattern also matches the members of a class or module, but no function inside a function. */
int sp_patterns_new(struct sp_filter **out, const char *patterns, char *why, size_t n);
/* Whether one of the patterns matches the function. Calls first() with the number of each pattern that matches for the
 * first time. */
bool sp_patterns_take(struct sp_filter *f, const char *module, const char *qualname, const char *file,
                      void (*first)(size_t number));
/* Like sp_patterns_take(), but remembers nothing, and true only for functions that a filter of these patterns
 * matches. */
bool sp_pattern_takes(const struct sp_filter *f, const char *module, const char *qualname, const char *file);
/* Whether the function is recorded. f may be NULL: then every function is. */
bool sp_filter_wants(struct sp_filter *f, const char *module, const char *qualname, const char *file);
/* Whether a module is the package or a part of it. */
bool sp_module_is_in(const char *module, const char *package);
/* Whether a function belongs to Spartito; such functions are never recorded. */
bool sp_module_is_ours(const char *module, const char *file);
/* Returns the name of a module in experiments: the import system's module is renamed when `importlib` is imported. */
const char *sp_module_name(const char *module);
/* Whose code a function is. f may be NULL: then all is the program's. */
enum sp_owner sp_filter_owner(const struct sp_filter *f, const char *module, const char *qualname, const char *file);
/* Whether an item of the filter includes the function. f may be NULL. */
bool sp_filter_includes(const struct sp_filter *f, const char *module, const char *qualname, const char *file);
/* Whether the filter excludes all functions that this one calls. Only for a function that the filter excludes. */
bool sp_filter_hides(const struct sp_filter *f, const char *module, const char *qualname, const char *file);

#endif
