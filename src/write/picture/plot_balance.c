/* SPDX-License-Identifier: BSD-3-Clause */
/* A bar for each rank, process or thread, of the functions with the most running time (exclusive time, if times are not
 * split into running and waiting); below it their minimum, mean and maximum. Idle helpers have no bar. */
#include "write/picture/plot.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/comm.h"
#include "model/model.h"
#include "model/process.h"
#include "model/report/balance.h"
#include "model/report/walk.h"
#include "model/str.h"

enum {
	FUNCTIONS = 9,
	PARTS = FUNCTIONS + 1, /* functions, and one part for all others */
	CHART = 280,           /* px, if the height is not given */
	ROW = 19,
	LEFT = 64,    /* px for the axis */
	NARROWEST = 3 /* px; narrower bars are combined: one bar for several units */
};

struct balance {
	struct sp_plot *p;
	struct sp_balance_report r;
	uint32_t regions[FUNCTIONS];
	struct sp_colour colours[PARTS];
	size_t n;         /* number of functions */
	double *values;   /* owned; PARTS + 1 for each unit: functions, the others, the sum */
	double max_value; /* maximum over all units */
	struct sp_spread spreads[PARTS + 1];
	uint32_t bars, each; /* each: number of units in a bar */
	double y, height;    /* of the bars */
};

static double *of_unit(const struct balance *b, uint32_t unit)
{
	return b->values + (size_t)unit * (PARTS + 1);
}

static int choose(struct balance *b)
{
	const struct sp_model *m = b->p->m;
	const char *match = b->p->o->of.match;
	size_t all = 0;

	for (uint32_t r = 1; r < m->n_regions; r++) {
		const double mean = b->r.regions.entries[r].excl.mean;
		size_t k;

		if (!b->r.regions.entries[r].came || !sp_region_matches(&m->regions[r], match))
			continue;
		all++;
		for (k = b->n; k > 0 && b->r.regions.entries[b->regions[k - 1]].excl.mean < mean; k--)
			if (k < FUNCTIONS)
				b->regions[k] = b->regions[k - 1];
		if (k < FUNCTIONS)
			b->regions[k] = r;
		b->n += b->n < FUNCTIONS;
	}
	b->p->done->drawn = b->n;
	b->p->done->hidden = all - b->n;
	if (!b->n)
		return match && *match ? sp_fail(b->p->e, 0, "no recorded function matches '%s'", match)
		                       : sp_fail(b->p->e, 0, "there is nothing to draw: no calls were recorded");
	return 0;
}

/* Chooses colours. A module has one hue; its functions differ in lightness. */
static void colour(struct balance *b)
{
	const struct sp_model *m = b->p->m;
	const enum sp_picture_theme t = b->p->o->of.theme;
	const struct sp_colour ink = sp_ink_on(sp_paper(t), t);

	for (size_t i = 0; i < b->n; i++) {
		struct sp_str module = sp_module_of(&m->regions[b->regions[i]]);
		int before = 0;

		for (size_t k = 0; k < i; k++) {
			struct sp_str other = sp_module_of(&m->regions[b->regions[k]]);
			/* in grey, all of them have one hue */
			before += t == SP_THEME_GREY ||
			          (other.n == module.n && (!module.n || memcmp(other.p, module.p, module.n) == 0));
		}
		b->colours[i] = sp_mixed(sp_module_colour(module, t), ink, fmin(0.09 * before, 0.7));
	}
	b->colours[b->n] = t == SP_THEME_DARK ? (struct sp_colour){46, 48, 53} : (struct sp_colour){232, 234, 237};
}

static void add_location(struct balance *b, const uint32_t *part_of, uint32_t unit, const struct sp_location *l)
{
	const struct sp_model *m = b->p->m;
	const struct sp_off_cpu_columns columns = sp_off_cpu_columns(m);
	double *v = of_unit(b, unit);

	for (size_t i = l->first_value; i < l->first_value + l->values; i++) {
		uint32_t part = part_of[m->paths[m->values[i].path].region];

		if (part == SP_NONE)
			continue;
		const double time = b->r.running ? sp_balance_running_in(m, &columns, i) : m->values[i].v.excl;
		v[part] += time;
		v[PARTS] += time;
	}
}

