/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples of a process, which its sampler wrote (parts/sampled.c). */
#ifndef SP_MODEL_BUILDER_SAMPLES_H
#define SP_MODEL_BUILDER_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "reader/reader.h"

struct sp_builder;
struct sp_loading;

/* sampled.c. Opens the file of samples of a process, before the process is built: 0, or -1 without memory; a file that
 * cannot be read is a problem of the model. The definitions in it. Its threads that the process's own file does not
 * know, at the end of the locations. What stays of it. */
int sp_samples_open_file(struct sp_builder *b, struct sp_loading *l, const char *name);
int sp_samples_definitions(struct sp_builder *b, struct sp_loading *l, struct sp_err *e);
size_t sp_samples_strangers(const struct sp_loading *l);
/* What the samples know of a location; NULL: nothing. No thread of theirs is two locations'. */
struct sp_raw_thread *sp_samples_thread(const struct sp_loading *l, size_t location);
int sp_samples_add_strangers(struct sp_builder *b, struct sp_loading *l, struct sp_err *e);
/* The end of a thread that the process itself saw until `end`: a process that was killed cannot say when that was. */
uint64_t sp_samples_end(struct sp_loading *l, struct sp_raw_thread *t, uint64_t end);
/* When all threads are read: what a sampler that was killed could not say. */
int sp_samples_tell(struct sp_builder *b, struct sp_loading *l, struct sp_err *e);
uint64_t sp_samples_ticks(const struct sp_loading *l, uint64_t ns); /* of the samples' clock, as the process's */
void sp_samples_keep(struct sp_loading *l);
void sp_samples_close_file(struct sp_loading *l);

#endif
