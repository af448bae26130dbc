/* Splits markup into tags, attributes and comments, by section 13.2.5 of the HTML standard.
 *
 * Nothing is copied: a span points into the page. Each function takes the range that it may read, and returns where it
 * ended, at most at the end of the page.
 */
#ifndef ONCEOVER_SCAN_TOKENS_H
#define ONCEOVER_SCAN_TOKENS_H

#include "_scan_elements.h"

typedef unsigned char byte;

typedef struct {
    const byte *at;
    ptrdiff_t length;
} span;

enum {
    SPACE = 1,
    ENDS_TAG_NAME = 2,
    ENDS_ATTRIBUTE_NAME = 4,
    ENDS_VALUE = 8,
    LETTER = 16,
    ALPHANUMERIC = 32,
    BEGINS_MARKUP = 64, /* behind a `<` */
    GAP = 128, /* ASCII white space as in Python's str.split */
};

/* The classes of each byte. */
static byte kinds[256];

static inline int
is(byte each, int kind)
{
    return kinds[each] & kind;
}

static void
prepare_tokens(void)
{
    memset(kinds, 0, sizeof(kinds));
    for (const char *each = "\t\n\v\f\r\x1C\x1D\x1E\x1F "; *each; each++)
        kinds[(byte)*each] = GAP;
    for (const char *each = "\t\n\f\r "; *each; each++)
        kinds[(byte)*each] |= SPACE | ENDS_TAG_NAME | ENDS_ATTRIBUTE_NAME | ENDS_VALUE;
    kinds['/'] = ENDS_TAG_NAME | ENDS_ATTRIBUTE_NAME | BEGINS_MARKUP;
    kinds['!'] = kinds['?'] = BEGINS_MARKUP;
    kinds['>'] = ENDS_TAG_NAME | ENDS_ATTRIBUTE_NAME | ENDS_VALUE;
    kinds['='] = ENDS_ATTRIBUTE_NAME;
    for (int each = 'a'; each <= 'z'; each++)
        kinds[each] = kinds[each - 0x20] = LETTER | ALPHANUMERIC | BEGINS_MARKUP;
    for (int each = '0'; each <= '9'; each++)
        kinds[each] = ALPHANUMERIC;
}

static const byte *
skip(const byte *at, const byte *end, int kind)
{
    while (at < end && is(*at, kind))
        at++;
    return at;
}

static const byte *
skip_to(const byte *at, const byte *end, int kind)
{
    while (at < end && !is(*at, kind))
        at++;
    return at;
}

/* Reads the name of a tag, and returns where it ends. Bytes from 0x40 on, letters above all, end no name, and most names
 * are less than eight of them. */
static inline const byte *
read_name(const byte *at, const byte *end, const element_kind **kind)
{
    if (end - at >= 8) {
        uint64_t bytes = word_at(at), others = ~bytes & FROM_40;
        const byte *behind = at + (others ? __builtin_ctzll(others) / 8 : 8);
        if (others && is(*behind, ENDS_TAG_NAME)) {
            uint64_t before = ((others & -others) >> 6) - 1;
            *kind = kind_named((packed_name){lower_letters(bytes & before), 0});
            return behind;
        }
    }
    const byte *behind = skip_to(at, end, ENDS_TAG_NAME);
    *kind = kind_of(at, behind - at);
    return behind;
}

/* Some elements ignore a line end at their start. */
static const byte *
skip_line_end(const byte *at, const byte *end)
{
    if (at < end && *at == '\r')
        at++;
    else if (at < end && *at == '\n')
        return at + 1;
    else
        return at;
    return at < end && *at == '\n' ? at + 1 : at;
}

static int
equals_lower(span given, const char *lower)
{
    ptrdiff_t i = 0;
    for (; i < given.length && lower[i]; i++) {
        byte each = given.at[i];
        if ((each >= 'A' && each <= 'Z' ? each | 0x20 : each) != (byte)lower[i])
            return 0;
    }
    return i == given.length && lower[i] == 0;
}

static const byte *
find(const byte *at, const byte *end, const char *what)
{
    ptrdiff_t length = (ptrdiff_t)strlen(what);
    while (end - at >= length && (at = memchr(at, what[0], end - at - length + 1)) != NULL) {
        if (memcmp(at, what, length) == 0)
            return at;
        at++;
    }
    return NULL;
}

typedef struct {
    span name;
    span value;
    int has_value;
} attribute;

enum { MOST_ATTRIBUTES = 48 };

typedef struct {
    span name;
    const element_kind *kind;
    int is_closed; /* as <a/> */
    int has_background; /* a `data-bg` attribute, which any element may have */
    int count, is_laden; /* attributes; whether there are too many */
    attribute attributes[MOST_ATTRIBUTES];
} tag;

