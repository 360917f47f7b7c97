/* SPDX-License-Identifier: BSD-3-Clause */
/* Whose code each region is. */
#include "base/owner/owner.h"
#include "base/intern.h"
#include "model/builder/builder.h"
#include "model/builder/problem.h"
#include "model/model.h"
#include "model/process.h"
#include "model/region.h"

#include <stdlib.h>
#include <string.h>

/* sys.stdlib_module_names of Python 3.10 to 3.15, and names of 3.9: C functions have no file. Sorted. */
static const char *const standard_modules[] = {"__future__",
                                               "_abc",
                                               "_aix_support",
                                               "_android_support",
                                               "_apple_support",
                                               "_ast",
                                               "_ast_unparse",
                                               "_asyncio",
                                               "_bisect",
                                               "_blake2",
                                               "_bootlocale",
                                               "_bootsubprocess",
                                               "_bz2",
                                               "_codecs",
                                               "_codecs_cn",
                                               "_codecs_hk",
                                               "_codecs_iso2022",
                                               "_codecs_jp",
                                               "_codecs_kr",
                                               "_codecs_tw",
                                               "_collections",
                                               "_collections_abc",
                                               "_colorize",
                                               "_compat_pickle",
                                               "_compression",
                                               "_contextvars",
                                               "_crypt",
                                               "_csv",
                                               "_ctypes",
                                               "_curses",
                                               "_curses_panel",
                                               "_datetime",
                                               "_dbm",
                                               "_decimal",
                                               "_elementtree",
                                               "_frozen_importlib",
                                               "_frozen_importlib_external",
                                               "_functools",
                                               "_gdbm",
                                               "_hashlib",
                                               "_heapq",
                                               "_hmac",
                                               "_imp",
                                               "_interpchannels",
                                               "_interpqueues",
                                               "_interpreters",
                                               "_io",
                                               "_ios_support",
                                               "_json",
                                               "_locale",
                                               "_lsprof",
                                               "_lzma",
                                               "_markupbase",
                                               "_math_integer",
                                               "_md5",
                                               "_msi",
                                               "_multibytecodec",
                                               "_multiprocessing",
                                               "_opcode",
                                               "_opcode_metadata",
                                               "_operator",
                                               "_osx_support",
                                               "_overlapped",
                                               "_peg_parser",
                                               "_pickle",
                                               "_posixshmem",
                                               "_posixsubprocess",
                                               "_py_abc",
                                               "_py_warnings",
                                               "_pydatetime",
                                               "_pydecimal",
                                               "_pyio",
                                               "_pylong",
                                               "_pyrepl",
                                               "_queue",
                                               "_random",
                                               "_remote_debugging",
                                               "_scproxy",
                                               "_sha1",
                                               "_sha2",
                                               "_sha256",
                                               "_sha3",
                                               "_sha512",
                                               "_signal",
                                               "_sitebuiltins",
                                               "_socket",
                                               "_sqlite3",
                                               "_sre",
                                               "_ssl",
                                               "_stat",
                                               "_statistics",
                                               "_string",
                                               "_strptime",
                                               "_struct",
                                               "_suggestions",
                                               "_symtable",
                                               "_sysconfig",
                                               "_thread",
                                               "_threading_local",
                                               "_tkinter",
                                               "_tokenize",
                                               "_tracemalloc",
                                               "_types",
                                               "_typing",
                                               "_uuid",
                                               "_warnings",
                                               "_weakref",
                                               "_weakrefset",
                                               "_winapi",
                                               "_wmi",
                                               "_zoneinfo",
                                               "_zstd",
                                               "abc",
                                               "aifc",
                                               "annotationlib",
                                               "antigravity",
                                               "argparse",
                                               "array",
                                               "ast",
                                               "asynchat",
                                               "asyncio",
                                               "asyncore",
                                               "atexit",
                                               "audioop",
                                               "base64",
                                               "bdb",
                                               "binascii",
                                               "binhex",
                                               "bisect",
                                               "builtins",
                                               "bz2",
                                               "cProfile",
                                               "calendar",
                                               "cgi",
                                               "cgitb",
                                               "chunk",
                                               "cmath",
                                               "cmd",
                                               "code",
                                               "codecs",
                                               "codeop",
                                               "collections",
                                               "colorsys",
                                               "compileall",
                                               "compression",
                                               "concurrent",
                                               "configparser",
                                               "contextlib",
                                               "contextvars",
                                               "copy",
                                               "copyreg",
                                               "crypt",
                                               "csv",
                                               "ctypes",
                                               "curses",
                                               "dataclasses",
                                               "datetime",
                                               "dbm",
                                               "decimal",
                                               "difflib",
                                               "dis",
                                               "distutils",
                                               "doctest",
                                               "email",
                                               "encodings",
                                               "ensurepip",
                                               "enum",
                                               "errno",
                                               "faulthandler",
                                               "fcntl",
                                               "filecmp",
                                               "fileinput",
                                               "fnmatch",
                                               "formatter",
                                               "fractions",
                                               "ftplib",
                                               "functools",
                                               "gc",
                                               "genericpath",
                                               "getopt",
                                               "getpass",
                                               "gettext",
                                               "glob",
                                               "graphlib",
                                               "grp",
                                               "gzip",
                                               "hashlib",
                                               "heapq",
                                               "hmac",
                                               "html",
                                               "http",
                                               "idlelib",
                                               "imaplib",
                                               "imghdr",
                                               "imp",
                                               "importlib",
                                               "inspect",
                                               "io",
                                               "ipaddress",
                                               "itertools",
                                               "json",
                                               "keyword",
                                               "lib2to3",
                                               "linecache",
                                               "locale",
                                               "logging",
                                               "lzma",
                                               "mailbox",
                                               "mailcap",
                                               "marshal",
                                               "math",
                                               "mimetypes",
                                               "mmap",
                                               "modulefinder",
                                               "msilib",
                                               "msvcrt",
                                               "multiprocessing",
                                               "netrc",
                                               "nis",
                                               "nntplib",
                                               "nt",
                                               "ntpath",
                                               "nturl2path",
                                               "numbers",
                                               "opcode",
                                               "operator",
                                               "optparse",
                                               "os",
                                               "ossaudiodev",
                                               "parser",
                                               "pathlib",
                                               "pdb",
                                               "pickle",
                                               "pickletools",
                                               "pipes",
                                               "pkgutil",
                                               "platform",
                                               "plistlib",
                                               "poplib",
                                               "posix",
                                               "posixpath",
                                               "pprint",
                                               "profile",
                                               "profiling",
                                               "pstats",
                                               "pty",
                                               "pwd",
                                               "py_compile",
                                               "pyclbr",
                                               "pydoc",
                                               "pydoc_data",
                                               "pyexpat",
                                               "queue",
                                               "quopri",
                                               "random",
                                               "re",
                                               "readline",
                                               "reprlib",
                                               "resource",
                                               "rlcompleter",
                                               "runpy",
                                               "sched",
                                               "secrets",
                                               "select",
                                               "selectors",
                                               "shelve",
                                               "shlex",
                                               "shutil",
                                               "signal",
                                               "site",
                                               "smtpd",
                                               "smtplib",
                                               "sndhdr",
                                               "socket",
                                               "socketserver",
                                               "spwd",
                                               "sqlite3",
                                               "sre_compile",
                                               "sre_constants",
                                               "sre_parse",
                                               "ssl",
                                               "stat",
                                               "statistics",
                                               "string",
                                               "stringprep",
                                               "struct",
                                               "subprocess",
                                               "sunau",
                                               "symbol",
                                               "symtable",
                                               "sys",
                                               "sysconfig",
                                               "syslog",
                                               "tabnanny",
                                               "tarfile",
                                               "telnetlib",
                                               "tempfile",
                                               "termios",
                                               "textwrap",
                                               "this",
                                               "threading",
                                               "time",
                                               "timeit",
                                               "tkinter",
                                               "token",
                                               "tokenize",
                                               "tomllib",
                                               "trace",
                                               "traceback",
                                               "tracemalloc",
                                               "tty",
                                               "turtle",
                                               "turtledemo",
                                               "types",
                                               "typing",
                                               "unicodedata",
                                               "unittest",
                                               "urllib",
                                               "uu",
                                               "uuid",
                                               "venv",
                                               "warnings",
                                               "wave",
                                               "weakref",
                                               "webbrowser",
                                               "winreg",
                                               "winsound",
                                               "wsgiref",
                                               "xdrlib",
                                               "xml",
                                               "xmlrpc",
                                               "zipapp",
                                               "zipfile",
                                               "zipimport",
                                               "zlib",
                                               "zoneinfo"};

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, *(const char *const *)b);
}

