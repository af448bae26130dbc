/* Counts the markup of a page without a parser, compiled.
 *
 * markup.py explains the counts, and does the same with regular expressions; tests compare the two. It reads only the
 * bytes of its argument, and writes none of them.
 */
#include "../../../visited/bits/_extension.h"
#include <string.h>

/* Raised with each change of the arguments or results. */
#define VERSION 1

enum { TIMES_READ = 4 };
enum { ENDS_TAG = 1, SPACE = 2, LETTER = 4, DIGIT = 8, OUTSIDE_NAME = 16, OUTSIDE_VALUE = 32 };

/* The classes of each byte. */
static unsigned char kinds[256];

static int
is(unsigned char byte, int kind)
{
    return kinds[byte] & kind;
}

typedef struct {
    const unsigned char *name;
    Py_ssize_t length;
    int is_formatting;
} element;

typedef struct {
    element *open; /* elements followed only by text and closed elements so far */
    Py_ssize_t count, room, formatting_open;
    Py_ssize_t left, formatting_left, formatting_ends_left;
    Py_ssize_t most, most_formatting; /* upper bounds for those open at once */
} nesting;

static int
equals(const unsigned char *name, Py_ssize_t length, const char *lower)
{
    for (Py_ssize_t i = 0; i < length; i++)
        if ((name[i] | 0x20) != (unsigned char)lower[i])
            return 0;
    return lower[length] == 0;
}

/* Whether it is the name of a formatting element other than <a>. */
static int
is_formatting(const unsigned char *name, Py_ssize_t length)
{
    static const char *const names[] = {"big", "code", "em", "font", "nobr", "small", "strike", "strong", "tt"};
    if (length == 1)
        return strchr("bisuBISU", name[0]) != NULL && name[0] != 0;
    if (length < 2 || length > 6)
        return 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strlen(names[i]) == (size_t)length && equals(name, length, names[i]))
            return 1;
    return 0;
}

/* The length of the tag name at `at`; 0 if no tag name ends there. */
static Py_ssize_t
tag_name(const unsigned char *at, const unsigned char *end)
{
    const unsigned char *from = at;
    while (at < end && is(*at, LETTER))
        at++;
    return at < end && is(*at, ENDS_TAG) ? at - from : 0;
}

/* Counts all open elements as open until the end, because of ambiguous markup. */
static void
leave_open(nesting *nest)
{
    nest->left += nest->count;
    nest->formatting_left += nest->formatting_open;
    nest->count = nest->formatting_open = 0;
}

static void
note_most(nesting *nest)
{
    if (nest->left + nest->count > nest->most)
        nest->most = nest->left + nest->count;
    if (nest->formatting_left + nest->formatting_open > nest->most_formatting)
        nest->most_formatting = nest->formatting_left + nest->formatting_open;
}

