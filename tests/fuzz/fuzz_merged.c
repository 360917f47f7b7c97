/* SPDX-License-Identifier: BSD-3-Clause */
/* A merged file changed behind its checksum: its data is consistent, or it is refused. The input is a list of changes:
 * width and offset (u32: two bits, then the offset), and the new value (i32). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generator/rawgen.h"
#include "input.h"
#include "check.h"
#include "model/builder/listing.h"
#include "model/builder/steps.h"
#include "model/merge/image.h"
#include "model/merge/merge.h"
#include "model/merge/pack.h"
#include "model/model.h"

static struct {
	const char *dir;
	char path[128];
	struct sp_listing list;
	unsigned char *bytes, *changed; /* of the merged file, and of the changed copy */
	size_t n;
} merged;

static void prepare(void)
{
	struct sp_merge_result r;
	struct sp_err e;
	char raw[128];
	FILE *f;

	merged.dir = input_directory();
	snprintf(raw, sizeof(raw), "%s/raw/sample.raw", merged.dir);
	rg_write(rg_sample(true), raw, SP_RAW_ENDED_NORMAL, 9000);
	snprintf(raw, sizeof(raw), "%s/raw/rank.raw", merged.dir);
	rg_write(rg_mpi_rank(7, 0, 1, true, NULL), raw, SP_RAW_ENDED_NORMAL, 9000);
	snprintf(merged.path, sizeof(merged.path), "%s/" SP_IMAGE_NAME, merged.dir);
	snprintf(raw, sizeof(raw), "%s/raw/tasks.raw", merged.dir);
	rg_write(rg_tasks(true), raw, SP_RAW_ENDED_NORMAL, 9000);
	snprintf(raw, sizeof(raw), "%s/raw/waits.raw", merged.dir);
	rg_write(rg_waits(true), raw, SP_RAW_ENDED_NORMAL, 9000);
	if (sp_merge(merged.dir, &(struct sp_merge_options){.force = true}, NULL, &r, &e) ||
	    sp_listing_read(&merged.list, merged.dir, &e))
		abort();
	merged.n = r.bytes;
	merged.bytes = malloc(merged.n);
	merged.changed = malloc(merged.n);
	f = fopen(merged.path, "rb");
	if (!merged.bytes || !merged.changed || !f || fread(merged.bytes, 1, merged.n, f) != merged.n)
		abort();
	fclose(f);
}

/* changes the header, the call tree and the stream; the stream contains the checksums of rows */
static void change(const uint8_t *data, size_t n)
{
	struct sp_image_header *h = (struct sp_image_header *)merged.changed;
	const struct sp_image_header *was = (struct sp_image_header *)merged.bytes;
	const uint64_t tree = was->tree_at;
	uint64_t at, value;
	uint32_t where;
	int32_t what;

	memcpy(merged.changed, merged.bytes, merged.n);
	for (; n >= 8; data += 8, n -= 8) {
		memcpy(&where, data, 4);
		memcpy(&what, data + 4, 4);
		value = (uint64_t)(int64_t)what;
		at = (where & 0x3fffffff) % (merged.n - tree + sizeof(*h));
		at = at < sizeof(*h) ? at : at - sizeof(*h) + tree;
		if (at + (1u << (where >> 30)) <= merged.n)
			memcpy(merged.changed + at, &value, 1u << (where >> 30));
	}
	if (h->tree_at == tree && h->n_paths == was->n_paths && h->n_metrics == was->n_metrics)
		h->tree_hash = sp_image_tree_hash(h, (char *)merged.changed + tree, false);
	if (h->stream_at <= merged.n && h->stream_bytes <= merged.n - h->stream_at)
		h->stream_hash = sp_pack_hash(merged.changed + h->stream_at, h->stream_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct sp_err e = {.code = 0};
	struct sp_model *m;
	FILE *f;
	int rc;

	if (!merged.bytes)
		prepare();
	change(data, n);
	f = fopen(merged.path, "wb");
	if (!f || fwrite(merged.changed, 1, merged.n, f) != merged.n || fclose(f) != 0)
		abort();
	rc = sp_image_load(&m, merged.dir, &merged.list, &e);
	if (rc < 0 && !e.text[0])
		abort();
	if (rc == 0) {
		check_model(m);
		sp_model_free(m);
	}
	return 0;
}
