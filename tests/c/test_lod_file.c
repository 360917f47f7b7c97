/* SPDX-License-Identifier: BSD-3-Clause */
/* The level-of-detail index's file: when it is made, and how errors are handled. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "model/merge/merge.h"
#include "model/model.h"
#include "model/str.h"
#include "reader/compress.h"
#include "truth.h"

static void path_of(char *path, size_t n, const char *dir)
{
	snprintf(path, n, "%s/" SP_LOD_NAME, dir);
}

static size_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (size_t)st.st_size : 0;
}

/* A damaged index is not used, and does no harm. */
static void test_damaged(void)
{
	const struct rg_options some = {
	    .processes = 1, .threads = 2, .events = 3000, .trace = true, .extras = true, .seed = 5};
	const char *dir = truth_made_by(&some);
	struct sp_model *m = scratch_load(dir, 0);
	char path[200];
	size_t n, at;
	unsigned i;
	int fd;

	path_of(path, sizeof(path), dir);
	CHECK(truth_makes(m, &(struct sp_lod_options){.keep = true}) && size_of(path) == 0);
	CHECK(truth_makes(m, NULL));
	n = size_of(path);
	CHECK(n > 0 && !truth_makes(m, NULL) && size_of(path) == n);
	for (i = 0; i < 60; i++) {
		unsigned char byte;

		at = i < 8 ? 8 * i : i < 10 ? n - 1 - i : truth_pick(n);
		fd = open(path, O_RDWR);
		MUST(fd >= 0 && pread(fd, &byte, 1, (off_t)at) == 1);
		byte ^= (unsigned char)(1u << truth_pick(8));
		MUST(pwrite(fd, &byte, 1, (off_t)at) == 1);
		close(fd);
		/* the rest of the first page has no meaning */
		CHECK(truth_makes(m, NULL) == (at < 64 || at >= 4096));
	}
	for (i = 0; i < 3; i++) {
		CHECK(truncate(path, (off_t)(n * i / 3)) == 0);
		CHECK(truth_makes(m, NULL) && size_of(path) == n);
	}
	truth_check(m, NULL, 4);
	CHECK(unlink(path) == 0 && mkdir(path, 0777) == 0);
	CHECK(truth_makes(m, NULL));
	CHECK(rmdir(path) == 0);
	sp_model_free(m);
}

/* The index refers to markers and counters by number: a model with other numbers for their texts needs another
 * index. */
static void check_texts(const struct sp_model *m)
{
	struct sp_str was = m->strings[0];

	MUST(m->n_strings > 1 && m->n_counters > 0);
	m->strings[0] = m->strings[1];
	m->strings[1] = was;
	CHECK(truth_makes(m, NULL) && !truth_makes(m, NULL));
	was = m->counters[0];
	m->counters[0] = (struct sp_str){"another", 7};
	CHECK(truth_makes(m, NULL) && !truth_makes(m, NULL));
	m->counters[0] = was;
}

/* Changed raw files: compressed, and merged. */
static void test_changed(void)
{
	const struct rg_options some = {
	    .processes = 2, .threads = 2, .events = 20000, .trace = true, .extras = true, .seed = 6};
	const char *dir = truth_made_by(&some);
	struct sp_model *m = scratch_load(dir, 0);
	struct sp_merge_result r;
	struct sp_err e = {.code = 0};

	CHECK(truth_makes(m, NULL) && !truth_makes(m, NULL));
	check_texts(m);
	sp_model_free(m);
	m = scratch_load(dir, 0);
	CHECK(truth_makes(m, NULL));
	sp_model_free(m);
#ifdef SP_HAVE_ZSTD
	{
		struct sp_raw_compression c = {.level = 1};
		char path[200];

		snprintf(path, sizeof(path), "%s/raw/node1-1000-0.raw", dir);
		MUST(sp_raw_compress(path, "raw", &c, &e) == 0);
	}
	m = scratch_load(dir, 0);
	CHECK(truth_makes(m, NULL) && !truth_makes(m, NULL));
	truth_check(m, NULL, 3);
	sp_model_free(m);
#endif
	MUST(sp_merge(dir, &(struct sp_merge_options){.force = true}, NULL, &r, &e) == 0);
	m = scratch_load(dir, 0);
	truth_check(m, NULL, 3);
	CHECK(!truth_makes(m, NULL));
	sp_model_free(m);
}

