/* SPDX-License-Identifier: BSD-3-Clause */
#include "reader/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/guard.h"
#include "base/regular.h"
#include "format/checksum.h"
#include "reader/reader.h"
#include "reader/running.h"

enum { HEAD = sizeof(struct sp_raw_chunk) };

struct sealing {
	const char *path;
	int fd;
	bool damaged;
};

static void on_problem(void *arg, const char *text)
{
	struct sealing *s = arg;

	(void)text;
	s->damaged = true;
}

static int seal_part(const struct sealing *s, const struct sp_raw_file *f, const struct sp_raw_part *p)
{
	const off_t at = (off_t)(p->offset + offsetof(struct sp_raw_chunk, words));
	struct sp_raw_chunk c;

	memcpy(&c, f->map + p->offset, sizeof(c));
	sp_raw_chunk_seal(&c, f->map + p->offset + HEAD, p->bytes - HEAD);
	return pwrite(s->fd, &c.words, sizeof(c.words), at) == sizeof(c.words) ? 0 : -1;
}

/* Changes nothing in a damaged file: the checksums would cover the damage. */
static int seal_file(void *arg)
{
	struct sealing *s = arg;
	struct sp_err ignored = {.code = 0};
	struct sp_raw_header h;
	struct sp_raw_file *f;
	size_t i;
	int rc;

	if (sp_raw_open_descriptor(&f, s->fd, s->path, on_problem, s, &ignored))
		return -1;
	rc = s->damaged ? -1 : 0;
	for (i = 0; i < f->n_parts && rc == 0; i++)
		if (!f->parts[i].sum)
			rc = seal_part(s, f, &f->parts[i]);
	memcpy(&h, f->map, sizeof(h));
	h.sum = sp_raw_header_sum(&h);
	if (rc == 0 && pwrite(s->fd, &h.sum, sizeof(h.sum), offsetof(struct sp_raw_header, sum)) != sizeof(h.sum))
		rc = -1;
	sp_raw_close(f);
	return rc;
}

bool sp_raw_seal(const char *path)
{
	struct sealing s = {.path = path, .fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
	struct sp_err ignored = {.code = 0};
	struct sp_raw_header h;
	struct stat st;
	bool sealed = false;

	if (s.fd < 0)
		return false;
	if (fstat(s.fd, &st) == 0 && S_ISREG(st.st_mode) && pread(s.fd, &h, sizeof(h), 0) == sizeof(h) &&
	    memcmp(h.magic, SP_RAW_MAGIC, sizeof(h.magic)) == 0 && h.byte_order == SP_RAW_BYTE_ORDER &&
	    h.version == SP_RAW_VERSION && !h.sum && !sp_raw_may_be_written(&h, path)) {
		sealed = sp_guarded(seal_file, &s, &ignored) == 0;
		futimens(s.fd, (struct timespec[]){st.st_atim, st.st_mtim});
	}
	close(s.fd);
	return sealed;
}
