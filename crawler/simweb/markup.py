"""Writes the markup of simulated pages: links, text, and the errors of careless authors."""

from crawler.simweb.text import Language, paragraphs, steps


def trap_page(title: str, next_href: str) -> bytes:
    """A page that links to the next page of its kind, forever."""
    return (
        f"<!DOCTYPE html>\n<html lang=en><head><title>{title}</title></head>\n<body><p>{title}</p>\n"
        f'<a href="{next_href}">next</a> <a href="/">home</a></body></html>\n'
    ).encode()


def error_page(status: int, reason: str) -> bytes:
    return (
        f"<!DOCTYPE html>\n<html lang=en><head><title>{status} {reason}</title></head>\n"
        f'<body><h1>{reason}</h1><a href="/">home</a></body></html>\n'
    ).encode()


def link(href: str, text: str) -> str:
    return f'<a href="{href.replace("&", "&amp;")}">{text}</a>'


def bare_link(href: str, text: str) -> str:
    return f"<a href={href}>{text}</a>" if href.isprintable() and " " not in href else link(href, text)


def odd_path(path: str, pick: int, *, origin: str) -> str:
    """A link to the same page, written as some people and programs write links."""
    scheme, _, host = origin.partition(":")
    forms = (
        f"{path}#part-{pick & 7}",
        f"/.{path}",
        f"/nowhere/..{path}",
        f"{scheme.upper()}:{host.upper()}{path}",
        f"\n  {path} ",
        f"{host}{path}",
        f"..{path}",
        f"{path[:3]}\n{path[3:]}",
        "javascript:void(0)",
        "mailto:webmaster@example.org",
    )
    return forms[pick % len(forms)]


def text_with_links(language: Language, noise: int, characters: int, *, links: list[str]) -> str:
    """Paragraphs of that many characters, with the links spread over them."""
    pool = paragraphs(language)
    numbers = steps(noise ^ 0x5EED)
    chosen = []
    while characters > 0:
        paragraph = pool[next(numbers) % len(pool)]
        chosen.append(paragraph[:characters])
        characters -= len(paragraph) + 8
    if not chosen:
        chosen = [""]
    per_paragraph, rest = divmod(len(links), len(chosen))
    parts = []
    start = 0
    for position, paragraph in enumerate(chosen):
        end = start + per_paragraph + (position < rest)
        parts.append(f"<p>{paragraph} {' '.join(links[start:end])}</p>\n")
        start = end
    return "".join(parts)


def break_markup(head: str, text: str, foot: str) -> str:
    """The same page as careless people write it. A parser that follows the HTML standard still finds every link."""
    head = head.replace("<!DOCTYPE html>\n", "").replace("</li>", "").replace("</head>\n<body>", "<body bgcolor=#fff>")
    text = text.replace("</p>\n", "\n<b><i>\x00</b></i>")
    table = "<table><tr><td><table><tr><td>nested<td>cells</table><tr><td>and a row"
    foot = foot.replace("</footer>", "").replace("</body>", '<p title="never closed>')
    return f"{head}{table}</table>\n{text}{foot}"
