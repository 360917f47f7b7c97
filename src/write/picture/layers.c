/* SPDX-License-Identifier: BSD-3-Clause */
#include "write/picture/layers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* MAX_POINTS: takes some seconds and some hundred MiB; a larger picture would be unreadable. */
enum { SWEEPS = 24, MOVES = 60, SEEN = 1, DONE = 2, MAX_POINTS = 1000000 };

/* A node, or a point of an edge that passes a layer; the points of one edge are contiguous. */
struct item {
	double w, x, want;
	uint32_t layer, at; /* at: position in its layer */
	double key;         /* within its layer: minimum distance from the first item */
};

/* A link between items of adjacent layers. */
struct link {
	uint32_t upper, lower;
};

struct work {
	struct sp_layers *l;
	struct item *items;
	size_t n;
	struct link *links;
	size_t n_links;
	/* index of the first link of each item, by `lower` and by `upper`; n + 1 elements */
	uint32_t *up, *down;
	uint32_t *by_up, *by_down; /* links in these orders */
	uint32_t **layers, *sizes; /* items of each layer, and their numbers */
	uint32_t depth;
	uint32_t *order;    /* nodes, each before all nodes below it */
	uint32_t *first;    /* for each edge: its first point */
	double *top, *tall; /* for each layer */
};

static uint32_t upper_of(const struct sp_layers_edge *e)
{
	return e->back ? e->to : e->from;
}

static uint32_t lower_of(const struct sp_layers_edge *e)
{
	return e->back ? e->from : e->to;
}

/* ---- cycles ---- */

struct visit {
	uint32_t node;
	size_t next; /* index in `out` */
};

/* Sorts edges by the node at which they begin: first[node] to first[node + 1] are indices into the result. NULL: no
 * memory. */
static uint32_t *edges_from(struct sp_layers *l, uint32_t **first_of, uint32_t (*begin)(const struct sp_layers_edge *))
{
	uint32_t *first = sp_arena_zalloc(&l->arena, l->n_nodes + 2, sizeof(*first));
	uint32_t *out = sp_arena_zalloc(&l->arena, l->n_edges + 1, sizeof(*out));

	*first_of = first;
	if (!first || !out)
		return NULL;
	for (size_t i = 0; i < l->n_edges; i++)
		first[begin(&l->edges[i]) + 2]++;
	for (size_t i = 2; i < l->n_nodes + 2; i++)
		first[i] += first[i - 1];
	for (size_t i = 0; i < l->n_edges; i++)
		out[first[begin(&l->edges[i]) + 1]++] = (uint32_t)i;
	return out;
}

static uint32_t from_of(const struct sp_layers_edge *e)
{
	return e->from;
}

/* Reverses edges to a node that is being visited. The node that is left last comes first in w->order. */
static int turn(struct work *w)
{
	struct sp_layers *l = w->l;
	uint32_t *first, *out = edges_from(l, &first, from_of);
	struct visit *stack = sp_arena_zalloc(&l->arena, l->n_nodes + 1, sizeof(*stack));
	uint8_t *state = sp_arena_zalloc(&l->arena, l->n_nodes + 1, 1);
	size_t n, left = l->n_nodes;

	w->order = sp_arena_zalloc(&l->arena, l->n_nodes + 1, sizeof(*w->order));
	if (!out || !stack || !state || !w->order)
		return -1;
	for (uint32_t root = 0; root < l->n_nodes; root++) {
		if (state[root])
			continue;
		stack[0] = (struct visit){root, first[root]};
		state[root] = SEEN;
		for (n = 1; n > 0;) {
			struct visit *v = &stack[n - 1];

			if (v->next == first[v->node + 1]) {
				state[v->node] = DONE;
				w->order[--left] = v->node;
				n--;
				continue;
			}
			struct sp_layers_edge *e = &l->edges[out[v->next++]];
			e->back = state[e->to] == SEEN;
			if (!state[e->to]) {
				state[e->to] = SEEN;
				stack[n++] = (struct visit){e->to, first[e->to]};
			}
		}
	}
	return 0;
}

