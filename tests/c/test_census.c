/* SPDX-License-Identifier: BSD-3-Clause */
/* The rank census of an MPI_COMM_WORLD: processes that do not communicate must get the same answer. */
#include <dirent.h>

#include "check.h"
#include "mpi/world/census.h"

static char dir[] = "/tmp/spartito-roll-XXXXXX";
static char raw[sizeof dir + 8];

static unsigned files(const char *end)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	unsigned n = 0;

	while ((e = readdir(d))) {
		const char *dot = strrchr(e->d_name, '.');

		n += e->d_name[0] != '.' && dot && strcmp(dot, end) == 0;
	}
	closedir(d);
	return n;
}

/* Takes part as rank `rank` of `size` processes of a job. */
static struct sp_census call(const char *job, int rank, int size, uint64_t host)
{
	struct sp_census r;
	char text[16];

	setenv("PMIX_NAMESPACE", job, 1);
	snprintf(text, sizeof(text), "%d", rank);
	setenv("OMPI_COMM_WORLD_RANK", text, 1);
	snprintf(text, sizeof(text), "%d", size);
	setenv("OMPI_COMM_WORLD_SIZE", text, 1);
	sp_census_take(&r, raw, SP_CENSUS_OPENMPI, host);
	return r;
}

static void test_all(void)
{
	struct sp_census a = call("one", 0, 2, 5), b = call("one", 1, 2, 5);

	CHECK(sp_census_answer(&a, 0, 2) == SP_CENSUS_ONE_HOST && sp_census_answer(&b, 1, 2) == SP_CENSUS_ONE_HOST);
	CHECK(a.world && a.world == b.world);
	sp_census_remove(&a);
	a = call("two", 0, 2, 5);
	b = call("two", 1, 2, 6);
	CHECK(sp_census_answer(&a, 0, 2) == SP_CENSUS_ALL && sp_census_answer(&b, 1, 2) == SP_CENSUS_ALL);
	sp_census_remove(&b);
	CHECK(files(".roll") == 0 && files(".answer") == 0);
}

/* A process that checks before the last one has come decides for all. */
static void test_too_early(void)
{
	struct sp_census a = call("early", 0, 2, 5), b;

	CHECK(sp_census_answer(&a, 0, 2) == SP_CENSUS_SOME);
	b = call("early", 1, 2, 5);
	CHECK(sp_census_answer(&b, 1, 2) == SP_CENSUS_SOME);
}

/* If the answer can be neither written nor read, no process may decide alone. */
static void test_no_links(void)
{
	struct sp_census a = call("links", 0, 2, 5), b = call("links", 1, 2, 5);
	char path[sizeof dir + 64];

	snprintf(path, sizeof(path), "%s/mpi-%016llx.answer", dir, (unsigned long long)a.world);
	fclose(fopen(path, "w"));
	CHECK(sp_census_answer(&a, 0, 2) == SP_CENSUS_SOME && sp_census_answer(&b, 1, 2) == SP_CENSUS_SOME);
}

static void test_alone(void)
{
	const unsigned before = files(".roll");
	struct sp_census a = call("alone", 0, 1, 5), b;

	CHECK(a.called && files(".roll") == before + 1);
	CHECK(sp_census_answer(&a, 0, 1) == SP_CENSUS_ONE_HOST && files(".roll") == before);
	b = call("alone", 0, 1, 5);
	CHECK(sp_census_answer(&b, 0, 1) == SP_CENSUS_ONE_HOST && a.world != b.world);
}

static void clean(void)
{
	char command[sizeof dir + 8];

	snprintf(command, sizeof(command), "rm -r %s", dir);
	CHECK(system(command) == 0);
}

int main(void)
{
	MUST(mkdtemp(dir));
	snprintf(raw, sizeof(raw), "%s/a.raw", dir);
	test_all();
	test_too_early();
	test_no_links();
	test_alone();
	clean();
	return check_failures != 0;
}
