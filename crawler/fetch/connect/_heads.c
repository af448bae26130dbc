/* Reads the plain head of a response in one call. response_heads.py says which heads are plain, and is the reference.
 *
 * It checks the whole head before it makes an object.
 */
#include "../../../visited/bits/_extension.h"
#include <string.h>

/* Raised with each change of the arguments or results. */
#define VERSION 2

enum { LONGEST = 16 * 1024, LENGTH_DIGITS = 15, STATUS_LINE = sizeof("HTTP/1.1 200") - 1 };

/* A part of the head. */
typedef struct {
    const char *at;
    Py_ssize_t length;
} part;

/* The first value of a header that matters for the end of the body, and how often it comes. */
typedef struct {
    part value;
    int count;
} header;

typedef struct {
    int minor, status;
    part reason, fields;
    Py_ssize_t lines, size;
    header length, connection, coding;
} head;

/* The bytes of which names consist (RFC 9110, section 5.6.2). */
static const char name_bytes[256] = {
    ['!'] = 1, ['#'] = 1, ['$'] = 1, ['%'] = 1, ['&'] = 1, ['\''] = 1, ['*'] = 1, ['+'] = 1, ['-'] = 1, ['.'] = 1,
    ['^'] = 1, ['_'] = 1, ['`'] = 1, ['|'] = 1, ['~'] = 1,
    ['0'] = 1, ['1'] = 1, ['2'] = 1, ['3'] = 1, ['4'] = 1, ['5'] = 1, ['6'] = 1, ['7'] = 1, ['8'] = 1, ['9'] = 1,
    ['A'] = 1, ['B'] = 1, ['C'] = 1, ['D'] = 1, ['E'] = 1, ['F'] = 1, ['G'] = 1, ['H'] = 1, ['I'] = 1, ['J'] = 1,
    ['K'] = 1, ['L'] = 1, ['M'] = 1, ['N'] = 1, ['O'] = 1, ['P'] = 1, ['Q'] = 1, ['R'] = 1, ['S'] = 1, ['T'] = 1,
    ['U'] = 1, ['V'] = 1, ['W'] = 1, ['X'] = 1, ['Y'] = 1, ['Z'] = 1,
    ['a'] = 1, ['b'] = 1, ['c'] = 1, ['d'] = 1, ['e'] = 1, ['f'] = 1, ['g'] = 1, ['h'] = 1, ['i'] = 1, ['j'] = 1,
    ['k'] = 1, ['l'] = 1, ['m'] = 1, ['n'] = 1, ['o'] = 1, ['p'] = 1, ['q'] = 1, ['r'] = 1, ['s'] = 1, ['t'] = 1,
    ['u'] = 1, ['v'] = 1, ['w'] = 1, ['x'] = 1, ['y'] = 1, ['z'] = 1,
};

static char
lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* Whether a part is this word, which is in lower case, in any case. */
static int
is_word(part written, const char *word)
{
    if (written.length != (Py_ssize_t)strlen(word))
        return 0;
    for (Py_ssize_t i = 0; i < written.length; i++)
        if (lower(written.at[i]) != word[i])
            return 0;
    return 1;
}

/* Whether the bytes from `at` on begin with this word. */
static int
begins(const char *at, const char *end, const char *word)
{
    size_t length = strlen(word);
    return end - at >= (Py_ssize_t)length && memcmp(at, word, length) == 0;
}

/* Where the CR LF begins with which a line ends; NULL if it has no end, or another CR, LF or NUL. */
static const char *
line_end(const char *at, const char *end)
{
    const char *cr = memchr(at, '\r', end - at);
    if (cr == NULL || end - cr < 2 || cr[1] != '\n' || memchr(at, '\n', cr - at) || memchr(at, '\0', cr - at))
        return NULL;
    return cr;
}

