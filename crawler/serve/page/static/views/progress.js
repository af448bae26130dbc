// How far a crawl is.

import { h } from "/dom.js";
import { count, moment, rate, size } from "/format.js";
import { rates } from "/rates.js";
import { scrolling } from "/tables.js";

export function progress() {
  const measure = rates();
  return {
    render: (_, about) => [
      h("dl", { class: "tiles" },
        tile("Rate", about.pid ? rate(measure(about)) : "–"),
        tile("Pages", about.pid ? count(about.pages) : "–", "of this process"),
        tile("Memory", about.pid ? size(about.memory_bytes) : "–"),
        tile("Open files", about.pid ? count(about.open_files) : "–")),
      h("h2", null, "Processes"),
      runs(about.runs),
      about.directory && h("p", { class: "hint" }, "Directory: ", h("code", null, about.directory)),
    ],
  };
}

export function tile(name, value, hint) {
  return h("div", null, h("dt", null, name), h("dd", null, value), hint && h("dd", { class: "hint" }, hint));
}

function runs(found) {
  if (found.length === 0) return h("p", { class: "empty" }, "It has not run yet.");
  return scrolling("Processes", [["Process", "number"], ["Began"], ["Ended"], ["How it ended", "wide"]],
    [...found].reverse().slice(0, 10).map((run) => [String(run.pid), moment(run.began_at), moment(run.ended_at), run.how ?? "runs"]));
}
