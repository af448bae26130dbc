/* Recognises plain hrefs, as a regular expression in hrefs.py does, and what the rules in canonical_rules.py may
 * change. Uncertain cases are left to those. It reads each byte a bounded number of times.
 */
#ifndef ONCEOVER_HREFS_PLAIN_H
#define ONCEOVER_HREFS_PLAIN_H

#include <string.h>

typedef const unsigned char *text;

enum { BEGIN = 1, PATH = 2, QUERY = 4, SPECIAL = 8, NAME = 16, HEX = 32 };

/* The classes of each byte: first of a relative path, in a path, in a query, in a parameter's name, ... */
static unsigned char kinds[256];

/* Beginnings of the parameter names that canonical rules remove; those of s...id are recognised by their end. */
static const char *const beginnings[] = {
    "__hs", "_ga",  "_gl",    "_hs",   "_open",  "asp",   "cfid", "cftok", "cgis", "dclid", "fbclid", "gad_",
    "gbraid", "gcl", "hscta", "igsh", "li_fat", "mc_",   "mkt_",   "msc", "mtm_", "oly_",  "phps", "pk_",
    "ttclid", "twclid", "utm", "vero", "wbraid", "wicke", "xtcsid", "ycl", "yscl", "zenid",
};

static int
lower(unsigned char byte)
{
    return byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte;
}

static int
begins(text at, text end, const char *with)
{
    while (*with && at < end && lower(*at) == *with)
        at++, with++;
    return *with == 0;
}

static int
stands(text at, text end, const char *exactly)
{
    size_t length = strlen(exactly);
    return (size_t)(end - at) >= length && memcmp(at, exactly, length) == 0;
}

/* Whether a rule may remove the parameter after the separator at `at`. */
static int
is_removable(text at, text end)
{
    unsigned char separator = *at++;
    text name = at;
    if (separator == ';' && at < end && strchr("jps", lower(*at)) != NULL)
        return 1;
    while (at < end && kinds[*at] & NAME)
        at++;
    if (at < end && *at != '=' && *at != '&' && *at != ';')
        return 0;
    if (at == name)
        return separator != ';' && (at == end || *at == '&');
    if (begins(name, at, "s") || begins(name, at, "js") || begins(name, at, "os"))
        return at - name == 1 ? end - at > 32 : begins(at - 2, at, "id");
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
        if (begins(name, at, beginnings[i]))
            return 1;
    return 0;
}

/* Whether the escape at `at` has another normal form. */
static int
is_unusual(text at, text end)
{
    if (end - at < 3 || !(kinds[at[1]] & HEX) || !(kinds[at[2]] & HEX))
        return 0;
    if (at[1] >= 'a' || at[2] >= 'a')
        return 1;
    int byte = 16 * (at[1] - (at[1] <= '9' ? '0' : 'A' - 10)) + at[2] - (at[2] <= '9' ? '0' : 'A' - 10);
    return byte == '.' || kinds[byte] & BEGIN;
}

/* Whether a rule may change the text that begins with the mark at `at`. */
static int
is_mark(text at, text end)
{
    if (*at == '%')
        return is_unusual(at, end);
    if (*at == '(')
        return (end - at > 2 && at[2] == '(') || (end - at > 25 && at[25] == ')');
    return is_removable(at, end);
}

/* Whether the segment after the slash at `at` is one or two dots. */
static int
is_dots(text at, text end)
{
    int dots = 0;
    while (++at < end && *at == '.')
        dots++;
    return (dots == 1 || dots == 2) && (at == end || *at == '/' || *at == '?');
}

/* Where the path of a plain href begins, behind an origin if there is one, if the URL is its own canonical form; NULL
 * otherwise. */
static text
plain_path(text at, text end)
{
    /* Leave a scheme in capitals to the parser. */
    int skipped = stands(at, end, "https://") ? 8 : stands(at, end, "http://") ? 7 : stands(at, end, "//") ? 2 : 0;
    text host = at + skipped;
    if (skipped) {
        for (at = host; at < end && *at != '/' && *at != '@';)
            at++;
        if (at == host || (at < end && *at == '@'))
            return NULL;
    }
    else if (at == end || !(*at == '/' || kinds[*at] & BEGIN))
        return NULL;
    if (end - at > 1 && at[0] == '/' && at[1] == '/')
        return NULL;
    text path = at;
    int kind = PATH, has_mark = at < end && *at == '/';
    for (; at < end; at++) {
        if (*at == '?')
            kind = QUERY;
        if (!(kinds[*at] & kind))
            return NULL;
        if (!(kinds[*at] & SPECIAL))
            continue;
        if (*at == '/' ? kind == PATH && is_dots(at, end) : *at == ':' ? !has_mark : is_mark(at, end))
            return NULL;
        has_mark = has_mark || *at == '%' || *at == '(' || *at == ';' || *at == '?';
    }
    return path;
}

static void
mark(const char *bytes, int kind)
{
    while (*bytes)
        kinds[(unsigned char)*bytes++] |= kind;
}

static void
prepare_kinds(void)
{
    memset(kinds, 0, sizeof(kinds));
    mark("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz", BEGIN | PATH | QUERY | NAME);
    mark("~-", BEGIN | PATH | QUERY);
    mark("!$&()*+,./:;=@%", PATH | QUERY);
    mark("'", PATH);
    mark("?[\\]^`{|}", QUERY);
    mark("/:%(;?&", SPECIAL);
    mark("0123456789ABCDEFabcdef", HEX);
    mark(".", NAME);
}

#endif
