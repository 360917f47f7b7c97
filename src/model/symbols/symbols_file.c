/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and writes the file `symbols`. It is text: lines of fields separated by tabs. Other files that are derived from
 * raw files can be made again anywhere; this one cannot, so every version has to stay readable. */
#include "model/symbols/symbols.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/regular.h"
#include "format/checksum.h"
#include "model/builder/builder.h"
#include "model/builder/definition.h"
#include "model/builder/listing.h"
#include "model/builder/problem.h"
#include "model/builder/symbol.h"
#include "model/merge/merge_file.h"
#include "model/model.h"
#include "model/str.h"
#include "reader/reader.h"

enum { MAX_FIELDS = 5, MAX_KEY = 1 << 16, MAX_BYTES = 1 << 28 };
static const char first_line[] = "spartito symbols 1";

/* ---- the table ---- */

/* Longer than any real name; neither stored nor looked up. */
static bool is_too_long(const struct sp_symbol_key *key)
{
	return strlen(key->path) + strlen(key->build) + strlen(key->symbol) > MAX_KEY - 16;
}

/* The number of a key: the address, then path, build and symbol with their NULs. */
static uint32_t number_of(struct sp_known_symbols *k, const struct sp_symbol_key *key)
{
	const size_t lengths[3] = {strlen(key->path) + 1, strlen(key->build) + 1, strlen(key->symbol) + 1};
	const char *const texts[3] = {key->path, key->build, key->symbol};
	size_t n = sizeof(key->address), i;
	char bytes[MAX_KEY];

	memcpy(bytes, &key->address, n);
	for (i = 0; i < 3; i++) {
		memcpy(bytes + n, texts[i], lengths[i]);
		n += lengths[i];
	}
	return sp_intern(&k->keys, bytes, n);
}

/* Finds or adds the entry of a key that is not too long; NULL: no memory. */
static struct sp_known_symbol *entry_of(struct sp_known_symbols *k, const struct sp_symbol_key *key)
{
	const uint32_t i = number_of(k, key);

	if (i == SP_INTERN_FAILED)
		return NULL;
	if (i == k->n) {
		if (!sp_grow(&k->p, k->n, &k->capacity, sizeof(*k->p)))
			return NULL;
		k->p[k->n++] = (struct sp_known_symbol){.reported = false};
	}
	return &k->p[i];
}

void sp_known_symbols_free(struct sp_known_symbols *k)
{
	sp_intern_free(&k->keys);
	free(k->p);
	*k = (struct sp_known_symbols){.read = false};
}

/* ---- reading ---- */

/* The value of a hexadecimal digit; -1: not a digit. */
static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes \x.. in place; false: invalid characters after a backslash. */
static bool plain(char *text)
{
	char *to = text;

	for (; *text; text++) {
		if (*text == '\\') {
			if (text[1] != 'x' || digit(text[2]) < 0 || digit(text[3]) < 0 ||
			    digit(text[2]) + digit(text[3]) == 0)
				return false;
			*to++ = (char)(digit(text[2]) * 16 + digit(text[3]));
			text += 3;
		} else {
			*to++ = *text;
		}
	}
	*to = 0;
	return true;
}

/* Splits a line into its fields, at most MAX_FIELDS. Returns their number; 0: damaged. */
static int split(char *line, char *field[MAX_FIELDS])
{
	int n = 0, i;

	for (; line && n < MAX_FIELDS; n++)
		field[n] = strsep(&line, "\t");
	for (i = 0; i < n; i++)
		if (!plain(field[i]))
			return 0;
	return line ? 0 : n;
}

static bool number(const char *text, int base, uint32_t *out)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(text, &end, base);
	*out = (uint32_t)n;
	return *text >= '0' && !*end && !errno && n <= UINT32_MAX;
}

struct place {
	char *build, *path; /* owned; of the object that the current lines belong to */
	uint64_t sum;       /* checksum of the lines before */
};

