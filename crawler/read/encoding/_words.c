/* The text of a body that tells its encoding; words.py states what it is, and is the reference.
 *
 * The code runs under the GIL and calls no Python code. It reads 512 KB of a body at most.
 */
#include "../../../visited/bits/_extension.h"
#include <stdint.h>
#include <string.h>

/* Raised with each change of the arguments or results. */
#define VERSION 1

/* As in words.py. */
#define TEXT_BYTES (4 * 1024)
#define PLAIN_BYTES (TEXT_BYTES / 2)
#define MARKUP_BYTES (512 * 1024)

#define HIGH_BITS UINT64_C(0x8080808080808080)

typedef unsigned char byte;

/* How many of the bytes are beyond ASCII. */
static Py_ssize_t
count_high(const byte *at, const byte *end)
{
    Py_ssize_t high = 0;
    for (; end - at >= 8; at += 8) {
        uint64_t eight;
        memcpy(&eight, at, 8);
        /* The product adds up the eight bits in its highest byte. */
        high += (Py_ssize_t)(((eight & HIGH_BITS) >> 7) * UINT64_C(0x0101010101010101) >> 56);
    }
    for (; at < end; at++)
        high += *at >> 7;
    return high;
}

static int
is_letter(byte each)
{
    each |= 0x20;
    return each >= 'a' && each <= 'z';
}

/* Whether the name, in small letters, stands here. */
static int
stands(const char *name, size_t size, const byte *at, const byte *end)
{
    if ((size_t)(end - at) < size)
        return 0;
    for (size_t i = 0; i < size; i++)
        if ((is_letter(at[i]) ? at[i] | 0x20 : at[i]) != (byte)name[i])
            return 0;
    return 1;
}

#define STANDS(literal, at, end) stands(literal, sizeof(literal) - 1, at, end)

/* The first place where it stands, or NULL. Its first byte is no letter. */
static const byte *
find(const char *name, size_t size, const byte *at, const byte *end)
{
    while (at < end && (at = memchr(at, name[0], (size_t)(end - at))) != NULL) {
        if (stands(name, size, at, end))
            return at;
        at++;
    }
    return NULL;
}

#define FIND(literal, at, end) find(literal, sizeof(literal) - 1, at, end)

static int
ends_name(const byte *at, const byte *end)
{
    return at < end && memchr("\t\n\f\r />", *at, 7) != NULL;
}

/* The next `<` that begins something to skip, and in `behind` where the text goes on: NULL if it does not. */
static const byte *
find_skipped(const byte *at, const byte *end, const byte **behind)
{
    for (; at < end && (at = memchr(at, '<', (size_t)(end - at))) != NULL; at++) {
        const byte *next = at + 1;
        if (next == end)
            return NULL;
        if (STANDS("script", next, end) && ends_name(next + 6, end))
            *behind = FIND("</script", next + 6, end);
        else if (STANDS("style", next, end) && ends_name(next + 5, end))
            *behind = FIND("</style", next + 5, end);
        else if (STANDS("!--", next, end)) {
            *behind = FIND("-->", next + 3, end);
            if (*behind != NULL)
                ++*behind;
        }
        else if (is_letter(*next) || *next == '/' || *next == '!' || *next == '?') {
            *behind = memchr(next, '>', (size_t)(end - next));
            if (*behind != NULL)
                ++*behind;
        }
        else
            continue;
        return at;
    }
    return NULL;
}

static PyObject *
gather_words(PyObject *Py_UNUSED(module), PyObject *body)
{
    if (!PyBytes_Check(body)) {
        PyErr_SetString(PyExc_TypeError, "expected bytes");
        return NULL;
    }
    const byte *at = (const byte *)PyBytes_AsString(body), *end = at + PyBytes_Size(body);
    if (end - at > MARKUP_BYTES)
        end = at + MARKUP_BYTES;
    /* Each piece but the first is behind something that has two bytes at least, and begins with a line end. */
    byte *gathered = PyMem_Malloc(TEXT_BYTES + (size_t)(end - at) / 2 + 1), *to = gathered;
    if (gathered == NULL)
        return PyErr_NoMemory();
    Py_ssize_t left = TEXT_BYTES, plain_left = PLAIN_BYTES;
    while (left > 0) {
        const byte *behind = NULL, *found = find_skipped(at, end, &behind);
        Py_ssize_t size = (found == NULL ? end : found) - at;
        if (size > 0 && count_high(at, at + size) == 0) {
            size = size < plain_left ? size : plain_left;
            plain_left -= size;
        }
        size = size < left ? size : left;
        left -= size;
        memcpy(to, at, (size_t)size);
        to += size;
        if (behind == NULL)
            break;
        at = behind;
        if (left > 0)
            *to++ = '\n';
    }
    PyObject *made = PyBytes_FromStringAndSize((const char *)gathered, to - gathered);
    PyMem_Free(gathered);
    return made;
}

static PyObject *
count_beyond_ascii(PyObject *Py_UNUSED(module), PyObject *text)
{
    if (!PyBytes_Check(text)) {
        PyErr_SetString(PyExc_TypeError, "expected bytes");
        return NULL;
    }
    const byte *at = (const byte *)PyBytes_AsString(text);
    return PyLong_FromSsize_t(count_high(at, at + PyBytes_Size(text)));
}

static PyObject *
count_runs(PyObject *Py_UNUSED(module), PyObject *text)
{
    if (!PyBytes_Check(text)) {
        PyErr_SetString(PyExc_TypeError, "expected bytes");
        return NULL;
    }
    const byte *at = (const byte *)PyBytes_AsString(text), *end = at + PyBytes_Size(text);
    Py_ssize_t runs = 0, touching = 0;
    int behind_letter = 0;
    while (at < end) {
        if (*at < 128) {
            behind_letter = is_letter(*at++);
            continue;
        }
        while (at < end && *at > 127)
            at++;
        runs++;
        touching += behind_letter || (at < end && is_letter(*at));
        behind_letter = 0;
    }
    return Py_BuildValue("nn", runs, touching);
}

static PyMethodDef methods[] = {
    {"gather_words", gather_words, METH_O, NULL},
    {"count_beyond_ascii", count_beyond_ascii, METH_O, NULL},
    {"count_runs", count_runs, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

EXTENSION("crawler.read.encoding", _words, NULL,
          .m_doc = "The text that tells an encoding, compiled; words.py documents it.", .m_methods = methods)
