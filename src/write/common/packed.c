/* SPDX-License-Identifier: BSD-3-Clause */
#include "write/common/packed.h"

#include <errno.h>
#include <stdlib.h>
#ifdef SP_HAVE_ZLIB
#include <zlib.h>
#endif

static bool ends_with_gz(const char *path)
{
	const size_t n = strlen(path);

	return n > 3 && strcmp(path + n - 3, ".gz") == 0;
}

#ifdef SP_HAVE_ZLIB
enum {
	CAPACITY = 1 << 16,
	GZIP = 16,
	LEVEL = 4 /* takes much less time than the default, 6, and makes slightly larger files */
};

struct packing {
	struct sp_out_packer packer;
	z_stream z;
	unsigned char buffer[CAPACITY];
};

/* Compresses n bytes, at most SP_OUT_BUFFER. */
static void put(struct sp_out *o, char *p, size_t n, bool last)
{
	struct packing *k = (struct packing *)o->packer;

	k->z.next_in = (unsigned char *)p;
	k->z.avail_in = (uInt)n;
	do {
		k->z.next_out = k->buffer;
		k->z.avail_out = CAPACITY;
		deflate(&k->z, last ? Z_FINISH : Z_NO_FLUSH); /* can fail only if its state is damaged */
		sp_out_raw(o, (const char *)k->buffer, CAPACITY - k->z.avail_out);
	} while (k->z.avail_out == 0);
}

static void end(struct sp_out_packer *packer)
{
	struct packing *k = (struct packing *)packer;

	deflateEnd(&k->z);
	free(k);
}

static struct sp_out_packer *packer_new(struct sp_err *e)
{
	struct packing *k = calloc(1, sizeof *k);

	if (k && deflateInit2(&k->z, LEVEL, Z_DEFLATED, GZIP + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK) {
		k->packer = (struct sp_out_packer){put, end};
		return &k->packer;
	}
	free(k);
	sp_fail(e, ENOMEM, "out of memory");
	return NULL;
}
#else
static struct sp_out_packer *packer_new(struct sp_err *e)
{
	sp_fail(e, ENOSYS,
	        "this Spartito was built without zlib, and cannot pack a file called .gz: leave that off, or install "
	        "zlib1g-dev (Debian, Ubuntu) and build Spartito again");
	return NULL;
}
#endif

int sp_packed_open(struct sp_out *o, const char *path, struct sp_err *e)
{
	struct sp_out_packer *packer = NULL;

	if (ends_with_gz(path)) {
		packer = packer_new(e);
		if (!packer)
			return -1;
	}
	if (sp_out_open(o, path, e)) {
		if (packer)
			packer->end(packer);
		return -1;
	}
	o->packer = packer;
	return 0;
}
