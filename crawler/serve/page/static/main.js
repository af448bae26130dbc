// Shows the view that the address names, and keeps it up to date.

import { Refused, token } from "./api.js";
import { h, show } from "./dom.js";
import { trouble as told } from "./troubles.js";
import { create } from "./views/create.js";
import { crawl } from "./views/crawl.js";
import { login } from "./views/login.js";
import { overview } from "./views/overview.js";

const content = document.getElementById("content");
const places = document.getElementById("places");
const trouble = document.getElementById("trouble");

const SLOW_MS = 300;

let leave = new AbortController();

function viewOf(address) {
  const [path, query] = address.replace(/^#?\/?/, "").split("?");
  const [place, name, tab] = path.split("/");
  const search = new URLSearchParams(query);
  if (place === "new") return create();
  if (place === "crawls" && name) return crawl(decoded(name), tab ?? "progress", search);
  return overview(search);
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Show a view until another one takes its place. */
async function run(view, signal) {
  document.title = `${view.title} · onceover`;
  let isNew = true;
  let isShown = false;
  let wake = () => {};
  const again = () => wake();
  document.addEventListener("visibilitychange", again, { signal });
  signal.addEventListener("abort", again, { once: true });
  const slow = setInterval(() => {
    if (!isNew || signal.aborted) return clearInterval(slow);
    const head = view.waiting?.(again) ?? h("h1", { tabindex: "-1" }, view.title);
    show(content, head, h("p", { class: "empty" }, "Loading …"));
  }, SLOW_MS);
  while (!signal.aborted) {
    try {
      const found = await view.load?.(signal);
      if (signal.aborted) return;
      clearInterval(slow);
      show(content, view.render(found, again));
      isShown = true;
      if (isNew) content.querySelector("h1")?.focus({ preventScroll: true });
      view.shown?.(content, found);
      tell("");
      // A form holds what the reader has typed, so it is shown once.
      if (!view.every) return;
    } catch (error) {
      if (signal.aborted || error.name === "AbortError") return;
      if (error instanceof Refused && error.status === 401) {
        logOut("This token is not valid (any more).");
        return;
      }
      if (error instanceof Refused && !isShown) {
        clearInterval(slow);
        show(content, h("h1", { tabindex: "-1" }, view.title), h("p", { class: "problem" }, told(error)));
        if (isNew) content.querySelector("h1").focus({ preventScroll: true });
        tell("");
      } else {
        if (!(error instanceof Refused) && error.constructor.name !== "Unreachable") console.error(error);
        tell(`${told(error)} Trying again …`);
      }
    }
    isNew = false;
    await new Promise((resolve) => {
      wake = resolve;
      if (!document.hidden) setTimeout(resolve, view.every);
    });
  }
}

/** Tell of a trouble once, and take it back when it is over. */
function tell(text) {
  if (trouble.textContent !== text) trouble.textContent = text;
}

function showPlaces() {
  const [here] = (location.hash || "#/").split("?");
  const link = (address, text) => h("a", { href: address, "aria-current": here === address ? "page" : null }, text);
  places.hidden = token.get() === null;
  show(places,
    link("#/", "Crawls"),
    link("#/new", "New crawl"),
    h("button", { type: "button", class: "quiet", onclick: () => logOut("") }, "Log out"));
}

function logOut(why) {
  token.forget();
  go(why);
}

function go(why = "") {
  leave.abort();
  leave = new AbortController();
  showPlaces();
  tell("");
  content.replaceChildren();
  run(token.get() === null ? login(why, () => go()) : viewOf(location.hash), leave.signal);
}

document.getElementById("skip").addEventListener("click", (event) => {
  // The address names the view.
  event.preventDefault();
  content.focus();
});
window.addEventListener("hashchange", () => go());
go();
