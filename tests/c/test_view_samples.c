/* SPDX-License-Identifier: BSD-3-Clause */
/* Drawing and summing up samples, compared with the single samples. */
#include "view/samples.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "model/metric.h"
#include "model/path.h"

enum { SAMPLES = 5000, PATHS = 9, MAX_PIXELS = 900 };

static unsigned random_below(unsigned n)
{
	static uint64_t x = 88172645463325252u;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (unsigned)(x % n);
}

static void fill(struct sp_view_samples *l, size_t n)
{
	uint64_t at = 1000;
	size_t i;

	*l = (struct sp_view_samples){.n = n};
	l->time = calloc(n + 1, sizeof(*l->time));
	l->until = calloc(n + 1, sizeof(*l->until));
	l->path = calloc(n + 1, sizeof(*l->path));
	l->cpu = calloc(n + 1, sizeof(*l->cpu));
	l->state = calloc(n + 1, sizeof(*l->state));
	MUST(l->time && l->until && l->path && l->cpu && l->state);
	for (i = 0; i < n; i++) {
		l->time[i] = at;
		l->path[i] = random_below(3) ? 1 + random_below(3) : random_below(PATHS);
		l->cpu[i] = random_below(900);
		l->state[i] = (uint8_t)random_below(SP_SAMPLE_STATES);
		at += random_below(40) == 0 ? 300000 : random_below(1000); /* some at the same time */
	}
	l->end = at;
	/* the validity of some samples is unknown */
	for (i = 0; i < n; i++) {
		const uint64_t next = i + 1 < n ? l->time[i + 1] : l->end;

		l->until[i] = random_below(10) ? next : l->time[i] + (next - l->time[i]) / 2;
	}
	MUST(sp_view_samples_sum_up(l) == 0);
}

struct drawn {
	uint64_t begin, end, until;
	uint32_t pixels;
	uint64_t state[MAX_PIXELS][SP_SAMPLE_STATES];
	uint64_t ns[PATHS], samples, together;
};

static uint32_t pixel_of(const struct drawn *d, uint64_t at)
{
	const double pixel = (double)(d->end - d->begin) / d->pixels;
	const uint32_t i = (uint32_t)((double)(at - d->begin) / pixel);

	return i < d->pixels ? i : d->pixels - 1;
}

static void draw(void *arg, uint64_t begin, uint64_t end, uint32_t path, uint64_t ns, const uint64_t *state,
                 uint64_t samples)
{
	struct drawn *d = arg;
	uint64_t sum = 0;
	int i;

	CHECK(begin >= d->until && end > begin && end <= d->end && path < PATHS && ns <= end - begin);
	d->until = end;
	for (i = 0; i < SP_SAMPLE_STATES; i++)
		sum += state[i];
	CHECK(samples == 1 ? sum == end - begin : sum <= end - begin);
	d->ns[path] += ns;
	d->samples += samples;
	if (samples == 1)
		return;
	d->together++;
	CHECK(samples == SP_VIEW_SAMPLES_BLOCK && pixel_of(d, begin) == pixel_of(d, end));
	for (i = 0; i < SP_SAMPLE_STATES; i++)
		d->state[pixel_of(d, begin)][i] += state[i];
}

/* Each ns for which a sample in the range is valid is reported once; combined samples have the sum of the single
 * samples. */
static void test_walk(const struct sp_view_samples *l, uint64_t begin, uint64_t end, uint32_t pixels)
{
	static struct drawn d;
	uint64_t expected[SP_SAMPLE_STATES] = {0}, found[SP_SAMPLE_STATES] = {0}, samples = 0;
	struct sp_value values[PATHS] = {0};
	double grown[PATHS * 2] = {0}, cpu[PATHS] = {0}, sum = 0;
	uint64_t ns[PATHS] = {0}, used = 0;
	size_t k;
	uint32_t i;

	d = (struct drawn){.begin = begin, .end = end, .until = begin, .pixels = pixels};
	sp_view_samples_walk(l, begin, end, pixels, draw, &d);
	for (k = 0; k < l->n; k++) {
		const uint64_t from = l->time[k] > begin ? l->time[k] : begin;
		const uint64_t to = sp_view_samples_until(l, k) < end ? sp_view_samples_until(l, k) : end;

		if (l->time[k] < end && sp_view_samples_until(l, k) > begin && to > from) {
			expected[l->state[k]] += to - from;
			ns[l->path[k]] += to - from;
			samples++;
		}
		if (l->time[k] > begin && l->time[k] < end && sp_view_samples_until(l, k) > begin)
			used += l->cpu[k];
	}
	/* the blocks also contain samples with a duration of 0 */
	CHECK(d.samples >= samples && d.samples <= samples + d.together * SP_VIEW_SAMPLES_BLOCK);
	for (i = 0; i < SP_SAMPLE_STATES; i++) {
		sp_view_samples_grown(l, begin, end, (enum sp_view_samples_metric)i, grown, 2);
		for (k = 0; k < PATHS; k++)
			found[i] += (uint64_t)grown[k * 2];
		memset(grown, 0, sizeof(grown));
		CHECK(found[i] == expected[i]);
	}
	sp_view_samples_range(l, begin, end, values);
	sp_view_samples_grown(l, begin, end, SP_VIEW_SAMPLES_CPU, cpu, 1);
	CHECK(values[0].excl == 0);
	for (k = 0; k < PATHS; k++) {
		CHECK(k == 0 || values[k].excl == (double)ns[k]);
		CHECK(d.ns[k] <= ns[k] || d.together); /* a block reports only its path with the most time */
		sum += cpu[k];
	}
	CHECK(sum == (double)used);
}

static void test_metrics(void)
{
	struct sp_metric x = {.kind = SP_METRIC_SAMPLE, .name = {"sampled_idle", 12}, .own = true};

	CHECK((int)sp_view_samples_metric_of(&x) == 3);
	x.name.p = "sampled_cpu";
	CHECK(sp_view_samples_metric_of(&x) == SP_VIEW_SAMPLES_CPU);
	x.name.p = "samples";
	CHECK(sp_view_samples_metric_of(&x) == SP_VIEW_SAMPLES_NONE);
	x = (struct sp_metric){.kind = SP_METRIC_MEMORY, .name = {"sampled_idle", 12}};
	CHECK(sp_view_samples_metric_of(&x) == SP_VIEW_SAMPLES_NONE);
}

int main(void)
{
	static const size_t numbers[] = {0, 1, SP_VIEW_SAMPLES_BLOCK, SP_VIEW_SAMPLES_BLOCK * 3 + 1, SAMPLES};
	struct sp_view_samples l;
	size_t i;
	int k;

	for (i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		fill(&l, numbers[i]);
		test_walk(&l, 0, l.end + 100, 1);
		test_walk(&l, 0, l.end + 100, MAX_PIXELS);
		for (k = 0; k < 40; k++) {
			const uint64_t begin = random_below((unsigned)l.end),
			               end = begin + 1 + random_below((unsigned)l.end);

			test_walk(&l, begin, end, 1 + random_below(MAX_PIXELS));
		}
		if (l.n) {
			CHECK(sp_view_samples_find(&l, 0) == 0 || l.time[1] == l.time[0]);
			CHECK(sp_view_samples_find(&l, l.end) == l.n);
		}
		sp_view_samples_free(&l);
	}
	test_metrics();
	return check_failures != 0;
}
