/* SPDX-License-Identifier: BSD-3-Clause */
/* The setting `label`: regions whose names contain the arguments of a call, the file and the line.
 *
 * File and line are known with the code object, and so is the whole label if a function takes no arguments: it is then
 * the name of the function's region. For a function with arguments each call finds the region for its values, packed
 * as bytes (values.c); the label is made from these bytes once. */
#include "hook/naming/label.h"
#include "hook/naming.h"
#include "hook/naming/names.h"
#include "hook/slot.h"
#include "hook/stacks.h"
#include "record/definitions.h"
#include "record/filter.h"
#include "record/process.h"
#include "record/settings.h"

#include <stdlib.h>
#include <string.h>

static struct {
	bool args, file, line, full;
	uint32_t limit;
} wanted;

/* ---- the setting ---- */

static void forget(void);

static bool word_is(const char *p, size_t n, const char *word)
{
	return n == strlen(word) && memcmp(p, word, n) == 0;
}

int sp_label_change(const char *words)
{
	bool args = false, file = false, line = false, full = false;

	for (const char *p = words; *p;) {
		size_t n = strcspn(p, ", \n");
		if (word_is(p, n, "args")) {
			args = true;
		} else if (word_is(p, n, "line")) {
			line = true;
		} else if (word_is(p, n, "file")) {
			file = true;
		} else if (word_is(p, n, "path")) {
			file = full = true;
		} else if (n) {
			char word[100];
			snprintf(word, sizeof word, "%.*s", (int)(n < 99 ? n : 99), p);
			PyErr_Format(PyExc_ValueError, "label: '%s' is not one of args, file, path, line", word);
			return -1;
		}
		p += n + strspn(p + n, ", \n");
	}
	wanted.args = args;
	wanted.file = file;
	wanted.line = line;
	wanted.full = full;
	return 0;
}

int sp_label_start(const struct sp_settings *s)
{
	if (sp_label_change(s->label) || sp_values_start(s->label_repr))
		return -1;
	forget();
	wanted.limit = s->label_limit;
	return 0;
}

bool sp_label_any(void)
{
	return wanted.args || wanted.file || wanted.line;
}

static int n_arguments(const PyCodeObject *code)
{
	return code->co_argcount + code->co_kwonlyargcount + !!(code->co_flags & CO_VARARGS) +
	       !!(code->co_flags & CO_VARKEYWORDS);
}

bool sp_label_by_call(const PyCodeObject *code, const char *module, const char *name, const char *file)
{
	return wanted.args && n_arguments(code) > 0 &&
	       (sp_filter_owner(sp_process.filter, module, name, file) != SP_OWNER_STANDARD ||
	        sp_filter_includes(sp_process.filter, module, name, file));
}

/* "fA", "fA:LINE", "[fA][file]" or "[fA][file:LINE]" */
static char *label_text(struct sp_text name, struct sp_text args, const char *file, uint32_t line, size_t *n)
{
	char *text = NULL, number[16] = "";
	const char *slash = wanted.full ? NULL : strrchr(file, '/');

	if (wanted.line)
		snprintf(number, sizeof number, ":%u", line);
	int r = wanted.file ? asprintf(&text, "[%.*s%.*s][%s%s]", (int)name.n, name.p, (int)args.n, args.p,
	                               slash ? slash + 1 : file, number)
	                    : asprintf(&text, "%.*s%.*s%s", (int)name.n, name.p, (int)args.n, args.p, number);
	*n = r < 0 ? 0 : (size_t)r;
	return r < 0 ? NULL : text;
}

char *sp_label_of_code(const PyCodeObject *code, struct sp_text name, const char *file, size_t *n)
{
	const struct sp_text args = {"()", wanted.args && !n_arguments(code) ? 2 : 0};

	return label_text(name, args, file, code->co_firstlineno > 0 ? (uint32_t)code->co_firstlineno : 0, n);
}

/* ---- labelled functions, by the id of their plain region ---- */

/* A function whose calls have separate labels. */
struct function {
	struct sp_text module, name, file; /* owned, in the same block as the struct */
	uint32_t line;
	unsigned flags;
	struct sp_arguments arguments; /* owned */
	struct sp_raw_code facts;
	bool not_imported; /* calls during an import get no label: the function belongs to a package or to no file, like
	                      functions that the standard library generates */
};
static struct function **functions; /* owned; under the lock */
static uint32_t n_functions;
static unsigned reading; /* number of calls whose values are being read: a new measurement may begin meanwhile, which
                            frees everything */

