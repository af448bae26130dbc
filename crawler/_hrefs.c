/* Plain hrefs, those of a page in one call, compiled.
 *
 * Which hrefs are plain, and what the canonical rules may change, is said in hrefs.py and canonical.py, and written here
 * a second time; what is not certain here is left to them. No more than LONGEST characters of an href are read, and the
 * URL is put together in a buffer of fixed size. Only the limited API is used, so that one wheel serves all Python
 * versions from 3.11 on.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

/* Raised with each change of what is given or returned, and of the marks in canonical.py. */
#define VERSION 2

typedef const unsigned char *text;

enum { LONGEST = 2048, LONGEST_ORIGIN = 300, LONGEST_DIRECTORY = 4096 };
enum { BEGIN = 1, PATH = 2, QUERY = 4, SPECIAL = 8, NAME = 16, HEX = 32 };

/* What each byte may be: the first of a relative path, one of a path, of a query, of a parameter's name, ... */
static unsigned char kinds[256];

/* With what the names of parameters begin that canonical rules remove; those of s...id are known by their end. */
static const char *const beginnings[] = {
    "_ga",  "_gl",    "_hs",   "_open",  "asp", "cfid", "cftok", "cgis", "dclid", "fbclid", "gbraid", "gcl",
    "igsh", "li_fat", "mc_",   "mkt_",   "msc", "mtm_", "oly_",  "phps", "pk_",   "ttclid", "twclid", "utm",
    "vero", "wbraid", "wicke", "xtcsid", "ycl", "yscl", "zenid",
};

static int
lower(unsigned char byte)
{
    return byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte;
}

static int
begins(text at, text end, const char *with)
{
    while (*with && at < end && lower(*at) == *with)
        at++, with++;
    return *with == 0;
}

/* Whether a rule may remove the parameter behind the separator at `at`. */
static int
is_removable(text at, text end)
{
    unsigned char separator = *at++;
    text name = at;
    if (separator == ';' && at < end && strchr("jps", lower(*at)) != NULL)
        return 1;
    while (at < end && kinds[*at] & NAME)
        at++;
    if (at < end && *at != '=' && *at != '&' && *at != ';')
        return 0;
    if (at == name)
        return separator != ';' && (at == end || *at == '&');
    if (begins(name, at, "s") || begins(name, at, "js") || begins(name, at, "os"))
        return at - name == 1 ? end - at > 32 : begins(at - 2, at, "id");
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
        if (begins(name, at, beginnings[i]))
            return 1;
    return 0;
}

/* Whether the escape at `at` has another normal form. */
static int
is_unusual(text at, text end)
{
    if (end - at < 3 || !(kinds[at[1]] & HEX) || !(kinds[at[2]] & HEX))
        return 0;
    if (at[1] >= 'a' || at[2] >= 'a')
        return 1;
    int byte = 16 * (at[1] - (at[1] <= '9' ? '0' : 'A' - 10)) + at[2] - (at[2] <= '9' ? '0' : 'A' - 10);
    return byte == '.' || kinds[byte] & BEGIN;
}

/* Whether a rule may change what begins with the mark at `at`. */
static int
is_mark(text at, text end)
{
    if (*at == '%')
        return is_unusual(at, end);
    if (*at == '(')
        return (end - at > 2 && at[2] == '(') || (end - at > 25 && at[25] == ')');
    return is_removable(at, end);
}

/* Whether the segment behind the slash at `at` is one or two dots. */
static int
is_dots(text at, text end)
{
    int dots = 0;
    while (++at < end && *at == '.')
        dots++;
    return (dots == 1 || dots == 2) && (at == end || *at == '/' || *at == '?');
}

/* Where the path of a plain href begins, behind an origin if there is one, if the URL is its own canonical form; NULL
 * otherwise. */
