/* SPDX-License-Identifier: BSD-3-Clause */
/* The view's columns compared with the report's rows, for an experiment with 10^5 functions and as many call paths. */
#include "view/view.h"

#include <pthread.h>

#include "check.h"
#include "model/model.h"
#include "model/report/report.h"
#include "model/str.h"
#include "scratch.h"
#include "view/kept.h"

/* A payload, and the position of its columns. */
struct payload {
	char *bytes; /* owned */
	size_t n;
	char *header;
	const char *body;
};

static struct payload ask(const struct sp_model *m, const char *kind, const struct sp_view_query *q)
{
	const struct sp_viewed v = {.m = m, .kept = sp_view_kept_new(m)};
	struct payload p = {.n = 0};
	struct sp_columns *c;
	struct sp_err e;
	uint32_t head[2];

	MUST(v.kept && sp_view_answer(&v, sp_view_kind_find(kind), q, &c, &e) == 0);
	MUST(sp_columns_seal(c, &p.n, &e) == 0);
	sp_view_kept_free(v.kept);
	p.bytes = malloc(p.n);
	MUST(p.bytes);
	sp_columns_write(c, p.bytes);
	sp_columns_free(c);
	memcpy(head, p.bytes, sizeof(head));
	MUST(head[0] == SP_COLUMNS_MAGIC && head[1] % 8 == 0 && p.n % 8 == 0);
	p.header = strndup(p.bytes + 8, head[1]);
	p.body = p.bytes + 8 + head[1];
	return p;
}

static void done(struct payload *p)
{
	free(p->bytes);
	free(p->header);
}

/* Finds a column and its length; NULL: not found. */
static const void *column(const struct payload *p, const char *name, const char *type, size_t *n)
{
	const char *at;
	char key[80];
	size_t place;

	snprintf(key, sizeof(key), "\"%s\":{\"type\":\"%s\",\"at\":", name, type);
	at = strstr(p->header, key);
	*n = 0;
	if (!at || sscanf(at + strlen(key), "%zu,\"n\":%zu", &place, n) != 2)
		return NULL;
	return p->body + place;
}

static double meta(const struct payload *p, const char *name)
{
	const char *at;
	char key[80];

	snprintf(key, sizeof(key), "\"%s\":", name);
	at = strstr(p->header, key);
	return at ? strtod(at + strlen(key), NULL) : NAN;
}

static void test_flat(const struct sp_model *m, uint32_t location)
{
	struct sp_view_query q;
	struct sp_view view;
	struct sp_flat_row *rows;
	struct payload p;
	struct sp_err e;
	const uint32_t *region;
	const double *incl, *excl, *std;
	size_t n, k, i;

	sp_view_query_init(&q);
	q.location = location;
	p = ask(m, "flat", &q);
	MUST(sp_view_open(&view, m, SP_NONE, location, &e) == 0);
	MUST(sp_report_flat(&view, SP_SORT_EXCL, 0, "", &rows, &n, &e) == 0);
	region = column(&p, "region", "u32", &k);
	MUST(region && k == n);
	incl = column(&p, "incl", "f64", &k);
	excl = column(&p, "excl", "f64", &k);
	std = column(&p, "std", "f64", &k);
	MUST(incl && excl && std && k == n);
	for (i = 0; i < n; i++) {
		CHECK(region[i] == rows[i].region);
		CHECK_NUMBER(incl[i], rows[i].n.v.incl * 1e-9);
		CHECK_NUMBER(excl[i], rows[i].n.v.excl * 1e-9);
		CHECK_NUMBER(std[i], sp_numbers_std(&rows[i].n) * 1e-9);
	}
	CHECK_NUMBER(meta(&p, "total"), view.values[0].incl * 1e-9);
	free(rows);
	sp_view_close(&view);
	done(&p);
}

/* Without a limit, the rows are those of the report, in its order. */
static void test_tree(const struct sp_model *m)
{
	const struct sp_tree_options o = {.sort = SP_SORT_INCL};
	struct sp_view_query q;
	struct sp_view view;
	struct sp_tree_row *rows;
	struct payload p;
	struct sp_err e;
	const uint32_t *path, *parent;
	const double *excl;
	size_t n, k, i;

	sp_view_query_init(&q);
	q.limit = UINT32_MAX - 1;
	p = ask(m, "tree", &q);
	MUST(sp_view_open(&view, m, SP_NONE, SP_NONE, &e) == 0);
	MUST(sp_report_tree(&view, &o, &rows, &n, &e) == 0);
	path = column(&p, "path", "u32", &k);
	MUST(path && k == n && k > 90000);
	parent = column(&p, "parent", "u32", &k);
	excl = column(&p, "excl", "f64", &k);
	MUST(parent && excl);
	for (i = 0; i < n; i++) {
		const uint32_t above = m->paths[rows[i].path].parent;

		CHECK(path[i] == rows[i].path);
		CHECK(above ? parent[i] < i && path[parent[i]] == above : parent[i] == SP_NONE);
		CHECK_NUMBER(excl[i], view.values[rows[i].path].excl * 1e-9);
	}
	free(rows);
	sp_view_close(&view);
	done(&p);
}