/* ---- layers ---- */

static uint32_t span_of(const struct sp_layers_edge *e)
{
	return e->back ? 1 : e->span;
}

/* Assigns layers in the order of w->order, so that each edge is visited once. */
static int rank(struct work *w)
{
	struct sp_layers *l = w->l;
	uint32_t *first, *out = edges_from(l, &first, upper_of);
	uint8_t *led_to = sp_arena_zalloc(&l->arena, l->n_nodes + 1, 1);

	if (!out || !led_to)
		return -1;
	for (size_t n = 0; n < l->n_nodes; n++) {
		const uint32_t node = w->order[n];

		for (uint32_t k = first[node]; k < first[node + 1]; k++) {
			const struct sp_layers_edge *e = &l->edges[out[k]];
			const uint32_t least = w->items[node].layer + span_of(e);

			led_to[lower_of(e)] = 1;
			if (w->items[lower_of(e)].layer < least)
				w->items[lower_of(e)].layer = least;
		}
	}
	/* a node without callers moves as close to its callees as possible */
	for (uint32_t node = 0; node < l->n_nodes; node++) {
		uint32_t near = UINT32_MAX;

		for (uint32_t k = first[node]; k < first[node + 1] && !led_to[node]; k++) {
			const struct sp_layers_edge *e = &l->edges[out[k]];

			if (w->items[lower_of(e)].layer - span_of(e) < near)
				near = w->items[lower_of(e)].layer - span_of(e);
		}
		if (near != UINT32_MAX)
			w->items[node].layer = near;
	}
	return 0;
}

static int make_items(struct work *w)
{
	struct sp_layers *l = w->l;
	size_t points = 0;

	w->items = sp_arena_zalloc(&l->arena, l->n_nodes + 1, sizeof(*w->items));
	w->first = sp_arena_zalloc(&l->arena, l->n_edges + 1, sizeof(*w->first));
	if (!w->items || !w->first || rank(w))
		return -1;
	for (size_t i = 0; i < l->n_edges; i++)
		points += w->items[lower_of(&l->edges[i])].layer - w->items[upper_of(&l->edges[i])].layer - 1;
	if (points > MAX_POINTS)
		return 1;
	struct item *all = sp_arena_zalloc(&l->arena, l->n_nodes + points + 1, sizeof(*all));
	w->links = sp_arena_zalloc(&l->arena, l->n_edges + points + 1, sizeof(*w->links));
	if (!all || !w->links)
		return -1;
	memcpy(all, w->items, l->n_nodes * sizeof(*all));
	w->items = all;
	w->n = l->n_nodes;
	for (size_t i = 0; i < l->n_nodes; i++)
		all[i].w = l->nodes[i].w;
	for (size_t i = 0; i < l->n_edges; i++) {
		uint32_t last = upper_of(&l->edges[i]), end = lower_of(&l->edges[i]);

		w->first[i] = (uint32_t)w->n;
		for (uint32_t layer = all[last].layer + 1; layer < all[end].layer; layer++) {
			all[w->n] = (struct item){.w = 2, .layer = layer};
			w->links[w->n_links++] = (struct link){last, (uint32_t)w->n};
			last = (uint32_t)w->n++;
		}
		w->links[w->n_links++] = (struct link){last, end};
	}
	return 0;
}

static int index_links(struct work *w)
{
	struct sp_arena *a = &w->l->arena;

	w->up = sp_arena_zalloc(a, w->n + 2, sizeof(*w->up));
	w->down = sp_arena_zalloc(a, w->n + 2, sizeof(*w->down));
	w->by_up = sp_arena_zalloc(a, w->n_links + 1, sizeof(*w->by_up));
	w->by_down = sp_arena_zalloc(a, w->n_links + 1, sizeof(*w->by_down));
	if (!w->up || !w->down || !w->by_up || !w->by_down)
		return -1;
	for (size_t i = 0; i < w->n_links; i++) {
		w->up[w->links[i].lower + 2]++;
		w->down[w->links[i].upper + 2]++;
	}
	for (size_t i = 1; i < w->n + 2; i++) {
		w->up[i] += w->up[i - 1];
		w->down[i] += w->down[i - 1];
	}
	for (size_t i = 0; i < w->n_links; i++) {
		w->by_up[w->up[w->links[i].lower + 1]++] = w->links[i].upper;
		w->by_down[w->down[w->links[i].upper + 1]++] = w->links[i].lower;
	}
	return 0;
}