static int gather(struct balance *b)
{
	const struct sp_model *m = b->p->m;
	uint32_t *part_of = malloc((m->n_regions + 1) * sizeof(*part_of));
	uint32_t *unit_of = malloc((m->n_processes + m->n_locations + 1) * sizeof(*unit_of));

	b->values = calloc((size_t)b->r.n_units * (PARTS + 1), sizeof(*b->values));
	if (!part_of || !unit_of || !b->values) {
		free(part_of);
		free(unit_of);
		return sp_fail(b->p->e, ENOMEM, "out of memory");
	}
	for (size_t r = 0; r < m->n_regions; r++)
		part_of[r] = r && sp_region_matches(&m->regions[r], b->p->o->of.match) ? (uint32_t)b->n : SP_NONE;
	for (uint32_t i = 0; i < b->n; i++)
		part_of[b->regions[i]] = i;
	memset(unit_of, 0xff, (m->n_processes + m->n_locations) * sizeof(*unit_of));
	for (uint32_t u = 0; u < b->r.n_units; u++)
		unit_of[b->r.units[u]] = u;
	for (uint32_t l = 0; l < m->n_locations; l++) {
		uint32_t unit = unit_of[b->r.over == SP_OVER_THREADS ? l : m->locations[l].process];

		if (unit != SP_NONE)
			add_location(b, part_of, unit, &m->locations[l]);
	}
	for (uint32_t u = 0; u < b->r.n_units; u++)
		for (int k = 0; k <= PARTS; k++)
			sp_spread_add(&b->spreads[k], u, of_unit(b, u)[k]);
	b->max_value = b->spreads[PARTS].max > 0 ? b->spreads[PARTS].max : 1;
	free(part_of);
	free(unit_of);
	return 0;
}

/* ---- drawing ---- */

static const char *word(const struct balance *b)
{
	return b->r.over == SP_OVER_RANKS ? "rank" : b->r.over == SP_OVER_PROCESSES ? "process" : "thread";
}

static const char *kind_of_time(const struct balance *b)
{
	return b->r.running ? "running" : "self";
}

/* Numbers of a unit: ranks of a second MPI_COMM_WORLD continue after those of the first, as everywhere. */
static uint32_t number(const struct balance *b, uint32_t unit)
{
	const struct sp_process *p;
	uint32_t n;

	if (b->r.over != SP_OVER_RANKS)
		return b->r.units[unit];
	p = &b->p->m->processes[b->r.units[unit]];
	n = p->rank;
	for (uint32_t w = 0; w < b->p->m->n_worlds && w < p->world_index; w++)
		n += b->p->m->worlds[w].ranks.n;
	return n;
}

/* The name of a unit: "rank 3", "MainThread". */
static void unit_name(const struct balance *b, uint32_t unit, char *text, size_t capacity)
{
	const struct sp_model *m = b->p->m;
	const struct sp_location *l = &m->locations[b->r.units[unit]];
	char name[4 * 40 + 4];

	if (b->r.over != SP_OVER_THREADS || l->name.n == 0) {
		snprintf(text, capacity, "%s %" PRIu32, word(b), number(b, unit));
		return;
	}
	sp_shorten(name, l->name, 40);
	if (m->processes[l->process].rank != SP_NONE)
		snprintf(text, capacity, "rank %" PRIu32 " %s", m->processes[l->process].rank, name);
	else if (m->n_processes > 1)
		snprintf(text, capacity, "process %" PRIu32 " %s", l->process, name);
	else
		snprintf(text, capacity, "%s", name);
}

/* The name if the kind of unit is clear. */
static void short_name(const struct balance *b, uint32_t unit, char *text, size_t capacity)
{
	if (b->r.over == SP_OVER_THREADS)
		unit_name(b, unit, text, capacity);
	else
		snprintf(text, capacity, "%" PRIu32, number(b, unit));
}

static struct sp_str part_name(const struct balance *b, size_t part)
{
	return part < b->n ? b->p->m->regions[b->regions[part]].name
	                   : sp_text(part == b->n ? "all other functions" : "all");
}

/* The distance of axis lines: a round number, so that there are three to seven lines. */
static double axis_step(double max_value)
{
	const double ten = pow(10, floor(log10(max_value / 3)));

	return max_value / ten >= 15 ? 5 * ten : max_value / ten >= 7 ? 2 * ten : ten;
}

static void draw_axis(struct balance *b, struct sp_svg *s)
{
	const struct sp_colour ink = sp_ink_on(sp_paper(s->theme), s->theme),
	                       faint = sp_mixed(sp_paper(s->theme), ink, 0.18);

	const double step = axis_step(b->max_value);

	for (int i = 0; i * step <= b->max_value * (1 + 1e-9); i++) {
		const double y = b->y + b->height * (1 - i * step / b->max_value);
		char time[SP_TIME_TEXT];

		sp_time_text(time, i * step);
		sp_svg_line(s, LEFT, y, s->width - SP_SVG_MARGIN, y, faint, 1);
		sp_svg_text(s, LEFT - 6, y + 4, sp_text(i ? time : "0"), LEFT - 8, "end", SP_SVG_FONT, ink);
	}
}

