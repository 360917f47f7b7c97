/* SPDX-License-Identifier: BSD-3-Clause */
/* A row for each thread: each column has the colour of the function that took most of its time. Reads the trace once,
 * and stores only the columns. */
#include "write/picture/plot.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/event.h"
#include "model/model.h"
#include "model/process.h"
#include "model/region.h"
#include "model/report/walk.h"
#include "model/str.h"

enum {
	LABEL = 190, /* px for names of threads */
	COLUMN = 2,  /* px; shorter calls are combined */
	ROW = 22,
	GAP_FROM = 3, /* px; narrower calls have no gap after them */
	MAX_ROWS = 40,
	EVENTS = 4096
};

/* The columns of one location. */
struct cells {
	uint32_t *region; /* owned; for each column; SP_NONE: no region */
	float *share;     /* owned; its share of the column's time */
	size_t n;
};

struct timeline {
	struct sp_plot *p;
	double begin, end; /* ns */
	size_t columns;
	uint32_t *rows; /* owned; locations */
	size_t n_rows, hidden;
	double *time;      /* owned; for each region, time in the current column */
	uint32_t *touched; /* owned; regions with time in it */
	size_t n_touched;
	bool *fits; /* owned; for each region: it matches */
	struct sp_legend legend;
};

/* The open calls while events are read. */
struct open_calls {
	uint32_t *region; /* owned */
	size_t n, capacity;
};

static int push(struct open_calls *o, uint32_t region)
{
	if (o->n == o->capacity) {
		size_t capacity = o->capacity ? 2 * o->capacity : 64;
		uint32_t *larger = realloc(o->region, capacity * sizeof(*larger));

		if (!larger)
			return -1;
		o->region = larger;
		o->capacity = capacity;
	}
	o->region[o->n++] = region;
	return 0;
}

static double width_of(const struct timeline *t)
{
	return (t->end - t->begin) / (double)t->columns;
}

/* Completes a column: finds the region with the most time. */
static void close_column(struct timeline *t, struct cells *c, size_t column)
{
	uint32_t best = SP_NONE;
	double sum = 0;

	for (size_t i = 0; i < t->n_touched; i++) {
		const uint32_t r = t->touched[i];

		sum += t->time[r];
		if (best == SP_NONE || t->time[r] > t->time[best])
			best = r;
	}
	/* the column is empty if no region took more time than no region at all */
	if (best != SP_NONE && t->time[best] >= width_of(t) - sum) {
		c->region[column] = best;
		c->share[column] = (float)(t->time[best] / width_of(t));
	}
	for (size_t i = 0; i < t->n_touched; i++)
		t->time[t->touched[i]] = 0;
	t->n_touched = 0;
}

/* Adds the time from `from` to `to` to the innermost region (SP_NONE: no region). *column is the current column. */
static void spend(struct timeline *t, struct cells *c, size_t *column, uint32_t region, double from, double to)
{
	const double w = width_of(t);

	while (from < to || (*column < t->columns && to >= t->begin + (double)(*column + 1) * w)) {
		double edge = t->begin + (double)(*column + 1) * w, until = fmin(edge, to);

		if (*column >= t->columns)
			return;
		if (region != SP_NONE && until > from) {
			if (t->time[region] <= 0)
				t->touched[t->n_touched++] = region;
			t->time[region] += until - from;
		}
		from = fmax(from, until);
		if (to < edge)
			return;
		close_column(t, c, (*column)++);
	}
}

static bool moves(struct open_calls *o, const struct sp_event *x, int *rc)
{
	switch (x->kind) {
	case SP_EVENT_ENTER:
	case SP_EVENT_RESUME:
	case SP_EVENT_INHERIT:
		*rc = push(o, x->id);
		return true;
	case SP_EVENT_LEAVE:
	case SP_EVENT_SUSPEND:
		o->n -= o->n > 0;
		return true;
	default:
		return false;
	}
}

static int read_location(struct timeline *t, uint32_t location, struct cells *c)
{
	struct sp_event *events = malloc(EVENTS * sizeof(*events));
	struct open_calls open = {.n = 0};
	struct sp_events *s = NULL;
	double last = t->begin;
	size_t column = 0;
	long n = 1;
	int rc = events ? 0 : -1;

	if (rc == 0 && sp_events_open(&s, t->p->m, location, t->p->e))
		n = -1; /* e has the reason */
	while (rc == 0 && n > 0 && (n = sp_events_read(s, events, EVENTS, t->p->e)) > 0)
		for (long i = 0; rc == 0 && i < n; i++) {
			const uint32_t inner = open.n ? open.region[open.n - 1] : SP_NONE;

			if (!moves(&open, &events[i], &rc))
				continue;
			spend(t, c, &column, inner != SP_NONE && t->fits[inner] ? inner : SP_NONE, last,
			      (double)events[i].time);
			last = fmax(last, (double)events[i].time);
		}
	if (rc || n < 0)
		rc = n < 0 ? -1 : sp_fail(t->p->e, ENOMEM, "out of memory");
	if (column < t->columns)
		close_column(t, c, column);
	if (s)
		sp_events_close(s);
	free(open.region);
	free(events);
	return rc;
}

