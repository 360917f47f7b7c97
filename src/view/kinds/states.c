/* SPDX-License-Identifier: BSD-3-Clause */
/* The states of threads over time, from samples: in each pixel the share of each state. */
#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "model/str.h"
#include "view/band.h"
#include "view/kept.h"
#include "view/span.h"

static const double S = 1e-9;

/* The shares in one pixel of a location. */
struct shares {
	uint32_t location, bucket;
	float state[SP_SAMPLE_STATES];
};

struct states {
	struct sp_band band; /* of paths instead of regions: a row for each pixel with samples */
	uint64_t *ns;        /* owned; SP_SAMPLE_STATES numbers for each pixel of the location */
	struct shares *rows; /* owned; parallel to the band's rows */
	size_t n, capacity;
};

static void add(void *arg, uint64_t begin, uint64_t end, uint32_t path, uint64_t ns, const uint64_t *state,
                uint64_t samples)
{
	struct states *s = arg;
	struct sp_band *b = &s->band;
	const double pixel = (double)(b->end - b->begin) / b->pixels;
	uint32_t at = (uint32_t)((double)(begin - b->begin) / pixel);
	int i;

	sp_band_add(b, begin, end, path, (double)ns, samples);
	/* combined samples are within one pixel; a single sample may span several */
	for (at = at < b->pixels ? at : b->pixels - 1; samples > 1 || begin < end; at++) {
		const uint64_t edge = at + 1 < b->pixels ? sp_band_pixel(b, at + 1) : end;
		const uint64_t to = samples > 1 || edge > end ? end : edge;

		for (i = 0; i < SP_SAMPLE_STATES; i++)
			if (state[i])
				s->ns[at * SP_SAMPLE_STATES + i] += samples > 1  ? state[i]
				                                    : to > begin ? to - begin
				                                                 : 0;
		if (samples > 1 || at + 1 >= b->pixels)
			break;
		begin = to > begin ? to : begin;
	}
}

/* Adds a row for each pixel of the location in which the band has one. */
static int flush(struct states *s, uint32_t location, size_t first)
{
	size_t i;
	int k;

	for (i = first; i < s->band.n_rows; i++) {
		const uint32_t bucket = s->band.rows[i].bucket;
		const double width = (double)(sp_band_pixel(&s->band, bucket + 1) - sp_band_pixel(&s->band, bucket));
		struct shares *row;

		if (!sp_grow(&s->rows, s->n, &s->capacity, sizeof(*s->rows)))
			return -1;
		row = &s->rows[s->n++];
		*row = (struct shares){location, bucket, {0}};
		for (k = 0; k < SP_SAMPLE_STATES && width > 0; k++) {
			uint64_t *ns = &s->ns[bucket * SP_SAMPLE_STATES + k];

			row->state[k] = (float)((double)*ns / width < 1 ? (double)*ns / width : 1);
			*ns = 0;
		}
	}
	return 0;
}

static int one(struct states *s, const struct sp_viewed *v, uint32_t location, struct sp_err *e)
{
	const struct sp_view_samples *samples;
	const size_t first = s->band.n_rows;

	if (!v->m->processes[v->m->locations[location].process].sampled)
		return 0;
	if (sp_view_samples_of(v, location, &samples, e))
		return -1;
	sp_band_location(&s->band, location);
	sp_view_samples_walk(samples, s->band.begin, s->band.end, s->band.pixels, add, s);
	sp_band_flush(&s->band);
	return s->band.failed || flush(s, location, first) ? sp_fail(e, ENOMEM, "not enough memory") : 0;
}

static int put_rows(const struct states *s, struct sp_columns *out)
{
	static const char *const names[SP_SAMPLE_STATES] = {"running", "gil", "syscall", "idle"};
	uint32_t *location = sp_columns_reserve(out, "location", SP_COLUMN_U32, s->n);
	uint32_t *bucket = sp_columns_reserve(out, "bucket", SP_COLUMN_U32, s->n);
	uint32_t *path = sp_columns_reserve(out, "path", SP_COLUMN_U32, s->n);
	uint32_t *samples = sp_columns_reserve(out, "samples", SP_COLUMN_U32, s->n);
	float *state[SP_SAMPLE_STATES];
	size_t i;
	int k;

	for (k = 0; k < SP_SAMPLE_STATES; k++)
		state[k] = sp_columns_reserve(out, names[k], SP_COLUMN_F32, s->n);
	if (sp_columns_failed(out))
		return -1;
	for (i = 0; i < s->n; i++) {
		const struct sp_band_row *r = &s->band.rows[i];

		location[i] = s->rows[i].location;
		bucket[i] = s->rows[i].bucket;
		path[i] = r->region ? r->region : SP_NONE; /* the root is not a function */
		samples[i] = r->events;
		for (k = 0; k < SP_SAMPLE_STATES; k++)
			state[k][i] = s->rows[i].state[k];
	}
	return 0;
}

int sp_view_states(const struct sp_viewed *v, const struct sp_view_query *q, struct sp_columns *out, struct sp_err *e)
{
	struct states s = {.n = 0};
	struct sp_span span;
	uint32_t i, first, end, row = 0;
	int rc;

	if (sp_span_of(&span, v->m, q, e) || sp_span_rows(q, &first, &end, e))
		return -1;
	rc = sp_band_init(&s.band, v->m->n_paths, span.begin, span.end, span.pixels);
	s.ns = calloc((size_t)span.pixels * SP_SAMPLE_STATES, sizeof(*s.ns));
	if (rc || !s.ns)
		rc = sp_fail(e, ENOMEM, "not enough memory");
	for (i = 0; i < v->m->n_locations && rc == 0; i++)
		if (sp_span_asks(v->m, q, i) && row++ >= first && row <= end)
			rc = one(&s, v, i, e);
	if (rc == 0 && put_rows(&s, out))
		rc = sp_fail(e, ENOMEM, "not enough memory");
	sp_meta_uint(out, "rows", row);
	sp_meta_uint(out, "pixels", span.pixels);
	sp_meta_real(out, "begin", (double)span.begin * S);
	sp_meta_real(out, "end", (double)span.end * S);
	sp_band_free(&s.band);
	free(s.ns);
	free(s.rows);
	return rc;
}