/* Draws the mean of the units [from, to), and if there are several, their range. */
static void draw_bar(struct balance *b, struct sp_svg *s, uint32_t from, uint32_t to, double x, double w)
{
	const struct sp_colour ink = sp_ink_on(sp_paper(s->theme), s->theme);
	const double gap = w > 6 ? 1 : w * 0.15, scale = b->height / b->max_value;
	double y = b->y + b->height, least = INFINITY, max_value = 0;
	char tip[SP_PLOT_TIP], name[4 * 200 + 4], time[SP_TIME_TEXT], unit[256];

	unit_name(b, from, unit, sizeof unit);
	for (size_t k = 0; k <= b->n; k++) {
		double mean = 0;

		for (uint32_t u = from; u < to; u++)
			mean += of_unit(b, u)[k] / (to - from);
		if (mean * scale < 0.05)
			continue;
		sp_shorten(name, part_name(b, k), 200);
		sp_time_text(time, mean);
		if (to - from == 1)
			snprintf(tip, sizeof tip, "%s\n%s: %s %s", unit, name, kind_of_time(b), time);
		else
			snprintf(tip, sizeof tip, "mean of %" PRIu32 " from %s on\n%s: %s %s", to - from, unit, name,
			         kind_of_time(b), time);
		y -= mean * scale;
		sp_svg_open(s, tip);
		sp_svg_rect(s, x + gap, y, w - 2 * gap, mean * scale, b->colours[k]);
		sp_svg_close(s);
	}
	for (uint32_t u = from; u < to; u++) {
		least = fmin(least, of_unit(b, u)[PARTS]);
		max_value = fmax(max_value, of_unit(b, u)[PARTS]);
	}
	if (to - from > 1)
		sp_svg_line(s, x + w / 2, b->y + b->height - least * scale, x + w / 2,
		            b->y + b->height - max_value * scale, ink, 1);
}

static void draw_bars(struct balance *b, struct sp_svg *s)
{
	const struct sp_colour ink = sp_ink_on(sp_paper(s->theme), s->theme);
	const double w = (s->width - LEFT - SP_SVG_MARGIN) / b->bars, mean = b->spreads[PARTS].mean;
	const double line = b->y + b->height * (1 - mean / b->max_value);
	const uint32_t step = (uint32_t)fmax(1, ceil(38 / w));
	char text[160], time[SP_TIME_TEXT];

	for (uint32_t i = 0; i < b->bars; i++) {
		uint32_t from = i * b->each, to = from + b->each < b->r.n_units ? from + b->each : b->r.n_units;

		draw_bar(b, s, from, to, LEFT + i * w, w);
		if (i % step)
			continue;
		short_name(b, from, text, sizeof text);
		sp_svg_text(s, LEFT + (i + 0.5) * w, b->y + b->height + 14, sp_text(text), fmax(step * w - 6, 30),
		            "middle", SP_SVG_FONT, ink);
	}
	sp_svg_line(s, LEFT, line, s->width - SP_SVG_MARGIN, line, ink, 1.2);
	sp_time_text(time, mean);
	snprintf(text, sizeof text, "mean %s", time);
	sp_svg_text(s, s->width - SP_SVG_MARGIN, line - 4, sp_text(text), 160, "end", SP_SVG_FONT, ink);
	if (b->each == 1)
		snprintf(text, sizeof text, "%s", b->r.over == SP_OVER_THREADS ? "" : word(b));
	else
		snprintf(text, sizeof text,
		         "%s; a bar is the mean of %" PRIu32 ", its line from the minimum to the maximum", word(b),
		         b->each);
	sp_svg_text(s, LEFT, b->y + b->height + 30, sp_text(text), s->width - LEFT - SP_SVG_MARGIN, "start",
	            SP_SVG_FONT, ink);
}