/* ---- drawing ---- */

static void row_name(const struct timeline *t, uint32_t location, char *text, size_t capacity)
{
	const struct sp_model *m = t->p->m;
	const struct sp_location *l = &m->locations[location];
	const struct sp_process *p = &m->processes[l->process];
	char name[4 * 60 + 4];

	sp_shorten(name, l->name, 60);
	if (p->rank != SP_NONE)
		snprintf(text, capacity, "rank %" PRIu32 " %s", p->rank, name);
	else if (m->n_processes > 1)
		snprintf(text, capacity, "process %" PRIu32 " %s", l->process, name);
	else
		snprintf(text, capacity, "%s", name);
}

/* Draws a row; equal adjacent columns are one box. */
static int draw_row(struct timeline *t, struct sp_svg *s, const struct cells *c, double y)
{
	const struct sp_model *m = t->p->m;
	const double pixel = (s->width - LABEL - SP_SVG_MARGIN) / (double)t->columns;

	for (size_t i = 0, to; i < t->columns; i = to) {
		const uint32_t region = c->region[i];
		double share = 0;
		char tip[SP_PLOT_TIP], name[4 * 300 + 4], from[SP_TIME_TEXT], until[SP_TIME_TEXT];

		for (to = i; to < t->columns && c->region[to] == region; to++)
			share += c->share[to];
		if (region == SP_NONE)
			continue;
		const struct sp_region *r = &m->regions[region];
		const struct sp_colour fill = sp_module_colour(sp_module_of(r), s->theme);
		const double x = LABEL + (double)i * pixel, w = (double)(to - i) * pixel;

		if (sp_legend_add(&t->legend, sp_module_of(r), share * width_of(t)))
			return sp_fail(t->p->e, ENOMEM, "out of memory");
		sp_shorten(name, r->name, 300);
		sp_time_text(from, t->begin + (double)i * width_of(t));
		sp_time_text(until, t->begin + (double)to * width_of(t));
		snprintf(tip, sizeof tip, "%s\n%s to %s; it has %.0f %% of that", name, from, until,
		         100 * share / (double)(to - i));
		sp_svg_open(s, tip);
		/* adjacent boxes of one colour stay separate */
		sp_svg_rect(s, x, y, w > GAP_FROM ? w - 1 : w, ROW - 4, fill);
		sp_svg_text(s, x + 4, y + ROW - 9, r->qualname.n ? r->qualname : r->name, w - 7, "start", SP_SVG_FONT,
		            sp_ink_on(fill, s->theme));
		sp_svg_close(s);
	}
	return 0;
}

static void draw_axis(struct timeline *t, struct sp_svg *s, double top, double bottom)
{
	const struct sp_colour ink = sp_ink_on(sp_paper(s->theme), s->theme),
	                       faint = sp_mixed(sp_paper(s->theme), ink, 0.18);
	const double inner = s->width - LABEL - SP_SVG_MARGIN, length = t->end - t->begin;
	double step = pow(10, floor(log10(length / 5)));

	step *= length / step > 25 ? 5 : length / step > 10 ? 2 : 1;
	for (double at = 0; at <= length; at += step) {
		const double x = LABEL + inner * at / length;
		char time[SP_TIME_TEXT];

		sp_time_text(time, at);
		sp_svg_line(s, x, top, x, bottom, faint, 1);
		const char *anchor = at > 0 ? "middle" : "start";

		if (x + sp_svg_wide(time, SP_SVG_FONT) / 2 > s->width) /* the last label may be at the edge */
			anchor = "end";
		sp_svg_text(s, x, top - 4, sp_text(at > 0 ? time : "0"), 80, anchor, SP_SVG_FONT, ink);
	}
}

static int draw_rows(struct timeline *t, struct sp_svg *s, double top)
{
	const struct sp_colour ink = sp_ink_on(sp_paper(s->theme), s->theme);
	struct cells c = {.n = t->columns};
	int rc = 0;

	c.region = malloc((t->columns + 1) * sizeof(*c.region));
	c.share = malloc((t->columns + 1) * sizeof(*c.share));
	if (!c.region || !c.share)
		rc = sp_fail(t->p->e, ENOMEM, "out of memory");
	for (size_t i = 0; rc == 0 && i < t->n_rows; i++) {
		char name[300];

		memset(c.region, 0xff, t->columns * sizeof(*c.region));
		memset(c.share, 0, t->columns * sizeof(*c.share));
		rc = read_location(t, t->rows[i], &c);
		row_name(t, t->rows[i], name, sizeof name);
		sp_svg_text(s, LABEL - 8, top + (double)i * ROW + ROW - 7, sp_text(name), LABEL - 12, "end",
		            SP_SVG_FONT, ink);
		if (rc == 0)
			rc = draw_row(t, s, &c, top + (double)i * ROW + 2);
	}
	free(c.region);
	free(c.share);
	return rc;
}

