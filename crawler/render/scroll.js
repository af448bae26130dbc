// Scrolls down by one screen, and answers whether there was anything to scroll: the page, or else an element that fills
// most of the window. Getters are called from their prototypes, as in document.js.
() => {
  const get = (name, of) => Object.getOwnPropertyDescriptor(Element.prototype, name).get.call(of);
  const scrolls = (element) => {
    const before = get("scrollTop", element);
    const top = Math.max(get("clientHeight", element), 100);
    Element.prototype.scrollBy.call(element, { top, behavior: "instant" });
    return get("scrollTop", element) > before;
  };
  const root = Object.getOwnPropertyDescriptor(Document.prototype, "scrollingElement").get.call(document);
  if (root && scrolls(root)) return true;
  for (const element of Document.prototype.querySelectorAll.call(document, "*")) {
    const height = get("clientHeight", element);
    if (height * 2 < innerHeight || get("scrollHeight", element) <= height) continue;
    if (/auto|scroll/.test(getComputedStyle(element).overflowY) && scrolls(element)) return true;
  }
  return false;
}