/* Guards all tables, because each interpreter may have its own GIL. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct sp_text keep(char **at, struct sp_text s)
{
	struct sp_text kept = {*at, s.n};

	*at = mempcpy(*at, s.p, s.n);
	*(*at)++ = 0;
	return kept;
}

static bool grow_functions(uint32_t region)
{
	uint32_t n = n_functions ? n_functions : 256;

	while (n <= region)
		n *= 2;
	if (n == n_functions)
		return true;
	struct function **more = realloc(functions, n * sizeof(struct function *));
	if (!more)
		return false;
	memset(more + n_functions, 0, (n - n_functions) * sizeof(struct function *));
	functions = more;
	n_functions = n;
	return true;
}

bool sp_label_add(uint32_t region, PyCodeObject *code, struct sp_text module, struct sp_text name, struct sp_text file,
                  uint32_t line, unsigned flags)
{
	struct function *f = malloc(sizeof *f + module.n + name.n + file.n + 3);

	if (!f)
		return false;
	char *at = (char *)(f + 1);
	*f = (struct function){.module = keep(&at, module),
	                       .name = keep(&at, name),
	                       .file = keep(&at, file),
	                       .line = line,
	                       .flags = flags,
	                       .facts = sp_code_facts(code)};
	const enum sp_owner owner = sp_filter_owner(sp_process.filter, f->module.p, f->name.p, f->file.p);
	f->not_imported = !sp_filter_includes(sp_process.filter, f->module.p, f->name.p, f->file.p) &&
	                  (owner == SP_OWNER_LIBRARIES || (owner == SP_OWNER_OWN && *f->file.p == '<'));
	if (sp_arguments_of(&f->arguments, code, n_arguments(code))) {
		free(f);
		return false;
	}
	pthread_mutex_lock(&lock);
	bool fits = grow_functions(region);
	if (fits)
		functions[region] = f;
	pthread_mutex_unlock(&lock);
	if (!fits) {
		sp_arguments_free(&f->arguments);
		free(f);
	}
	return fits;
}

/* ---- labels by function and values; generators by their frame ---- */

/* The region of a function with certain values. */
struct label {
	struct sp_values *values; /* owned; NULL: the entry is free */
	uint64_t hash;
	uint32_t function, region;
};
static struct label *labels; /* owned */
static size_t labels_size, n_labels;

/* A generator or coroutine keeps the label with which it began. A frame that begins at the same address replaces the
 * entry. If there are too many entries, all are dropped: a generator that resumes after that gets the label of its
 * current values. */
enum { MAX_FRAMES = 1 << 20 };
struct running {
	const sp_frame *frame; /* NULL: the entry is free */
	uint32_t function, region;
};
static struct running *running; /* owned */
static size_t running_size, n_running;

static struct label *find(uint32_t function, const struct sp_values *v, uint64_t hash)
{
	size_t i = hash & (labels_size - 1);

	while (labels[i].values &&
	       !(labels[i].hash == hash && labels[i].function == function && sp_values_same(labels[i].values, v)))
		i = (i + 1) & (labels_size - 1);
	return &labels[i];
}

static bool grow_labels(void)
{
	struct label *old = labels, *fresh;
	size_t n = labels_size;

	if (n && n_labels * 2 < n)
		return true;
	fresh = calloc(n ? n * 2 : 512, sizeof *fresh);
	if (!fresh)
		return false;
	labels = fresh;
	labels_size = n ? n * 2 : 512;
	for (size_t i = 0; i < n; i++)
		if (old[i].values)
			*find(old[i].function, old[i].values, old[i].hash) = old[i];
	free(old);
	return true;
}

static struct running *find_running(const sp_frame *frame)
{
	size_t i = ((uint64_t)frame * UINT64_C(0x9e3779b97f4a7c15)) >> 32 & (running_size - 1);

	while (running[i].frame && running[i].frame != frame)
		i = (i + 1) & (running_size - 1);
	return &running[i];
}

static bool grow_running(void)
{
	struct running *old = running, *fresh;
	size_t n = running_size;

	if (n && n_running * 2 < n)
		return true;
	if (n == MAX_FRAMES) {
		memset(running, 0, n * sizeof *running);
		n_running = 0;
		return true;
	}
	fresh = calloc(n ? n * 2 : 256, sizeof *fresh);
	if (!fresh)
		return false;
	running = fresh;
	running_size = n ? n * 2 : 256;
	for (size_t i = 0; i < n; i++)
		if (old[i].frame)
			*find_running(old[i].frame) = old[i];
	free(old);
	return true;
}

static void begins(const sp_frame *frame, uint32_t function, uint32_t region)
{
	if (!grow_running())
		return;
	struct running *r = find_running(frame);
	n_running += !r->frame;
	*r = (struct running){frame, function, region};
}

/* ---- calls beyond the limit ---- */

static char *over; /* in the file: the digits in the record that counts them; NULL: no record yet */
static uint64_t n_over;

/* Makes the record at the first such call and keeps it up to date, so that it is right whenever the process ends. */
static void count_over(void)
{
	enum { DIGITS = 20 };
	static const char key[] = SP_META_MISSING_LABELS;
	char text[200], digits[DIGITS + 1];
	n_over++;
	if (!over) {
		int n = snprintf(text, sizeof text,
		                 "labels of calls beyond the %u of --label-limit; calls that are shown without their "
		                 "arguments: %*s",
		                 wanted.limit, DIGITS, "");
		const struct sp_text record[2] = {{key, sizeof key - 1}, {text, (size_t)n}};
		char *at = sp_define_live(SP_RAW_DEF_META, 0, 0, 0, record, 2);
		over = at ? at + sizeof key - 1 + n - DIGITS : NULL;
	}
	if (!over)
		return;
	int n = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n_over);
	memcpy(over, digits, (size_t)n);
}