/* Reads a line with a header; returns where the next one begins, or NULL. */
static const char *
read_line(const char *at, const char *end, part *name, part *value)
{
    name->at = at;
    while (at < end && name_bytes[(unsigned char)*at])
        at++;
    name->length = at - name->at;
    if (name->length == 0 || at == end || *at != ':')
        return NULL;
    const char *last = line_end(++at, end), *next = last == NULL ? NULL : last + 2;
    if (last == NULL)
        return NULL;
    while (at < last && (*at == ' ' || *at == '\t'))
        at++;
    while (last > at && (last[-1] == ' ' || last[-1] == '\t'))
        last--;
    value->at = at;
    value->length = last - at;
    return next;
}

static void
note(header *of, part value)
{
    if (of->count++ == 0)
        of->value = value;
}

/* Reads the status line; returns where the headers begin, or NULL. */
static const char *
read_status(const char *at, const char *end, head *found)
{
    if (end - at < STATUS_LINE || !begins(at, end, "HTTP/1.") || (at[7] != '0' && at[7] != '1') || at[8] != ' ')
        return NULL;
    if (at[9] < '2' || at[9] > '9' || at[10] < '0' || at[10] > '9' || at[11] < '0' || at[11] > '9')
        return NULL;
    found->minor = at[7] - '0';
    found->status = 100 * (at[9] - '0') + 10 * (at[10] - '0') + (at[11] - '0');
    at += STATUS_LINE;
    const char *last = line_end(at, end);
    if (last == NULL || (last > at && *at != ' '))
        return NULL;
    if (last > at)
        at++;
    if (last > at && (*at == ' ' || *at == '\t'))
        return NULL;
    found->reason.at = at;
    found->reason.length = last - at;
    return last + 2;
}

/* Reads all lines of a head; returns whether they are plain, one by one. */
static int
read_lines(const char *at, const char *end, head *found)
{
    const char *start = at;
    memset(found, 0, sizeof(head));
    at = read_status(at, end, found);
    if (at == NULL)
        return 0;
    found->fields.at = at;
    while (!begins(at, end, "\r\n")) {
        part name, value;
        at = read_line(at, end, &name, &value);
        if (at == NULL || is_word(name, "proxy-connection"))
            return 0;
        found->lines++;
        if (is_word(name, "content-length"))
            note(&found->length, value);
        else if (is_word(name, "connection"))
            note(&found->connection, value);
        else if (is_word(name, "transfer-encoding"))
            note(&found->coding, value);
    }
    found->fields.length = at - found->fields.at;
    found->size = at + 2 - start;
    return 1;
}

/* Whether what the lines say of the body and the connection is clear. Gives the length of the body; -1 for chunks. */
static int
is_clear(const head *found, long long *length, int *should_close)
{
    const header *stated = &found->length, *connection = &found->connection, *coding = &found->coding;
    int has_body = found->status != 204 && found->status != 205 && found->status != 304;
    if (stated->count > 1 || connection->count > 1 || coding->count > 1)
        return 0;
    part wish = connection->value;
    int closes = is_word(wish, "close") || is_word(wish, "upgrade, close");
    int is_kept = is_word(wish, "keep-alive") || is_word(wish, "upgrade, keep-alive");
    if (wish.length > 0 && !closes && !is_kept && !is_word(wish, "upgrade"))
        return 0;
    *should_close = found->minor == 1 ? closes : !is_kept;
    *length = 0;
    if (coding->count > 0) {
        if (!has_body || found->minor == 0 || !is_word(coding->value, "chunked"))
            return 0;
        *length = -1;
        /* There are two lengths, and a proxy may have taken the other one. */
        *should_close |= stated->count > 0;
        return 1;
    }
    if (stated->count == 0)
        return !has_body;
    if (stated->value.length == 0 || stated->value.length > LENGTH_DIGITS)
        return 0;
    for (Py_ssize_t i = 0; i < stated->value.length; i++) {
        char digit = stated->value.at[i];
        if (digit < '0' || digit > '9')
            return 0;
        *length = 10 * *length + (digit - '0');
    }
    if (!has_body)
        *length = 0;
    return 1;
}

