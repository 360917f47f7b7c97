/* SPDX-License-Identifier: BSD-3-Clause */
/* The files, sockets, … in the I/O events of a process. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/builder/builder.h"
#include "model/builder/loading.h"
#include "model/builder/problem.h"
#include "model/builder/source.h"
#include "model/builder/steps.h"
#include "model/file.h"
#include "model/model.h"
#include "model/str.h"

enum { SPARE_HANDLES = 65536 }; /* limit of handles whose creation was not recorded */

struct scanning {
	struct sp_builder *b;
	struct sp_source *s;
	uint64_t limit; /* limit of handle numbers: every handle has an event, so a larger number is damage */
	size_t capacity, handle_capacity;
};

static int grow_handles(struct scanning *x, uint64_t handle)
{
	struct sp_ids *ids = &x->s->handles;
	size_t capacity = handle + handle / 2 + 64;
	uint32_t *to;

	if (handle >= x->handle_capacity) {
		to = realloc(ids->to, capacity * sizeof(*to));
		if (!to)
			return -1;
		memset(to + x->handle_capacity, 0, (capacity - x->handle_capacity) * sizeof(*to));
		ids->to = to;
		x->handle_capacity = capacity;
	}
	if (handle >= ids->n)
		ids->n = handle + 1;
	return 0;
}

/* Finds or adds a handle; NULL: no memory. */
static struct sp_io_handle *find(struct scanning *x, uint64_t handle)
{
	struct sp_source *s = x->s;
	struct sp_io_handle *larger;

	if (handle >= s->handles.n && grow_handles(x, handle))
		return NULL;
	if (s->handles.to[handle])
		return &s->io_handles[s->handles.to[handle] - 1];
	if (s->n_io_handles == x->capacity) {
		x->capacity = x->capacity * 2 + 64;
		larger = realloc(s->io_handles, x->capacity * sizeof(*larger));
		if (!larger)
			return NULL;
		s->io_handles = larger;
	}
	s->io_handles[s->n_io_handles++] = (struct sp_io_handle){.process = SP_NONE, .path = {"", 0}};
	s->handles.to[handle] = (uint32_t)s->n_io_handles;
	return &s->io_handles[s->n_io_handles - 1];
}

static int scan_event(struct scanning *x, uint32_t what, const uint64_t *payload, unsigned words)
{
	const struct sp_ids *strings = &x->s->strings;
	const struct sp_intern_entry *path;
	struct sp_io_handle *h;

	if (what < SP_RAW_X_IO_CREATE || what > SP_RAW_X_IO_COMPLETE || words == 0 || payload[0] > x->limit)
		return 0;
	h = find(x, payload[0]);
	if (!h)
		return -1;
	if (what == SP_RAW_X_IO_CREATE && words >= 3) {
		h->flags = (uint32_t)payload[2];
		h->mpi = words >= 4 && (uint32_t)payload[3] == SP_RAW_IO_MPI;
		/* the process's id of the communicator, until all processes are sorted */
		h->comm = words >= 4 ? (uint32_t)(payload[3] >> 32) : 0;
		if (payload[1] < strings->n && strings->to[payload[1]]) {
			path = &x->b->strings.entries[strings->to[payload[1]] - 1];
			h->path = (struct sp_str){path->p, path->n};
		}
	}
	if (what == SP_RAW_X_IO_DUP && words >= 2 && payload[1] <= x->limit && payload[1] != payload[0]) {
		h = find(x, payload[1]);
		if (!h)
			return -1;
		/* the handle it is a copy of, until all events are read */
		h->process = x->s->handles.to[payload[0]] - 1;
	}
	return 0;
}

static int scan(struct scanning *x, const uint64_t *w, size_t n)
{
	uint32_t id;
	size_t i;

	for (i = 0; i < n && w[i]; i++) {
		if ((w[i] & 7) != SP_RAW_EXTRA)
			continue;
		id = (uint32_t)(w[i] >> SP_RAW_KIND_BITS) & SP_RAW_ID_MAX;
		if ((id >> 8 & 0xff) >= n - i)
			break;
		if (scan_event(x, id & 0xff, w + i + 1, id >> 8 & 0xff))
			return -1;
		i += id >> 8 & 0xff;
	}
	return 0;
}

static int scan_thread(struct scanning *x, const struct sp_raw_thread *t, uint64_t **buffer)
{
	const struct sp_raw_file *f = x->s->raw;
	const struct sp_raw_part *p = f->parts + t->events.first, *end = p + t->events.count;
	struct sp_err e = {.code = 0};
	const uint64_t *words;
	size_t n;

	for (; p < end; p++) {
		words = sp_raw_words(f, p, buffer, &n, &e);
		if (words ? scan(x, words, n) : e.code == ENOMEM)
			return -1;
		sp_raw_forget(f, p);
	}
	return 0;
}

/* Copies of a descriptor get the path of the original. */
static void follow_copies(struct sp_source *s)
{
	size_t i, k, from;

	for (i = 0; i < s->n_io_handles; i++) {
		struct sp_io_handle *h = &s->io_handles[i];

		/* a cyclic chain is damage */
		for (k = 0, from = i; s->io_handles[from].process != SP_NONE && k < 64; k++)
			from = s->io_handles[from].process;
		if (h->path.n == 0 && from != i) {
			h->path = s->io_handles[from].path;
			h->flags = s->io_handles[from].flags;
			h->mpi = s->io_handles[from].mpi;
			h->comm = s->io_handles[from].comm;
		}
	}
}

int sp_build_io(struct sp_builder *b, struct sp_loading *l)
{
	struct scanning x = {.b = b, .s = l->source, .limit = SPARE_HANDLES};
	uint64_t *buffer = NULL;
	size_t i;
	int rc = 0;

	if (!l->source->has_io)
		return 0;
	for (i = 0; i < l->process.locations; i++)
		x.limit += l->places[i].words;
	for (i = 0; i < l->process.locations && rc == 0; i++)
		rc = scan_thread(&x, &l->source->raw->threads[i], &buffer);
	free(buffer);
	follow_copies(l->source);
	return rc;
}

int sp_build_io_handles(struct sp_builder *b, struct sp_err *e)
{
	struct sp_model *m = b->m;
	size_t i, k, n = 0;

	for (i = 0; i < b->n_loading; i++)
		n += b->loading[i].source->n_io_handles;
	m->io_handles = sp_arena_zalloc(&b->priv->arena, n, sizeof(*m->io_handles));
	if (!m->io_handles)
		return sp_model_no_memory(e);
	for (i = 0; i < b->n_loading; i++) {
		struct sp_source *s = b->loading[i].source;

		for (k = 0; k < s->handles.n; k++)
			if (s->handles.to[k])
				s->handles.to[k] += (uint32_t)m->n_io_handles;
		for (k = 0; k < s->n_io_handles; k++) {
			struct sp_io_handle *h = &m->io_handles[m->n_io_handles++];

			*h = s->io_handles[k];
			h->process = (uint32_t)i;
			h->comm = h->comm < s->comms.n ? s->comms.to[h->comm] - 1 : SP_NONE;
		}
		free(s->io_handles);
		s->io_handles = NULL;
	}
	return 0;
}
