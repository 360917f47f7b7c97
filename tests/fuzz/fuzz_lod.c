/* SPDX-License-Identifier: BSD-3-Clause */
/* A level-of-detail index changed behind its checksums: a question is answered or refused, or the index is made again.
 * The input is a list of changes, as in fuzz_merged.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generator/rawgen.h"
#include "input.h"
#include "model/lod/file.h"
#include "model/lod/lod.h"
#include "model/lod/made.h"
#include "model/lod/opened.h"
#include "model/merge/image.h"
#include "model/merge/pack.h"
#include "model/model.h"
#include "model/path.h"
#include "model/str.h"

static struct {
	struct sp_model *m;
	char path[128];
	unsigned char *bytes, *changed;
	size_t n;
	struct sp_value *values;
	double *each;
} built;

static void prepare(void)
{
	const char *dir = input_directory();
	struct rg_options o = {.processes = 1, .threads = 2, .events = 1200, .trace = true, .extras = true, .seed = 1};
	struct sp_lod *p;
	struct sp_err e = {.code = 0};
	char raw[128];
	FILE *f;

	snprintf(raw, sizeof(raw), "%s/raw", dir);
	remove(raw);
	rg_experiment(dir, &o);
	snprintf(raw, sizeof(raw), "%s/raw/rank.raw", dir);
	rg_write(rg_mpi_rank(7, 0, 1, true, NULL), raw, SP_RAW_ENDED_NORMAL, 9000);
	if (sp_model_load(&built.m, dir, 0, &e) || sp_lod_open(&p, built.m, NULL, &e))
		abort();
	built.n = sp_lod_bytes(p);
	sp_lod_close(p);
	snprintf(built.path, sizeof(built.path), "%s/" SP_LOD_NAME, dir);
	built.bytes = malloc(built.n);
	built.changed = malloc(built.n);
	built.values = calloc(built.m->n_paths, sizeof(*built.values));
	built.each = calloc(built.m->n_paths, sizeof(*built.each));
	f = fopen(built.path, "rb");
	if (!built.bytes || !built.changed || !built.values || !built.each || !f ||
	    fread(built.bytes, 1, built.n, f) != built.n)
		abort();
	fclose(f);
}

static void change(const uint8_t *data, size_t n)
{
	struct sp_lod_header *h = (struct sp_lod_header *)built.changed;
	struct sp_lod_file_location *places;
	uint64_t at, value, i;
	uint32_t where;
	int32_t what;

	memcpy(built.changed, built.bytes, built.n);
	for (; n >= 8; data += 8, n -= 8) {
		memcpy(&where, data, 4);
		memcpy(&what, data + 4, 4);
		value = (uint64_t)(int64_t)what;
		at = (where & 0x3fffffff) % (built.n - SP_LOD_PAGE + sizeof(*h));
		at = at < sizeof(*h) ? at : at - sizeof(*h) + SP_LOD_PAGE;
		if (at + (1u << (where >> 30)) <= built.n)
			memcpy(built.changed + at, &value, 1u << (where >> 30));
	}
	if (h->at % 8 || h->at > built.n || h->places > (built.n - h->at) / sizeof(*places))
		return;
	places = (struct sp_lod_file_location *)(built.changed + h->at);
	for (i = 0; i < h->places; i++)
		if (places[i].at <= built.n && places[i].bytes <= built.n - places[i].at)
			places[i].hash = sp_lod_hash(0, built.changed + places[i].at, places[i].bytes);
	h->hash = sp_pack_hash(places, h->places * sizeof(*places));
}

static void draw(void *arg, uint32_t depth, uint64_t begin, uint64_t end, uint64_t calls, uint64_t busy,
                 uint32_t region, uint64_t limit)
{
	(void)arg;
	(void)depth;
	(void)busy;
	(void)limit;
	if (region >= built.m->n_regions || calls == 0 || begin > end)
		abort();
}

static void ran(void *arg, uint64_t begin, uint64_t end, uint32_t region, double ns, uint64_t events)
{
	(void)arg;
	(void)begin;
	(void)end;
	(void)ns;
	(void)events;
	if (region >= built.m->n_regions && region != SP_NONE)
		abort();
}

static void check(int rc, const struct sp_err *e)
{
	if (rc && !e->text[0])
		abort();
}

static void ask(struct sp_lod *p)
{
	const uint64_t length = built.m->end_ns - built.m->begin_ns;
	uint32_t i;

	for (i = 0; i < built.m->n_locations; i++) {
		struct sp_err e = {.code = 0};
		unsigned zoom;

		for (zoom = 0; zoom < 24; zoom += 4) {
			const uint64_t begin = zoom ? length / 3 : 0, end = begin + (length >> zoom);

			check(sp_lod_draw(p, i, begin, end, (length >> zoom) / 200, draw, NULL, &e), &e);
			check(sp_lod_ran(p, i, begin, end, (length >> zoom) / 200, ran, NULL, &e), &e);
			check(sp_lod_range(p, i, begin, end, built.values, built.each, &e), &e);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct sp_err e = {.code = 0};
	struct sp_lod *p;
	FILE *f;

	if (!built.bytes)
		prepare();
	change(data, n);
	f = fopen(built.path, "wb");
	if (!f || fwrite(built.changed, 1, built.n, f) != built.n || fclose(f) != 0)
		abort();
	if (sp_lod_open(&p, built.m, &(struct sp_lod_options){.keep = true, .threads = 1}, &e))
		abort();
	ask(p);
	sp_lod_close(p);
	return 0;
}
