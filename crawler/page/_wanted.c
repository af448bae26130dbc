/* The wanted ones of some headers; wanted.py states which they are, and is the reference.
 *
 * The code runs under the GIL. It calls no Python code but that of headers in something else than a list, and what the
 * collector of garbage calls where objects are made. That may change the list, so each header is held while it is in
 * use.
 */
#include "../../visited/bits/_extension.h"

/* Raised with each change of the arguments or results. */
#define VERSION 1

#define MOST_WANTED 16

/* Like bytes.lower. */
static int
equal_lower(const char *name, const char *lower, Py_ssize_t size)
{
    for (Py_ssize_t at = 0; at < size; at++) {
        unsigned char letter = (unsigned char)name[at];
        if (letter >= 'A' && letter <= 'Z')
            letter |= 0x20;
        if (letter != (unsigned char)lower[at])
            return 0;
    }
    return 1;
}

static int
is_pair(PyObject *header)
{
    return PyTuple_Check(header) && PyTuple_Size(header) == 2 && PyBytes_Check(PyTuple_GetItem(header, 0))
        && PyBytes_Check(PyTuple_GetItem(header, 1));
}

/* Append a name and the value of a header. Returns -1 with an exception. */
static int
append(PyObject *found, PyObject *name, PyObject *header)
{
    PyObject *pair = PyTuple_Pack(2, name, PyTuple_GetItem(header, 1));
    if (pair == NULL)
        return -1;
    int result = PyList_Append(found, pair);
    Py_DECREF(pair);
    return result;
}

static PyObject *
wanted_headers(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *headers, *names;
    const char *wanted[MOST_WANTED];
    Py_ssize_t sizes[MOST_WANTED];

    if (!PyArg_ParseTuple(args, "OO!:wanted_headers", &headers, &PyTuple_Type, &names))
        return NULL;
    Py_ssize_t count = PyTuple_Size(names);
    if (count > MOST_WANTED) {
        PyErr_Format(PyExc_ValueError, "expected at most %d names", MOST_WANTED);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *name = PyTuple_GetItem(names, i);
        if (!PyBytes_Check(name)) {
            PyErr_SetString(PyExc_TypeError, "expected names as bytes");
            return NULL;
        }
        wanted[i] = PyBytes_AsString(name);
        sizes[i] = PyBytes_Size(name);
    }
    headers = PyList_Check(headers) ? Py_NewRef(headers) : PySequence_List(headers);
    if (headers == NULL)
        return NULL;
    PyObject *found = PyList_New(0);
    if (found == NULL)
        goto failed;
    for (Py_ssize_t at = 0; at < PyList_Size(headers); at++) {
        PyObject *header = PyList_GetItem(headers, at);
        if (!is_pair(header)) {
            PyErr_SetString(PyExc_TypeError, "expected headers as pairs of bytes");
            goto failed;
        }
        PyObject *name = PyTuple_GetItem(header, 0);
        Py_ssize_t size = PyBytes_Size(name);
        const char *text = PyBytes_AsString(name);
        for (Py_ssize_t i = 0; i < count; i++) {
            if (sizes[i] != size || !equal_lower(text, wanted[i], size))
                continue;
            Py_INCREF(header);
            int result = append(found, PyTuple_GetItem(names, i), header);
            Py_DECREF(header);
            if (result < 0)
                goto failed;
            break;
        }
    }
    Py_DECREF(headers);
    return found;
failed:
    Py_DECREF(headers);
    Py_XDECREF(found);
    return NULL;
}

static PyMethodDef methods[] = {
    {"wanted_headers", wanted_headers, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

EXTENSION("crawler.page", _wanted, NULL,
          .m_doc = "The wanted ones of some headers, compiled; wanted.py documents them.", .m_methods = methods)
