/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides which regions are recorded. The last item that matches decides; without a match the region is recorded. +
 * includes, - excludes, ! excludes a function with everything that it calls. */
#include "base/owner/owner.h"
#include "base/script.h"
#include "record/filter.h"
#include "record/settings.h"

#include <errno.h>
#include <fnmatch.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum field { ANY, MODULE, FILE_NAME, FUNCTION, NAME, REGION };

/* One item of a filter, or one pattern. */
struct item {
	char sign; /* + - ! */
	enum field field;
	bool matched;  /* of patterns: it has matched a function */
	char *pattern; /* owned; NULL: regex */
	regex_t regex;
};

struct sp_filter {
	struct item *items; /* owned */
	size_t n;
	bool only_mine;
	bool separate; /* Score-P's filters: the items for files and the others are two lists, and both must include a
	               region */
	struct sp_owners owners;  /* owned */
	struct sp_filter *before; /* owned */
};

static const struct {
	const char *prefix;
	enum field field;
} fields[] = {{"module:", MODULE}, {"file:", FILE_NAME}, {"function:", FUNCTION}, {"name:", NAME}, {"region:", REGION}};

/* Returns where the error of a regular expression begins: the first character from which on all longer prefixes have
 * the same error. regerror() does not report a position. */
static size_t fault_at(const char *text, int fault)
{
	const size_t n = strlen(text);
	char *part = strdup(text);
	size_t at = n;
	while (part && at > 0) {
		regex_t r;
		part[at] = 0;
		int is = regcomp(&r, part, REG_EXTENDED | REG_NOSUB);
		if (!is)
			regfree(&r);
		if (is != fault)
			break;
		at--;
	}
	free(part);
	return at < n ? at + 1 : n;
}

static int pattern_read(struct item *it, const char *text, char *why, size_t n);

static int item_read(struct item *it, const char *text, char *why, size_t n)
{
	if (!*text || !strchr("+-!", *text)) {
		snprintf(why, n, "filter item '%.200s' begins with neither + nor - nor !", text);
		return -EINVAL;
	}
	it->sign = *text++;
	return pattern_read(it, text, why, n);
}

static int pattern_read(struct item *it, const char *text, char *why, size_t n)
{
	it->field = ANY;
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		size_t len = strlen(fields[i].prefix);
		if (!strncmp(text, fields[i].prefix, len)) {
			it->field = fields[i].field;
			text += len;
			break;
		}
	}
	if (strncmp(text, "re:", 3)) {
		it->pattern = strdup(text);
		return it->pattern ? 0 : -ENOMEM;
	}
	int r = regcomp(&it->regex, text + 3, REG_EXTENDED | REG_NOSUB);
	if (!r)
		return 0;
	char reason[128];
	regerror(r, &it->regex, reason, sizeof reason);
	snprintf(why, n, "regular expression '%.200s': %s, at character %zu", text + 3, reason, fault_at(text + 3, r));
	it->pattern = strdup(""); /* tells sp_filter_free() that there is no regex to free */
	return -EINVAL;
}

/* Frees the filter and all its predecessors: a program may change the filter any number of times. */
void sp_filter_free(struct sp_filter *f)
{
	for (struct sp_filter *before; f; f = before) {
		for (size_t i = 0; i < f->n; i++) {
			if (f->items[i].pattern)
				free(f->items[i].pattern);
			else
				regfree(&f->items[i].regex);
		}
		before = f->before;
		free(f->items);
		sp_owners_clear(&f->owners);
		free(f);
	}
}

void sp_filter_follow(struct sp_filter *f, struct sp_filter *before)
{
	f->before = before;
	if (before)
		sp_owners_take(&f->owners, &before->owners);
}

typedef int read_fn(struct item *it, const char *text, char *why, size_t n);

