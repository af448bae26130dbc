// One crawl: its head, and the tab that the address names.

import { crawlPath, get } from "/api.js";
import { controls, removal } from "/controls.js";
import { h } from "/dom.js";
import { moment, until } from "/format.js";
import { stateMark } from "/views/overview.js";
import { progress } from "/views/progress.js";

const TABS = { progress: ["Progress", progress] };

export function crawl(name, wanted, search) {
  const chosen = Object.hasOwn(TABS, wanted) ? wanted : "progress";
  const [title, make] = TABS[chosen];
  const tab = make(name, search);
  return {
    title: `${name}: ${title.toLowerCase()}`,
    every: tab.every ?? 2000,
    load: async (signal) => {
      const [about, found] = await Promise.all([get(crawlPath(name), signal), tab.load?.(signal)]);
      return { about, found };
    },
    render: ({ about, found }, again) => [
      head(about, again),
      Object.keys(TABS).length > 1 && tabs(name, chosen),
      h("section", { "aria-label": title, class: `tab ${chosen}` }, tab.render(found, about, again)),
    ],
    shown: (content, { found }) => tab.shown?.(content, found),
  };
}

function head(about, again) {
  return h("div", { class: "head" },
    h("h1", { tabindex: "-1" }, about.name),
    stateMark(about.state),
    h("div", { class: "actions" }, controls(about, again), removal(about, again)),
    about.reason && h("p", { class: "why" }, about.reason, about.until && `, until ${moment(about.until)} (in ${until(about.until)})`),
    about.lines.length > 0 && h("pre", { class: "lines-told", tabindex: "0", role: "region", "aria-label": "Messages" }, about.lines.join("\n")));
}

function tabs(name, chosen) {
  return h("nav", { class: "tabs", "aria-label": `Crawl ${name}` },
    Object.entries(TABS).map(([key, [title]]) =>
      h("a", { href: `#/crawls/${encodeURIComponent(name)}/${key}`, "aria-current": key === chosen ? "page" : null }, title)));
}
