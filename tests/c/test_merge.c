/* SPDX-License-Identifier: BSD-3-Clause */
/* The merged file has the same model as the raw files, whichever processes make it; and what happens if it does not
 * match them. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <sys/types.h>

#include "check.h"
#include "merging.h"
#include "model/builder/listing.h"
#include "model/builder/steps.h"
#include "model/file.h"
#include "model/merge/image.h"
#include "model/merge/merge.h"
#include "model/merge/merge_file.h"
#include "model/model.h"
#include "model/process.h"
#include "scratch.h"

static bool is_current(const char *dir)
{
	struct sp_listing list;
	struct sp_model *m;
	struct sp_err e;
	bool is;

	MUST(sp_listing_read(&list, dir, &e) == 0);
	is = sp_image_load(&m, dir, &list, &e) == 0;
	if (is)
		sp_model_free(m);
	sp_listing_free(&list);
	return is;
}

static unsigned count_files(const char *dir)
{
	DIR *d = opendir(dir);
	unsigned n = 0;

	MUST(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void check_all(const char *dir)
{
	static const int sizes[] = {1, 2, 3, 4, 7, MERGING_MAX_RANKS};
	const unsigned files = count_files(dir);
	struct sp_merge_result r;
	struct sp_err e;
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		CHECK(merging_ranks(dir, sizes[i], -1, &e) == 0);
		CHECK(is_current(dir));
		merging_compare(dir);
	}
	CHECK(sp_merge_here(dir, &(struct sp_merge_options){.force = true}, 3, &r, &e) == 0 && !r.current);
	merging_compare(dir);
	CHECK(sp_merge_here(dir, &(struct sp_merge_options){.force = false}, 3, &r, &e) == 0 && r.current);
	CHECK(count_files(dir) == files + 1);
}

static const char *sub(const char *dir, const char *name)
{
	static char path[160];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void test_experiments(void)
{
	const char *dir = scratch_experiment();
	struct rg_options o = {.processes = 6,
	                       .threads = 2,
	                       .events = 3000,
	                       .trace = true,
	                       .extras = true,
	                       .open = true,
	                       .abrupt = true,
	                       .seed = 3};
	char path[160];

	rg_experiment(strcpy(path, sub(dir, "walk")), &o);
	check_all(path);
	o = (struct rg_options){.processes = 5, .threads = 3, .regions = 30, .paths = 500, .seed = 9};
	rg_experiment(strcpy(path, sub(dir, "trees")), &o);
	check_all(path);
	rg_mpi_experiment(strcpy(path, sub(dir, "mpi")), 11);
	check_all(path);
}

/* Everything that the format can record, in three processes: metrics, parameters that fold, files. */
static void test_samples(void)
{
	const char *dir = scratch_experiment();
	struct rg_process *p;
	struct rg_thread *t;

	scratch_add(dir, rg_sample(true), "b.raw", SP_RAW_RUNNING, 9000);
	scratch_add(dir, rg_sample(false), "c.raw", SP_RAW_ENDED_NORMAL, 9000);
	scratch_add(dir, rg_sample(true), "e.raw", SP_RAW_ENDED_NORMAL, 9000);
	/* different metrics, in another order, and the same functions with different ids */
	p = rg_process(77, 1, 500, true);
	rg_metric(p, 0, SP_RAW_METRIC_PAPI, "OTHER", "", 0);
	rg_region(p, 9, 0, "m", "g", "/m.py", 9);
	rg_region(p, 4, 0, "m", "g", "/m.py", 9);
	rg_region(p, 3, SP_RAW_REGION_PARAMETER, "int", "n", "7", 0);
	t = rg_thread(p, "MainThread", 77, SP_RAW_NONE, 500);
	rg_enter(t, 600, 4);
	rg_parameter(t, 3);
	rg_leave(t, 700);
	rg_enter(t, 800, 9);
	rg_leave(t, 900);
	*rg_value(t, 1, 0) = 5;
	scratch_add(dir, p, "a.raw", SP_RAW_ENDED_NORMAL, 1000);
	scratch_bytes(dir, "d.raw", "nothing", 7);
	scratch_bytes(dir, "f.error", "no room\n", 8);
	check_all(dir);
}

/* A killed child, whose end its parent saw: the same result with any number of ranks, whichever rank reads the parent's
 * file. */