static int make_layers(struct work *w)
{
	struct sp_arena *a = &w->l->arena;

	for (size_t i = 0; i < w->n; i++)
		if (w->items[i].layer + 1 > w->depth)
			w->depth = w->items[i].layer + 1;
	w->layers = sp_arena_zalloc(a, w->depth + 1, sizeof(*w->layers));
	w->sizes = sp_arena_zalloc(a, w->depth + 1, sizeof(*w->sizes));
	w->top = sp_arena_zalloc(a, w->depth + 1, sizeof(*w->top));
	w->tall = sp_arena_zalloc(a, w->depth + 1, sizeof(*w->tall));
	if (!w->layers || !w->sizes || !w->top || !w->tall)
		return -1;
	for (size_t i = 0; i < w->n; i++)
		w->sizes[w->items[i].layer]++;
	for (uint32_t k = 0; k < w->depth; k++) {
		w->layers[k] = sp_arena_zalloc(a, w->sizes[k] + 1, sizeof(**w->layers));
		if (!w->layers[k])
			return -1;
		w->sizes[k] = 0;
	}
	for (uint32_t i = 0; i < w->n; i++) {
		struct item *x = &w->items[i];

		x->at = w->sizes[x->layer];
		w->layers[x->layer][w->sizes[x->layer]++] = i;
	}
	return 0;
}

/* ---- order ---- */

struct sorted {
	double key;
	uint32_t at, item;
};

static int by_key(const void *a, const void *b)
{
	const struct sorted *p = a, *q = b;

	if (p->key != q->key)
		return p->key < q->key ? -1 : 1;
	return p->at < q->at ? -1 : p->at > q->at;
}

/* Sorts a layer by the mean position of the neighbours in the previous layer (downwards) or the next one. */
static void order_layer(struct work *w, uint32_t layer, bool downwards, struct sorted *s)
{
	const uint32_t *first = downwards ? w->up : w->down, *other = downwards ? w->by_up : w->by_down;
	const uint32_t n = w->sizes[layer];

	for (uint32_t k = 0; k < n; k++) {
		const uint32_t i = w->layers[layer][k], links = first[i + 1] - first[i];
		double sum = 0;

		for (uint32_t m = first[i]; m < first[i + 1]; m++)
			sum += (w->items[other[m]].at + 0.5) / w->sizes[w->items[other[m]].layer];
		s[k] = (struct sorted){links ? sum / links : (k + 0.5) / n, k, i};
	}
	qsort(s, n, sizeof(*s), by_key);
	for (uint32_t k = 0; k < n; k++) {
		w->layers[layer][k] = s[k].item;
		w->items[s[k].item].at = k;
	}
}

/* Counts the crossings of links between two layers; 0 if counting would take too long. */
static uint64_t crossings(const struct work *w)
{
	uint64_t n = 0;

	if (w->n_links > 3000)
		return 0;
	for (size_t i = 0; i < w->n_links; i++)
		for (size_t k = i + 1; k < w->n_links; k++) {
			const struct link *a = &w->links[i], *b = &w->links[k];

			if (w->items[a->upper].layer != w->items[b->upper].layer)
				continue;
			int64_t up = (int64_t)w->items[a->upper].at - w->items[b->upper].at;
			int64_t low = (int64_t)w->items[a->lower].at - w->items[b->lower].at;
			n += (up > 0 && low < 0) || (up < 0 && low > 0);
		}
	return n;
}