/* The last line: the number of functions, and the checksum of all lines before it (missing in older files). */
static bool is_end(const struct sp_builder *b, char *const field[MAX_FIELDS], int n, const struct place *o)
{
	uint32_t count;
	char sum[9];

	snprintf(sum, sizeof(sum), "%" PRIx32, sp_raw_sum_end(o->sum));
	return number(field[1], 10, &count) && count == b->known.n && (n == 2 || strcmp(field[2], sum) == 0);
}

/* Returns 1 for the last line, 0 for others, -1 if the line is invalid. */
static int read_line(struct sp_builder *b, char *line, struct place *o)
{
	char *field[MAX_FIELDS];
	const int n = split(line, field);
	struct sp_known_symbol *s;
	struct sp_symbol_key key;

	if ((n == 2 || n == 3) && strcmp(field[0], "end") == 0)
		return is_end(b, field, n, o) ? 1 : -1;
	if (n == 3 && strcmp(field[0], "object") == 0) {
		free(o->build);
		free(o->path);
		o->build = strdup(field[1]);
		o->path = strdup(field[2]);
		return o->build && o->path ? 0 : -1;
	}
	key = (struct sp_symbol_key){.path = o->path, .build = o->build};
	if (n != MAX_FIELDS || !o->path || !o->build || !number(field[0], 16, &key.address))
		return -1;
	key.symbol = field[1];
	s = is_too_long(&key) ? NULL : entry_of(&b->known, &key);
	if (!s || !number(field[4], 10, &s->is.line))
		return -1;
	s->is.name = (struct sp_str){sp_arena_copy(&b->scratch, field[2], strlen(field[2])), strlen(field[2])};
	s->is.file = (struct sp_str){sp_arena_copy(&b->scratch, field[3], strlen(field[3])), strlen(field[3])};
	s->reported = s->is.name.p && s->is.file.p;
	return 0;
}

static void read_lines(struct sp_builder *b, FILE *f)
{
	struct place o = {.sum = 0};
	size_t capacity = 0, at = 0;
	uint64_t sum;
	char *line = NULL;
	ssize_t n;
	int rc = 0;

	while (rc == 0 && (n = getline(&line, &capacity, f)) > 0) {
		/* a line with a NUL, or without an end, is damage */
		rc = line[n - 1] == '\n' && strlen(line) == (size_t)n ? 0 : -1;
		sum = sp_raw_sum_bytes(o.sum, line, (size_t)n);
		line[strcspn(line, "\n")] = 0;
		if (rc == 0)
			rc = at++ ? read_line(b, line, &o) : -(strcmp(line, first_line) != 0);
		o.sum = sum;
	}
	if (rc != 1)
		sp_model_problem(
		    b->m,
		    "%s: damaged in line %zu: compiled functions that it does not name are read from their "
		    "object files",
		    SP_SYMBOLS_NAME, at + (rc == 0));
	free(line);
	free(o.build);
	free(o.path);
}

static void read_once(struct sp_builder *b)
{
	char path[4400];
	FILE *f;

	if (b->known.read)
		return;
	b->known.read = true;
	b->known.keys.arena = &b->scratch;
	snprintf(path, sizeof(path), "%s/%s", b->m->dir.p, SP_SYMBOLS_NAME);
	f = sp_fopen_regular(path, MAX_BYTES);
	if (f) {
		read_lines(b, f);
		fclose(f);
	} else if (errno != ENOENT) {
		sp_model_problem(b->m, "%s: %s", SP_SYMBOLS_NAME, sp_open_reason(errno));
	}
}

const struct sp_symbol *sp_symbols_known(struct sp_builder *b, const struct sp_symbol_key *key)
{
	struct sp_known_symbol *s;

	read_once(b);
	s = b->known.n && !is_too_long(key) ? entry_of(&b->known, key) : NULL;
	return s && s->reported ? &s->is : NULL;
}

/* ---- writing ---- */

static void put(FILE *f, const char *text, char end)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == '\\' || *text == 0x7f)
			fprintf(f, "\\x%02x", (unsigned char)*text);
		else
			fputc(*text, f);
	fputc(end, f);
}

