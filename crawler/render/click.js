// Clicks the first visible element that one of the selectors matches, and answers whether there was one. Links and buttons
// that send a form are left out, because they lead to another page.
(selectors) => {
  const leadsAway = (element) => {
    const closest = (selector) => Element.prototype.closest.call(element, selector);
    if (closest(":any-link:not([href^='#' i], [href^='javascript:' i])")) return true;
    const button = closest("button, input");
    return button !== null && ["submit", "image"].includes(button.type) && button.form !== null;
  };
  for (const selector of selectors) {
    for (const element of Document.prototype.querySelectorAll.call(document, selector)) {
      if (!(element instanceof HTMLElement) || Element.prototype.matches.call(element, ":disabled")) continue;
      if (leadsAway(element) || !Element.prototype.checkVisibility.call(element, { visibilityProperty: true })) continue;
      HTMLElement.prototype.click.call(element);
      return true;
    }
  }
  return false;
}