/* See `read_attributes`. */
static const byte *
read_each_attribute(const byte *at, const byte *end, tag *into)
{
    for (;;) {
        /* Most attributes are classes, for which nobody asks. */
        if (end - at > 8 && memcmp(at, " class=\"", 8) == 0) {
            at = memchr(at + 8, '"', end - at - 8);
            if (at == NULL)
                return NULL;
            at++;
            continue;
        }
        for (const byte *from = at; at < end && is(*at, ENDS_TAG_NAME); at++) {
            if (*at == '>') {
                into->is_closed = at > from && at[-1] == '/';
                return at + 1;
            }
        }
        if (at == end)
            return NULL;
        attribute *found = &into->attributes[into->count];
        const byte *name = at;
        at = skip_to(at + 1, end, ENDS_ATTRIBUTE_NAME);
        found->name = (span){name, at - name};
        if (found->name.length == 7 && equals_lower(found->name, "data-bg"))
            into->has_background = 1;
        found->value = (span){at, 0};
        found->has_value = 0;
        const byte *sign = skip(at, end, SPACE);
        if (sign < end && *sign == '=') {
            at = skip(sign + 1, end, SPACE);
            if (at == end)
                return NULL;
            found->has_value = *at != '>';
            if (*at == '"' || *at == '\'') {
                const byte *quote = memchr(at + 1, *at, end - at - 1);
                if (quote == NULL)
                    return NULL;
                found->value = (span){at + 1, quote - at - 1};
                at = quote + 1;
            }
            else {
                const byte *value = at;
                at = skip_to(at, end, ENDS_VALUE);
                found->value = (span){value, at - value};
            }
        }
        if (into->count < MOST_ATTRIBUTES - 1)
            into->count++;
        else
            into->is_laden = 1;
    }
}

/* Reads the attributes of a tag from the end of its name on, and returns where its content begins; NULL if the page
 * ends within the tag, which is then ignored. */
static inline const byte *
read_attributes(const byte *at, const byte *end, tag *into)
{
    into->count = into->is_laden = into->is_closed = into->has_background = 0;
    return at < end && *at == '>' ? at + 1 : read_each_attribute(at, end, into);
}

static const attribute *
attribute_of(const tag *given, const char *name)
{
    for (int i = 0; i < given->count; i++)
        if (equals_lower(given->attributes[i].name, name))
            return &given->attributes[i];
    return NULL;
}

/* The end of the comment whose `<!--` is at `at`. */
static const byte *
comment_end(const byte *at, const byte *end)
{
    at += 4;
    if (at < end && *at == '>')
        return at + 1;
    if (end - at >= 2 && at[0] == '-' && at[1] == '>')
        return at + 2;
    while ((at = find(at, end, "--")) != NULL) {
        const byte *behind = at + 2;
        if (behind < end && *behind == '!')
            behind++;
        if (behind < end && *behind == '>')
            return behind + 1;
        at++;
    }
    return end;
}

/* The `</name` that ends the raw text at `at`; NULL if there is none. */
static const byte *
raw_end(const byte *at, const byte *end, span name)
{
    while ((at = find(at, end, "</")) != NULL) {
        const byte *behind = at + 2 + name.length;
        if (behind >= end)
            return NULL;
        if (is(*behind, ENDS_TAG_NAME)) {
            ptrdiff_t i = 0;
            while (i < name.length && (at[2 + i] | 0x20) == (name.at[i] | 0x20))
                i++;
            if (i == name.length)
                return at;
        }
        at += 2;
    }
    return NULL;
}

/* The same for a script, in which `<script>` within a comment hides the next end. */
static const byte *
script_end(const byte *at, const byte *end, span name)
{
    const byte *found = raw_end(at, end, name);
    for (;;) {
        /* Many comments may end before it, so search it only once. */
        if (found != NULL && found < at)
            found = raw_end(at, end, name);
        const byte *comment = find(at, found != NULL ? found : end, "<!--");
        if (comment == NULL)
            return found;
        int is_hidden = 0, dashes = 2;
        for (at = comment + 4; at < end && !(*at == '>' && dashes >= 2); at++) {
            dashes = *at == '-' ? dashes + 1 : 0;
            if (*at != '<')
                continue;
            int is_end = at + 1 < end && at[1] == '/';
            span word = {at + 1 + is_end, name.length};
            if (end - word.at <= word.length || !is(word.at[word.length], ENDS_TAG_NAME) ||
                !equals_lower(word, "script"))
                continue;
            if (is_end && !is_hidden)
                return at;
            is_hidden = !is_end;
        }
        if (at == end)
            return NULL;
    }
}

#endif