static text
plain_path(text at, text end)
{
    int skipped = begins(at, end, "https://") ? 8 : begins(at, end, "http://") ? 7 : begins(at, end, "//") ? 2 : 0;
    text host = at + skipped;
    if (skipped) {
        for (at = host; at < end && *at != '/' && *at != '@';)
            at++;
        if (at == host || (at < end && *at == '@'))
            return NULL;
    }
    else if (at == end || !(*at == '/' || kinds[*at] & BEGIN))
        return NULL;
    if (end - at > 1 && at[0] == '/' && at[1] == '/')
        return NULL;
    text path = at;
    int kind = PATH, has_mark = at < end && *at == '/';
    for (; at < end; at++) {
        if (*at == '?')
            kind = QUERY;
        if (!(kinds[*at] & kind))
            return NULL;
        if (!(kinds[*at] & SPECIAL))
            continue;
        if (*at == '/' ? kind == PATH && is_dots(at, end) : *at == ':' ? !has_mark : is_mark(at, end))
            return NULL;
        if (*at == '%' && kind == PATH && end - at > 2 && at[1] == '2' && lower(at[2]) == 'e')
            return NULL;
        has_mark = has_mark || *at == '%' || *at == '(' || *at == ';' || *at == '?';
    }
    return path;
}

/* Where URLs lie. The strings belong to `parts`. */
typedef struct {
    PyObject *parts, *host, *site;
    const char *origin; /* NULL if there is no such place */
    Py_ssize_t length;
} location;

/* What all hrefs of a page have in common, and the origin that was met last. */
typedef struct {
    PyObject *scheme, *place_of, *make, *otherwise;
    const char *directory;
    Py_ssize_t directory_length, most;
    location home, last;
    char written[LONGEST_ORIGIN];
    Py_ssize_t written_length;
} page;

/* -1 and an exception if what is given, which may be NULL, is neither None nor has such parts. */
static int
locate(location *at, PyObject *place)
{
    Py_CLEAR(at->parts);
    memset(at, 0, sizeof(location));
    if (place == NULL || place == Py_None)
        return place == NULL ? -1 : 0;
    at->parts = PyObject_GetAttrString(place, "parts");
    if (at->parts == NULL || at->parts == Py_None)
        return at->parts == NULL ? -1 : 0;
    PyObject *origin;
    if (!PyArg_ParseTuple(at->parts, "UUU", &origin, &at->host, &at->site))
        return -1;
    at->origin = PyUnicode_AsUTF8AndSize(origin, &at->length);
    return at->origin == NULL ? -1 : 0;
}

/* Make `last` the location of an origin as it is written. */
static int
visit(page *on, const char *written, Py_ssize_t length)
{
    if (length == on->written_length && memcmp(written, on->written, length) == 0)
        return 0;
    PyObject *rest = PyUnicode_FromStringAndSize(written, length);
    PyObject *origin = rest == NULL || *written != '/' ? rest : PyUnicode_FromFormat("%U:%U", on->scheme, rest);
    PyObject *place = origin == NULL ? NULL : PyObject_CallFunctionObjArgs(on->place_of, origin, NULL);
    int failed = locate(&on->last, place);
    if (origin != rest)
        Py_XDECREF(origin);
    Py_XDECREF(rest);
    Py_XDECREF(place);
    memcpy(on->written, written, length);
    on->written_length = length;
    return failed;
}

