/* SPDX-License-Identifier: BSD-3-Clause */
#include "sample/control/counters.h"

#include <stdlib.h>
#include <string.h>

#include "record/definitions.h"
#include "record/metrics/metric.h"

static struct sp_metric_def defs[SP_COUNTERS_MAX];
static unsigned used;

static void define(const char *name)
{
	char why[200];
	struct sp_metric_def *m = &defs[used];
	/* the launcher has already reported metrics that cannot be counted */
	if (used == SP_COUNTERS_MAX || sp_metric_perf.find(m, name, why, sizeof why) ||
	    sp_define_metric(m->name, m->unit, m->exponent, m->what, SP_RAW_METRIC_PERF | SP_RAW_METRIC_EXCLUSIVE) < 0)
		return;
	used++;
}

unsigned sp_counters_define(const char *list)
{
	static const char source[] = "perf:";
	char *copy = strdup(list), *rest = NULL;
	for (char *word = copy ? strtok_r(copy, ", \t\n", &rest) : NULL; word; word = strtok_r(NULL, ", \t\n", &rest))
		if (!strncmp(word, source, sizeof source - 1))
			define(word + sizeof source - 1);
	free(copy);
	return used;
}

bool sp_counters_read(struct sp_counters *c, pid_t thread, uint64_t *grown)
{
	struct sp_metric_state s = {.thread = thread, .fds = c->fds, .n_fds = c->n_fds};
	uint64_t now[SP_COUNTERS_MAX];
	bool first = !c->fds;
	if (!used || c->failed)
		return false;
	if (first) {
		c->failed = sp_metric_perf.open(&s, defs, used);
		c->fds = s.fds;
		c->n_fds = s.n_fds;
	}
	if (c->failed || sp_metric_perf.read(&s, defs, used, now))
		return false;
	for (unsigned i = 0; i < used; i++) {
		grown[i] = now[i] - c->last[i];
		c->last[i] = now[i];
	}
	return !first;
}

void sp_counters_close(struct sp_counters *c)
{
	struct sp_metric_state s = {.fds = c->fds, .n_fds = c->n_fds};
	if (c->fds)
		sp_metric_perf.close(&s, false);
	*c = (struct sp_counters){.fds = NULL};
}