/* Draws a row for each part: colour, name, mean, minimum, maximum, imbalance. */
static void draw_table(struct balance *b, struct sp_svg *s, double y)
{
	const struct sp_colour ink = sp_ink_on(sp_paper(s->theme), s->theme);
	const double right = s->width - SP_SVG_MARGIN, each = s->width >= 900 ? 190 : 150; /* px, width of a column */
	const double columns[] = {right - 80 - 2 * each, right - 80 - each, right - 80, right};
	static const char *const heads[] = {"mean", "least", "most", "imbalance"};
	const struct sp_str title = sp_text(b->r.running ? "running time" : "self time");

	sp_svg_text(s, SP_SVG_MARGIN + 16, y, title, 140, "start", SP_SVG_FONT, ink);
	for (int i = 0; i < 4; i++)
		sp_svg_text(s, columns[i], y, sp_text(heads[i]), 140, "end", SP_SVG_FONT, ink);
	for (size_t k = 0; k <= b->n + 1; k++) {
		const size_t part = k ? k - 1 : PARTS; /* the sum comes first */
		const struct sp_spread *x = &b->spreads[part];
		char time[SP_TIME_TEXT], text[4][320], on[256];

		y += ROW;
		sp_time_text(time, x->mean);
		snprintf(text[0], sizeof text[0], "%s", time);
		sp_time_text(time, x->min);
		short_name(b, x->min_unit, on, sizeof on);
		snprintf(text[1], sizeof text[1], "%s on %s", time, on);
		sp_time_text(time, x->max);
		short_name(b, x->max_unit, on, sizeof on);
		snprintf(text[2], sizeof text[2], "%s on %s", time, on);
		snprintf(text[3], sizeof text[3], "%.1f %%", sp_spread_imbalance_percent(x));
		if (part < PARTS)
			sp_svg_rect(s, SP_SVG_MARGIN, y - 9, 10, 10, b->colours[part]);
		sp_svg_text(s, SP_SVG_MARGIN + 16, y, part_name(b, part), columns[0] - 100 - SP_SVG_MARGIN, "start",
		            SP_SVG_FONT, ink);
		for (int i = 0; i < 4; i++)
			sp_svg_text(s, columns[i], y, sp_text(text[i]), each - 5, "end", SP_SVG_FONT, ink);
	}
}

static int draw(struct balance *b)
{
	const struct sp_plot_options *o = b->p->o;
	const double top = sp_svg_top(&o->of), table = (double)(b->n + 3) * ROW + 8, below = 44;
	const double height = o->height > 0 ? o->height : top + CHART + below + table + SP_SVG_MARGIN;
	struct sp_svg s;

	b->y = top + 8;
	b->height = height - top - 8 - below - table - SP_SVG_MARGIN;
	if (b->height < 60 || o->width < 560)
		return sp_fail(b->p->e, 0, "%.0f by %.0f is too small: a balance needs 560 by %.0f", o->width, height,
		               height - b->height + 60);
	b->each = (uint32_t)ceil(b->r.n_units * (double)NARROWEST / (o->width - LEFT - SP_SVG_MARGIN));
	b->bars = (b->r.n_units + b->each - 1) / b->each;
	if (sp_svg_begin(&s, b->p->path, &o->of, o->width, height, b->p->e))
		return -1;
	draw_axis(b, &s);
	draw_bars(b, &s);
	draw_table(b, &s, b->y + b->height + below + 12);
	return sp_svg_end(&s, 0, b->p->e);
}

/* The units that are no idle helpers; ranks never are. To be freed with free(); NULL: no memory. */
static bool *no_helpers(const struct sp_model *m, enum sp_balance_over over)
{
	const size_t n = over == SP_OVER_THREADS ? m->n_locations : m->n_processes;
	bool *chosen = malloc(n + 1);

	for (size_t i = 0; chosen && i < n; i++)
		chosen[i] = over == SP_OVER_RANKS ||
		            !(over == SP_OVER_THREADS ? m->locations[i].helper : m->processes[i].helper);
	return chosen;
}

int sp_plot_balance(struct sp_plot *p)
{
	struct balance b = {.p = p};
	const enum sp_balance_over over = sp_balance_over_of(p->m, SP_OVER_AUTO);
	const struct sp_off_cpu_columns columns = sp_off_cpu_columns(p->m);
	bool *chosen = no_helpers(p->m, over);
	int rc = chosen ? sp_balance_report(&b.r, p->m, over, sp_off_cpu_split(&columns), chosen, p->e)
	                : sp_fail(p->e, ENOMEM, "out of memory");

	free(chosen);
	if (rc == 0 && b.r.n_units < 2)
		rc = sp_fail(p->e, 0, "a balance compares ranks, processes or threads, and here is only one %s",
		             word(&b));
	if (rc == 0)
		rc = choose(&b) || gather(&b);
	if (rc == 0) {
		colour(&b);
		rc = draw(&b);
	}
	sp_balance_report_free(&b.r);
	free(b.values);
	return rc ? -1 : 0;
}
