/* SPDX-License-Identifier: BSD-3-Clause */
/* Welch's t-test, and Holm's correction. */
#include "model/compare/table.h"

#include <math.h>
#include <stdlib.h>

/* The continued fraction of the incomplete beta function, DLMF 8.17.22, by the modified method of Lentz. It converges
 * fast where x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), f;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	f = d;
	for (int m = 1; m <= 500; m++) {
		for (int odd = 0; odd < 2; odd++) {
			double k = odd ? -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
			               : m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));

			d = 1 + k * d;
			d = 1 / (fabs(d) < tiny ? tiny : d);
			c = 1 + k / c;
			c = fabs(c) < tiny ? tiny : c;
			f *= c * d;
		}
		if (fabs(c * d - 1) < 1e-15)
			break;
	}
	return f;
}

/* The regularized incomplete beta function I_x(a, b). */
static double beta(double a, double b, double x)
{
	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));

	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double sp_welch(double mean_a, double var_a, uint32_t n_a, double mean_b, double var_b, uint32_t n_b)
{
	double a, b, t2, freedom;

	if (n_a < 2 || n_b < 2)
		return -1;
	a = var_a / n_a;
	b = var_b / n_b;
	if (!(a + b > 0))
		return mean_a == mean_b ? 1 : 0;
	t2 = (mean_a - mean_b) * (mean_a - mean_b) / (a + b);
	/* degrees of freedom by Welch and Satterthwaite */
	freedom = (a + b) * (a + b) / (a * a / (n_a - 1) + b * b / (n_b - 1));
	return beta(freedom / 2, 0.5, freedom / (freedom + t2));
}

double sp_welch_margin(double var_a, uint32_t n_a, double var_b, uint32_t n_b)
{
	double low = 0, high;

	if (n_a < 2 || n_b < 2)
		return -1;
	high = sqrt(var_a / n_a + var_b / n_b);
	while (high > 0 && sp_welch(0, var_a, n_a, high, var_b, n_b) > 0.05) {
		low = high;
		high *= 2;
	}
	for (int i = 0; i < 52; i++) { /* as many steps as a double has bits */
		const double middle = (low + high) / 2;

		if (sp_welch(0, var_a, n_a, middle, var_b, n_b) > 0.05)
			low = middle;
		else
			high = middle;
	}
	return high;
}

struct ranked {
	double p;
	size_t at;
};

static int by_p(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->p != y->p)
		return x->p < y->p ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

int sp_holm(double *p, size_t n)
{
	struct ranked *r = malloc((n + 1) * sizeof(*r));
	double least = 0;

	if (!r)
		return -1;
	for (size_t i = 0; i < n; i++)
		r[i] = (struct ranked){p[i], i};
	qsort(r, n, sizeof(*r), by_p);
	for (size_t i = 0; i < n; i++) {
		least = fmax(least, fmin(1, r[i].p * (double)(n - i)));
		p[r[i].at] = least;
	}
	free(r);
	return 0;
}