static int
push(nesting *nest, element found)
{
    if (nest->count == nest->room) {
        Py_ssize_t room = nest->room ? 2 * nest->room : 256;
        element *open = PyMem_Realloc(nest->open, room * sizeof(element));
        if (open == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        nest->open = open;
        nest->room = room;
    }
    nest->open[nest->count++] = found;
    nest->formatting_open += found.is_formatting;
    note_most(nest);
    return 0;
}

/* The end of an unambiguous start tag, after its `>`; NULL for any other. */
static const unsigned char *
plain_tag_end(const unsigned char *at, const unsigned char *end)
{
    for (;;) {
        const unsigned char *gap = at;
        while (at < end && is(*at, SPACE))
            at++;
        if (at < end && *at == '>')
            return at + 1;
        const unsigned char *name = at;
        while (at < end && !is(*at, OUTSIDE_NAME))
            at++;
        if (at == name || name == gap || at == end)
            return NULL;
        if (*at != '=')
            continue;
        if (++at == end)
            return NULL;
        unsigned char quote = *at;
        const unsigned char *value = at;
        if (quote == '"' || quote == '\'') {
            at++;
            while (at < end && *at != quote && *at != '<' && *at != '>' && *at != 0)
                at++;
            if (at == end || *at != quote)
                return NULL;
            at++;
        }
        else {
            while (at < end && !is(*at, OUTSIDE_VALUE))
                at++;
            if (at == value)
                return NULL;
        }
    }
}

/* Counts the markup that begins with the `<` before `at`. */
static int
meet(nesting *nest, const unsigned char *at, const unsigned char *end)
{
    if (at < end && *at == '/') {
        const unsigned char *name = at + 1;
        element *last = nest->count ? &nest->open[nest->count - 1] : NULL;
        if (last != NULL && end - name > last->length && memcmp(name, last->name, last->length) == 0 &&
            name[last->length] == '>') {
            nest->count--;
            nest->formatting_open -= last->is_formatting;
            return 0;
        }
        leave_open(nest);
        Py_ssize_t length = tag_name(name, end);
        nest->formatting_ends_left += (length == 1 && (*name | 0x20) == 'a') || is_formatting(name, length);
        return 0;
    }
    element found = {at, 0, 0};
    Py_ssize_t length = tag_name(at, end);
    found.is_formatting = is_formatting(at, length);
    if (at < end && is(*at, LETTER)) {
        while (at < end && is(*at, LETTER | DIGIT))
            at++;
        found.length = at - found.name;
        if (plain_tag_end(at, end) != NULL)
            return push(nest, found);
    }
    leave_open(nest);
    nest->left++;
    nest->formatting_left += found.is_formatting;
    note_most(nest);
    return 0;
}

/* Whether more than `most` attributes follow, by the standard's tokenizer. `budget` is the number of bytes that may be
 * read: tags that begin within others, as in <a<a<a, would take quadratic time. */
static int
is_laden(const unsigned char *at, const unsigned char *end, Py_ssize_t most, Py_ssize_t *budget)
{
    const unsigned char *from = at;
    while (at < end && *at != '>' && *at != '/' && !is(*at, SPACE))
        at++;
    for (Py_ssize_t count = 0; count <= most; count++) {
        while (at < end && (is(*at, SPACE) || *at == '/'))
            at++;
        if (at == end || *at == '>') {
            *budget -= at - from;
            return *budget < 0;
        }
        at++;
        while (at < end && *at != '>' && *at != '/' && *at != '=' && !is(*at, SPACE))
            at++;
        const unsigned char *value = at;
        while (value < end && is(*value, SPACE))
            value++;
        if (value == end || *value != '=')
            continue;
        value++;
        while (value < end && is(*value, SPACE))
            value++;
        if (value < end && (*value == '"' || *value == '\'')) {
            value = memchr(value + 1, *value, end - value - 1);
            at = value == NULL ? end : value + 1;
        }
        else {
            while (value < end && *value != '>' && !is(*value, SPACE))
                value++;
            at = value;
        }
    }
    return 1;
}

static PyObject *
survey(PyObject *Py_UNUSED(module), PyObject *args)
{
    Py_buffer buffer;
    Py_ssize_t most;
    if (!PyArg_ParseTuple(args, "y*n", &buffer, &most))
        return NULL;
    const unsigned char *at = buffer.buf, *end = at + buffer.len;
    nesting nest = {NULL, 0, 0, 0, 0, 0, 0, 0, 0};
    Py_ssize_t tags = 0, roots = 0, budget = TIMES_READ * buffer.len;
    int laden = 0;
    PyObject *result = NULL;
    while ((at = memchr(at, '<', end - at)) != NULL) {
        at++;
        tags++;
        if (meet(&nest, at, end) < 0)
            goto done;
        if (at < end && is(*at, LETTER)) {
            laden = laden || is_laden(at, end, most, &budget);
            if (end - at > 4 && at[4] != '>' && is(at[4], ENDS_TAG))
                roots += equals(at, 4, "html") || equals(at, 4, "body");
        }
    }
    leave_open(&nest);
    result = Py_BuildValue("nnnnnN", tags, nest.most, nest.most_formatting, nest.formatting_ends_left, roots,
                           PyBool_FromLong(laden));
done:
    PyMem_Free(nest.open);
    PyBuffer_Release(&buffer);
    return result;
}

static PyMethodDef methods[] = {
    {"survey", survey, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static int
prepare(PyObject *Py_UNUSED(module))
{
    memset(kinds, 0, sizeof(kinds));
    for (int byte = 'a'; byte <= 'z'; byte++) {
        kinds[byte] |= LETTER;
        kinds[byte - 0x20] |= LETTER;
    }
    for (int byte = '0'; byte <= '9'; byte++)
        kinds[byte] |= DIGIT;
    for (const char *each = "\t\n\f\r "; *each; each++)
        kinds[(unsigned char)*each] |= SPACE | ENDS_TAG | OUTSIDE_NAME | OUTSIDE_VALUE;
    kinds['/'] |= ENDS_TAG | OUTSIDE_NAME;
    kinds['>'] |= ENDS_TAG;
    for (const char *each = "\"'<>="; *each; each++)
        kinds[(unsigned char)*each] |= OUTSIDE_NAME | OUTSIDE_VALUE;
    kinds['`'] |= OUTSIDE_VALUE;
    kinds[0] |= OUTSIDE_NAME | OUTSIDE_VALUE;
    return 0;
}

EXTENSION("crawler.read.elements", _markup, prepare,
          .m_doc = "Counts the markup of a page without a parser; markup.py explains the counts.", .m_methods = methods)