static int draw(struct timeline *t)
{
	const struct sp_plot_options *o = t->p->o;
	const double top = sp_svg_top(&o->of) + 16, foot = 2 * SP_SVG_LEGEND_ROW + 10 + SP_SVG_MARGIN;
	const double rows = (double)t->n_rows * ROW, note = t->hidden ? ROW : 0;
	const double height = o->height > 0 ? o->height : top + rows + note + foot;
	char text[96];
	struct sp_svg s;
	int rc;

	if (sp_svg_begin(&s, t->p->path, &o->of, o->width, height, t->p->e))
		return -1;
	draw_axis(t, &s, top, top + rows);
	rc = draw_rows(t, &s, top);
	if (t->hidden) {
		snprintf(text, sizeof text, "%zu more thread%s with less time not shown", t->hidden,
		         t->hidden == 1 ? "" : "s");
		sp_svg_text(&s, LABEL, top + rows + ROW - 7, sp_text(text), s.width - LABEL, "start", SP_SVG_FONT,
		            sp_ink_on(sp_paper(s.theme), s.theme));
	}
	if (rc == 0)
		sp_legend_draw(&t->legend, &s, height - foot);
	return sp_svg_end(&s, rc, t->p->e);
}

/* ---- choice of threads ---- */

struct choice {
	double ns; /* running time */
	uint32_t location;
};

static int by_time(const void *a, const void *b)
{
	const struct choice *p = a, *q = b;

	if (p->ns != q->ns)
		return p->ns > q->ns ? -1 : 1;
	return p->location < q->location ? -1 : p->location > q->location;
}

static int by_location(const void *a, const void *b)
{
	const uint32_t *p = a, *q = b;

	return *p < *q ? -1 : *p > *q;
}

/* Chooses the threads that ran longest, in their original order. */
static int choose(struct timeline *t, size_t limit)
{
	const struct sp_model *m = t->p->m;
	const struct sp_picture *of = &t->p->o->of;
	struct choice *all = malloc((m->n_locations + 1) * sizeof(*all));
	size_t n = 0;

	t->rows = malloc((m->n_locations + 1) * sizeof(*t->rows));
	if (!all || !t->rows) {
		free(all);
		return sp_fail(t->p->e, ENOMEM, "out of memory");
	}
	for (uint32_t l = 0; l < m->n_locations; l++)
		if ((of->process == SP_NONE || m->locations[l].process == of->process) &&
		    (of->location == SP_NONE || of->location == l))
			all[n++] = (struct choice){m->locations[l].busy - m->locations[l].off_cpu, l};
	qsort(all, n, sizeof(*all), by_time);
	t->n_rows = n < limit ? n : limit;
	t->hidden = n - t->n_rows;
	/* the whole run, as in the viewer's timeline, so that times are the same in both */
	t->begin = 0;
	t->end = (double)(m->end_ns - m->begin_ns);
	for (size_t i = 0; i < t->n_rows; i++)
		t->rows[i] = all[i].location;
	qsort(t->rows, t->n_rows, sizeof(*t->rows), by_location);
	free(all);
	return t->end > t->begin ? 0 : sp_fail(t->p->e, 0, "there is nothing to draw: no time passed");
}

static int find_matching(struct timeline *t)
{
	const struct sp_model *m = t->p->m;
	bool any = false;

	t->fits = calloc(m->n_regions + 1, sizeof(*t->fits));
	t->time = calloc(m->n_regions + 1, sizeof(*t->time));
	t->touched = calloc(m->n_regions + 1, sizeof(*t->touched));
	if (!t->fits || !t->time || !t->touched)
		return sp_fail(t->p->e, ENOMEM, "out of memory");
	for (size_t r = 0; r < m->n_regions; r++)
		any |= t->fits[r] = sp_region_matches(&m->regions[r], t->p->o->of.match);
	return any ? 0 : sp_fail(t->p->e, 0, "no recorded function matches '%s'", t->p->o->of.match);
}

int sp_plot_timeline(struct sp_plot *p)
{
	const double head = sp_svg_top(&p->o->of) + 16, foot = 3 * SP_SVG_LEGEND_ROW + 10 + SP_SVG_MARGIN;
	const double capacity = p->o->height > 0 ? floor((p->o->height - head - foot) / ROW) : MAX_ROWS;
	struct timeline t = {.p = p};
	int rc;

	if (!p->m->traced)
		return sp_fail(p->e, 0,
		               "a timeline needs the trace, which this experiment does not hold: measure with --trace");
	if (capacity < 1 || p->o->width < LABEL + 100)
		return sp_fail(p->e, 0, "a timeline needs %d by %.0f at least", LABEL + 100, head + foot + ROW);
	t.columns = (size_t)((p->o->width - LABEL - SP_SVG_MARGIN) / COLUMN);
	sp_legend_init(&t.legend);
	t.legend.untold = true; /* only the innermost call with the most time is drawn */
	rc = choose(&t, (size_t)capacity) || find_matching(&t);
	if (rc == 0)
		rc = draw(&t);
	p->done->drawn = t.n_rows;
	p->done->hidden = t.hidden;
	sp_legend_free(&t.legend);
	free(t.rows);
	free(t.time);
	free(t.touched);
	free(t.fits);
	return rc ? -1 : 0;
}
