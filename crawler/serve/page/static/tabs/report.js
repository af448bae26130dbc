// What a crawl has found, summed up. All of its records are read for it, so it is made when the reader asks.

import { crawlPath, get } from "/api.js";
import { h } from "/dom.js";
import { count, duration, moment, percent, size } from "/format.js";
import { scrolling } from "/tables.js";
import { section, sorted } from "/tabs/summary.js";
import { tile } from "/views/progress.js";

export function report(name) {
  let made = null;
  return {
    every: 10_000,
    load: async (signal) => {
      made ??= await get(crawlPath(name, "/report"), signal);
      return made;
    },
    render: (found, _, again) => {
      const renew = () => {
        made = null;
        again();
      };
      return [
        h("div", { class: "filters" },
          h("button", { type: "button", onclick: renew }, "Make it anew"),
          h("p", { class: "sum" }, `As of ${moment(found.at)}, from the ${found.source}`)),
        figures(found.summary),
        h("div", { class: "pair" }, tables(found.summary)),
        hosts(found.hosts),
      ];
    },
  };
}

function figures({ urls, settled, share_done: share, pages, failed, excluded, bytes_received: received, bytes_decoded: decoded, hosts: known, times, remaining }) {
  return h("dl", { class: "tiles" },
    tile("Pages", count(pages), `of ${count(urls)} known URLs`),
    tile("Done", percent(share), `${count(settled)} URLs`),
    tile("Left", remaining.seconds === null ? `${count(remaining.urls)} URLs` : duration(remaining.seconds),
      remaining.host === null ? "if no more are found" : `decided by the pace of ${remaining.host}`),
    tile("Failed", count(failed)), tile("Excluded", count(excluded)), tile("Hosts", count(known)),
    tile("Received", size(received), decoded === null ? null : `${size(decoded)} decoded`),
    tile("Mean time", times.mean_s === null ? "–" : `${times.mean_s.toFixed(2)} s`, "of a fetch"),
    tile("First page", moment(times.first_at)), tile("Last page", moment(times.last_at)));
}

const tables = ({ statuses, failures, exclusions, refused }) => [
  section("URLs by status", [["Status"], ["URLs", "number"]], Object.entries(statuses)),
  section("Failures by reason", [["Reason"], ["URLs", "number"]], sorted(failures)),
  section("Excluded by rule", [["Rule"], ["URLs", "number"]], sorted(exclusions)),
  refused && section("Links refused by rule", [["Rule"], ["Links", "number"]], sorted(refused)),
];

function hosts({ count: known, is_exact: isExact, most_pages: pages, most_bytes: bytes, most_failures: failures }) {
  const columns = [["Host"], ["URLs", "number"], ["Pages", "number"], ["Failures", "number"], ["Received", "number"], ["Mean time", "number"], ["Last fetch"]];
  const table = (title, rows) => [h("h2", null, title), rows.length === 0
    ? h("p", { class: "empty" }, "None.")
    : scrolling(title, columns, rows.map((row) => [row.host, count(row.urls), count(row.pages), count(row.failures), size(row.bytes_received),
      row.mean_s === null ? "–" : `${row.mean_s.toFixed(2)} s`, moment(row.last_at)]))];
  return [
    table("Hosts with the most pages", pages),
    table("Hosts with the most bytes", bytes),
    table("Hosts with the most failures", failures),
    !isExact && h("p", { class: "hint" }, `Of ${count(known)} hosts, small ones may be counted too low.`),
  ];
}