/* With a limit, the paths with the most time have rows, and the sums include what is left out. */
static void test_limit(const struct sp_model *m, uint32_t limit)
{
	struct sp_view_query q;
	struct payload p;
	const uint32_t *path, *hidden;
	const double *incl, *excl;
	double sum = 0, least = HUGE_VAL, max_left = 0;
	size_t n, i, shown = 0, left = 0;
	bool *has = calloc(m->n_paths, sizeof(*has));

	MUST(has);
	sp_view_query_init(&q);
	q.limit = limit;
	p = ask(m, "tree", &q);
	path = column(&p, "path", "u32", &n);
	hidden = column(&p, "hidden", "u32", &n);
	incl = column(&p, "incl", "f64", &n);
	excl = column(&p, "excl", "f64", &n);
	MUST(path && hidden && incl && excl);
	for (i = 0; i < n; i++) {
		sum += excl[i];
		left += hidden[i];
		if (path[i] == SP_NONE)
			continue;
		CHECK(!has[path[i]] && hidden[i] == 0);
		has[path[i]] = true;
		least = fmin(least, incl[i]);
		shown++;
	}
	for (i = 1; i < m->n_paths; i++)
		if (!has[i])
			max_left = fmax(max_left, m->totals[i].incl * 1e-9);
	CHECK(shown == limit && shown + left == (size_t)meta(&p, "paths") && max_left <= least);
	CHECK(fabs(sum - meta(&p, "total")) <= 1e-9 * sum);
	free(has);
	done(&p);
}

/* ---- many threads ---- */

enum { KINDS = 6, ROUNDS = 2, THREADS = 3 };

struct asker {
	const struct sp_model *m;
	const struct payload *expected;
	bool same;
};

static struct payload question(const struct sp_model *m, int i)
{
	static const char *const kinds[KINDS] = {"tree", "flat", "balance", "regions", "tree", "flat"};
	struct sp_view_query q;

	sp_view_query_init(&q);
	if (i == 0)
		q.limit = 1000;
	if (i == 2)
		q.regions = 20;
	if (i > 3)
		q.location = (uint32_t)i % 2;
	return ask(m, kinds[i], &q);
}

static void *ask_all(void *arg)
{
	struct asker *a = arg;

	for (int i = 0; i < KINDS * ROUNDS; i++) {
		struct payload p = question(a->m, i % KINDS);
		const struct payload *x = &a->expected[i % KINDS];

		a->same = a->same && p.n == x->n && memcmp(p.bytes, x->bytes, p.n) == 0;
		done(&p);
	}
	return NULL;
}

static void test_threads(const struct sp_model *m)
{
	struct payload expected[KINDS];
	struct asker askers[THREADS];
	pthread_t threads[THREADS];
	int i;

	for (i = 0; i < KINDS; i++)
		expected[i] = question(m, i);
	for (i = 0; i < THREADS; i++) {
		askers[i] = (struct asker){m, expected, true};
		MUST(pthread_create(&threads[i], NULL, ask_all, &askers[i]) == 0);
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		CHECK(askers[i].same);
	}
	for (i = 0; i < KINDS; i++)
		done(&expected[i]);
}

static void test_text(void)
{
	struct sp_columns *c = sp_columns_new();
	struct sp_err e;
	size_t n;
	char *bytes;

	MUST(c);
	sp_meta_text(c, "a\"b", (struct sp_str){"x\n\xff\\\xc3\xa4", 6});
	sp_meta_real(c, "nan", NAN);
	sp_meta_index(c, "none", SP_NONE);
	sp_meta_open(c, "list", '[');
	sp_meta_uint(c, NULL, 1);
	sp_meta_bool(c, NULL, true);
	sp_meta_close(c, ']');
	MUST(sp_columns_add(c, "u", SP_COLUMN_U8, 3));
	MUST(sp_columns_add(c, "d", SP_COLUMN_F64, 9));
	sp_columns_cut(c, "d", 1);
	MUST(sp_columns_seal(c, &n, &e) == 0);
	bytes = calloc(n + 1, 1);
	MUST(bytes);
	sp_columns_write(c, bytes);
	CHECK(strncmp(
	          bytes + 8,
	          "{\"meta\":{\"a\\\"b\":\"x\\u000a\\\\xff\\\\\xc3\xa4\",\"nan\":null,\"none\":null,\"list\":[1,true]},"
	          "\"columns\":{\"u\":{\"type\":\"u8\",\"at\":0,\"n\":3},\"d\":{\"type\":\"f64\",\"at\":8,\"n\":1}}}",
	          strlen(bytes + 8) - strspn(strrchr(bytes + 8, '}') + 1, " ")) == 0);
	CHECK(n % 8 == 0);
	free(bytes);
	sp_columns_free(c);
}

int main(void)
{
	char dir[200];
	struct rg_options o = {
	    .processes = 1, .threads = 2, .regions = 100000, .paths = 100000, .same_paths = true, .seed = 5};
	struct sp_model *m;

	test_text();
	snprintf(dir, sizeof(dir), "%s/x", scratch_experiment());
	rg_experiment(dir, &o);
	m = scratch_load(dir, 0);
	test_flat(m, SP_NONE);
	test_flat(m, 1);
	test_tree(m);
	test_limit(m, 1);
	test_limit(m, 300);
	test_limit(m, 50000);
	test_threads(m);
	sp_model_free(m);
	return check_failures != 0;
}
