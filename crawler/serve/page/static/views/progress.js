// How far a crawl is, and how it came there.

import { crawlPath, get } from "../api.js";
import { h } from "../dom.js";
import { count, moment, rate, size } from "../format.js";
import { draw, figure } from "../plots.js";
import { rates } from "../rates.js";
import { plotsOf, whenFinished } from "../series.js";
import { scrolling } from "../tables.js";
import { choice, filters, patient, query, wanted } from "../wanted.js";

const SPANS = [["900", "15 minutes"], ["3600", "hour"], ["86400", "day"], ["604800", "week"], ["7776000", "90 days"]];
const SAMPLE_MS = 4500;

export function progress(name, search) {
  const measure = rates();
  const wish = wanted(search);
  const span = () => (SPANS.some(([each]) => each === wish.get("span")) ? wish.get("span") : "3600");
  const load = patient(get, SAMPLE_MS);
  return {
    load: (signal) => load(crawlPath(name, `/history${query({ from: `-${span()}`, points: 400 })}`), signal),
    render: (history, about, again) => [
      h("dl", { class: "tiles" },
        tile("Rate", rate(about.state === "running" ? measure(about) : null)),
        tile("Pages", count(about.pid || about.pages ? about.pages : null), about.pid ? "of this process" : "of the last process"),
        tile("Memory", about.pid ? size(about.memory_bytes) : "–"),
        tile("Open files", about.pid ? count(about.open_files) : "–")),
      filters(choice("The last", span(), SPANS, wish.change("span", again))),
      curves(history, about),
      h("h2", null, "Processes"),
      runs(about.runs),
      about.directory && h("p", { class: "hint" }, "Directory: ", h("code", null, about.directory)),
    ],
    shown: (content, history) => draw(content, isEnough(history) ? plotsOf(history) : []),
  };
}

const isEnough = ({ columns }) => columns.time.length > 1;

function curves(history, about) {
  if (!isEnough(history)) return h("p", { class: "empty" }, "There is no history of this time yet. While the crawl runs, the daemon looks at it every few seconds.");
  return [
    h("p", { class: "why" }, whenFinished(history, about.state === "running")),
    h("div", { class: "plots" }, plotsOf(history).map(figure)),
  ];
}

export function tile(name, value, hint) {
  return h("div", null, h("dt", null, name), h("dd", null, value), hint && h("dd", { class: "hint" }, hint));
}

function runs(found) {
  if (found.length === 0) return h("p", { class: "empty" }, "It has not run yet.");
  return scrolling("Processes", [["Process", "number"], ["Began"], ["Ended"], ["Pages", "number"], ["How it ended", "wide"]],
    [...found].reverse().slice(0, 10).map((run) => [String(run.pid), moment(run.began_at), moment(run.ended_at), count(run.pages), run.how ?? "runs"]));
}
