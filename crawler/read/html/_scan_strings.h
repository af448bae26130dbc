/* Makes strings of the bytes of a page. */
#ifndef ONCEOVER_SCAN_STRINGS_H
#define ONCEOVER_SCAN_STRINGS_H

#include "_scan_state.h"

static span
stripped(const byte *at, ptrdiff_t length)
{
    while (length && (is(*at, SPACE) || *at == '\v' || *at == 0)) {
        at++;
        length--;
    }
    while (length && (is(at[length - 1], SPACE) || at[length - 1] == '\v' || at[length - 1] == 0))
        length--;
    return (span){at, length};
}

static int
is_ascii(const byte *at, ptrdiff_t length)
{
    uint64_t all = 0, eight;
    for (; length >= 8; length -= 8, at += 8) {
        memcpy(&eight, at, 8);
        all |= eight;
    }
    for (; length > 0; length--)
        all |= *at++;
    return (all & 0x8080808080808080u) == 0;
}

/* Whether a text is UTF-8 as Python decodes it: in the shortest form, without surrogates. */
static int
is_utf8(const byte *at, ptrdiff_t length)
{
    const byte *end = at + length;
    while (at < end) {
        byte first = *at++, next = at < end ? *at : 0;
        if (first < 0x80)
            continue;
        int others = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
        if (first < 0xC2 || first > 0xF4 || end - at < others || (first == 0xE0 && next < 0xA0) ||
            (first == 0xED && next > 0x9F) || (first == 0xF0 && next < 0x90) || (first == 0xF4 && next > 0x8F))
            return 0;
        for (; others > 0; others--, at++)
            if ((*at & 0xC0) != 0x80)
                return 0;
    }
    return 1;
}

/* Whether a text contains, or seems to contain, white space beyond ASCII, at which Python splits words. */
static int
has_wide_gap(const byte *at, ptrdiff_t length)
{
    for (ptrdiff_t i = 0; i + 1 < length; i++) {
        byte next = at[i + 1], last = i + 2 < length ? at[i + 2] : 0;
        switch (at[i]) {
        case 0xC2: /* U+0085, U+00A0 */
            if (next == 0x85 || next == 0xA0)
                return 1;
            break;
        case 0xE1: /* U+1680 */
            if (next == 0x9A && last == 0x80)
                return 1;
            break;
        case 0xE2: /* U+2000 to U+200A, U+2028, U+2029, U+202F; U+205F */
            if (next == 0x80 ? last <= 0x8A || last == 0xA8 || last == 0xA9 || last == 0xAF : next == 0x81 && last == 0x9F)
                return 1;
            break;
        case 0xE3: /* U+3000 */
            if (next == 0x80 && last == 0x80)
                return 1;
            break;
        default:
            break;
        }
    }
    return 0;
}

/* Decodes UTF-8; NULL with an exception, or without one if it is broken. */
static PyObject *
string_of(const byte *at, ptrdiff_t length)
{
    PyObject *made = PyUnicode_DecodeUTF8((const char *)at, length, "strict");
    if (made == NULL && PyErr_ExceptionMatches(PyExc_UnicodeDecodeError))
        PyErr_Clear();
    return made;
}

static outcome
none_made(void)
{
    return PyErr_Occurred() ? FAILED : GIVES_UP;
}

/* Turns CR and CR LF into LF, if there are any in a copy that is valid until the next call. */
static int
normalize_lines(scan *self, span *text)
{
    if (text->length == 0 || memchr(text->at, '\r', text->length) == NULL)
        return 0;
    buffer *lines = &self->lines;
    lines->length = 0;
    if (append(lines, text->at, text->length) < 0)
        return -1;
    byte *to = lines->at;
    for (ptrdiff_t i = 0; i < text->length; i++) {
        int is_return = text->at[i] == '\r';
        *to++ = is_return ? '\n' : text->at[i];
        i += is_return && i + 1 < text->length && text->at[i + 1] == '\n';
    }
    *text = (span){lines->at, to - lines->at};
    return 0;
}

/* Normalizes the line ends of a text and decodes its references, in a copy that is valid until the next call; -1 with an
 * exception. `in_attribute` is -1 if there are no references. */
static int
undo(scan *self, span *text, int in_attribute, int strip)
{
    /* Line ends come first, references second: `&#13;` stays. */
    if (normalize_lines(self, text) < 0)
        return -1;
    if (in_attribute >= 0 && text->length && memchr(text->at, '&', text->length) != NULL) {
        buffer *undone = &self->scratch;
        undone->length = 0;
        if (append_text(undone, *text, self->references, in_attribute) < 0)
            return -1;
        *text = (span){undone->at, undone->length};
    }
    if (strip)
        *text = stripped(text->at, text->length);
    return 0;
}

