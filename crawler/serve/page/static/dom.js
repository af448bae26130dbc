// Builds elements, and changes a page as little as possible. No function here takes markup: what a crawled site says can
// only become text.

const HANDLERS = ["onclick", "onsubmit", "oninput", "onchange", "onscroll", "onkeydown"];

/** An element. Properties are attributes, or handlers such as `onclick`; false and null are left out. */
export function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (HANDLERS.includes(name)) element[name] = value;
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}

/** Let an element hold these children. Elements that stay the same keep focus, selection and what was typed. When one that has the focus goes, as a button that makes no sense any more, the focus stays with the thing that it belonged to. */
export function show(element, ...children) {
  const focused = element.contains(document.activeElement) ? document.activeElement : null;
  const thing = focused?.closest("[data-key]");
  morphChildren(element, h("div", null, ...children));
  if (focused === null || focused.isConnected) return;
  const next = thing?.isConnected ? thing.querySelector("a, button") : element.querySelector("h1");
  next?.focus({ preventScroll: true });
}

function morphChildren(from, to) {
  const wanted = [...to.childNodes];
  const keys = new Set(wanted.map(keyOf));
  const known = new Map();
  for (const node of [...from.childNodes]) {
    const key = keyOf(node);
    if (key === undefined) continue;
    if (keys.has(key)) known.set(key, node);
    else node.remove();
  }
  wanted.forEach((node, index) => {
    const key = keyOf(node);
    if (known.has(key)) bring(from, known.get(key), index);
    known.delete(key);
    const present = from.childNodes[index];
    if (present === undefined) from.append(node);
    else if (keyOf(present) !== key) present.before(node);
    else morph(present, node);
  });
  while (from.childNodes.length > wanted.length) from.lastChild.remove();
}

/** What an element stands for: it moves when others come or go, so that a button never becomes that of another thing. */
const keyOf = (node) => node.dataset?.key;

/** Put a child at a place among the others. One that has the focus would lose it, so the others move. */
function bring(parent, child, index) {
  if (!child.contains(document.activeElement)) {
    if (parent.childNodes[index] !== child) parent.childNodes[index].before(child);
    return;
  }
  while (parent.childNodes[index] !== child) parent.append(parent.childNodes[index]);
}

function morph(from, to) {
  if (from.nodeType !== to.nodeType || from.nodeName !== to.nodeName || from.id !== to.id) {
    from.replaceWith(to);
  } else if (from.nodeType === Node.TEXT_NODE) {
    if (from.data !== to.data) from.data = to.data;
  } else {
    const keeps = to.dataset.keep;
    if (from.dataset.keep !== keeps) {
      from.replaceWith(to);
      return;
    }
    morphAttributes(from, to);
    for (const name of HANDLERS) from[name] = to[name];
    // Its script cares for what is in it.
    if (keeps === undefined && from.nodeName !== "TEXTAREA") morphChildren(from, to);
  }
}

function morphAttributes(from, to) {
  for (const { name, value } of to.attributes) {
    if (from.getAttribute(name) !== value) from.setAttribute(name, value);
  }
  for (const { name } of [...from.attributes]) {
    // Whether details are open is the reader's choice.
    if (!to.hasAttribute(name) && name !== "open") from.removeAttribute(name);
  }
}

/** What a view needs to keep an element as it is, however often it is rendered. */
export const kept = (key, element) => ({
  render: () => h("div", { "data-keep": key }),
  shown(content) {
    if (!element().isConnected) content.querySelector(`[data-keep="${key}"]`).append(element());
  },
});

/** Say something to the reader, aloud too. */
export function say(text) {
  const said = document.getElementById("said");
  said.textContent = text;
  said.classList.add("shown");
  clearTimeout(say.timer);
  say.timer = setTimeout(() => said.classList.remove("shown"), 6000);
}

/** Ask before something is done. Resolves to the values of the form, or null if the reader does not want it. */
export function ask({ title, text, problem, field, value = "", longest = 2000, isSecret = false, doIt, isGrave = false }) {
  return new Promise((resolve) => {
    const dialog = h("dialog", { "aria-label": title });
    const decide = (answer) => (event) => {
      event.preventDefault();
      const value = field ? dialog.querySelector("input").value : "";
      dialog.close();
      dialog.remove();
      resolve(answer ? { value } : null);
    };
    dialog.append(
      h("form", { onsubmit: decide(true) },
        h("h2", null, title),
        text && h("p", null, text),
        problem && h("p", { class: "problem", role: "alert" }, problem),
        field && h("label", null, field, h("input", { type: isSecret ? "password" : "text", value, maxlength: longest, autocomplete: "off", spellcheck: "false" })),
        h("p", { class: "actions" },
          h("button", { type: "submit", class: isGrave ? "grave" : "main" }, doIt),
          h("button", { type: "button", onclick: decide(false) }, "Cancel"))));
    dialog.addEventListener("cancel", decide(false));
    document.body.append(dialog);
    dialog.showModal();
  });
}