/* in the child of a fork: the record is the parent's, and the lock's holder does not exist */
static void forked(void)
{
	pthread_mutex_init(&lock, NULL);
	over = NULL;
	n_over = 0;
}

/* ---- calls ---- */

/* Defines the region of a label. Returns 0 if there is no space. */
static uint32_t define(const struct function *f, const struct sp_values *v)
{
	size_t n;
	struct sp_values_text args = sp_values_text(v, &f->arguments);
	char *text = args.p ? label_text(f->name, (struct sp_text){args.p, args.n}, f->file.p, f->line, &n) : NULL;
	uint32_t id = text ? sp_define_region(f->module, (struct sp_text){text, n}, f->file, f->line, f->flags) : 0;

	sp_code_define(id, &f->facts);
	free(text);
	free(args.p);
	return id;
}

/* Whether a module is being imported: imports are called from a frame of importlib._bootstrap. */
static bool in_import(sp_frame *entered)
{
	static const char bootstrap[] = "<frozen importlib._bootstrap>";

	for (sp_frame *f = sp_hook_caller(entered); f; f = sp_frame_back(f)) {
		PyObject *file = sp_frame_code(f)->co_filename;
		if (PyUnicode_IS_COMPACT_ASCII(file) && PyUnicode_GET_LENGTH(file) == sizeof bootstrap - 1 &&
		    memcmp(PyUnicode_DATA(file), bootstrap, sizeof bootstrap - 1) == 0)
			return true;
	}
	return false;
}

static uint32_t region_for(uint32_t function, const struct function *f, const struct sp_values *v, sp_frame *frame)
{
	const uint64_t hash = sp_values_hash(v) ^ function * UINT64_C(0x9e3779b97f4a7c15);

	if (!grow_labels())
		return function;
	struct label *l = find(function, v, hash);
	if (l->values)
		return l->region;
	if (f->not_imported && in_import(frame))
		return function;
	struct sp_values *kept = n_labels < wanted.limit ? sp_values_copy(v) : NULL;
	const uint32_t region = kept ? define(f, v) : 0;
	if (!region) {
		free(kept);
		count_over();
		return function;
	}
	*l = (struct label){kept, hash, function, region};
	n_labels++;
	return region;
}

static bool knows(uint32_t function)
{
	return function < n_functions && functions[function];
}

/* A call of a generator function runs a separate frame once, to make the generator; the body does not run. */
static bool makes_generator(uint64_t slot, const sp_frame *f)
{
#if PY_VERSION_HEX >= 0x030B0000
	return slot & SP_SLOT_GENERATOR && f->owner != FRAME_OWNED_BY_GENERATOR;
#else
	(void)slot, (void)f;
	return false;
#endif
}

uint64_t sp_label_slot(uint64_t slot, sp_frame *f)
{
	static bool fork_seen;
	const uint32_t function = (uint32_t)(slot >> SP_SLOT_ID);
	const bool generator = slot & SP_SLOT_GENERATOR, first = !generator || sp_frame_is_first(f);
	uint32_t region = 0;
	struct sp_values v;

	if (makes_generator(slot, f))
		return slot;
	pthread_mutex_lock(&lock);
	if (!fork_seen)
		fork_seen = pthread_atfork(NULL, NULL, forked) == 0;
	const struct function *known = knows(function) ? functions[function] : NULL;
	if (known && !first && running_size) {
		const struct running *r = find_running(f);
		region = r->frame == f && r->function == function ? r->region : 0;
	}
	/* under the lock, with which forget() reads it */
	if (known && !region)
		__atomic_add_fetch(&reading, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&lock);
	if (!known)
		return slot;
	if (!region) {
		/* this may run code of the program, for the types of --label-repr */
		sp_values_of(&v, &known->arguments, f);
		__atomic_sub_fetch(&reading, 1, __ATOMIC_RELEASE);
		pthread_mutex_lock(&lock);
		if (knows(function) && functions[function] == known) {
			region = region_for(function, known, &v, f);
			if (generator)
				begins(f, function, region);
		} else {
			region = function;
		}
		pthread_mutex_unlock(&lock);
	}
	return (slot & ((UINT64_C(1) << SP_SLOT_ID) - 1)) | (uint64_t)region << SP_SLOT_ID;
}

static void forget(void)
{
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < n_functions; i++)
		if (functions[i] && !__atomic_load_n(&reading, __ATOMIC_ACQUIRE)) {
			sp_arguments_free(&functions[i]->arguments);
			free(functions[i]);
		}
	for (size_t i = 0; i < labels_size; i++)
		free(labels[i].values);
	free(functions);
	free(labels);
	free(running);
	functions = NULL;
	labels = NULL;
	running = NULL;
	n_functions = 0;
	labels_size = n_labels = running_size = n_running = 0;
	over = NULL;
	n_over = 0;
	pthread_mutex_unlock(&lock);
}