static int order(struct work *w)
{
	struct sorted *s = sp_arena_zalloc(&w->l->arena, w->n + 1, sizeof(*s));
	uint32_t *best = sp_arena_zalloc(&w->l->arena, w->n + 1, sizeof(*best));
	uint64_t least = UINT64_MAX;

	if (!s || !best)
		return -1;
	for (int sweep = 0; sweep < SWEEPS; sweep++) {
		const bool downwards = sweep % 2 == 0;

		for (uint32_t k = 1; k < w->depth; k++)
			order_layer(w, downwards ? k : w->depth - 1 - k, downwards, s);
		uint64_t now = crossings(w);
		if (now < least || now == 0) {
			least = now;
			for (size_t i = 0; i < w->n; i++)
				best[i] = w->items[i].at;
		}
	}
	for (uint32_t i = 0; i < w->n; i++) {
		w->items[i].at = best[i];
		w->layers[w->items[i].layer][best[i]] = i;
	}
	return 0;
}

/* ---- positions ---- */

/* Moves the items of a layer as close as possible to their wanted positions, without changing their order and without
 * overlap. After subtracting the items' distances, this is isotonic regression (pool adjacent violators). */
struct pool {
	double sum, weight;
	uint32_t n;
};

static double distance(const struct work *w, const struct item *a, const struct item *b)
{
	return (a->w + b->w) / 2 + w->l->gap;
}

static void settle(struct work *w, uint32_t layer, struct pool *pools)
{
	double offset = 0;
	size_t n = 0;

	for (uint32_t k = 0; k < w->sizes[layer]; k++) {
		struct item *x = &w->items[w->layers[layer][k]];
		const double weight = x->w > 2 ? 1 : 4; /* long edges should be straight */

		if (k)
			offset += distance(w, &w->items[w->layers[layer][k - 1]], x);
		x->key = offset;
		pools[n++] = (struct pool){(x->want - offset) * weight, weight, 1};
		while (n > 1 && pools[n - 2].sum / pools[n - 2].weight > pools[n - 1].sum / pools[n - 1].weight) {
			pools[n - 2].sum += pools[n - 1].sum;
			pools[n - 2].weight += pools[n - 1].weight;
			pools[n - 2].n += pools[n - 1].n;
			n--;
		}
	}
	for (uint32_t k = 0, p = 0, of = 0; k < w->sizes[layer]; k++) {
		struct item *x = &w->items[w->layers[layer][k]];

		x->x = pools[p].sum / pools[p].weight + x->key;
		if (++of == pools[p].n) {
			p++;
			of = 0;
		}
	}
}

static void want(struct work *w, uint32_t i, bool upper, bool lower)
{
	struct item *x = &w->items[i];
	double sum = 0, n = 0;

	for (uint32_t m = w->up[i]; upper && m < w->up[i + 1]; m++, n++)
		sum += w->items[w->by_up[m]].x;
	for (uint32_t m = w->down[i]; lower && m < w->down[i + 1]; m++, n++)
		sum += w->items[w->by_down[m]].x;
	x->want = n > 0 ? sum / n : x->x;
}

static int by_left(const void *a, const void *b)
{
	const struct sorted *p = a, *q = b;

	return p->key < q->key ? -1 : p->key > q->key;
}

/* Unconnected parts may be far apart: closes empty vertical strips. */
static int close_gaps(struct work *w)
{
	struct sorted *s = sp_arena_zalloc(&w->l->arena, w->n + 1, sizeof(*s));
	double end = 0, shift = 0;

	if (!s)
		return -1;
	for (uint32_t i = 0; i < w->n; i++)
		s[i] = (struct sorted){w->items[i].x - w->items[i].w / 2, 0, i};
	qsort(s, w->n, sizeof(*s), by_left);
	for (size_t i = 0; i < w->n; i++) {
		struct item *x = &w->items[s[i].item];

		if (i == 0)
			shift = s[i].key;
		else if (s[i].key - shift > end + 2 * w->l->gap)
			shift = s[i].key - end - 2 * w->l->gap;
		x->x -= shift;
		end = fmax(end, x->x + x->w / 2);
	}
	w->l->width = end;
	return 0;
}

