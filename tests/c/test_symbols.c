/* SPDX-License-Identifier: BSD-3-Clause */
/* The file `symbols`: its contents, and the effect of damage. */
#include "check.h"
#include "model/model.h"
#include "model/region.h"
#include "model/symbols/symbols.h"
#include "scratch.h"

#define HEAD  "spartito symbols 1\n"
#define BUILD "object\t0123456789abcdef\t/lib/kernel.so\n"

/* Writes the name that the sample's compiled function gets into name[n]. Returns the number of problems with the
 * file. */
static size_t name_with(const char *symbols, char *name, size_t n)
{
	const char *dir = scratch_experiment();
	struct rg_process *p = rg_memory();
	struct sp_model *m;
	char path[4200];
	size_t i, problems = 0;
	FILE *f;

	rg_node(rg_thread(p, "T", 8, SP_RAW_NONE, 900), 0, 4); /* uses the function */
	scratch_add(dir, p, "a.raw", SP_RAW_ENDED_NORMAL, 5000);
	snprintf(path, sizeof(path), "%s/" SP_SYMBOLS_NAME, dir);
	f = fopen(path, "w");
	MUST(f && fputs(symbols, f) >= 0 && fclose(f) == 0);
	m = scratch_load(dir, 0);
	name[0] = 0;
	for (i = 0; i < m->n_regions; i++)
		if (m->regions[i].kind == SP_REGION_NATIVE)
			snprintf(name, n, "%s %s:%u", m->regions[i].qualname.p, m->regions[i].file.p,
			         m->regions[i].line);
	for (i = 0; i < m->n_problems; i++) /* another problem is that the object does not exist */
		problems += strncmp(m->problems[i].text.p, "symbols: ", 9) == 0;
	sp_model_free(m);
	return problems;
}

static void test_told(void)
{
	char name[200];

	CHECK(name_with(HEAD BUILD "1120\tsolve\tsolve(int)\t/src/a\\x09b.c\t12\nend\t1\n", name, sizeof(name)) == 0);
	CHECK(strcmp(name, "solve(int) /src/a\tb.c:12") == 0);
	/* entries of another build, or another symbol at that address, are not used */
	CHECK(name_with(HEAD "object\tffff\t/lib/kernel.so\n1120\tsolve\tx\ty\t1\nend\t1\n", name, sizeof(name)) == 0);
	CHECK(strncmp(name, "solve ", 6) == 0);
	CHECK(name_with(HEAD BUILD "1120\tother\tx\ty\t1\nend\t1\n", name, sizeof(name)) == 0);
	CHECK(strncmp(name, "solve ", 6) == 0);
}

static void test_damaged(void)
{
	static const char *const bad[] = {"",
	                                  "spartito symbols 2\n",
	                                  HEAD,
	                                  HEAD "end\t1\n",
	                                  HEAD "end\t-0\n",
	                                  HEAD "end\t0\t12345678\n",
	                                  HEAD "1120\tsolve\tx\ty\t1\nend\t1\n",
	                                  HEAD BUILD "1120\tsolve\tx\ty\nend\t1\n",
	                                  HEAD BUILD "1120\tsolve\tx\ty\t1\tz\nend\t1\n",
	                                  HEAD BUILD "zz\tsolve\tx\ty\t1\nend\t1\n",
	                                  HEAD BUILD "111111111\tsolve\tx\ty\t1\nend\t1\n",
	                                  HEAD BUILD "1120\tsolve\tx\ty\t-1\nend\t1\n",
	                                  HEAD BUILD "1121\ta\\x0\ty\tz\t1\nend\t1\n",
	                                  HEAD BUILD "1121\ta\\x 9\ty\tz\t1\nend\t1\n",
	                                  HEAD BUILD "1121\ta\\x+9\ty\tz\t1\nend\t1\n",
	                                  HEAD BUILD "1121\ta\\y09\ty\tz\t1\nend\t1\n",
	                                  HEAD BUILD "1121\ta\\x00\ty\tz\t1\nend\t1\n",
	                                  HEAD BUILD "1121\ta\tb\tc\t1\nend\t1"};
	char name[200];
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (name_with(bad[i], name, sizeof(name)) != 1)
			fprintf(stderr, "symbols %zu\n", i);
		CHECK(name_with(bad[i], name, sizeof(name)) == 1);
	}
	/* entries before the damage are used */
	CHECK(name_with(HEAD BUILD "1120\tsolve\tx\ty\t7\n!\n", name, sizeof(name)) == 1);
	CHECK(strcmp(name, "x y:7") == 0);
}

int main(void)
{
	test_told();
	test_damaged();
	return check_failures != 0;
}