static void test_killed_child(void)
{
	const char *dir = scratch_experiment();
	const struct sp_raw_child saw[2] = {{.begin = 3500, .status = SIGKILL}, {.end = 4000, .status = SIGKILL}};
	struct rg_process *p = rg_process(50, 1, 500, true), *child = rg_process(51, 50, 1000, true);
	struct sp_model *m;
	size_t i;

	for (i = 0; i < 2; i++)
		rg_record(p, SP_RAW_DEF_CHILD, i ? SP_RAW_CHILD_ENDED : SP_RAW_CHILD_SIGNALLED, 51, 0,
		          (struct rg_bytes[4]){{"", 0}, {&saw[i], sizeof(saw[i])}});
	rg_thread(p, "MainThread", 50, SP_RAW_NONE, 500);
	rg_region(child, 1, 0, "m", "f", "/m.py", 1);
	rg_enter(rg_thread(child, "MainThread", 51, SP_RAW_NONE, 1000), 1500, 1);
	scratch_add(dir, p, "h-50-0.raw", SP_RAW_ENDED_NORMAL, 5000);
	scratch_add(dir, child, "h-51-0.raw", SP_RAW_RUNNING, 2000);
	m = scratch_load(dir, 0);
	CHECK(m->n_processes == 2 && m->processes[1].stop == 3000 && m->locations[1].end == 3000);
	sp_model_free(m);
	check_all(dir);
}

/* An experiment of three processes, merged. */
static const char *made(void)
{
	const char *dir = scratch_experiment();
	static char path[160];
	struct rg_options o = {.processes = 3, .threads = 2, .events = 500, .trace = true, .seed = 4};
	struct sp_err e;

	rg_experiment(strcpy(path, sub(dir, "x")), &o);
	MUST(merging_ranks(path, 1, -1, &e) == 0);
	return path;
}

static void test_not_current(void)
{
	char dir[160], raw[400], merged[200];
	struct rg_process *p = rg_sample(false);
	struct sp_image_header h;
	struct sp_model *m;
	struct sp_err e;
	size_t n;
	int fd;

	strcpy(dir, made());
	snprintf(merged, sizeof(merged), "%s/merged", dir);
	/* a new process was added */
	scratch_add(dir, p, "zz.raw", SP_RAW_ENDED_NORMAL, 9000);
	CHECK(!is_current(dir));
	m = scratch_load(dir, 0);
	CHECK(m->n_processes == 4 && m->n_problems == 0);
	sp_model_free(m);
	CHECK(merging_ranks(dir, 2, -1, &e) == 0 && is_current(dir));
	/* and its file has changed */
	snprintf(raw, sizeof(raw), "%s/raw/zz.raw", dir);
	fd = open(raw, O_WRONLY | O_APPEND);
	MUST(fd >= 0 && write(fd, raw, 100) == 100 && close(fd) == 0);
	CHECK(!is_current(dir));
	MUST(unlink(raw) == 0);
	CHECK(!is_current(dir));
	/* a file of another version is ignored */
	MUST(merging_ranks(dir, 1, -1, &e) == 0 && is_current(dir));
	fd = open(merged, O_RDWR);
	MUST(pread(fd, &h, sizeof(h), 0) == sizeof(h));
	h.version++;
	MUST(pwrite(fd, &h, sizeof(h), 0) == sizeof(h) && close(fd) == 0);
	m = scratch_load(dir, 0);
	CHECK(m->n_processes == 3 && m->n_problems == 0);
	n = m->n_values;
	sp_model_free(m);
	MUST(merging_ranks(dir, 1, -1, &e) == 0);
	m = scratch_load(dir, SP_MODEL_COMPENSATE);
	CHECK(m->n_values == n && m->n_problems == 0);
	sp_model_free(m);
}

/* Damage anywhere is reported in one line, and has no other effect. */
static void test_damage(void)
{
	char dir[160], merged[200];
	struct sp_model *raw, *m;
	struct stat st;
	unsigned char byte;
	struct sp_err e;
	off_t at;
	int fd;

	strcpy(dir, made());
	snprintf(merged, sizeof(merged), "%s/merged", dir);
	raw = scratch_load(dir, SP_MODEL_RAW);
	MUST(stat(merged, &st) == 0);
	for (at = 0; at < st.st_size; at += at < 80 ? 1 : 977) {
		fd = open(merged, O_RDWR);
		MUST(pread(fd, &byte, 1, at) == 1);
		byte ^= 0x41;
		MUST(pwrite(fd, &byte, 1, at) == 1);
		m = scratch_load(dir, 0);
		MUST(sp_model_rows(m, &e) == 0);
		CHECK(m->n_problems <= 1 && m->n_processes == 3);
		if (m->n_problems)
			CHECK(strncmp(m->problems[0].text.p, "merged is damaged", 17) == 0);
		merging_compare_definitions(raw, m);
		merging_compare_places(raw, m);
		sp_model_free(m);
		byte ^= 0x41;
		MUST(pwrite(fd, &byte, 1, at) == 1 && close(fd) == 0);
	}
	MUST(is_current(dir) && truncate(merged, st.st_size - 1) == 0 && !is_current(dir));
	m = scratch_load(dir, 0);
	CHECK(m->n_problems == 1 && strstr(m->problems[0].text.p, "cut short"));
	sp_model_free(m);
	MUST(truncate(merged, 0) == 0);
	m = scratch_load(dir, 0);
	CHECK(m->n_problems == 0 || strstr(m->problems[0].text.p, "damaged"));
	sp_model_free(m);
	sp_model_free(raw);
}

