// Creates a crawl from its configuration.

import { crawlPath, request } from "/api.js";
import { h, say } from "/dom.js";
import { trouble } from "/troubles.js";

const TEMPLATE = `[crawl]
seeds = ["https://www.example.org/"]

[scope]
within = "host"

[limits]
pages = 1000

[fetch]
# Sites that are not yours want to know who asks:
# user_agent = "onceover/1.0 (you@your.site)"
`;

export function create() {
  let problems = [];
  const name = h("input", { id: "name", required: true, maxlength: 100, pattern: "[A-Za-z0-9][A-Za-z0-9._\\-]*", autocomplete: "off", spellcheck: "false", "aria-describedby": "name-hint" });
  const text = h("textarea", { id: "toml", rows: 18, spellcheck: "false", wrap: "off", autocapitalize: "off", autocomplete: "off", "aria-describedby": "problems" });
  const lines = h("pre", { class: "lines", "aria-hidden": "true" });
  const told = h("div", { id: "problems", role: "alert" });
  text.value = TEMPLATE;

  const number = () => {
    const marked = new Set(problems.map(({ line }) => line));
    const pieces = [""];
    text.value.split("\n").forEach((_, index) => {
      if (marked.has(index + 1)) pieces.push(h("span", { class: "wrong" }, `${index + 1}\n`), "");
      else pieces[pieces.length - 1] += `${index + 1}\n`;
    });
    lines.replaceChildren(...pieces);
    scroll();
  };
  const scroll = () => (lines.scrollTop = text.scrollTop);
  const goTo = (line) => {
    const before = text.value.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    const end = text.value.indexOf("\n", before);
    text.focus();
    text.setSelectionRange(before, end < 0 ? text.value.length : end);
  };
  const complain = (message, found) => {
    problems = found.map(placed);
    text.toggleAttribute("aria-invalid", false);
    if (message) text.setAttribute("aria-invalid", "true");
    told.replaceChildren(...(message ? [h("p", { class: "problem" }, message)] : []),
      h("ul", { class: "problems" }, problems.map(({ line, message: what }) => h("li", null,
        line ? h("button", { type: "button", class: "link", onclick: () => goTo(line) }, `Line ${line}`) : null,
        line ? ": " : null, what))));
    number();
  };
  const submit = async (event) => {
    event.preventDefault();
    try {
      await request("PUT", crawlPath(name.value), { body: text.value, type: "application/toml" });
      say(`${name.value}: created`);
      location.hash = `#/crawls/${encodeURIComponent(name.value)}`;
    } catch (error) {
      const { problems: found = [] } = error;
      complain(found.length > 0 ? sentence(error.message) : trouble(error), found);
    }
  };
  text.oninput = number;
  text.onscroll = scroll;
  number();
  return {
    title: "New crawl",
    render: () => [
      h("h1", { tabindex: "-1" }, "New crawl"),
      h("form", { class: "create", onsubmit: submit, "data-keep": "create" },
        h("label", { for: "name" }, "Name"), name,
        h("p", { class: "hint", id: "name-hint" }, "Letters, digits, dots and dashes. The configuration becomes NAME.toml in the folder of the daemon."),
        h("label", { for: "toml" }, "Configuration (TOML)"),
        h("div", { class: "editor" }, lines, text),
        told,
        h("p", { class: "actions" }, h("button", { type: "submit", class: "main" }, "Create and start"))),
    ],
  };
}

/** A problem as the daemon writes it: `docs.toml:2: crawl.seeds: expected …`, with the column where TOML is not valid. */
function placed(problem) {
  const [, line, message] = /^[^:]*:(\d+)(?::\d+)?: (.*)$/s.exec(problem) ?? [null, null, problem];
  return { line: line === null ? null : Number(line), message };
}

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
