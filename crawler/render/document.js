// Keeps the document as text, and answers how long it is, whether it is broken XHTML, and which links stand in shadow
// trees, which are not in it.
// Runs in an isolated world. Getters are called from their prototypes: a form or image named "documentElement" or
// "head" would otherwise stand in their place. Takes: the URL of the page, the most characters of the text, the most links.
(address, mostCharacters, mostLinks) => {
  const get = (prototype, name, of) => Object.getOwnPropertyDescriptor(prototype, name).get.call(of);
  const all = (root, selector) => (root === document ? Document : DocumentFragment).prototype.querySelectorAll.call(root, selector);
  // Half a pair of surrogates is no valid JSON.
  const cut = (text, most) => text.slice(0, most).replace(/[\ud800-\udbff]$/, "").toWellFormed();
  const root = get(Document.prototype, "documentElement", document);
  const links = [];
  let room = 4000000;
  const add = (link) => {
    room -= link.href.length + 300;
    if (room > 0) links.push(link);
  };
  const images = new Set();
  const trees = [document];
  for (const tree of trees) {
    for (const element of all(tree, "*")) {
      if (links.length >= mostLinks || room <= 0) break;
      if (tree !== document) {
        if (element instanceof HTMLAnchorElement || element instanceof HTMLAreaElement) {
          if (Element.prototype.hasAttribute.call(element, "href")) {
            const text = cut(get(Node.prototype, "textContent", element), 200);
            add({ href: element.href.toWellFormed(), kind: "link", text, rel: cut(element.rel, 100) });
          }
        } else if (element instanceof HTMLIFrameElement && element.src) {
          add({ href: element.src.toWellFormed(), kind: "frame" });
        } else if (element instanceof HTMLImageElement) {
          // What it shows may be one of its srcset. Images may be data: URLs of any length.
          for (const href of new Set([element.src, element.currentSrc])) {
            if (/^https?:/.test(href)) images.add(href.toWellFormed());
          }
        }
      }
      const shadow = get(Element.prototype, "shadowRoot", element);
      if (shadow) trees.push(shadow);
    }
  }
  // Last, so that they take no link's place.
  for (const href of images) {
    if (links.length >= mostLinks || room <= 0) break;
    add({ href, kind: "embed" });
  }
  // Browsers send queries in the encoding of the document, whose text becomes UTF-8: such queries become ASCII. In a copy,
  // because a changed frame or image would be loaded.
  const withQueriesInAscii = () => {
    const copy = Node.prototype.cloneNode.call(document, true);
    // In the copy no scripts run, so the text of <noscript> would be escaped.
    for (const element of Document.prototype.querySelectorAll.call(copy, "noscript:not(:has(*))")) {
      element.innerHTML = element.textContent;
    }
    const anchor = Document.prototype.createElement.call(document, "a");
    for (const name of ["href", "src", "action", "data", "poster", "background"]) {
      for (const element of Document.prototype.querySelectorAll.call(copy, `[${name}*="?"]`)) {
        const value = Element.prototype.getAttribute.call(element, name);
        const [, path, query, fragment] = /^([^?#]*)(\?[^#]*)(.*)$/s.exec(value) ?? [];
        if (query === undefined || !/[^\0-\x7f]/.test(query)) continue;
        anchor.href = value;
        if (!/^https?:$/.test(anchor.protocol)) continue;
        Element.prototype.setAttribute.call(element, name, path + anchor.search + fragment);
      }
    }
    return get(Document.prototype, "documentElement", copy);
  };
  let text = "";
  if (root) {
    // Scripts may have changed the address against which links are meant.
    const base = get(Node.prototype, "baseURI", document);
    const url = new URL(address);
    url.hash = "";
    if (base.split("#")[0] !== url.href) {
      const element = Document.prototype.createElement.call(document, "base");
      element.href = base;
      Element.prototype.prepend.call(all(document, "head")[0] ?? root, element);
    }
    const isUtf8 = get(Document.prototype, "characterSet", document) === "UTF-8";
    text = get(Element.prototype, "outerHTML", isUtf8 ? root : withQueriesInAscii());
    if (get(Document.prototype, "compatMode", document) === "CSS1Compat") text = "<!DOCTYPE html>" + text;
  }
  globalThis.kept = cut(text, mostCharacters);
  // Chromium shows XHTML up to its first error, with a message, and other XML as a tree of its own.
  const isHtml = get(Document.prototype, "contentType", document) === "text/html";
  const broken = !isHtml && all(document, "parsererror, #webkit-xml-viewer-source-xml").length > 0;
  return { characters: globalThis.kept.length, cut: text.length > mostCharacters, broken, links };
}