static void test_refused(void)
{
	char dir[160], merged[200], host[64] = "", name[] = "live.raw";
	struct rg_process *p;
	struct sp_merge_result r;
	struct sp_err e = {.code = 0};
	unsigned files;
	int i;

	/* a directory cannot be replaced */
	strcpy(dir, made());
	snprintf(merged, sizeof(merged), "%s/merged", dir);
	MUST(unlink(merged) == 0 && mkdir(merged, 0777) == 0);
	files = count_files(dir);
	for (i = 1; i <= 3; i++) {
		CHECK(merging_ranks(dir, i, -1, &e) != 0);
		CHECK(strncmp(e.text, dir, strlen(dir)) == 0 && strstr(e.text, "merged"));
	}
	/* the failure of one rank does not block the others, and leaves no file behind */
	MUST(rmdir(merged) == 0);
	CHECK(merging_ranks(dir, 4, 3, &e) != 0 && merging_ranks(dir, 4, 1, &e) != 0);
	CHECK(count_files(dir) == files - 1);
	/* a process that is still running: this one, which has mapped its file */
	gethostname(host, sizeof(host) - 1);
	p = rg_process(getpid(), 1, 1000, false);
	strcpy(rg_header(p)->host, host);
	scratch_add(dir, p, name, SP_RAW_RUNNING, 2000);
	snprintf(merged, sizeof(merged), "%s/raw/%s", dir, name);
	i = open(merged, O_RDWR);
	MUST(mmap(NULL, 4096, PROT_READ, MAP_SHARED, i, 0) != MAP_FAILED);
	CHECK(sp_merge(dir, &(struct sp_merge_options){.force = true}, NULL, &r, &e) != 0 &&
	      strstr(e.text, "raw/live.raw: its process"));
	close(i);
	CHECK(sp_merge("/nowhere/at/all", &(struct sp_merge_options){.force = true}, NULL, &r, &e) != 0);
}

static int count_down(void *arg, uint64_t done, uint64_t total)
{
	(void)done;
	(void)total;
	return --*(int *)arg == 0;
}

static void test_interrupted(void)
{
	char dir[160];
	struct sp_merge_result r;
	struct sp_err e;
	unsigned files;
	int left, i, rc;

	strcpy(dir, made());
	files = count_files(dir);
	for (i = 1, rc = -1; rc; i++) {
		struct sp_merge_options o = {true, count_down, &left};

		left = i;
		rc = sp_merge_here(dir, &o, 2, &r, &e);
		CHECK(rc == 0 || strstr(e.text, "interrupted"));
		CHECK(count_files(dir) == files && is_current(dir));
	}
	CHECK(i > 3);
}

/* The second of two merges wins, and none fails; the next merge removes files of a killed one. */
static void test_several(void)
{
	char dir[160], left[200];
	struct sp_merge_result r;
	struct sp_err e;
	unsigned files;
	pid_t pid[3];
	int i, status;

	strcpy(dir, made());
	files = count_files(dir);
	snprintf(left, sizeof(left), "%s/merged.AbCdEf", dir);
	i = open(left, O_CREAT | O_WRONLY, 0600);
	MUST(i >= 0 && close(i) == 0);
	for (i = 0; i < 3; i++) {
		pid[i] = fork();
		if (pid[i] == 0)
			_exit(sp_merge(dir, &(struct sp_merge_options){.force = true}, NULL, &r, &e) != 0);
	}
	for (i = 0; i < 3; i++)
		CHECK(waitpid(pid[i], &status, 0) == pid[i] && status == 0);
	CHECK(count_files(dir) == files && is_current(dir));
	merging_compare(dir);
}

/* Writers that begin at the same time do not remove each other's files as left over. */
static void test_creators(void)
{
	enum { WRITERS = 4, FILES = 1000 };
	char dir[160];
	struct sp_err e;
	pid_t pid[WRITERS];
	int i, k, status;

	strcpy(dir, made());
	for (i = 0; i < WRITERS; i++) {
		pid[i] = fork();
		for (k = 0; pid[i] == 0 && k < FILES; k++) {
			struct sp_merge_file f;
			struct stat st;

			if (sp_merge_file_create(&f, dir, "merged", &e) != 0 || fstat(f.fd, &st) != 0 ||
			    st.st_nlink != 1)
				_exit(1);
			sp_merge_file_close(&f, dir, true);
		}
		if (pid[i] == 0)
			_exit(0);
	}
	for (i = 0; i < WRITERS; i++)
		CHECK(waitpid(pid[i], &status, 0) == pid[i] && status == 0);
}

int main(void)
{
	test_experiments();
	test_samples();
	test_killed_child();
	test_not_current();
	test_damage();
	test_refused();
	test_interrupted();
	test_several();
	test_creators();
	return check_failures != 0;
}