static int files_in(const char *dir)
{
	DIR *d = opendir(dir);
	int n = 0;

	MUST(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* After an interruption nothing but the cancellation is reported, and no file is left behind. */
static int interrupt(void *arg, uint64_t done, uint64_t total)
{
	CHECK(done <= total);
	return --*(int *)arg < 0;
}

static void test_interrupted(void)
{
	const struct rg_options some = {.processes = 1, .threads = 3, .events = 5000, .trace = true, .seed = 7};
	const char *dir = truth_made_by(&some);
	struct sp_model *m = scratch_load(dir, 0);
	struct sp_lod *p;
	struct sp_err e = {.code = 0};
	int left = 1;

	CHECK(sp_lod_open(&p, m, &(struct sp_lod_options){.progress = interrupt, .arg = &left, .threads = 1}, &e) ==
	      -1);
	CHECK(e.code == ECANCELED && !p);
	CHECK(files_in(dir) == 4); /* ., .., raw, experiment.json */
	sp_model_free(m);
}

/* Neither the experiment nor the temporary directory has space: no file is left behind, and the message names the
 * temporary directory. */
static void test_no_space(void)
{
	const struct rg_options some = {.processes = 1, .threads = 1, .events = 5000, .trace = true, .seed = 8};
	struct sp_model *m = scratch_load(truth_made_by(&some), 0);
	struct rlimit before, little;
	struct sp_lod *p;
	struct sp_err e = {.code = 0};

	signal(SIGXFSZ, SIG_IGN);
	MUST(getrlimit(RLIMIT_FSIZE, &before) == 0);
	little = before;
	little.rlim_cur = 8192;
	MUST(setrlimit(RLIMIT_FSIZE, &little) == 0);
	CHECK(sp_lod_open(&p, m, NULL, &e) == -1 && !p);
	MUST(setrlimit(RLIMIT_FSIZE, &before) == 0);
	CHECK(e.code == EFBIG && strstr(e.text, "no space to sum up the trace"));
	CHECK(truth_makes(m, NULL) && !truth_makes(m, NULL));
	sp_model_free(m);
}

/* The raw file is truncated while it is mapped: SIGBUS at the next read. */
static void test_cut(void)
{
	const struct rg_options some = {.processes = 1, .threads = 2, .events = 50000, .trace = true, .seed = 9};
	const char *dir = truth_made_by(&some);
	struct sp_model *m = scratch_load(dir, 0);
	struct sp_lod *p;
	struct sp_err e = {.code = 0};
	char path[200];

	snprintf(path, sizeof(path), "%s/raw/node1-1000-0.raw", dir);
	MUST(truncate(path, 4096) == 0);
	CHECK(sp_lod_open(&p, m, &(struct sp_lod_options){.threads = 1}, &e) == -1 && !p);
	CHECK(strstr(e.text, "was cut"));
	CHECK(sp_lod_open(&p, m, &(struct sp_lod_options){.threads = 2}, &e) == -1 && !p);
	CHECK(strstr(e.text, "was cut"));
	CHECK(files_in(dir) == 4);
	sp_model_free(m);
}

/* With `lasting`, the index is only in the experiment; everything else is the same. */
static void test_lasting(void)
{
	const struct rg_options some = {.processes = 1, .threads = 1, .events = 5000, .trace = true, .seed = 10};
	const struct sp_lod_options lasting = {.lasting = true};
	struct sp_model *m = scratch_load(truth_made_by(&some), 0);
	struct rlimit before, little;
	struct sp_lod *p;
	struct sp_err e = {.code = 0};

	signal(SIGXFSZ, SIG_IGN);
	MUST(getrlimit(RLIMIT_FSIZE, &before) == 0);
	little = before;
	little.rlim_cur = 8192;
	MUST(setrlimit(RLIMIT_FSIZE, &little) == 0);
	CHECK(sp_lod_open(&p, m, &lasting, &e) == -1 && !p);
	MUST(setrlimit(RLIMIT_FSIZE, &before) == 0);
	CHECK(e.code == EFBIG && strstr(e.text, "lod cannot be written"));
	CHECK(truth_makes(m, &lasting) && !truth_makes(m, &lasting));
	sp_model_free(m);
}

int main(void)
{
	test_damaged();
	test_changed();
	test_interrupted();
	test_no_space();
	test_cut();
	test_lasting();
	return check_failures != 0;
}
