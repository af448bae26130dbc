/* Decodes character references by section 13.2.5.72 of the HTML standard, with the names of `html.entities.html5`. */
#ifndef ONCEOVER_SCAN_REFERENCES_H
#define ONCEOVER_SCAN_REFERENCES_H

#include "../../../visited/bits/_extension.h"

#include "_scan_tokens.h"

enum { LONGEST_REFERENCE = 40, LONGEST_OPEN_REFERENCE = 6 };

/* The numbers from 128 to 159 are characters of windows-1252. */
static const unsigned short WINDOWS_1252[32] = {
    0x20AC, 0x81,   0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8D,
    0x017D, 0x8F,   0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A,
    0x0153, 0x9D,   0x017E, 0x0178,
};

/* A growing string of bytes. */
typedef struct {
    byte *at;
    ptrdiff_t length, room;
} buffer;

static int
append(buffer *into, const byte *from, ptrdiff_t length)
{
    if (into->room - into->length < length) {
        ptrdiff_t room = 2 * (into->length + length) + 256;
        byte *at = PyMem_Realloc(into->at, room);
        if (at == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        into->at = at;
        into->room = room;
    }
    if (length)
        memcpy(into->at + into->length, from, length);
    into->length += length;
    return 0;
}

static int
append_character(buffer *into, unsigned long code)
{
    byte utf8[4];
    if (code == 0 || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
        code = 0xFFFD;
    else if (code >= 0x80 && code <= 0x9F)
        code = WINDOWS_1252[code - 0x80];
    if (code < 0x80) {
        utf8[0] = (byte)code;
        return append(into, utf8, 1);
    }
    if (code < 0x800) {
        utf8[0] = (byte)(0xC0 | code >> 6);
        utf8[1] = (byte)(0x80 | (code & 0x3F));
        return append(into, utf8, 2);
    }
    if (code < 0x10000) {
        utf8[0] = (byte)(0xE0 | code >> 12);
        utf8[1] = (byte)(0x80 | (code >> 6 & 0x3F));
        utf8[2] = (byte)(0x80 | (code & 0x3F));
        return append(into, utf8, 3);
    }
    utf8[0] = (byte)(0xF0 | code >> 18);
    utf8[1] = (byte)(0x80 | (code >> 12 & 0x3F));
    utf8[2] = (byte)(0x80 | (code >> 6 & 0x3F));
    utf8[3] = (byte)(0x80 | (code & 0x3F));
    return append(into, utf8, 4);
}

/* Reads `&#12;` or `&#x1F;` from after the `#`; returns where it ends, NULL if it is not a number. */
static const byte *
number_reference(const byte *at, const byte *end, unsigned long *code)
{
    int base = 10;
    if (at < end && (*at | 0x20) == 'x') {
        base = 16;
        at++;
    }
    const byte *digits = at;
    *code = 0;
    for (; at < end; at++) {
        int digit = *at >= '0' && *at <= '9' ? *at - '0' : base == 16 && is(*at, LETTER) ? (*at | 0x20) - 'a' + 10 : 99;
        if (digit >= base)
            break;
        if (*code <= 0x10FFFF)
            *code = *code * base + digit;
    }
    if (at == digits)
        return NULL;
    return at < end && *at == ';' ? at + 1 : at;
}

/* Appends the characters of a name: 1, 0 if it is not in the dictionary, -1 with an exception. */
static int
append_named(buffer *into, PyObject *names, const byte *name, ptrdiff_t length)
{
    PyObject *key = PyUnicode_DecodeASCII((const char *)name, length, "strict");
    if (key == NULL)
        return -1;
    PyObject *meaning = PyDict_GetItemWithError(names, key);
    Py_DECREF(key);
    if (meaning == NULL)
        return PyErr_Occurred() ? -1 : 0;
    Py_ssize_t size;
    const char *utf8 = PyUnicode_AsUTF8AndSize(meaning, &size);
    if (utf8 == NULL || append(into, (const byte *)utf8, size) < 0)
        return -1;
    return 1;
}

/* Decodes the reference that begins with the `&` at `at`; returns where the rest begins, NULL with an exception. */
static const byte *
undo_reference(buffer *into, const byte *at, const byte *end, PyObject *names, int in_attribute)
{
    const byte *name = at + 1;
    if (name < end && *name == '#') {
        unsigned long code;
        const byte *behind = number_reference(name + 1, end, &code);
        if (behind != NULL)
            return append_character(into, code) < 0 ? NULL : behind;
    }
    if (end - name >= 4 && memcmp(name, "amp;", 4) == 0)
        return append(into, at, 1) < 0 ? NULL : name + 4;
    const byte *behind = name;
    while (behind < end && behind - name < LONGEST_REFERENCE && is(*behind, ALPHANUMERIC))
        behind++;
    ptrdiff_t length = behind - name;
    int found = 0;
    if (length >= 2) {
        int closed = behind < end && *behind == ';';
        if (closed && (found = append_named(into, names, name, length + 1)) > 0)
            return behind + 1;
        if (in_attribute) {
            if (!found && !closed && length <= LONGEST_OPEN_REFERENCE && !(behind < end && *behind == '=') &&
                (found = append_named(into, names, name, length)) > 0)
                return behind;
        }
        else {
            ptrdiff_t longest = length < LONGEST_OPEN_REFERENCE ? length : LONGEST_OPEN_REFERENCE;
            for (; !found && longest >= 2; longest--)
                if ((found = append_named(into, names, name, longest)) > 0)
                    return name + longest;
        }
    }
    if (found < 0 || append(into, at, 1) < 0)
        return NULL;
    return name;
}

/* Appends text with its references decoded. */
static int
append_text(buffer *into, span text, PyObject *names, int in_attribute)
{
    const byte *at = text.at, *end = text.at + text.length;
    while (at < end) {
        const byte *mark = memchr(at, '&', end - at);
        if (append(into, at, (mark == NULL ? end : mark) - at) < 0)
            return -1;
        if (mark == NULL)
            break;
        at = undo_reference(into, mark, end, names, in_attribute);
        if (at == NULL)
            return -1;
    }
    return 0;
}

#endif
