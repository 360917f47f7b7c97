/* SPDX-License-Identifier: BSD-3-Clause */
#include "scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "model/event.h"
#include "model/model.h"
#include "model/str.h"
#include "model/path.h"
#include "model/region.h"

static char base[64];
static unsigned made;

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *f)
{
	(void)st;
	(void)flag;
	(void)f;
	return remove(path);
}

static void clean_up(void)
{
	nftw(base, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *scratch_experiment(void)
{
	static char paths[64][96];
	char raw[128];
	char *dir = paths[made % 64];

	if (!base[0]) {
		strcpy(base, "/tmp/spartito-test-XXXXXX");
		MUST(mkdtemp(base));
		atexit(clean_up);
	}
	snprintf(dir, sizeof(paths[0]), "%s/%u", base, made++);
	snprintf(raw, sizeof(raw), "%s/raw", dir);
	MUST(mkdir(dir, 0777) == 0 && mkdir(raw, 0777) == 0);
	return dir;
}

static void name_of(char *path, size_t n, const char *dir, const char *name)
{
	snprintf(path, n, "%s/raw/%s", dir, name);
}

void scratch_add(const char *dir, struct rg_process *p, const char *name, enum sp_raw_ended ended, uint64_t last)
{
	char path[256];

	name_of(path, sizeof(path), dir, name);
	rg_write(p, path, ended, last);
}

void scratch_bytes(const char *dir, const char *name, const void *bytes, size_t n)
{
	char path[256];
	FILE *f;

	name_of(path, sizeof(path), dir, name);
	f = fopen(path, "wb");
	MUST(f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0);
}

void scratch_old(const char *dir, const char *name)
{
	static unsigned char bytes[1 << 20];
	const char *source = getenv("SPARTITO_OLD_RAW");
	char path[4096];
	size_t n;
	FILE *f;

	MUST(source);
	snprintf(path, sizeof(path), "%s/%s", source, name);
	f = fopen(path, "rb");
	MUST(f);
	n = fread(bytes, 1, sizeof(bytes), f);
	MUST(n > 0 && n < sizeof(bytes) && fclose(f) == 0);
	scratch_bytes(dir, "a.raw", bytes, n);
}

struct sp_model *scratch_load(const char *dir, unsigned flags)
{
	struct sp_model *m;
	struct sp_err e = {.code = 0};

	if (sp_model_load(&m, dir, flags, &e)) {
		fprintf(stderr, "%s\n", e.text);
		exit(1);
	}
	return m;
}

size_t scratch_events(const struct sp_model *m)
{
	static struct sp_event events[333];
	struct sp_events *s;
	struct sp_err e = {.code = 0};
	size_t all = 0;
	uint64_t last;
	long n, i, depth;
	uint32_t l;

	for (l = 0; l < m->n_locations; l++) {
		MUST(sp_events_open(&s, m, l, &e) == 0);
		for (depth = 0, last = 0; (n = sp_events_read(s, events, 333, &e)) > 0; all += (size_t)n)
			for (i = 0; i < n; i++) {
				CHECK(events[i].time >= last);
				last = events[i].time;
				depth += events[i].kind == SP_EVENT_ENTER || events[i].kind == SP_EVENT_RESUME ||
				         events[i].kind == SP_EVENT_INHERIT;
				depth -= events[i].kind == SP_EVENT_LEAVE || events[i].kind == SP_EVENT_SUSPEND;
				MUST(depth >= 0);
			}
		CHECK(n == 0 && depth == 0);
		sp_events_close(s);
	}
	return all;
}

uint32_t scratch_path(const struct sp_model *m, const char *const *names)
{
	uint32_t p = 0, c;

	for (; *names; names++, p = c) {
		for (c = m->paths[p].first_child; c != SP_NONE; c = m->paths[c].next_sibling)
			if (strcmp(m->regions[m->paths[c].region].name.p, *names) == 0)
				break;
		if (c == SP_NONE)
			return SP_NONE;
	}
	return p;
}