static int move(struct work *w)
{
	struct pool *pools = sp_arena_zalloc(&w->l->arena, w->n + 1, sizeof(*pools));

	if (!pools)
		return -1;
	for (uint32_t k = 0; k < w->depth; k++)
		settle(w, k, pools); /* side by side, beginning at 0 */
	for (int turn = 0; turn < MOVES; turn++)
		for (uint32_t k = 0; k < w->depth; k++) {
			const uint32_t layer = turn % 2 ? w->depth - 1 - k : k;
			const bool last = turn >= MOVES - 8; /* in the last moves all neighbours count */

			for (uint32_t m = 0; m < w->sizes[layer]; m++)
				want(w, w->layers[layer][m], last || turn % 2 == 0, last || turn % 2);
			settle(w, layer, pools);
		}
	return close_gaps(w);
}

static void stack(struct work *w)
{
	struct sp_layers *l = w->l;

	for (size_t i = 0; i < l->n_nodes; i++)
		w->tall[w->items[i].layer] = fmax(w->tall[w->items[i].layer], l->nodes[i].h);
	for (uint32_t k = 1; k < w->depth; k++)
		w->top[k] = w->top[k - 1] + w->tall[k - 1] + l->rise;
	l->height = w->depth ? w->top[w->depth - 1] + w->tall[w->depth - 1] : 0;
	for (size_t i = 0; i < l->n_nodes; i++) {
		l->nodes[i].x = w->items[i].x;
		l->nodes[i].y = w->top[w->items[i].layer] + w->tall[w->items[i].layer] / 2;
	}
}

/* The position on a box at which an edge begins or ends: edges are spread over the width, in the order of their other
 * ends. */
static double port(const struct work *w, uint32_t node, double towards)
{
	const double half = w->items[node].w / 2 - 8, away = towards - w->items[node].x;

	return w->items[node].x + half * away / (fabs(away) + w->items[node].w);
}

static int draw_edges(struct work *w)
{
	struct sp_layers *l = w->l;

	for (size_t i = 0; i < l->n_edges; i++) {
		struct sp_layers_edge *e = &l->edges[i];
		const uint32_t up = upper_of(e), low = lower_of(e), from = w->items[up].layer, to = w->items[low].layer;
		const uint32_t points = to - from - 1;
		size_t n = 0;

		e->x = sp_arena_zalloc(&l->arena, 2 * points + 2, sizeof(*e->x));
		e->y = sp_arena_zalloc(&l->arena, 2 * points + 2, sizeof(*e->y));
		if (!e->x || !e->y)
			return -1;
		e->x[n] = port(w, up, points ? w->items[w->first[i]].x : w->items[low].x);
		e->y[n++] = l->nodes[up].y + l->nodes[up].h / 2;
		for (uint32_t k = 0; k < points; k++)
			for (int bottom = 0; bottom < 2; bottom++) {
				e->x[n] = w->items[w->first[i] + k].x;
				e->y[n++] = w->top[from + 1 + k] + (bottom ? w->tall[from + 1 + k] : 0);
			}
		e->x[n] = port(w, low, points ? w->items[w->first[i] + points - 1].x : w->items[up].x);
		e->y[n++] = l->nodes[low].y - l->nodes[low].h / 2;
		e->n = n;
	}
	return 0;
}

int sp_layers(struct sp_layers *l)
{
	struct work w = {.l = l};
	int rc;

	l->width = l->height = 0;
	if (turn(&w))
		return -1;
	rc = make_items(&w);
	if (rc)
		return rc;
	if (index_links(&w) || make_layers(&w) || order(&w) || move(&w))
		return -1;
	stack(&w);
	return draw_edges(&w);
}

void sp_layers_free(struct sp_layers *l)
{
	sp_arena_free(&l->arena);
}