/* The length of the first part of a module's name: numpy of numpy.linalg. */
static size_t top_length(const struct sp_str *module)
{
	const char *dot = module->n ? memchr(module->p, '.', module->n) : NULL;

	return dot ? (size_t)(dot - module->p) : module->n;
}

static bool is_standard_module(const struct sp_str *module)
{
	char top[32];
	const size_t n = top_length(module);

	if (n == 0 || n >= sizeof top)
		return false;
	memcpy(top, module->p, n);
	top[n] = 0;
	return bsearch(top, standard_modules, sizeof standard_modules / sizeof *standard_modules,
	               sizeof *standard_modules, compare_names);
}

struct classifying {
	struct sp_model *m;
	struct sp_owners owners;
	struct sp_intern tops; /* first parts of the names of modules with Python code */
	uint8_t *top_owner;    /* owned; for each of these: enum sp_owner */
};

/* Adds the directories that the processes recorded. own: see sp_model_own(). */
static int add_directories(struct classifying *c, const char *own)
{
	static const struct {
		const char *key;
		enum sp_owner_directory kind;
	} keys[] = {{"cwd", SP_OWNER_PROGRAM}, {"library", SP_OWNER_LIBRARY}, {"prefix", SP_OWNER_PREFIX}};
	int rc = own ? sp_owners_add_lines(&c->owners, own, strlen(own)) : 0;

	for (size_t i = 0; i < c->m->n_processes; i++) {
		const struct sp_process *p = &c->m->processes[i];

		for (size_t k = 0; k < p->metas && rc == 0; k++) {
			const struct sp_meta *meta = &p->meta[k];

			for (size_t j = 0; j < sizeof keys / sizeof *keys && rc == 0; j++)
				if (strcmp(meta->key.p, keys[j].key) == 0)
					rc = sp_owners_add(&c->owners, keys[j].kind, meta->value.p, meta->value.n);
			if (rc == 0 && !own && strcmp(meta->key.p, "own") == 0)
				rc = sp_owners_add_lines(&c->owners, meta->value.p, meta->value.n);
		}
	}
	for (size_t i = 0; i < c->m->n_regions && rc == 0; i++)
		if (c->m->regions[i].kind == SP_REGION_PYTHON)
			rc = sp_owners_see(&c->owners, c->m->regions[i].module.p, c->m->regions[i].file.p);
	return rc;
}

