/* The text between tags. */
#ifndef ONCEOVER_SIMHASH_MARKUP_H
#define ONCEOVER_SIMHASH_MARKUP_H

#include "_simhash_words.h"

static int
is_letter(byte each)
{
    return (each | 32) >= 'a' && (each | 32) <= 'z';
}

static int
is_digit(byte each)
{
    return each >= '0' && each <= '9';
}

static int
is_space(byte each)
{
    return each == ' ' || each == '\t' || each == '\n' || each == '\f' || each == '\r';
}

static void
meet_number(state *self, uint32_t number)
{
    byte text[4];
    int length;
    if (number > 0x10FFFF || (number >= 0xD800 && number <= 0xDFFF)) {
        end_word(self);
        return;
    }
    if (number < 0x80) {
        text[0] = (byte)number;
        length = 1;
    }
    else if (number < 0x800) {
        text[0] = 0xC0 | number >> 6;
        length = 2;
    }
    else if (number < 0x10000) {
        text[0] = 0xE0 | number >> 12;
        length = 3;
    }
    else {
        text[0] = 0xF0 | number >> 18;
        length = 4;
    }
    for (int i = 1; i < length; i++)
        text[i] = 0x80 | (number >> 6 * (length - 1 - i) & 0x3F);
    meet_utf8(self, text, text + length);
}

/* Read the name of a reference with its semicolon. Returns 0 if it stands for nothing, and -1 with an exception. */
static int
meet_name(state *self, const byte *name, Py_ssize_t length)
{
    PyObject *key = PyUnicode_FromStringAndSize((const char *)name, length);
    if (key == NULL)
        return -1;
    PyObject *found = PyDict_GetItemWithError(self->references, key);
    Py_DECREF(key);
    if (found == NULL)
        return PyErr_Occurred() ? -1 : 0;
    Py_ssize_t size;
    const char *text = PyUnicode_Check(found) ? PyUnicode_AsUTF8AndSize(found, &size) : NULL;
    if (text == NULL) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "expected a str for each name of a character");
        return -1;
    }
    Py_INCREF(found); /* a long text lets others run, which may change the dict */
    meet_utf8(self, (const byte *)text, (const byte *)text + size);
    Py_DECREF(found);
    return 1;
}

/* Read the character reference at `&`. Returns its length; 1 if it is none; -1 with an exception. */
static Py_ssize_t
meet_reference(state *self, const byte *at, const byte *end)
{
    const byte *from = at + 1, *each = from;
    if (from < end && *from == '#') {
        uint32_t number = 0;
        int is_hexadecimal = end - from > 1 && (from[1] | 32) == 'x', digits = 0, most = is_hexadecimal ? 6 : 7;
        for (each = from + 1 + is_hexadecimal; each < end && digits < most; each++, digits++) {
            if (is_digit(*each))
                number = number * (is_hexadecimal ? 16 : 10) + (*each - '0');
            else if (is_hexadecimal && (*each | 32) >= 'a' && (*each | 32) <= 'f')
                number = number * 16 + ((*each | 32) - 'a' + 10);
            else
                break;
        }
        if (digits && each < end && *each == ';') {
            meet_number(self, number);
            return each + 1 - at;
        }
    }
    else if (from < end && is_letter(*from)) {
        while (each < end && each - from < MOST_NAME && (is_letter(*each) || is_digit(*each)))
            each++;
        if (each < end && *each == ';') {
            int met = meet_name(self, from, each + 1 - from);
            if (met)
                return met < 0 ? -1 : each + 1 - at;
        }
    }
    end_word(self);
    return 1;
}

/* Read text between tags. Returns -1 with an exception. */
static int
meet_text(state *self, const byte *at, const byte *end)
{
    while (at < end) {
        const byte *mark = memchr(at, '&', end - at);
        if (mark == NULL)
            mark = end;
        meet_utf8(self, at, mark);
        if ((at = mark) < end) {
            Py_ssize_t length = meet_reference(self, at, end);
            if (length < 0)
                return -1;
            at += length;
        }
    }
    end_word(self);
    return 0;
}

static const byte *
behind(const byte *at, const byte *end, byte mark)
{
    const byte *found = at < end ? memchr(at, mark, end - at) : NULL;
    return found == NULL ? end : found + 1;
}

static const byte *
behind_comment(const byte *at, const byte *end)
{
    while ((at = behind(at, end, '>')) < end)
        if (at[-2] == '-' && at[-3] == '-')
            return at;
    return end;
}

/* Find the end of a tag, behind its name. A quote begins a value only behind `=`. */
static const byte *
behind_tag(const byte *at, const byte *end)
{
    while (at < end) {
        byte next = *at++;
        if (next == '>')
            return at;
        if (next != '=')
            continue;
        const byte *value = at;
        while (value < end && is_space(*value))
            value++;
        if (value < end && (*value == '"' || *value == '\''))
            at = behind(value + 1, end, *value);
    }
    return end;
}

static int
equals_lower(const byte *at, const char *lower, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((is_letter(at[i]) ? at[i] | 32 : at[i]) != (byte)lower[i])
            return 0;
    return 1;
}

/* The name of an element that is no text, or NULL. */
static const char *
hidden_element(const byte *name, ptrdiff_t length)
{
    static const char *const HIDDEN[] = {"script", "style", "template"};
    for (size_t i = 0; i < COUNT(HIDDEN); i++)
        if (length == (ptrdiff_t)strlen(HIDDEN[i]) && equals_lower(name, HIDDEN[i], length))
            return HIDDEN[i];
    return NULL;
}

static const byte *
end_of_element(const byte *at, const byte *end, const char *name)
{
    ptrdiff_t length = (ptrdiff_t)strlen(name);
    for (; (at = memchr(at, '<', end - at)) != NULL; at++) {
        if (end - at < length + 2)
            return end;
        const byte *next = at + 2 + length;
        if (at[1] == '/' && equals_lower(at + 2, name, length) &&
            (next == end || is_space(*next) || *next == '/' || *next == '>'))
            return at;
    }
    return end;
}

/* Find the end of what begins with `<`; NULL if that is text. */
static const byte *
behind_markup(const byte *at, const byte *end)
{
    const byte *next = at + 1;
    if (next == end)
        return NULL;
    if (*next == '!' && end - next > 2 && next[1] == '-' && next[2] == '-')
        return behind_comment(next + 1, end);
    if (*next == '!' || *next == '?')
        return behind(next + 1, end, '>');
    int is_end = *next == '/';
    const byte *name = next + is_end;
    if (name == end || !is_letter(*name))
        return NULL;
    const byte *name_end = name;
    while (name_end < end && !is_space(*name_end) && *name_end != '/' && *name_end != '>')
        name_end++;
    const byte *found = behind_tag(name_end, end);
    const char *hidden = is_end ? NULL : hidden_element(name, name_end - name);
    return hidden == NULL ? found : end_of_element(found, end, hidden);
}

static int
meet_markup(state *self, const byte *at, const byte *end)
{
    const byte *text = at, *mark = at, *rested = at;
    while (mark < end && (mark = memchr(mark, '<', end - mark)) != NULL) {
        const byte *found = behind_markup(mark, end);
        if (found == NULL) {
            mark++;
            continue;
        }
        if (meet_text(self, text, mark) < 0)
            return -1;
        text = mark = found;
        if (text - rested >= AT_ONCE_BYTES) {
            rested = text;
            let_others_run();
        }
    }
    return meet_text(self, text, end);
}

#endif
