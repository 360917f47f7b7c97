/* SPDX-License-Identifier: BSD-3-Clause */
/* The objects that threads wait for. */
#include "record/buffer.h"
#include "record/clock.h"
#include "record/definitions.h"
#include "record/hot.h"
#include "record/process.h"
#include "record/rows.h"
#include "record/thread.h"
#include "record/trace.h"
#include "record/waits/private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OBJECTS = 50000 };

/* The objects in the current file, under the process lock. A chunk's `base` is its first id minus 1. */
static struct {
	struct sp_raw_chunk **chunks; /* owned */
	size_t n_chunks, n;
	uint64_t missing;
	struct sp_raw_object *gil; /* NULL: no thread has waited for it yet */
	bool gil_made;
} objects;

void sp_objects_forget(void)
{
	free(objects.chunks);
	memset(&objects, 0, sizeof objects);
}

struct sp_raw_object *sp_object_of(uint32_t id)
{
	for (size_t i = objects.n_chunks; id && i-- > 0;)
		if (id > objects.chunks[i]->base)
			return (struct sp_raw_object *)(objects.chunks[i] + 1) + (id - 1 - objects.chunks[i]->base);
	return NULL;
}

/* With the process lock held. */
static struct sp_raw_chunk *objects_chunk(void)
{
	struct sp_raw_chunk *c = objects.n_chunks ? objects.chunks[objects.n_chunks - 1] : NULL;
	if (c && (c->used + 1) * sizeof(struct sp_raw_object) <= c->bytes - sizeof *c)
		return c;
	struct sp_raw_chunk **more = realloc(objects.chunks, (objects.n_chunks + 1) * sizeof(struct sp_raw_chunk *));
	if (!more)
		return NULL;
	objects.chunks = more;
	c = sp_rows_chunk(SP_RAW_OBJECTS, NULL, c, objects.n);
	if (c)
		objects.chunks[objects.n_chunks++] = c;
	return c;
}

struct sp_raw_object *sp_object_new(unsigned kind, const void *address, uint32_t type)
{
	int error = errno;
	struct sp_raw_object *o = NULL;
	pthread_mutex_lock(&sp_process.lock);
	struct sp_raw_chunk *c = objects.n < MAX_OBJECTS ? objects_chunk() : NULL;
	if (c) {
		o = (struct sp_raw_object *)(c + 1) + c->used;
		*o = (struct sp_raw_object){.id = (uint32_t)++objects.n,
		                            .kind = (uint16_t)kind,
		                            .address = (uint64_t)address,
		                            .type = type,
		                            .made_by = SP_RAW_NONE,
		                            .holder = SP_RAW_NONE};
		__atomic_store_n(&c->used, c->used + 1, __ATOMIC_RELEASE);
	}
	/* without a file a late thread, between two measurements, misses nothing */
	const bool first = !o && sp_process.header && !objects.missing++;
	pthread_mutex_unlock(&sp_process.lock);
	static const char why[] = "locks and the like that were waited for, because there were too many";
	if (first)
		sp_define_meta("missing_objects", why, sizeof why - 1);
	errno = error;
	return o;
}

void sp_object_acquired(struct sp_thread *t, struct sp_raw_object *o, uint64_t node, uint64_t now)
{
	sp_object_set_holder(o, t->loc.id);
	o->holder_node = node;
	o->since = now;
	if (SP_UNLIKELY(t->traced) && sp_recording && t->epoch == sp_epoch) {
		const uint64_t payload[2] = {o->id, o->count};
		sp_extra_at(t, SP_RAW_X_LOCK_ACQUIRE, payload, 2, now);
	}
}

void sp_object_released(struct sp_thread *t, struct sp_raw_object *o)
{
	const uint64_t now = sp_ticks();
	const bool traced = o->since && sp_object_holder(o) != SP_RAW_NONE;
	o->held += o->since ? sp_ticks_between(o->since, now) : 0;
	sp_object_set_holder(o, SP_RAW_NONE);
	o->holder_node = o->since = 0;
	if (SP_UNLIKELY(t && t->traced) && traced && sp_recording && t->epoch == sp_epoch) {
		const uint64_t payload[2] = {o->id, o->count};
		sp_extra_at(t, SP_RAW_X_LOCK_RELEASE, payload, 2, now);
	}
}

struct sp_raw_object *sp_object_gil(void)
{
	struct sp_raw_object *o = __atomic_load_n(&objects.gil, __ATOMIC_ACQUIRE);
	if (SP_LIKELY(o != NULL) || __atomic_exchange_n(&objects.gil_made, true, __ATOMIC_RELAXED))
		return o;
	static const char name[] = "global interpreter lock";
	o = sp_object_new(SP_RAW_WAIT_GIL, NULL, sp_define_name(SP_RAW_DEF_STRING, name, sizeof name - 1));
	__atomic_store_n(&objects.gil, o, __ATOMIC_RELEASE);
	return o;
}
