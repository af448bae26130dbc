// What the reader looks for. It stands in the address, so that a reload and a link keep it.

import { h } from "./dom.js";

const TYPING_MS = 250;
const timers = new WeakMap();

export function wanted(search) {
  const values = new URLSearchParams(search);
  return {
    get: (key) => values.get(key) ?? "",
    /** A function that wants another value, and then shows what is wanted. */
    change: (key, again) => (value) => {
      if (value === "") values.delete(key);
      else values.set(key, value);
      const [place] = (location.hash || "#/").split("?");
      history.replaceState(null, "", values.size > 0 ? `${place}?${values}` : place);
      again();
    },
  };
}

/** A query for the API; what is empty is left out. */
export function query(values) {
  const given = Object.entries(values).filter(([, value]) => value !== "" && value !== null && value !== undefined && value !== false);
  return given.length > 0 ? `?${new URLSearchParams(given)}` : "";
}

/** Ask, and ask again if the reader wants something else by then. */
export async function latest(wish, ask) {
  for (;;) {
    const asked = wish();
    const found = await ask(asked);
    if (wish() === asked) return found;
  }
}

/** Ask again only for something else, after so many milliseconds, or after `forget`. */
export function patient(ask, ms = Infinity) {
  let known = null;
  const load = async (path, signal) => {
    if (known === null || known.path !== path || Date.now() - known.at >= ms) {
      known = { path, found: await ask(path, signal), at: Date.now() };
    }
    return known.found;
  };
  load.forget = () => (known = null);
  return load;
}

export function filters(...fields) {
  return h("form", { class: "filters", role: "search", onsubmit: (event) => event.preventDefault() }, fields);
}

/** A field whose text changes what is shown, once the reader stops typing. */
export function textFilter(label, value, change) {
  const typed = ({ target }) => {
    clearTimeout(timers.get(target));
    timers.set(target, setTimeout(() => change(target.value), TYPING_MS));
  };
  return h("label", null, label, h("input", { type: "search", value, maxlength: 300, autocomplete: "off", spellcheck: "false", oninput: typed }));
}

/** A field whose text changes what is shown, once the reader has left it or pressed Enter. It shows an example while it is empty. */
export function textWish(label, example, value, change) {
  const done = ({ target }) => change(target.value);
  return h("label", null, label, h("input", { type: "text", value, placeholder: example, size: 38, maxlength: 2000, autocomplete: "off", spellcheck: "false", onchange: done }));
}

/** Says how many there are: aloud when the reader looks for something else, and in silence when the number changes by itself. */
export function counter() {
  let said = null;
  return (text) => {
    const isWanted = said !== location.hash;
    said = location.hash;
    return h("p", { class: "sum", role: "status", "aria-live": isWanted ? "polite" : "off" }, text);
  };
}

/** A choice that changes what is shown. Options are values with their texts. */
export function choice(label, value, options, change) {
  return h("label", null, label,
    h("select", { onchange: (event) => change(event.target.value) },
      options.map(([each, text]) => h("option", { value: each, selected: each === value }, text))));
}