/* A name in lower case; a new reference. */
static PyObject *
lowered(PyObject *name)
{
    char small[LONGEST];
    Py_ssize_t length = PyBytes_Size(name);
    const char *written = PyBytes_AsString(name);
    for (Py_ssize_t i = 0; i < length; i++)
        small[i] = lower(written[i]);
    return PyBytes_FromStringAndSize(small, length);
}

/* The headers as pairs of name and value; a new reference. */
static PyObject *
make_lines(const head *found)
{
    PyObject *lines = PyList_New(found->lines);
    const char *at = found->fields.at, *end = at + found->fields.length;
    for (Py_ssize_t i = 0; lines != NULL && i < found->lines; i++) {
        part name, value;
        at = read_line(at, end, &name, &value);
        PyObject *first = PyBytes_FromStringAndSize(name.at, name.length);
        PyObject *second = first == NULL ? NULL : PyBytes_FromStringAndSize(value.at, value.length);
        PyObject *pair = second == NULL ? NULL : PyTuple_Pack(2, first, second);
        Py_XDECREF(first);
        Py_XDECREF(second);
        if (pair == NULL)
            Py_CLEAR(lines);
        else
            PyList_SetItem(lines, i, pair);
    }
    return lines;
}

/* The first value of each name, in lower case; a new reference. */
static PyObject *
make_named(PyObject *lines)
{
    PyObject *named = PyDict_New();
    for (Py_ssize_t i = PyList_Size(lines); named != NULL && i-- > 0;) {
        PyObject *pair = PyList_GetItem(lines, i), *name = lowered(PyTuple_GetItem(pair, 0));
        if (name == NULL || PyDict_SetItem(named, name, PyTuple_GetItem(pair, 1)) < 0)
            Py_CLEAR(named);
        Py_XDECREF(name);
    }
    return named;
}

/* Calls make(version, status, reason, lines, named, should_close, size, length or None, chunked). */
static PyObject *
make_head(PyObject *make, PyObject *version, const head *found, long long length, int should_close)
{
    const part *phrase = &found->reason;
    PyObject *chunked = length < 0 ? Py_True : Py_False, *closes = should_close ? Py_True : Py_False;
    PyObject *lines = make_lines(found);
    PyObject *named = lines == NULL ? NULL : make_named(lines);
    PyObject *reason = named == NULL ? NULL : PyUnicode_DecodeUTF8(phrase->at, phrase->length, "surrogateescape");
    PyObject *status = reason == NULL ? NULL : PyLong_FromLong(found->status);
    PyObject *size = status == NULL ? NULL : PyLong_FromSsize_t(found->size);
    PyObject *stated = size == NULL ? NULL : length < 0 ? Py_NewRef(Py_None) : PyLong_FromLongLong(length);
    PyObject *result = NULL;
    if (stated != NULL)
        result = PyObject_CallFunctionObjArgs(make, version, status, reason, lines, named, closes, size, stated,
                                              chunked, NULL);
    Py_XDECREF(lines);
    Py_XDECREF(named);
    Py_XDECREF(status);
    Py_XDECREF(size);
    Py_XDECREF(reason);
    Py_XDECREF(stated);
    return result;
}

static PyObject *
read_plain_head(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 4 || !PyBytes_Check(arguments[3])) {
        PyErr_SetString(PyExc_TypeError, "expected a function, the versions 1.0 and 1.1, and bytes");
        return NULL;
    }
    const char *at = PyBytes_AsString(arguments[3]);
    Py_ssize_t length = PyBytes_Size(arguments[3]);
    head found;
    long long body;
    int should_close;
    if (!read_lines(at, at + (length < LONGEST ? length : LONGEST), &found) || !is_clear(&found, &body, &should_close))
        return Py_NewRef(Py_None);
    return make_head(arguments[0], arguments[1 + found.minor], &found, body, should_close);
}

static PyMethodDef methods[] = {
    {"read_plain_head", (PyCFunction)(void (*)(void))read_plain_head, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

EXTENSION("crawler.fetch.connect", _heads, NULL,
          .m_doc = "Plain heads of responses, compiled; response_heads.py documents them.", .m_methods = methods)
