// Where the URLs of a crawl are now, and what the fetches of this run have met.

import { crawlPath, get } from "../api.js";
import { h } from "../dom.js";
import { count, duration, rate, size } from "../format.js";
import { scrolling } from "../tables.js";
import { tile } from "../views/progress.js";

const PLACES = [
  ["done", "fetched"], ["failed", "given up after failures"], ["excluded", "forbidden by a rule, such as robots.txt"], ["pending", "wait in queues, those in flight included"],
  ["in_process", "of these, in flight"], ["retrying", "wait for another attempt"], ["retired", "wait in retired queues"], ["quarantined", "can't be read"], ["lost", "destroyed by damage"],
];

export function summary(name) {
  return {
    load: (signal) => get(crawlPath(name, "/status"), signal),
    render: ({ frontier, run }) => [
      run === null ? h("p", { class: "empty" }, "The crawl does not run. What earlier runs have fetched counts in the first table.") : ofRun(run),
      h("div", { class: "pair" },
        section("Where its URLs are", [["URLs"], ["Number", "number"]],
          [["discovered in all", frontier.admitted], ...PLACES.map(([key, text]) => [text, frontier[key]])]
            .filter(([, number], place) => number > 0 || place < 5)),
        section("Hosts", [["Hosts"], ["Number", "number"]], [
          ["are asked now", frontier.in_process_queues], ["may be asked", frontier.ready_queues], ["rest between requests", frontier.snoozed_queues],
          ["wait for others at the same server", frontier.held_back_queues], ["wait for a place", frontier.inactive_queues],
          ["are retired", frontier.retired_queues], ["failed the last time", frontier.troubled_queues]]),
        run && [
          section("Answers by status", [["Status"], ["Answers", "number"]], Object.entries(run.responses)),
          section("Truncated pages by reason", [["Reason"], ["Pages", "number"]], sorted(run.truncated)),
          section("Failures by kind", [["Failure"], ["Fetches", "number"]], sorted(run.failures)),
          section("Excluded by reason", [["Reason"], ["URLs", "number"]], sorted(run.excluded)),
          section("Links refused by rule", [["Rule"], ["Links", "number"]], sorted(run.refused)),
        ]),
    ],
  };
}

function ofRun(run) {
  return [
    run.waiting && h("p", { class: "why" }, `Now: ${run.waiting}.`),
    h("dl", { class: "tiles" },
      tile("Runs for", duration(run.elapsed_s)), tile("Pages", count(run.pages), "of this run"), tile("Rate", rate(run.pages_per_s), "of the whole run"),
      tile("Received", size(run.bytes_received)), tile("Redirects", count(run.redirects)), tile("Retries", count(run.retries)),
      tile("Links in scope", count(run.links)), tile("New links", count(run.admitted)),
      run.read_in_part > 0 && tile("Read in part", count(run.read_in_part), "documents with too much to parse")),
  ];
}

export function section(title, columns, rows) {
  return h("div", null, h("h2", null, title), rows.length === 0
    ? h("p", { class: "empty" }, "None.")
    : scrolling(title, columns, rows.map(([text, number]) => [text, count(number)])));
}

export const sorted = (counts) => Object.entries(counts).sort(([, one], [, other]) => other - one);
