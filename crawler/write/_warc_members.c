/* The texts of WARC records; warc_members.py states their form, and is the reference.
 *
 * The code runs under the GIL and calls no Python code but the function that it is given. It uses the limited API.
 */
#include "../../visited/bits/_extension.h"
#include "../page/_digest_text.h"
#include <string.h>

/* Raised with each change of the arguments or results. */
#define VERSION 4

#define DIGEST "WARC-Block-Digest: sha1:"
#define END "\r\n\r\n"

/* Text that grows. Most is short enough for no memory of its own. */
typedef struct {
    char *text;
    size_t used, room;
    char first[2048];
} buffer;

static void
begin(buffer *to)
{
    to->text = to->first;
    to->used = 0;
    to->room = sizeof(to->first);
}

static void
end(buffer *to)
{
    if (to->text != to->first)
        PyMem_Free(to->text);
}

static int
put(buffer *to, const char *from, size_t size)
{
    if (size > to->room - to->used) {
        size_t room = 2 * (to->used + size);
        char *text = PyMem_Malloc(room);
        if (text == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        memcpy(text, to->text, to->used);
        end(to);
        to->text = text;
        to->room = room;
    }
    memcpy(to->text + to->used, from, size);
    to->used += size;
    return 0;
}

#define PUT(to, literal) put(to, literal, sizeof(literal) - 1)

/* Line breaks, and the blanks behind them, become one space. */
static int
put_as_one_line(buffer *to, const char *from, size_t size)
{
    const char *stop = from + size;
    while (from < stop) {
        size_t left = (size_t)(stop - from);
        const char *feed = memchr(from, '\n', left);
        const char *line_end = memchr(from, '\r', feed == NULL ? left : (size_t)(feed - from));
        if (line_end == NULL)
            line_end = feed;
        if (line_end == NULL)
            return put(to, from, left);
        if (put(to, from, (size_t)(line_end - from)) < 0 || PUT(to, " ") < 0)
            return -1;
        for (from = line_end; from < stop && (*from == '\n' || *from == '\r'); from++)
            ;
        for (; from < stop && (*from == ' ' || *from == '\t'); from++)
            ;
    }
    return 0;
}

static int
put_bytes(buffer *to, PyObject *bytes)
{
    return put_as_one_line(to, PyBytes_AsString(bytes), (size_t)PyBytes_Size(bytes));
}

static int
put_text(buffer *to, PyObject *text)
{
    Py_ssize_t size;
    const char *utf8 = utf8_of(text, &size);
    if (utf8 != NULL)
        return put_as_one_line(to, utf8, (size_t)size);
    if (PyErr_Occurred())
        return -1;
    PyObject *replaced = PyUnicode_AsEncodedString(text, "utf-8", "replace");
    int done = replaced == NULL ? -1 : put_bytes(to, replaced);
    Py_XDECREF(replaced);
    return done;
}

/* What takes 200 instructions here takes snprintf a thousand, and a page has some ten numbers. */
static int
put_number(buffer *to, long long number)
{
    char digits[24], *first = digits + sizeof(digits);
    unsigned long long left = number < 0 ? 0ULL - (unsigned long long)number : (unsigned long long)number;
    do
        *--first = (char)('0' + left % 10);
    while ((left /= 10) > 0);
    if (number < 0)
        *--first = '-';
    return put(to, first, (size_t)(digits + sizeof(digits) - first));
}

static int
put_value(buffer *to, PyObject *value)
{
    if (PyUnicode_Check(value))
        return put_text(to, value);
    if (PyBytes_Check(value))
        return put_bytes(to, value);
    long long number = PyLong_AsLongLong(value);
    if (number == -1 && PyErr_Occurred())
        return -1;
    return put_number(to, number);
}

static int
put_field(buffer *to, PyObject *field)
{
    if (!PyTuple_Check(field) || PyTuple_Size(field) != 2) {
        PyErr_SetString(PyExc_TypeError, "expected fields: names and values, in pairs");
        return -1;
    }
    PyObject *value = PyTuple_GetItem(field, 1);
    if (value == Py_None)
        return 0;
    if (put_value(to, PyTuple_GetItem(field, 0)) < 0 || PUT(to, ": ") < 0 || put_value(to, value) < 0)
        return -1;
    return PUT(to, "\r\n");
}

static int
put_fields(buffer *to, PyObject *fields)
{
    PyObject *held = PySequence_Tuple(fields);
    if (held == NULL)
        return -1;
    int done = 0;
    Py_ssize_t count = PyTuple_Size(held);
    for (Py_ssize_t i = 0; i < count && done == 0; i++)
        done = put_field(to, PyTuple_GetItem(held, i));
    Py_DECREF(held);
    return done;
}

static PyObject *
lines(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *first, *fields;
    if (!PyArg_ParseTuple(args, "OO:lines", &first, &fields))
        return NULL;
    buffer to;
    begin(&to);
    PyObject *made = NULL;
    if ((first == Py_None || (put_value(&to, first) == 0 && PUT(&to, "\r\n") == 0)) && put_fields(&to, fields) == 0)
        made = PyBytes_FromStringAndSize(to.text, (Py_ssize_t)to.used);
    end(&to);
    return made;
}

/* Write the digest of a block. `sha1` does not keep the block: it lies in the record. */
static int
write_digest(char *to, PyObject *sha1, char *block, Py_ssize_t size)
{
    PyObject *view = PyMemoryView_FromMemory(block, size, PyBUF_READ);
    PyObject *hash = view == NULL ? NULL : PyObject_CallFunctionObjArgs(sha1, view, NULL);
    Py_XDECREF(view);
    PyObject *digest = hash == NULL ? NULL : PyObject_CallMethod(hash, "digest", NULL);
    Py_XDECREF(hash);
    if (digest == NULL)
        return -1;
    if (!PyBytes_Check(digest) || PyBytes_Size(digest) != SHA1_BYTES) {
        PyErr_SetString(PyExc_ValueError, "expected a SHA-1: 20 bytes");
        Py_DECREF(digest);
        return -1;
    }
    write_sha1(to, (const unsigned char *)PyBytes_AsString(digest));
    Py_DECREF(digest);
    return 0;
}

static PyObject *
record(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *sha1, *kind_text, *urn_text, *common, *fields, *block, *made = NULL;
    Py_ssize_t kind_size, urn_size, size = 0;
    if (!PyArg_ParseTuple(args, "OUUO!OO!:record", &sha1, &kind_text, &urn_text, &PyBytes_Type, &common, &fields,
                          &PyTuple_Type, &block))
        return NULL;
    const char *kind = PyUnicode_AsUTF8AndSize(kind_text, &kind_size);
    const char *urn = kind == NULL ? NULL : PyUnicode_AsUTF8AndSize(urn_text, &urn_size);
    if (urn == NULL)
        return NULL;
    Py_ssize_t pieces = PyTuple_Size(block);
    for (Py_ssize_t i = 0; i < pieces; i++) {
        PyObject *piece = PyTuple_GetItem(block, i);
        if (!PyBytes_Check(piece)) {
            PyErr_SetString(PyExc_TypeError, "expected a block in pieces of bytes");
            return NULL;
        }
        size += PyBytes_Size(piece);
    }
    buffer head;
    begin(&head);
    if (PUT(&head, "WARC/1.1\r\nWARC-Type: ") < 0 || put(&head, kind, (size_t)kind_size) < 0 ||
        PUT(&head, "\r\nWARC-Record-ID: <urn:") < 0 || put(&head, urn, (size_t)urn_size) < 0 ||
        PUT(&head, ">\r\n") < 0 || put(&head, PyBytes_AsString(common), (size_t)PyBytes_Size(common)) < 0 ||
        put_fields(&head, fields) < 0 || PUT(&head, "Content-Length: ") < 0 || put_number(&head, size) < 0 ||
        PUT(&head, "\r\n" DIGEST) < 0)
        goto done;
    size_t digest_at = head.used;
    made = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)head.used + SHA1_CHARACTERS + size + 2 * (sizeof(END) - 1));
    if (made == NULL)
        goto done;
    char *start = PyBytes_AsString(made), *to = start + digest_at + SHA1_CHARACTERS;
    memcpy(start, head.text, head.used);
    memcpy(to, END, sizeof(END) - 1);
    to += sizeof(END) - 1;
    char *content = to;
    for (Py_ssize_t i = 0; i < pieces; i++) {
        PyObject *piece = PyTuple_GetItem(block, i);
        memcpy(to, PyBytes_AsString(piece), (size_t)PyBytes_Size(piece));
        to += PyBytes_Size(piece);
    }
    memcpy(to, END, sizeof(END) - 1);
    if (write_digest(start + digest_at, sha1, content, size) < 0)
        Py_CLEAR(made);
done:
    end(&head);
    return made;
}

static PyMethodDef methods[] = {
    {"lines", lines, METH_VARARGS, NULL},
    {"record", record, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

EXTENSION("crawler.write", _warc_members, NULL,
          .m_doc = "The texts of WARC records, compiled; warc_members.py documents them.", .m_methods = methods)
