/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char main_file[] = "__main__";

/* The name with those of the packages that contain the directory. Modifies directory. The caller owns the result; NULL:
 * no memory. */
static char *in_packages(char *directory, const char *name)
{
	char *module = strdup(name), *longer = NULL, *slash;

	while (module && (slash = strrchr(directory, '/')) && slash[1]) {
		char *init = NULL;
		const bool package = asprintf(&init, "%s/__init__.py", directory) >= 0 && access(init, F_OK) == 0;

		free(init);
		if (!package)
			break;
		if (asprintf(&longer, "%s%s%s", slash + 1, *module ? "." : "", module) < 0)
			longer = NULL;
		free(module);
		module = longer;
		*slash = '\0';
	}
	return module;
}

bool sp_script_any(const char *module, const char *file, sp_script_fn *is, void *arg)
{
	const bool child = strcmp(module, "__mp_main__") == 0;
	char *directory, *name, *dot, *whole, *inner = NULL;
	bool package, yes = false;

	if (child && is(arg, main_file))
		return true;
	if (*file != '/' || !(child || strcmp(module, main_file) == 0))
		return false;
	directory = strdup(file);
	if (!directory)
		return false;
	name = strrchr(directory, '/');
	*name++ = '\0';
	dot = strrchr(name, '.');
	if (dot)
		*dot = '\0';
	/* the name of __main__.py is that of its directory */
	package = strcmp(name, main_file) == 0 && strrchr(directory, '/');
	if (package) {
		name = strrchr(directory, '/');
		*name++ = '\0';
	}
	whole = *name ? in_packages(directory, name) : NULL;
	if (whole && package && asprintf(&inner, "%s.%s", whole, main_file) >= 0) {
		yes = is(arg, inner);
		free(inner);
	}
	yes = yes || (whole && is(arg, whole));
	free(whole);
	free(directory);
	return yes;
}