static PyObject *
text_of(scan *self, span text, int in_attribute, int strip)
{
    return undo(self, &text, in_attribute, strip) < 0 ? NULL : string_of(text.at, text.length);
}

/* Keeps a text of a link, unless it is broken. */
static outcome
keep(scan *self, span text, part *kept)
{
    buffer *bytes = &self->found->bytes;
    if (!is_ascii(text.at, text.length) && !is_utf8(text.at, text.length))
        return GIVES_UP;
    *kept = (part){bytes->length, text.length};
    return append(bytes, text.at, text.length) < 0 ? FAILED : GOES_ON;
}

/* Collapses white space and cuts at `room` bytes, in ASCII. Returns the length. */
static ptrdiff_t
collapse(const byte *at, ptrdiff_t length, char *into, ptrdiff_t room)
{
    ptrdiff_t made = 0;
    int is_behind_gap = 0;
    for (ptrdiff_t i = 0; i < length && made < room; i++) {
        if (is(at[i], GAP)) {
            is_behind_gap = made > 0;
            continue;
        }
        if (is_behind_gap) {
            into[made++] = ' ';
            is_behind_gap = 0;
            if (made == room)
                break;
        }
        into[made++] = (char)at[i];
    }
    return made;
}

/* The end of a cut text, without a torn character. */
static ptrdiff_t
whole_characters(const byte *at, ptrdiff_t length, ptrdiff_t most)
{
    if (length <= most)
        return length;
    length = most;
    while (length > most - LONGEST_CHARACTER && (at[length] & 0xC0) == 0x80)
        length--;
    return length;
}

/* Whether the cut depends on counting CR LF as one character. */
static int
is_cut_by_lines(const buffer *text, ptrdiff_t most)
{
    return text->length > most && memchr(text->at, '\r', text->length) != NULL;
}

/* Keeps the text of an anchor, white space collapsed. */
static outcome
keep_collapsed(scan *self, const buffer *text, part *kept)
{
    char short_text[MOST_ANCHOR_CHARACTERS];
    if (is_cut_by_lines(text, MOST_ANCHOR_READ))
        return GIVES_UP;
    /* So few bytes beyond ASCII are not cut. */
    if (is_ascii(text->at, text->length) ||
        (text->length <= MOST_ANCHOR_CHARACTERS && !has_wide_gap(text->at, text->length))) {
        ptrdiff_t read = text->length < MOST_ANCHOR_READ ? text->length : MOST_ANCHOR_READ;
        ptrdiff_t length = collapse(text->at, read, short_text, MOST_ANCHOR_CHARACTERS);
        return keep(self, (span){(const byte *)short_text, length}, kept);
    }
    ptrdiff_t length = whole_characters(text->at, text->length, LONGEST_CHARACTER * MOST_ANCHOR_READ);
    PyObject *whole = string_of(text->at, length), *head = NULL, *words = NULL, *joined = NULL, *cut = NULL;
    if (whole != NULL)
        head = PyUnicode_Substring(whole, 0, MOST_ANCHOR_READ);
    if (head != NULL)
        words = PyUnicode_Split(head, NULL, -1);
    if (words != NULL)
        joined = PyUnicode_Join(self->names->blank, words);
    if (joined != NULL)
        cut = PyUnicode_Substring(joined, 0, MOST_ANCHOR_CHARACTERS);
    Py_ssize_t size = 0;
    const char *utf8 = cut == NULL ? NULL : PyUnicode_AsUTF8AndSize(cut, &size);
    outcome done = utf8 == NULL ? none_made() : keep(self, (span){(const byte *)utf8, size}, kept);
    Py_XDECREF(whole);
    Py_XDECREF(head);
    Py_XDECREF(words);
    Py_XDECREF(joined);
    Py_XDECREF(cut);
    return done;
}

/* The words of a short value, with one blank between them. `at` is NULL if element_reader.py must read it. `into` has
 * room for `MOST_ANCHOR_CHARACTERS`. */
static span
words_of(span value, int in_lower_case, char *into)
{
    const span unread = {NULL, 0};
    if (value.length > MOST_ANCHOR_CHARACTERS || (value.length && memchr(value.at, '&', value.length) != NULL))
        return unread;
    if (!is_ascii(value.at, value.length) && (in_lower_case || has_wide_gap(value.at, value.length)))
        return unread;
    ptrdiff_t length = collapse(value.at, value.length, into, MOST_ANCHOR_CHARACTERS);
    for (ptrdiff_t i = 0; in_lower_case && i < length; i++)
        if (into[i] >= 'A' && into[i] <= 'Z')
            into[i] |= 0x20;
    return (span){(const byte *)into, length};
}

#endif