/* The URL of a plain href; NULL, without an exception, of any other. */
static PyObject *
target_of(page *on, PyObject *href)
{
    char url[LONGEST_ORIGIN + LONGEST_DIRECTORY + LONGEST];
    Py_ssize_t size;
    if (!PyUnicode_CheckExact(href) || PyUnicode_GetLength(href) > LONGEST)
        return NULL;
    const char *at = PyUnicode_AsUTF8AndSize(href, &size);
    if (at == NULL) {
        if (PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
            PyErr_Clear(); /* half of a pair, alone */
        return NULL;
    }
    if (size > LONGEST)
        return NULL;
    const char *from = (const char *)plain_path((text)at, (text)at + size);
    if (from == NULL || from - at > LONGEST_ORIGIN || (from > at && *at == '/' && on->scheme == Py_None))
        return NULL;
    if (from > at && visit(on, at, from - at) < 0)
        return NULL;
    const location *there = from > at ? &on->last : &on->home;
    Py_ssize_t directory = from < at + size && *from == '/' ? 0 : on->directory_length, rest = at + size - from;
    if (from > at && rest == 0) {
        from = "/";
        rest = 1;
        directory = 0;
    }
    Py_ssize_t length = there->length + directory + rest;
    if (there->origin == NULL || there->length > LONGEST_ORIGIN || directory > LONGEST_DIRECTORY || length > on->most)
        return NULL;
    memcpy(url, there->origin, there->length);
    memcpy(url + there->length, on->directory, directory);
    memcpy(url + there->length + directory, from, rest);
    PyObject *args = NULL, *target = NULL, *whole = NULL;
    PyObject *path = from == at && directory == 0
                         ? Py_NewRef(href)
                         : PyUnicode_FromStringAndSize(url + there->length, length - there->length);
    whole = length == size && memcmp(url, at, size) == 0 ? Py_NewRef(href) : PyUnicode_FromStringAndSize(url, length);
    if (whole != NULL && path != NULL)
        args = PyTuple_Pack(6, whole, whole, there->host, there->site, path, there->site);
    if (args != NULL)
        target = PyObject_Call(on->make, args, NULL);
    Py_XDECREF(args);
    Py_XDECREF(whole);
    Py_XDECREF(path);
    return target;
}

static PyObject *
read_many(PyObject *self, PyObject *args)
{
    PyObject *hrefs, *home, *result = NULL;
    page on = {0};
    (void)self;
    if (!PyArg_ParseTuple(args, "O!OOs#OOnO", &PyList_Type, &hrefs, &on.scheme, &home, &on.directory,
                          &on.directory_length, &on.place_of, &on.make, &on.most, &on.otherwise))
        return NULL;
    if (on.scheme != Py_None && !PyUnicode_Check(on.scheme))
        return PyErr_Format(PyExc_TypeError, "a scheme must be str or None");
    if (locate(&on.home, home) == 0)
        result = PyList_New(0);
    /* What is called may change the list. */
    for (Py_ssize_t i = 0; result != NULL && i < PyList_Size(hrefs); i++) {
        PyObject *href = Py_NewRef(PyList_GetItem(hrefs, i));
        PyObject *target = target_of(&on, href);
        if (target == NULL && !PyErr_Occurred())
            target = PyObject_CallFunctionObjArgs(on.otherwise, href, NULL);
        Py_DECREF(href);
        if (target == NULL || PyList_Append(result, target) < 0)
            Py_CLEAR(result);
        Py_XDECREF(target);
    }
    Py_XDECREF(on.home.parts);
    Py_XDECREF(on.last.parts);
    return result;
}

/* Whether so many segments of a path are equal to one of the four before them. */
static PyObject *
may_repeat(PyObject *self, PyObject *args)
{
    const char *at, *before[4] = {NULL};
    Py_ssize_t size, least, lengths[4] = {0}, same = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "s#n", &at, &size, &least))
        return NULL;
    const char *end = at + size;
    for (int number = 0; same < least && at < end; number = (number + 1) % 4) {
        const char *slash = memchr(at, '/', end - at);
        Py_ssize_t length = (slash == NULL ? end : slash) - at;
        for (int i = 0; i < 4 && length > 0; i++)
            if (lengths[i] == length && memcmp(before[i], at, length) == 0) {
                same++;
                break;
            }
        before[number] = at;
        lengths[number] = length;
        at = slash == NULL ? end : slash + 1;
    }
    return PyBool_FromLong(same >= least);
}

static PyMethodDef methods[] = {
    {"read_many", read_many, METH_VARARGS, NULL},
    {"may_repeat", may_repeat, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static void
mark(const char *bytes, int kind)
{
    while (*bytes)
        kinds[(unsigned char)*bytes++] |= kind;
}

static int
prepare(PyObject *module)
{
    memset(kinds, 0, sizeof(kinds));
    mark("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz", BEGIN | PATH | QUERY | NAME);
    mark("~-", BEGIN | PATH | QUERY);
    mark("!$&()*+,./:;=@%", PATH | QUERY);
    mark("'", PATH);
    mark("?[\\]^`{|}", QUERY);
    mark("/:%(;?&", SPECIAL);
    mark("0123456789ABCDEFabcdef", HEX);
    mark(".", NAME);
    return PyModule_AddIntConstant(module, "VERSION", VERSION);
}

static struct PyModuleDef_Slot slots[] = {{Py_mod_exec, prepare}, {0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "crawler._hrefs",
    .m_doc = "Plain hrefs, compiled; hrefs.py says which these are.",
    .m_size = 0,
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC
PyInit__hrefs(void)
{
    return PyModuleDef_Init(&module);
}