static struct sp_symbol_key key_of(const struct sp_known_symbols *k, size_t i)
{
	struct sp_symbol_key key;
	const char *at = k->keys.entries[i].p;

	memcpy(&key.address, at, sizeof(key.address));
	key.path = at + sizeof(key.address);
	key.build = key.path + strlen(key.path) + 1;
	key.symbol = key.build + strlen(key.build) + 1;
	return key;
}

static size_t put_functions(FILE *f, const struct sp_known_symbols *k)
{
	struct sp_symbol_key key, before = {.path = "", .build = ""};
	size_t i, n = 0;

	fprintf(f, "%s\n", first_line);
	for (i = 0; i < k->n; i++) {
		if (!k->p[i].reported)
			continue;
		key = key_of(k, i);
		if (strcmp(key.path, before.path) != 0 || strcmp(key.build, before.build) != 0) {
			fputs("object\t", f);
			put(f, key.build, '\t');
			put(f, key.path, '\n');
		}
		before = key;
		fprintf(f, "%" PRIx32 "\t", key.address);
		put(f, key.symbol, '\t');
		put(f, k->p[i].is.name.p, '\t');
		put(f, k->p[i].is.file.p, '\t');
		fprintf(f, "%" PRIu32 "\n", k->p[i].is.line);
		n++;
	}
	return n;
}

/* Writes all lines. False: no memory; other errors are those of f. */
static bool put_all(FILE *f, const struct sp_known_symbols *k)
{
	size_t bytes = 0, n;
	char *text = NULL, *line, *end;
	FILE *memory = open_memstream(&text, &bytes);
	uint64_t sum = 0;

	n = memory ? put_functions(memory, k) : 0;
	if (!memory || fclose(memory) != 0) {
		free(text);
		return false;
	}
	for (line = text; line < text + bytes; line = end + 1) {
		end = strchr(line, '\n');
		sum = sp_raw_sum_bytes(sum, line, (size_t)(end + 1 - line));
	}
	fwrite(text, 1, bytes, f);
	fprintf(f, "end\t%zu\t%" PRIx32 "\n", n, sp_raw_sum_end(sum));
	free(text);
	return true;
}

static int write_file(const struct sp_builder *b, struct sp_err *e)
{
	const char *dir = b->m->dir.p;
	struct sp_merge_file file;
	FILE *f;
	int fd, rc;

	if (sp_merge_file_create(&file, dir, SP_SYMBOLS_NAME, e))
		return -1;
	fd = dup(file.fd);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f && fd >= 0)
		close(fd);
	rc = !f || !put_all(f, &b->known) || ferror(f);
	rc |= f && fclose(f) != 0;
	rc = rc ? sp_fail(e, errno, "%s cannot be written: %s", SP_SYMBOLS_NAME, strerror(errno))
	        : sp_merge_file_place(&file, dir, e);
	sp_merge_file_close(&file, dir, rc != 0);
	return rc;
}

/* ---- all compiled functions of an experiment ---- */

/* The state of one raw file: for each path of an object file the build id that was recorded last. */
struct keeping {
	struct sp_builder *b;
	struct sp_symbols_kept *kept;
	struct sp_intern paths; /* in the builder's scratch */
	const char **builds;    /* owned; for each path, in the builder's scratch arena; NULL: not recorded */
	size_t n, capacity;
};

/* The build id's slot of a path; NULL: no memory. */
static const char **build_of(struct keeping *k, const char *path)
{
	const uint32_t i = sp_intern(&k->paths, path, strlen(path));

	if (i == SP_INTERN_FAILED)
		return NULL;
	if (i == k->n) {
		if (!sp_grow(&k->builds, k->n, &k->capacity, sizeof(*k->builds)))
			return NULL;
		k->builds[k->n++] = NULL;
	}
	return &k->builds[i];
}

