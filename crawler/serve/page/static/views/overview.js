// All crawls at a glance.

import { get, post } from "/api.js";
import { attempt, controls } from "/controls.js";
import { h, say } from "/dom.js";
import { count, moment, rate, size } from "/format.js";
import { rates } from "/rates.js";

export function overview() {
  const measure = rates();
  const reload = async () => {
    const { changes } = await post("/reload");
    const told = changes.map(({ name, how }) => `${name} ${how}`).join(", ");
    say(told ? `Read the folder again: ${told}` : "Read the folder again: nothing has changed");
  };
  return {
    title: "Crawls",
    every: 2000,
    load: async (signal) => (await get("/crawls", signal)).crawls,
    render: (crawls, again) => [
      h("div", { class: "head" },
        h("h1", { tabindex: "-1" }, "Crawls"),
        h("p", { class: "sum" }, summed(crawls)),
        h("button", { type: "button", onclick: () => attempt(reload, again) }, "Read folder again")),
      crawls.length === 0
        ? h("p", { class: "empty" }, "There are no crawls yet. ", h("a", { href: "#/new" }, "Create one"),
          ", or put a configuration into the folder of the daemon.")
        : h("ul", { class: "crawls" }, crawls.map((crawl) => row(crawl, measure(crawl), again))),
    ],
  };
}

function summed(crawls) {
  const running = crawls.filter(({ state }) => state === "running").length;
  const troubled = crawls.filter(({ state }) => ["broken", "held", "crashed", "short"].includes(state)).length;
  return `${crawls.length} in all, ${running} running${troubled ? `, ${troubled} in trouble` : ""}`;
}

function row(crawl, perSecond, again) {
  const figure = (name, value) => h("div", null, h("dt", null, name), h("dd", null, value));
  return h("li", null,
    h("div", { class: "who" },
      h("h2", null, h("a", { href: `#/crawls/${encodeURIComponent(crawl.name)}` }, crawl.name)),
      stateMark(crawl.state),
      crawl.reason && h("p", { class: "why" }, crawl.reason),
      crawl.until && h("p", { class: "why" }, `until ${moment(crawl.until)}`)),
    h("dl", { class: "figures" },
      figure("Rate", rate(crawl.state === "running" ? perSecond : null)),
      figure("Pages", count(crawl.pid || crawl.pages ? crawl.pages : null)),
      figure("Memory", crawl.pid ? size(crawl.memory_bytes) : "–")),
    h("div", { class: "actions" }, controls(crawl, again)));
}

export function stateMark(state) {
  return h("span", { class: `state ${state}` }, state);
}