static int read_all(struct sp_filter *f, const char *text, read_fn *read, char *why, size_t n)
{
	char *copy = strdup(text ? text : ""), *rest = copy, *line;
	int r = f && copy ? 0 : -ENOMEM;
	while (!r && (line = strsep(&rest, "\n"))) {
		if (!*line)
			continue;
		struct item *more = realloc(f->items, (f->n + 1) * sizeof *more);
		if (!more) {
			r = -ENOMEM;
			break;
		}
		f->items = more;
		memset(&more[f->n], 0, sizeof *more);
		r = read(&more[f->n++], line, why, n);
	}
	free(copy);
	return r;
}

int sp_filter_new(struct sp_filter **out, const struct sp_settings *settings, const struct sp_owners *owners, char *why,
                  size_t n)
{
	struct sp_filter *f = calloc(1, sizeof *f);
	int r = read_all(f, settings->filter, item_read, why, n);
	*out = NULL;
	if (f) {
		f->only_mine = settings->only_mine;
		f->separate = settings->scorep;
		if (owners)
			sp_owners_take(&f->owners, owners);
		if (!r && sp_owners_add_lines(&f->owners, settings->own, strlen(settings->own)))
			r = -ENOMEM;
	}
	if (r) {
		sp_filter_free(f);
		return r;
	}
	*out = f;
	return 0;
}

int sp_patterns_new(struct sp_filter **out, const char *patterns, char *why, size_t n)
{
	struct sp_filter *f = calloc(1, sizeof *f);
	int r = read_all(f, patterns, pattern_read, why, n);
	*out = r ? NULL : f;
	if (r)
		sp_filter_free(f);
	return r;
}

static bool text_matches(const struct item *it, const char *text)
{
	return it->pattern ? !fnmatch(it->pattern, text, 0) : !regexec(&it->regex, text, 0, NULL, 0);
}

/* A pattern for a module also matches its submodules: "numpy" matches numpy.linalg. */
static bool module_matches(const struct item *it, const char *module)
{
	if (text_matches(it, module))
		return true;
	const char *dot = it->pattern ? strrchr(module, '.') : NULL;
	if (!dot)
		return false;
	char *parent = strndup(module, (size_t)(dot - module));
	bool yes = parent && module_matches(it, parent);
	free(parent);
	return yes;
}

static bool names_match(const struct item *it, const char *module, const char *qualname, const char *file)
{
	switch (it->field) {
	case MODULE:
		return module_matches(it, module);
	case FILE_NAME:
		return text_matches(it, file);
	case FUNCTION:
		return text_matches(it, qualname);
	case NAME: {
		const char *dot = strrchr(qualname, '.');
		return text_matches(it, dot ? dot + 1 : qualname);
	}
	case REGION:
	case ANY:
		break;
	}
	if (it->field == ANY && it->pattern && !strchr(it->pattern, ':'))
		return module_matches(it, module) || text_matches(it, qualname);
	char *full = NULL;
	if (asprintf(&full, "%s%s%s", module, *module ? ":" : "", qualname) < 0)
		return false;
	bool yes = text_matches(it, full);
	free(full);
	return yes;
}

struct named {
	const struct item *it;
	const char *qualname, *file;
};

static bool is_named(void *arg, const char *module)
{
	const struct named *n = arg;
	return names_match(n->it, module, n->qualname, n->file);
}

/* A script's module is __main__; it also matches by the script's name, except in Score-P's filters, which know only
 * __main__. */
static bool item_matches(const struct sp_filter *f, const struct item *it, const char *module, const char *qualname,
                         const char *file)
{
	struct named n = {it, qualname, file};
	return names_match(it, module, qualname, file) || (!f->separate && sp_script_any(module, file, is_named, &n));
}

enum group { ALL, FILES, NO_FILES };

/* Returns the sign of the last matching item; 0 if no item matches. */
static char last_match(const struct sp_filter *f, enum group group, const char *module, const char *qualname,
                       const char *file)
{
	for (size_t i = f->n; i-- > 0;) {
		const struct item *it = &f->items[i];
		if (group != ALL && (it->field == FILE_NAME) != (group == FILES))
			continue;
		if (item_matches(f, it, module, qualname, file))
			return it->sign;
	}
	return 0;
}

