/* SPDX-License-Identifier: BSD-3-Clause */
/* The states of threads over time, from samples: in each pixel the share of each state. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
	struct sp_band band;              /* of paths instead of regions: a row for each pixel with samples */
	float (*share)[SP_SAMPLE_STATES]; /* owned; for each pixel of the location */
	struct shares *rows;              /* owned; parallel to the band's rows */
	size_t n, capacity;
	struct shares *sum; /* owned; for each pixel, of all locations together; NULL: each has its own rows */
	uint32_t *samples;  /* owned; of those pixels */
};

static void add(void *arg, uint64_t begin, uint64_t end, uint32_t path, uint64_t ns, const uint64_t *state,
                uint64_t samples)
{
	(void)state;
	sp_band_add(arg, begin, end, path, (double)ns, samples);
}

/* Adds the rows of a location to the sums, and removes them. */
static void sum_up(struct states *s, size_t first)
{
	size_t i;
	int k;

	for (i = first; i < s->n; i++) {
		struct shares *to = &s->sum[s->rows[i].bucket];

		for (k = 0; k < SP_SAMPLE_STATES; k++)
			to->state[k] += s->rows[i].state[k];
		s->samples[s->rows[i].bucket] += s->band.rows[i].events;
	}
	s->n = s->band.n_rows = first;
}

/* Turns the sums over n locations into rows: of the pixels in which one of them has a state. */
static int put_sums(struct states *s, uint32_t first, uint32_t n)
{
	uint32_t i;
	int k;

	for (i = 0; i < s->band.pixels; i++) {
		struct shares *sum = &s->sum[i];
		float all = 0;

		for (k = 0; k < SP_SAMPLE_STATES; k++)
			all += sum->state[k] /= (float)n;
		if (all <= 0)
			continue;
		if (!sp_grow(&s->rows, s->n, &s->capacity, sizeof(*s->rows)))
			return -1;
		sum->location = first;
		sum->bucket = i;
		s->rows[s->n++] = *sum;
	}
	return 0;
}

/* Adds a row for each pixel of the location in which the band has one. */
static int put_shares(struct states *s, uint32_t location, size_t first)
{
	size_t i;

	for (i = first; i < s->band.n_rows; i++) {
		const uint32_t bucket = s->band.rows[i].bucket;
		struct shares *row;

		if (!sp_grow(&s->rows, s->n, &s->capacity, sizeof(*s->rows)))
			return -1;
		row = &s->rows[s->n++];
		*row = (struct shares){location, bucket, {0}};
		memcpy(row->state, s->share[bucket], sizeof(row->state));
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
	sp_view_samples_walk(samples, s->band.begin, s->band.end, s->band.pixels, add, &s->band);
	sp_band_flush(&s->band);
	sp_view_samples_shares(samples, s->band.begin, s->band.end, s->band.pixels, s->share);
	if (s->band.failed || put_shares(s, location, first))
		return sp_fail(e, ENOMEM, "not enough memory");
	if (s->sum)
		sum_up(s, first);
	return 0;
}

static int put_rows(const struct states *s, struct sp_columns *out)
{
	static const char *const names[SP_SAMPLE_STATES] = {"running", "gil",         "syscall",
	                                                    "idle",    "object_lock", "stopped"};
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
		const struct sp_band_row *r = s->sum ? NULL : &s->band.rows[i];

		location[i] = s->rows[i].location;
		bucket[i] = s->rows[i].bucket;
		path[i] = r && r->region ? r->region : SP_NONE; /* the root is not a function */
		samples[i] = r ? r->events : s->samples[s->rows[i].bucket];
		for (k = 0; k < SP_SAMPLE_STATES; k++)
			state[k][i] = s->rows[i].state[k];
	}
	return 0;
}

int sp_view_states(const struct sp_viewed *v, const struct sp_view_query *q, struct sp_columns *out, struct sp_err *e)
{
	struct states s = {.n = 0};
	struct sp_span span;
	uint32_t i, n = 0, row = 0, first = SP_NONE;
	uint8_t *wanted;
	int rc;

	if (sp_span_of(&span, v->m, q, e))
		return -1;
	rc = sp_band_init(&s.band, v->m->n_paths, span.begin, span.end, span.pixels);
	s.share = calloc(span.pixels, sizeof(*s.share));
	s.sum = q->limit ? calloc(span.pixels, sizeof(*s.sum)) : NULL;
	s.samples = q->limit ? calloc(span.pixels, sizeof(*s.samples)) : NULL;
	for (i = 0; i < v->m->n_locations; i++)
		row += sp_span_asks(v->m, q, i);
	wanted = calloc((size_t)row + 1, sizeof(*wanted));
	if (rc || !s.share || !wanted || (q->limit && (!s.sum || !s.samples)))
		rc = sp_fail(e, ENOMEM, "not enough memory");
	if (rc == 0)
		rc = sp_span_wanted(q, wanted, row, &n, e);
	for (i = row = 0; i < v->m->n_locations && rc == 0; i++) {
		if (!sp_span_asks(v->m, q, i) || !wanted[row++])
			continue;
		first = first == SP_NONE ? i : first;
		rc = one(&s, v, i, e);
	}
	if (rc == 0 && s.sum && n && put_sums(&s, first, n))
		rc = sp_fail(e, ENOMEM, "not enough memory");
	if (rc == 0 && put_rows(&s, out))
		rc = sp_fail(e, ENOMEM, "not enough memory");
	sp_meta_uint(out, "rows", row);
	sp_meta_uint(out, "pixels", span.pixels);
	sp_meta_real(out, "begin", (double)span.begin * S);
	sp_meta_real(out, "end", (double)span.end * S);
	sp_band_free(&s.band);
	free(s.share);
	free(s.rows);
	free(s.sum);
	free(s.samples);
	free(wanted);
	return rc;
}
