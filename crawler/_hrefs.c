/* Plain hrefs, those of a page in one call, compiled.
 *
 * No more than LONGEST characters of an href are read, and its URL is put together in a buffer of fixed size. Only the
 * limited API is used, so that one wheel serves all Python versions from 3.11 on.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

#include "_hrefs_plain.h"

/* Raised with each change of what is given or returned, and of the marks in canonical.py. */
#define VERSION 2

enum { LONGEST = 2048, LONGEST_ORIGIN = 300, LONGEST_DIRECTORY = 4096 };

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

static int
prepare(PyObject *module)
{
    prepare_kinds();
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