/* Looks up a function of a known build; functions of unknown builds are skipped. */
static int keep(struct keeping *k, const struct sp_symbol_key *key)
{
	struct sp_known_symbol *s = entry_of(&k->b->known, key);
	bool found;

	if (!s)
		return -1;
	if (s->counted)
		return 0;
	s->counted = true;
	k->kept->functions++;
	if (s->reported)
		return 0;
	if (sp_symbols_look_up(k->b, key, &s->is, &found))
		return -1;
	s->reported = found;
	k->kept->added += found;
	k->kept->unknown += !found;
	return 0;
}

static int keep_definition(void *arg, const struct sp_raw_def *d, uint64_t at, const struct sp_str part[4])
{
	static const size_t prefix = sizeof(SP_META_OBJECT) - 1;
	struct keeping *k = arg;
	struct sp_arena *scratch = &k->b->scratch;
	struct sp_symbol_key key;
	const char *path, **build;

	(void)at;
	if (d->kind == SP_RAW_DEF_META && part[0].n > prefix && memcmp(part[0].p, SP_META_OBJECT, prefix) == 0) {
		path = sp_arena_copy(scratch, part[0].p + prefix, part[0].n - prefix);
		build = path ? build_of(k, path) : NULL;
		if (build)
			*build = sp_arena_copy(scratch, part[1].p, part[1].n);
		return build && *build ? 0 : -1;
	}
	if (d->kind != SP_RAW_DEF_REGION || (d->flags & SP_RAW_REGION_KIND_MASK) != SP_RAW_REGION_NATIVE)
		return 0;
	key = (struct sp_symbol_key){.path = sp_arena_copy(scratch, part[2].p, part[2].n),
	                             .symbol = sp_arena_copy(scratch, part[1].p, part[1].n),
	                             .address = d->b};
	if (!key.path || !key.symbol)
		return -1;
	build = build_of(k, key.path);
	if (!build)
		return -1;
	key.build = *build ? *build : "";
	return *key.path && *key.build && !is_too_long(&key) ? keep(k, &key) : 0;
}

/* Loading the model reports damage. */
static void ignore(void *arg, const char *text)
{
	(void)arg;
	(void)text;
}

static int keep_file(struct keeping *k, const char *dir, const char *name)
{
	struct sp_err unread;
	struct sp_raw_file *f;
	char path[4400];
	size_t i;
	int rc = 0;

	snprintf(path, sizeof(path), "%s/raw/%s", dir, name);
	if (sp_raw_open(&f, path, name, ignore, NULL, &unread))
		return unread.code == ENOMEM ? -1 : 0;
	sp_intern_free(&k->paths);
	k->paths = (struct sp_intern){.arena = &k->b->scratch};
	k->n = 0;
	for (i = 0; i < f->defs.count && rc == 0; i++)
		rc = sp_walk_definitions(f, &f->parts[f->defs.first + i], keep_definition, k);
	sp_raw_close(f);
	return rc;
}

int sp_symbols_keep(const char *dir, struct sp_symbols_kept *kept, struct sp_err *e)
{
	struct sp_listing list = {.n = 0};
	struct sp_builder b;
	struct keeping k = {.b = &b, .kept = kept};
	size_t i;
	int rc = 0;

	*kept = (struct sp_symbols_kept){0};
	if (sp_listing_read(&list, dir, e))
		return sp_fail_in(e, "%s", dir);
	if (sp_builder_open(&b, dir, 0, 0, e)) {
		sp_listing_free(&list);
		return -1;
	}
	read_once(&b);
	for (i = 0; i < list.n && rc == 0; i++)
		if (!list.files[i].error)
			rc = keep_file(&k, dir, list.files[i].name);
	if (rc)
		rc = sp_model_no_memory(e);
	else if (kept->added)
		rc = write_file(&b, e) ? sp_fail_in(e, "%s", dir) : 0;
	sp_intern_free(&k.paths);
	free(k.builds);
	sp_listing_free(&list);
	sp_builder_close(&b);
	sp_model_free(b.m);
	return rc;
}