static int classify_python(struct classifying *c)
{
	for (size_t i = 0; i < c->m->n_regions; i++) {
		struct sp_region *r = &c->m->regions[i];

		if (r->kind != SP_REGION_PYTHON)
			continue;
		r->owner = (uint8_t)sp_owner_of(&c->owners, r->module.p, r->qualname.p, r->file.p);
		if (r->file.n == 0 || r->file.p[0] != '/' || r->module.n == 0)
			continue; /* generated code may have any module */
		const size_t known = c->tops.n;
		const uint32_t top = sp_intern(&c->tops, r->module.p, top_length(&r->module));

		if (top == SP_INTERN_FAILED)
			return -1;
		if (c->tops.n > known)
			c->top_owner[top] = r->owner;
	}
	return 0;
}

/* A C function belongs to the owner of its package, which may also have Python code. */
static enum sp_owner owner_of_c(struct classifying *c, const struct sp_region *r)
{
	const size_t known = c->tops.n;

	if (r->module.n == 0)
		return SP_OWNER_OTHER;
	if (is_standard_module(&r->module))
		return SP_OWNER_STANDARD;
	const uint32_t top = sp_intern(&c->tops, r->module.p, top_length(&r->module));

	if (c->tops.n > known)
		c->top_owner[top] = SP_OWNER_LIBRARIES;
	return top == SP_INTERN_FAILED ? SP_OWNER_LIBRARIES : (enum sp_owner)c->top_owner[top];
}

static bool is_interpreter(const struct sp_region *r)
{
	return strncmp(r->module.p, "libpython", 9) == 0 || strncmp(r->module.p, "python", 6) == 0;
}

static enum sp_owner owner_of_other(struct classifying *c, const struct sp_region *r)
{
	enum sp_owner owner =
	    r->file.n ? sp_owner_of(&c->owners, r->module.p, r->qualname.p, r->file.p) : SP_OWNER_OTHER;

	switch (r->kind) {
	case SP_REGION_C:
		return owner_of_c(c, r);
	case SP_REGION_USER: /* without a file: only the program's own code names regions */
		return r->file.n ? owner : SP_OWNER_OWN;
	case SP_REGION_NATIVE:
		return is_interpreter(r) ? SP_OWNER_STANDARD : owner;
	case SP_REGION_IO: /* the C library */
		return SP_OWNER_STANDARD;
	case SP_REGION_MPI:
		return SP_OWNER_LIBRARIES;
	default:
		return SP_OWNER_OTHER;
	}
}

int sp_model_own(struct sp_model *m, const char *own, struct sp_err *e)
{
	struct sp_arena arena = {0};
	struct classifying c = {.m = m, .tops = {.arena = &arena}, .top_owner = calloc(m->n_regions + 1, 1)};
	const int rc = !c.top_owner || add_directories(&c, own) || classify_python(&c) ? -1 : 0;

	for (size_t i = 0; i < m->n_regions && rc == 0; i++)
		if (m->regions[i].kind != SP_REGION_PYTHON)
			m->regions[i].owner = (uint8_t)owner_of_other(&c, &m->regions[i]);
	sp_owners_clear(&c.owners);
	sp_intern_free(&c.tops);
	sp_arena_free(&arena);
	free(c.top_owner);
	return rc ? sp_model_no_memory(e) : 0;
}

bool sp_region_is_own(const struct sp_region *r)
{
	return r->kind == SP_REGION_PYTHON && r->owner == SP_OWNER_OWN;
}
