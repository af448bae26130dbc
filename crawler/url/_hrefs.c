/* Resolves the plain hrefs of a page in one call, compiled.
 *
 * It reads at most LONGEST characters of an href, and writes its URL into a buffer of fixed size.
 */
#include "../../visited/bits/_extension.h"
#include <string.h>

#include "_hrefs_plain.h"

/* Raised with each change of the arguments or results, and of the marks in canonical_rules.py. */
#define VERSION 8

enum { LONGEST = 2048, LONGEST_ORIGIN = 300, LONGEST_DIRECTORY = 4096, STOPS = 16 };

/* An origin. The strings belong to `parts`. */
typedef struct {
    PyObject *parts, *host, *site;
    const char *origin; /* NULL if there is no such origin */
    Py_ssize_t length;
} location;

/* An origin in an author's spelling. */
typedef struct {
    location there;
    Py_ssize_t length;
    char written[LONGEST_ORIGIN];
} stop;

/* The state that the hrefs of a page share, with the origins used last. */
typedef struct {
    PyObject *name, *scheme, *place_of, *make, *otherwise;
    const char *directory;
    Py_ssize_t directory_length, most;
    location home;
    stop stops[STOPS];
} page;

/* Reads the attribute `name`, the parts of an origin; -1 with an exception if it is missing, and if `place` is NULL. */
static int
locate(location *at, PyObject *place, PyObject *name)
{
    Py_CLEAR(at->parts);
    memset(at, 0, sizeof(location));
    if (place == NULL || place == Py_None)
        return place == NULL ? -1 : 0;
    at->parts = PyObject_GetAttr(place, name);
    if (at->parts == NULL || at->parts == Py_None)
        return at->parts == NULL ? -1 : 0;
    if (!PyTuple_Check(at->parts)) {
        PyErr_SetString(PyExc_TypeError, "the parts of a place must be a tuple or None");
        return -1;
    }
    PyObject *origin = PyTuple_GetItem(at->parts, 0);
    at->host = PyTuple_GetItem(at->parts, 1);
    at->site = PyTuple_GetItem(at->parts, 2);
    at->origin = at->site == NULL ? NULL : PyUnicode_AsUTF8AndSize(origin, &at->length);
    return at->origin == NULL ? -1 : 0;
}

/* The location of an origin in an author's spelling; NULL with an exception on failure. */
static const location *
visit(page *on, const char *written, Py_ssize_t length)
{
    size_t hash = 0;
    for (Py_ssize_t i = 0; i < length; i++)
        hash = 31 * hash + (unsigned char)written[i];
    stop *at = &on->stops[hash % STOPS];
    if (length == at->length && memcmp(written, at->written, length) == 0)
        return &at->there;
    at->length = 0;
    PyObject *rest = PyUnicode_FromStringAndSize(written, length);
    PyObject *origin = rest == NULL || *written != '/' ? rest : PyUnicode_FromFormat("%U:%U", on->scheme, rest);
    PyObject *place = origin == NULL ? NULL : PyObject_CallFunctionObjArgs(on->place_of, origin, NULL);
    int failed = locate(&at->there, place, on->name);
    if (origin != rest)
        Py_XDECREF(origin);
    Py_XDECREF(rest);
    Py_XDECREF(place);
    if (failed)
        return NULL;
    memcpy(at->written, written, length);
    at->length = length;
    return &at->there;
}

