// Edits a configuration, and shows its problems at their lines.

import { h } from "./dom.js";
import { sentence, trouble } from "./troubles.js";

/** An editor of a text: `elements` to show, `value` for the text, and `complain` of what the daemon has refused. */
export function editor(begin) {
  let problems = [];
  const text = h("textarea", { id: "toml", rows: 18, spellcheck: "false", wrap: "off", autocapitalize: "off", autocomplete: "off", "aria-describedby": "problems" });
  const lines = h("pre", { class: "lines", "aria-hidden": "true" });
  const told = h("div", { id: "problems", role: "alert" });
  text.value = begin;

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
  const complain = (error) => {
    const { problems: found = [] } = error;
    problems = found.map(placed);
    text.setAttribute("aria-invalid", "true");
    told.replaceChildren(h("p", { class: "problem" }, found.length > 0 ? sentence(error.message) : trouble(error)),
      h("ul", { class: "problems" }, problems.map(({ line, message: what }) => h("li", null,
        line ? h("button", { type: "button", class: "link", onclick: () => goTo(line) }, `Line ${line}`) : null,
        line ? ": " : null, what))));
    number();
  };
  text.oninput = number;
  text.onscroll = scroll;
  number();
  return {
    elements: [h("label", { for: "toml" }, "Configuration (TOML)"), h("div", { class: "editor" }, lines, text), told],
    // A browser knows line feeds alone; a file of Windows keeps its ends of lines.
    get value() {
      return begin.includes("\r\n") ? text.value.replaceAll("\n", "\r\n") : text.value;
    },
    complain,
  };
}

/** A problem as the daemon writes it: `docs.toml:2: crawl.seeds: expected …`, with the column where TOML is not valid. */
function placed(problem) {
  const [, line, message] = /^[^:]*:(\d+)(?::\d+)?: (.*)$/s.exec(problem) ?? [null, null, problem];
  return { line: line === null ? null : Number(line), message };
}
