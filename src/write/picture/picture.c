/* SPDX-License-Identifier: BSD-3-Clause */
/* What pictures share: selection, colours, texts. */
#include "write/picture/picture.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/metric.h"
#include "model/model.h"
#include "model/path.h"
#include "model/region.h"
#include "model/report/walk.h"
#include "model/str.h"
#include "write/common/out.h"

/* ---- selection ---- */

/* Keeps the values of paths that match and of those below them. A caller has a smaller index than its callees. */
static int keep_matching(struct sp_shown *s, const struct sp_model *m, const char *match, struct sp_err *e)
{
	bool *below = calloc(m->n_paths + 1, sizeof(*below)), *fits = calloc(m->n_regions + 1, sizeof(*fits));
	struct sp_value *kept = calloc(m->n_paths + 1, sizeof(*kept));
	bool any = false;

	if (!below || !fits || !kept) {
		free(below);
		free(fits);
		free(kept);
		return sp_fail(e, ENOMEM, "out of memory");
	}
	for (size_t r = 1; r < m->n_regions; r++)
		fits[r] = sp_region_matches(&m->regions[r], match);
	for (size_t p = 1; p < m->n_paths; p++) {
		below[p] = below[m->paths[p].parent] || fits[m->paths[p].region];
		if (!below[p])
			continue;
		kept[p] = s->values[p];
		any |= s->values[p].incl > 0 || s->values[p].visits;
	}
	free(s->owned);
	s->values = s->owned = kept;
	free(below);
	free(fits);
	return any ? 0 : sp_fail(e, 0, "no recorded function matches '%s'", match);
}

static size_t metric_of(const struct sp_model *m, const char *name)
{
	size_t i = 0;

	while (i < m->n_metrics && !(m->metrics[i].kind == SP_METRIC_MEMORY && m->metrics[i].name.n == strlen(name) &&
	                             !memcmp(m->metrics[i].name.p, name, strlen(name))))
		i++;
	return i;
}

/* Replaces times by allocated memory. */
static int take_memory(struct sp_shown *s, const struct sp_model *m, struct sp_err *e)
{
	const size_t bytes = metric_of(m, "allocated"), blocks = metric_of(m, "allocations");
	struct sp_sum *sums;

	if (bytes == m->n_metrics || blocks == m->n_metrics)
		return 0;
	if (sp_metric_paths(&s->view, &sums, e))
		return -1;
	s->owned = calloc(m->n_paths + 1, sizeof(*s->owned));
	for (size_t p = 0; s->owned && p < m->n_paths; p++) {
		const struct sp_sum *of = sums + p * m->n_metrics;

		s->owned[p].incl = (double)of[bytes].incl;
		s->owned[p].excl = (double)of[bytes].excl;
		s->owned[p].visits = of[blocks].excl;
	}
	free(sums);
	s->values = s->owned;
	s->bytes = true;
	return s->owned ? 0 : sp_fail(e, ENOMEM, "out of memory");
}

static double whole_of(const struct sp_model *m, const struct sp_value *values)
{
	double whole = 0;

	for (uint32_t c = m->paths[0].first_child; c != SP_NONE; c = m->paths[c].next_sibling)
		whole += values[c].incl;
	return whole;
}

int sp_shown_open(struct sp_shown *s, const struct sp_model *m, const struct sp_picture *p, struct sp_err *e)
{
	*s = (struct sp_shown){.total = 0};
	if (sp_view_open(&s->view, m, p->process, p->location, e))
		return -1;
	s->values = s->view.values;
	s->total = whole_of(m, s->values);
	if (!(s->total > 0)) {
		if (take_memory(s, m, e))
			return -1;
		s->total = whole_of(m, s->values);
	}
	if (!(s->total > 0))
		return sp_fail(e, 0, "there is nothing to draw: no calls were recorded");
	return p->match && *p->match ? keep_matching(s, m, p->match, e) : 0;
}

void sp_shown_close(struct sp_shown *s)
{
	sp_view_close(&s->view);
	free(s->owned);
}

/* ---- colours ---- */

