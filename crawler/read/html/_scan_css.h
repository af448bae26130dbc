/* URLs of simple style sheets, read as css.py does. */
#ifndef ONCEOVER_SCAN_CSS_H
#define ONCEOVER_SCAN_CSS_H

#include "_scan_strings.h"

/* Whether these letters are at that place, in either case. */
static int
stands(const byte *at, const byte *end, const char *lower)
{
    ptrdiff_t length = (ptrdiff_t)strlen(lower);
    return end - at >= length && equals_lower((span){at, length}, lower);
}

/* ASCII white space. */
static int
is_word(byte each)
{
    return is(each, ALPHANUMERIC) || each == '_' || each == '-';
}

/* The end of the string that begins at `at`: after its quote, or where its line ends. */
static const byte *
string_end(const byte *at, const byte *end, int *has_escapes)
{
    byte quote = *at++;
    for (; at < end && *at != '\n' && *at != '\r'; at++) {
        if (*at == quote)
            return at + 1;
        if (*at != '\\')
            continue;
        *has_escapes = 1;
        if (end - at < 2)
            break;
        at += 1 + (end - at > 2 && at[1] == '\r' && at[2] == '\n');
    }
    return at;
}

static outcome
note_styled(scan *self, const byte *at, ptrdiff_t length)
{
    while (length && is(*at, GAP)) {
        at++;
        length--;
    }
    while (length && is(at[length - 1], GAP))
        length--;
    if (length == 0 || *at == '#')
        return GOES_ON;
    /* At both ends, white space beyond ASCII matters too. */
    if (*at >= 0x80 || at[length - 1] >= 0x80 || memchr(at, 0, length) != NULL)
        return GIVES_UP;
    if (self->noted == MOST_LINKS)
        return GOES_ON;
    table_link *added = add_link(self->found, self->styled);
    if (added == NULL)
        return FAILED;
    self->noted++;
    return keep(self, (span){at, length}, &added->href);
}

/* Reads what follows `url(`; sets where a string is expected. Gives up on escapes and on broken URLs. */
static outcome
meet_function(scan *self, const byte **at, const byte *end, const byte **expected)
{
    const byte *from = skip(*at, end, SPACE);
    *at = *expected = from;
    if (from == end || *from == '"' || *from == '\'' || *from == ')')
        return GOES_ON;
    const byte *to = from;
    while (to < end && !is(*to, SPACE) && strchr("\"'()\\", *to) == NULL)
        to++;
    const byte *behind = skip(to, end, SPACE);
    if (behind < end && *behind != ')')
        return GIVES_UP;
    *at = behind < end ? behind + 1 : end;
    *expected = NULL;
    return note_styled(self, from, to - from);
}

static outcome
walk_css(scan *self, const byte *from, const byte *end)
{
    const byte *expected = NULL;
    for (const byte *at = from; at < end;) {
        const byte *start = at;
        switch (*at++) {
        case '/':
            if (at == end || *at != '*')
                continue;
            at = find(at + 1, end, "*/");
            at = at == NULL ? end : at + 2;
            expected = expected == start ? at : NULL;
            break;
        case '"':
        case '\'': {
            int has_escapes = 0, is_expected = expected != NULL && skip(expected, start, SPACE) == start;
            at = string_end(start, end, &has_escapes);
            expected = NULL;
            if (!is_expected)
                break;
            if (has_escapes)
                return GIVES_UP;
            TRY(note_styled(self, start + 1, at - start - 1 - (at - start > 1 && at[-1] == *start)));
            break;
        }
        case '(':
            if (start - from >= 9 && stands(start - 9, end, "image-set"))
                return GIVES_UP;
            if (start - from < 3 || !(stands(start - 3, end, "url") || stands(start - 3, end, "src")))
                continue;
            if (start - from > 3 && start[-4] >= 0x80)
                return GIVES_UP;
            if (start - from > 3 && is_word(start[-4]))
                continue;
            TRY(meet_function(self, &at, end, &expected));
            break;
        case '\\':
            /* An escaped character in a name begins no string, comment or function. css.py reads escaped letters. */
            if (at < end && (is(*at, LETTER) || *at == '0' || (*at >= '4' && *at <= '7')))
                return GIVES_UP;
            at += at < end && *at != '\n';
            break;
        case '@':
            if (stands(at, end, "namespace"))
                return GIVES_UP;
            if (!stands(at, end, "import"))
                continue;
            at += 6;
            if (at < end && *at >= 0x80)
                return GIVES_UP;
            if (at < end && (is_word(*at) || *at == '\\'))
                continue;
            expected = at;
            break;
        default:
            break;
        }
    }
    return GOES_ON;
}

/* Adds the URLs: 1, 0 if css.py must read them, -1 with an exception. */
static int
note_css(scan *self, span text)
{
    Py_ssize_t before = self->found->count;
    int noted = self->noted;
    outcome walked = walk_css(self, text.at, text.at + text.length);
    if (walked == GIVES_UP) {
        self->noted = noted;
        cut_links(self->found, before);
    }
    return walked == FAILED ? -1 : walked == GOES_ON;
}

#endif
