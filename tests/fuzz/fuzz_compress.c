/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a raw file: compressed, it reads as before; or the file is unchanged and an error is reported. (Files
 * with damage that only the model can detect are skipped: they need not read the same.) */
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "model/event.h"
#include "model/model.h"
#include "model/path.h"
#include "reader/compress.h"

struct reading {
	uint32_t regions, locations;
	size_t paths, events, problems;
	uint64_t sum; /* a checksum of all call paths and events */
};

static void add(struct reading *r, uint64_t value)
{
	r->sum = (r->sum ^ value) * UINT64_C(0x100000001b3);
}

static void add_io(struct reading *r, const struct sp_io *x)
{
	add(r, (uint64_t)x->mode << 32 | x->to);
	add(r, (uint64_t)x->asked);
	add(r, x->offset ^ x->bytes);
}

static void add_mpi(struct reading *r, const struct sp_mpi *x)
{
	add(r, (uint64_t)x->peer << 32 | (uint32_t)x->tag);
	add(r, (uint64_t)x->what << 32 | (uint32_t)x->root);
	add(r, (uint64_t)x->level << 32 | x->type);
	add(r, (uint64_t)x->group << 32 | (x->peers ? x->peers->n : 0));
	add(r, x->bytes);
	add(r, x->request);
	add(r, x->sent ^ x->received);
	add(r, x->matching);
}

static void read_events(struct reading *r, const struct sp_model *m, uint32_t location)
{
	static struct sp_event ev[256];
	struct sp_err e = {.code = 0};
	struct sp_events *s;
	long n, i;

	if (sp_events_open(&s, m, location, &e))
		return;
	while ((n = sp_events_read(s, ev, 256, &e)) > 0) {
		for (i = 0; i < n; i++) {
			add(r, ev[i].time);
			add(r, (uint64_t)ev[i].kind << 32 | ev[i].id);
			if (ev[i].kind >= SP_EVENT_IO_CREATE && ev[i].kind <= SP_EVENT_IO_DELETE)
				add_io(r, ev[i].u.io);
			else if (ev[i].kind >= SP_EVENT_MPI_SEND && ev[i].kind <= SP_EVENT_RMA_LOCK)
				add_mpi(r, ev[i].u.mpi);
			else
				add(r, ev[i].u.uint);
		}
		r->events += (size_t)n;
	}
	sp_events_close(s);
}

static struct reading read_all(const char *dir)
{
	struct reading r = {.sum = 1};
	struct sp_err e = {.code = 0};
	struct sp_model *m;
	uint32_t l;
	size_t i;

	if (sp_model_load(&m, dir, 0, &e))
		return r;
	r.regions = m->n_regions;
	r.locations = m->n_locations;
	r.paths = m->n_paths;
	for (i = 0; i < m->n_paths; i++)
		add(&r, (uint64_t)m->paths[i].parent << 32 | m->paths[i].region);
	for (i = 0; i < m->n_paths; i++)
		add(&r, m->paths[i].parameter);
	for (i = 0; i < m->n_paths * m->n_metrics; i++)
		add(&r, m->total_metrics[i]);
	for (l = 0; l < m->n_locations; l++)
		read_events(&r, m, l);
	r.problems = m->n_problems;
	sp_model_free(m);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct sp_raw_compression c = {.level = 1};
	const char *dir = input_experiment(data, n);
	struct reading before = read_all(dir), after;
	struct sp_err e = {.code = 0};

	if (sp_raw_compress(input_file(), "a.raw", &c, &e)) {
		if (!e.text[0] || c.after != c.before)
			abort();
		return 0;
	}
	after = read_all(dir);
	if (before.problems == 0 && memcmp(&before, &after, sizeof(before)) != 0)
		abort();
	return 0;
}