/* The same numbers as in viewer/src/draw/colour.ts: hues after Okabe and Ito. */
static const struct sp_colour hues[2][10] = {
    {{126, 178, 221},
     {238, 172, 104},
     {118, 194, 160},
     {222, 148, 184},
     {236, 214, 112},
     {150, 152, 216},
     {226, 138, 118},
     {136, 206, 212},
     {190, 186, 124},
     {190, 158, 206}},
    {{38, 98, 148},
     {150, 84, 20},
     {20, 110, 78},
     {146, 62, 104},
     {116, 98, 10},
     {84, 82, 164},
     {158, 66, 46},
     {14, 106, 116},
     {96, 94, 36},
     {110, 72, 134}},
};
static const struct sp_colour greys[2] = {{200, 203, 207}, {74, 78, 84}};
static const struct sp_colour in_mpi[2] = {{72, 132, 214}, {60, 98, 220}};
static const struct sp_colour inks[SP_THEMES] = {{20, 22, 26}, {240, 242, 245}, {20, 22, 26}};
static const struct sp_colour papers[SP_THEMES] = {{255, 255, 255}, {24, 26, 30}, {255, 255, 255}};
/* Colours from no time over half to all of the time: each step is darker (brighter on a dark page), so that the order
 * is visible without hues. */
static const struct sp_colour heats[SP_THEMES][4] = {
    {{244, 240, 230}, {250, 200, 120}, {226, 110, 50}, {140, 20, 30}},
    {{48, 50, 56}, {110, 62, 30}, {200, 100, 36}, {252, 196, 110}},
    {{245, 245, 245}, {205, 205, 205}, {140, 140, 140}, {40, 40, 40}},
};

struct sp_colour sp_paper(enum sp_picture_theme t)
{
	return papers[t];
}

/* Converts one UTF-8 character to UTF-16 code units, which JavaScript counts; returns its number of bytes. */
static size_t code_units(const unsigned char *p, size_t n, uint32_t unit[2], int *units)
{
	size_t length = sp_utf8_sequence(p, n);
	uint32_t c = p[0];

	*units = 1;
	if (length == 0) {
		unit[0] = 0xfffd;
		return 1;
	}
	if (length > 1)
		c &= 0x7fu >> length;
	for (size_t i = 1; i < length; i++)
		c = c << 6 | (p[i] & 0x3fu);
	unit[0] = c;
	if (c >= 0x10000) {
		unit[0] = 0xd800 + ((c - 0x10000) >> 10);
		unit[1] = 0xdc00 + ((c - 0x10000) & 0x3ff);
		*units = 2;
	}
	return length;
}

/* FNV-1a over the values of charCodeAt(), and a final mixing step. */
static uint32_t hash(struct sp_str s)
{
	uint32_t h = 0x811c9dc5, unit[2];
	int units;

	for (size_t i = 0; i < s.n;) {
		i += code_units((const unsigned char *)s.p + i, s.n - i, unit, &units);
		for (int k = 0; k < units; k++)
			h = (h ^ unit[k]) * 0x01000193u;
	}
	h ^= h >> 15;
	return h * 0x2c1b3c6du;
}

static uint8_t nudged(int part, int by)
{
	part += by;
	return (uint8_t)(part < 0 ? 0 : part > 255 ? 255 : part);
}

static bool is(struct sp_str s, const char *text)
{
	return s.n == strlen(text) && (!s.n || memcmp(s.p, text, s.n) == 0);
}

struct sp_str sp_module_of(const struct sp_region *r)
{
	return !r->module.n && r->kind == SP_REGION_MPI ? sp_text("MPI") : r->module;
}

struct sp_colour sp_module_colour(struct sp_str module, enum sp_picture_theme t)
{
	const bool dark = t == SP_THEME_DARK;
	const char *dot = module.n ? memchr(module.p, '.', module.n) : NULL;
	struct sp_str top = {module.p, dot ? (size_t)(dot - module.p) : module.n};

	if (t == SP_THEME_GREY || is(module, "") || is(module, "builtins"))
		return greys[dark];
	if (is(module, "MPI"))
		return in_mpi[dark];
	struct sp_colour c = hues[dark][hash(top) % 10];
	int by = (dark ? -9 : 9) * (int)((hash(module) >> 8) % 3);
	return (struct sp_colour){nudged(c.r, by), nudged(c.g, by), nudged(c.b, by)};
}

struct sp_colour sp_heat(double share, enum sp_picture_theme t)
{
	double at = sqrt(share < 0 ? 0 : share > 1 ? 1 : share) * 3; /* most shares are small */
	int i = at >= 3 ? 2 : (int)at;
	const struct sp_colour a = heats[t][i], b = heats[t][i + 1];

