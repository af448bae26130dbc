// The processes that share a crawl.

import { crawlPath, get } from "../api.js";
import { h } from "../dom.js";
import { NONE, count, rate, size } from "../format.js";
import { scrolling } from "../tables.js";
import { stateMark } from "../views/overview.js";

export function parts(name) {
  return {
    load: (signal) => get(crawlPath(name, "/status"), signal),
    render: ({ parts: found }) => found === undefined
      ? h("p", { class: "empty" }, "This crawl is one process. To use more cores, set crawl.parts in its configuration.")
      : scrolling("Parts", COLUMNS, found.map(row)),
  };
}

const COLUMNS = [["Part", "number"], ["State"], ["Rate", "number"], ["Pages", "number"], ["Received", "number"], ["Wait", "number"], ["In flight", "number"], ["Done", "number"], ["Failed", "number"], ["Why it waits", "wide"]];

function row({ part, status, error }) {
  if (status === null) return [String(part), stateMark("unknown"), ...COLUMNS.slice(3).map(() => NONE), error ?? NONE];
  const { frontier, run } = status;
  return [
    String(part), stateMark(stateOf(status)), rate(run?.recent_pages_per_s), count(run?.pages), size(run?.bytes_received),
    count(frontier.pending + frontier.retrying), count(frontier.in_process), count(frontier.done), count(frontier.failed),
    status.paused ?? run?.waiting ?? NONE,
  ];
}

function stateOf({ running, stopping, paused }) {
  if (!running) return "stopped";
  if (stopping) return "ending";
  return paused === null ? "running" : "paused";
}
