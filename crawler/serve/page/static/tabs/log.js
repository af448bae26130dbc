// The last lines of the log of a crawl.

import { crawlPath, get } from "../api.js";
import { h } from "../dom.js";
import { choice, filters, latest, query, textFilter, wanted } from "../wanted.js";

const LINES = [["100", "100 lines"], ["300", "300 lines"], ["1000", "1,000 lines"]];
const NEAR_PX = 40;

export function log(name, search) {
  const wish = wanted(search);
  let isAtEnd = true;
  const path = () => crawlPath(name, `/log${query({ lines: wish.get("lines") || "100", part: wish.get("part") })}`);
  return {
    load: async (signal) => {
      const [found, about] = await Promise.all([latest(path, (asked) => get(asked, signal)), get(crawlPath(name, "/status"), signal).catch(() => ({}))]);
      return { ...found, parts: about.parts ?? [] };
    },
    render: ({ path: file, lines, parts }, _, again) => {
      const shown = lines.filter((line) => line.toLowerCase().includes(wish.get("match").toLowerCase()));
      return [
        filters(
          textFilter("Lines that contain", wish.get("match"), wish.change("match", again)),
          choice("Of the last", wish.get("lines") || "100", LINES, wish.change("lines", again)),
          parts.length > 0 && choice("Part", wish.get("part"), [["", "whole crawl"], ...parts.map(({ part }) => [String(part), `part ${part}`])], wish.change("part", again))),
        shown.length > 0
          ? h("pre", { class: "log", tabindex: "0", role: "region", "aria-label": "Log", onscroll: ({ target }) => { isAtEnd = target.scrollHeight - target.scrollTop - target.clientHeight < NEAR_PX; } }, shown.join("\n"))
          : h("p", { class: "empty" }, lines.length > 0 ? "None of these lines contains this." : "The log is empty."),
        h("p", { class: "hint" }, "File: ", h("code", null, file)),
      ];
    },
    // Who has scrolled up wants to read on there.
    shown: (content) => {
      const lines = content.querySelector("pre.log");
      if (lines !== null && isAtEnd) lines.scrollTop = lines.scrollHeight;
    },
  };
}