	at -= i;
	return (struct sp_colour){(uint8_t)lround(a.r + (b.r - a.r) * at), (uint8_t)lround(a.g + (b.g - a.g) * at),
	                          (uint8_t)lround(a.b + (b.b - a.b) * at)};
}

static double linear(uint8_t part)
{
	double v = part / 255.0;

	return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

static double luminance(struct sp_colour c)
{
	return 0.2126 * linear(c.r) + 0.7152 * linear(c.g) + 0.0722 * linear(c.b);
}

double sp_contrast(struct sp_colour a, struct sp_colour b)
{
	double x = luminance(a), y = luminance(b);

	return (fmax(x, y) + 0.05) / (fmin(x, y) + 0.05);
}

struct sp_colour sp_ink_on(struct sp_colour c, enum sp_picture_theme t)
{
	const struct sp_colour white = {255, 255, 255}, black = {0, 0, 0};

	if (sp_contrast(c, inks[t]) >= 4.5)
		return inks[t];
	/* one of both has a contrast of at least 4.58 */
	return sp_contrast(c, white) >= sp_contrast(c, black) ? white : black;
}

/* ---- texts ---- */

void sp_amount_text(char out[SP_TIME_TEXT], double value, bool bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	size_t unit = 0;

	if (!bytes) {
		sp_time_text(out, value);
		return;
	}
	while (value >= 1024 && unit < 4) {
		value /= 1024;
		unit++;
	}
	snprintf(out, SP_TIME_TEXT, "%.*f %s", unit ? 1 : 0, value, units[unit]);
}

void sp_shown_text(const struct sp_shown *s, char out[SP_TIME_TEXT], double value)
{
	sp_amount_text(out, value, s->bytes);
}

void sp_shown_often(const struct sp_shown *s, char out[SP_TIME_TEXT], uint64_t n)
{
	snprintf(out, SP_TIME_TEXT, "%" PRIu64 "%s", n, !s->bytes ? "×" : n == 1 ? " block" : " blocks");
}

void sp_time_text(char out[SP_TIME_TEXT], double ns)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}};
	double size = fabs(ns);

	if (size >= 1e12) {
		snprintf(out, SP_TIME_TEXT, "%.0f s", ns * 1e-9);
		return;
	}
	for (int i = 0; i < 3; i++) {
		double number = size / units[i].ns;
		if (number < 0.9995)
			continue;
		int digits = number < 9.9995 ? 3 : number < 99.995 ? 2 : 1;
		snprintf(out, SP_TIME_TEXT, "%.*f %s", digits, ns / units[i].ns, units[i].unit);
		return;
	}
	snprintf(out, SP_TIME_TEXT, "%.0f ns", ns);
}

/* Copies up to n characters; invalid and invisible ones become question marks. Returns the number of bytes. */
static size_t copy_some(char *out, struct sp_str s, size_t n)
{
	size_t w = 0;

	for (size_t i = 0; i < s.n && n; n--) {
		size_t length = sp_utf8_sequence((const unsigned char *)s.p + i, s.n - i);
		/* XML does not allow U+FFFE and U+FFFF */
		bool strange =
		    length == 0 ||
		    (length == 3 && memcmp(s.p + i, "\xef\xbf", 2) == 0 && (unsigned char)s.p[i + 2] >= 0xbe) ||
		    (length == 1 && ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f));

		if (strange)
			out[w++] = '?';
		else
			memcpy(out + w, s.p + i, length);
		w += strange ? 0 : length;
		i += length ? length : 1;
	}
	out[w] = 0;
	return w;
}

void sp_shorten(char *out, struct sp_str s, size_t n)
{
	size_t all = 0, i, skip, w;

	for (i = 0; i < s.n; all++) {
		size_t length = sp_utf8_sequence((const unsigned char *)s.p + i, s.n - i);
		i += length ? length : 1;
	}
	if (all <= n || n < 2) {
		copy_some(out, s, n);
		return;
	}
	w = copy_some(out, s, (n - 1) / 2);
	memcpy(out + w, "…", 3);
	w += 3;
	skip = all - (n - 1 - (n - 1) / 2);
	for (i = 0; skip; skip--) {
		size_t length = sp_utf8_sequence((const unsigned char *)s.p + i, s.n - i);
		i += length ? length : 1;
	}
	copy_some(out + w, (struct sp_str){s.p + i, s.n - i}, n);
}
