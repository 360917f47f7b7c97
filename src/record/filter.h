/* SPDX-License-Identifier: BSD-3-Clause */
/* Which regions are recorded, decided once for each code object, and whose a function is. */
#ifndef SP_RECORD_FILTER_H
#define SP_RECORD_FILTER_H

#include <stdbool.h>
#include <stddef.h>

struct sp_settings;

struct sp_filter;
/* From settings filter, only_mine and scorep; stdlib: directory of the standard library, or NULL. */
int sp_filter_new(struct sp_filter **out, const struct sp_settings *s, const char *stdlib, char *why, size_t n);
void sp_filter_free(struct sp_filter *f);
/* f in the place of another, which somebody may still be asking and which is freed with f. */
void sp_filter_follow(struct sp_filter *f, struct sp_filter *before);
/* Patterns without signs, separated by newlines, that name functions, classes and modules: they take what is in these
 * too, but no function inside a function. */
int sp_patterns_new(struct sp_filter **out, const char *patterns, char *why, size_t n);
/* Whether one of them takes the function; first() is told the number of each that had taken none before. */
bool sp_patterns_take(struct sp_filter *f, const char *module, const char *qualname, const char *file,
                      void (*first)(size_t number));
/* The same without a note, and only what a filter of these patterns would take. */
bool sp_pattern_takes(const struct sp_filter *f, const char *module, const char *qualname, const char *file);
bool sp_filter_wants(struct sp_filter *f, const char *module, const char *qualname, const char *file);
/* Whether a module is the package or a part of it. */
bool sp_module_is_in(const char *module, const char *package);
/* Whether a function is a part of Spartito: such are never recorded. */
bool sp_module_is_ours(const char *module, const char *file);
/* What a module is called in experiments: that which imports has another name once `importlib` is imported. */
const char *sp_module_name(const char *module);
/* Whose function it is; chosen: an item includes it. */
enum sp_belongs { SP_MINE, SP_INSTALLED, SP_LIBRARY, SP_CHOSEN };
enum sp_belongs sp_filter_belongs(const struct sp_filter *f, const char *module, const char *qualname,
                                  const char *file);
/* Of a function that it does not want: whether all functions that this one calls are left out with it. */
bool sp_filter_hides(const struct sp_filter *f, const char *module, const char *qualname, const char *file);

#endif