static bool excludes(char sign)
{
	return sign == '-' || sign == '!';
}

bool sp_filter_wants(struct sp_filter *f, const char *module, const char *qualname, const char *file)
{
	if (!f)
		return true;
	sp_owners_see(&f->owners, module, file); /* threads of C code, which hold no common lock, also call this */
	if (f->separate)
		return !excludes(last_match(f, FILES, module, qualname, file)) &&
		       !excludes(last_match(f, NO_FILES, module, qualname, file));
	char last = last_match(f, ALL, module, qualname, file);
	if (last || !f->only_mine)
		return !excludes(last);
	/* C functions, whose file is not known, belong to their caller */
	const enum sp_owner owner = sp_owner_of(&f->owners, module, qualname, file);
	return owner == SP_OWNER_OWN || owner == SP_OWNER_OTHER;
}

enum sp_owner sp_filter_owner(const struct sp_filter *f, const char *module, const char *qualname, const char *file)
{
	return f ? sp_owner_of(&f->owners, module, qualname, file) : SP_OWNER_OWN;
}

bool sp_filter_includes(const struct sp_filter *f, const char *module, const char *qualname, const char *file)
{
	return f && last_match(f, ALL, module, qualname, file) == '+';
}

bool sp_filter_hides(const struct sp_filter *f, const char *module, const char *qualname, const char *file)
{
	return f && last_match(f, f->separate ? NO_FILES : ALL, module, qualname, file) == '!';
}

bool sp_pattern_takes(const struct sp_filter *f, const char *module, const char *qualname, const char *file)
{
	for (size_t i = 0; i < f->n; i++)
		if (item_matches(f, &f->items[i], module, qualname, file))
			return true;
	return false;
}

/* Whether the item names the function or a class around it. */
static bool names_function(const struct sp_filter *f, const struct item *it, const char *module, const char *qualname,
                           const char *file)
{
	static const char locals[] = ".<locals>";
	char *name = strdup(qualname), *dot;
	bool yes = false;
	while (name && !(yes = item_matches(f, it, module, name, file)) && (dot = strrchr(name, '.'))) {
		*dot = 0;
		const size_t n = strlen(name);
		if (n >= sizeof locals - 1 && !strcmp(name + n - (sizeof locals - 1), locals))
			break;
	}
	free(name);
	return yes;
}

bool sp_patterns_take(struct sp_filter *f, const char *module, const char *qualname, const char *file,
                      void (*first)(size_t number))
{
	/* a pattern that names a module means its functions, not the module's own code */
	const bool module_code = !strcmp(qualname, "<module>");
	bool any = false;
	for (size_t i = 0; f && i < f->n; i++) {
		struct item *it = &f->items[i];
		if ((module_code && !(it->pattern && strstr(it->pattern, qualname))) ||
		    !names_function(f, it, module, qualname, file))
			continue;
		any = true;
		if (!it->matched)
			first(i);
		it->matched = true;
	}
	return any;
}

bool sp_module_is_in(const char *module, const char *package)
{
	size_t n = strlen(package);
	return !strncmp(module, package, n) && (module[n] == 0 || module[n] == '.');
}

/* The drop-in packages are in spartito_dropin/ or, for programs without that package, in spartito/dropin/. Other
 * modules with their names are parts of the program. If these functions were recorded, the end of the function
 * region_begin() would also end the region that it began. */
bool sp_module_is_ours(const char *module, const char *file)
{
	return sp_module_is_in(module, "spartito") ||
	       (sp_module_is_in(module, "scorep") && strstr(file, "dropin/scorep/")) ||
	       (sp_module_is_in(module, "omnitrace") && strstr(file, "dropin/omnitrace/"));
}

const char *sp_module_name(const char *module)
{
	static const char now[] = "importlib._bootstrap", first[] = "_frozen_importlib";
	const size_t n = sizeof now - 1;
	if (strncmp(module, now, n))
		return module;
	return !module[n] ? first : !strcmp(module + n, "_external") ? "_frozen_importlib_external" : module;
}