/* Writes the URL of a plain href, and its origin to `there`; 0 for any other href, or with an exception. */
static Py_ssize_t
put_together(page *on, const char *at, const char *end, char *url, const location **there)
{
    const char *start = at;
    Py_ssize_t directory = on->directory_length;
    for (; *start == '.'; start += start[1] == '.' ? 3 : 2) {
        int is_up = end - start > 2 && start[1] == '.' && start[2] == '/';
        if (!is_up && !(end - start > 1 && start[1] == '/'))
            return 0;
        while (is_up && directory > 1 && on->directory[--directory - 1] != '/')
            continue;
    }
    const char *path = (const char *)plain_path((text)start, (text)end);
    if (path == NULL || (start > at && (path > start || *path == '/')))
        return 0;
    Py_ssize_t written = path - start, rest = end - path;
    if (written > LONGEST_ORIGIN || (written > 0 && *at == '/' && on->scheme == Py_None))
        return 0;
    *there = written > 0 ? visit(on, at, written) : &on->home;
    if (*there == NULL || (*there)->origin == NULL)
        return 0;
    if (written > 0 || *path == '/')
        directory = 0;
    if (rest == 0) {
        path = "/";
        rest = 1;
    }
    Py_ssize_t origin = (*there)->length;
    if (origin > LONGEST_ORIGIN || directory > LONGEST_DIRECTORY || origin + directory + rest > on->most)
        return 0;
    memcpy(url, (*there)->origin, origin);
    memcpy(url + origin, on->directory, directory);
    memcpy(url + origin + directory, path, rest);
    return origin + directory + rest;
}

/* The text as a string; the href itself if it is equal. */
static PyObject *
string(const char *from, Py_ssize_t size, PyObject *href, const char *at, Py_ssize_t length)
{
    return size == length && memcmp(from, at, size) == 0 ? Py_NewRef(href) : PyUnicode_FromStringAndSize(from, size);
}

/* The target of a plain href; NULL without an exception for any other. */
static PyObject *
target_of(page *on, PyObject *href)
{
    char url[LONGEST_ORIGIN + LONGEST_DIRECTORY + LONGEST];
    const location *there = NULL;
    Py_ssize_t size;
    if (!PyUnicode_CheckExact(href) || PyUnicode_GetLength(href) > LONGEST)
        return NULL;
    const char *at = utf8_of(href, &size);
    if (at == NULL)
        return NULL;
    Py_ssize_t length = size > LONGEST ? 0 : put_together(on, at, at + size, url, &there);
    if (length == 0)
        return NULL;
    PyObject *args = NULL, *target = NULL, *path = NULL, *whole = string(url, length, href, at, size);
    if (whole != NULL)
        path = string(url + there->length, length - there->length, href, at, size);
    if (path != NULL)
        args = PyTuple_Pack(6, whole, whole, there->host, there->site, path, there->site);
    if (args != NULL)
        target = PyObject_Call(on->make, args, NULL);
    Py_XDECREF(args);
    Py_XDECREF(whole);
    Py_XDECREF(path);
    return target;
}

static PyObject *
read_many(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *hrefs, *home, *directory, *result = NULL;
    page on = {0};
    if (!PyArg_ParseTuple(args, "O!OOUOOnO", &PyList_Type, &hrefs, &on.scheme, &home, &directory, &on.place_of,
                          &on.make, &on.most, &on.otherwise))
        return NULL;
    on.directory = PyUnicode_AsUTF8AndSize(directory, &on.directory_length);
    if (on.directory == NULL)
        return NULL;
    if (on.scheme != Py_None && !PyUnicode_Check(on.scheme))
        return PyErr_Format(PyExc_TypeError, "a scheme must be str or None");
    on.name = PyUnicode_InternFromString("parts");
    if (on.name != NULL && locate(&on.home, home, on.name) == 0)
        result = PyList_New(0);
    /* The called functions may change the list. */
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
    Py_XDECREF(on.name);
    Py_XDECREF(on.home.parts);
    for (int i = 0; i < STOPS; i++)
        Py_XDECREF(on.stops[i].there.parts);
    return result;
}

/* Whether at least that many segments of a path are equal to one of the four before them. With a lone surrogate, they may
 * be. */
static PyObject *
may_repeat(PyObject *Py_UNUSED(module), PyObject *args)
{
    const char *before[4] = {NULL};
    Py_ssize_t size, least, lengths[4] = {0}, same = 0;
    PyObject *path;
    if (!PyArg_ParseTuple(args, "Un", &path, &least))
        return NULL;
    const char *at = utf8_of(path, &size);
    if (at == NULL)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_True);
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
prepare(PyObject *Py_UNUSED(module))
{
    prepare_kinds();
    return 0;
}

EXTENSION("crawler.url", _hrefs, prepare,
          .m_doc = "Resolves plain hrefs; hrefs.py says which these are.", .m_methods = methods)
