/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of samples that the sampler of a process wrote (parts/sampled.c). */
#ifndef SP_MODEL_BUILDER_SAMPLES_H
#define SP_MODEL_BUILDER_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "reader/reader.h"

struct sp_builder;
struct sp_loading;

/* sampled.c. sp_samples_open_file() opens the file before the process is built and returns 0, or -1 without memory; a
 * file that cannot be read becomes a problem of the model. sp_samples_definitions() reads its definitions.
 * sp_samples_strangers() counts its threads that are not in the process's own file; their locations follow the others.
 * sp_samples_keep() moves what the model keeps of it into l. */
int sp_samples_open_file(struct sp_builder *b, struct sp_loading *l, const char *name);
int sp_samples_definitions(struct sp_builder *b, struct sp_loading *l, struct sp_err *e);
size_t sp_samples_strangers(const struct sp_loading *l);
/* The samples of a location; NULL: no samples. A thread of the file of samples belongs to at most one location. */
struct sp_raw_thread *sp_samples_thread(const struct sp_loading *l, size_t location);
int sp_samples_add_strangers(struct sp_builder *b, struct sp_loading *l, struct sp_err *e);
/* The end of a thread, in ticks of the process: `end`; if the process was killed and its sampler saw the thread after
 * `end`, the time of that. */
uint64_t sp_samples_end(struct sp_loading *l, struct sp_raw_thread *t, uint64_t end);
/* Call after all threads are read: if the sampler was killed, derives the META records sample_count and sample_unseen
 * that it could not write. */
int sp_samples_report(struct sp_builder *b, struct sp_loading *l, struct sp_err *e);
/* converts ns of the sampler's clock to ticks of the process */
uint64_t sp_samples_ticks(const struct sp_loading *l, uint64_t ns);
void sp_samples_keep(struct sp_loading *l);
void sp_samples_close_file(struct sp_loading *l);

#endif
