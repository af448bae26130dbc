// What a crawl has found, summed up. All of its records are read for it, so it is made when the reader asks.

import { crawlPath, download, get, save } from "../api.js";
import { attempt } from "../controls.js";
import { h } from "../dom.js";
import { count, duration, moment, percent, size, took } from "../format.js";
import { scrolling } from "../tables.js";
import { section, sorted } from "./summary.js";
import { tile } from "../views/progress.js";
import { choice, filters, latest, patient, query, wanted } from "../wanted.js";

const ROWS = 500;
const MOST = 1000;
const LISTS = {
  "dead-links": ["Dead links", [["Dead URL", "wide"], ["Answer"], ["Page", "wide"], ["Link", "wide"]],
    (each) => [each.url, answer(each.status, each.reason), each.page ?? "–", link(each)]],
  "broken-anchors": ["Broken anchors", [["Page", "wide"], ["Leads to", "wide"], ["Link", "wide"]],
    (each) => [each.page, each.url, link(each)]],
  orphans: ["Orphan pages", ...foundPages()],
  unlisted: ["Pages that no sitemap names", ...foundPages()],
  mislisted: ["URLs that sitemaps should not name", [["URL", "wide"], ["Why"], ["Leads to", "wide"], ["Answer there"], ["In", "wide"]],
    (each) => [each.url, whyMislisted(each), each.leads_to ?? "–", answer(each.end_status, each.end_reason), each.sitemap]],
  redirects: ["Redirects", [["URL", "wide"], ["Status"], ["Leads to", "wide"], ["Redirects", "number"], ["Answer there"], ["Page", "wide"], ["Link", "wide"]],
    (each) => [each.url, answer(each.status), each.leads_to, count(each.hops), answer(each.end_status, each.end_reason), each.page ?? "–", link(each)]],
  duplicates: ["Duplicates", [["URL", "wide"], ["Same as", "wide"], ["By"], ["Bytes", "number"]],
    (each) => [each.url, each.of, each.by, size(each.bytes)]],
  refused: ["Refused links", [["Rule"], ["Links", "number"], ["Examples", "wide"]],
    (each) => [each.rule, count(each.links), each.examples.map(({ url }) => url).join(", ") || "–"]],
  slowest: ["Slowest URLs", ...fetched()],
  largest: ["Largest URLs", ...fetched()],
};

function foundPages() {
  return [[["URL", "wide"], ["Found as"], ["In", "wide"]], (each) => [each.url, each.kind, each.via ?? "–"]];
}

function fetched() {
  return [[["URL", "wide"], ["Status"], ["Time", "number"], ["Received", "number"], ["Decoded", "number"]],
    (each) => [each.url, answer(each.status), took(each.duration_s), size(each.received_bytes), size(each.size_bytes)]];
}

const answer = (status, reason) => String(status ?? reason ?? "–");
const whyMislisted = ({ reason, status }) => (["redirect", "error"].includes(reason) ? answer(status) : reason);
const link = (each) => (each.anchor ? `"${each.anchor}"` : each.kind ?? "–");

export function report(name, search) {
  const make = patient(get);
  const wish = wanted(search);
  const chosen = () => (Object.hasOwn(LISTS, wish.get("list")) ? wish.get("list") : "");
  const path = () => crawlPath(name, `/report${chosen() ? query({ section: chosen(), limit: ROWS }) : ""}`);
  return {
    every: 10_000,
    load: async (signal) => {
      const found = await latest(path, (asked) => make(asked, signal));
      return { key: chosen(), found };
    },
    render: ({ key, found }, _, again) => {
      const renew = () => {
        make.forget();
        again();
      };
      return [
        h("div", { class: "filters" },
          h("button", { type: "button", onclick: renew }, "Make it anew"),
          h("button", { type: "button", onclick: () => attempt(() => download(crawlPath(name, "/report.html"), `${name}-report.html`)) }, "Save it as a page with plots"),
          h("p", { class: "sum" }, `As of ${moment(found.at)}, from the ${found.source}`)),
        filters(choice("Show", chosen(), [["", "Summary and hosts"], ...Object.entries(LISTS).map(([key, [title]]) => [key, title])], wish.change("list", again))),
        key && !unknown(found) && h("p", { class: "actions" }, ["CSV", "JSON"].map((form) =>
          h("button", { type: "button", onclick: () => attempt(() => saveList(name, key, form)) }, `Download as ${form}`))),
        found.notes?.map((note) => h("p", { class: "hint" }, `Note: ${note}.`)),
        ...(key ? list(found, key) : whole(found)),
      ];
    },
  };
}

function rowsOf(found, key) {
  const rows = found[key.replaceAll("-", "_")];
  return Array.isArray(rows) ? rows : rows.links ?? rows.pages ?? rows.entries; // each array has a method `entries`
}

/** Save a list, as far as the daemon tells it. */
async function saveList(name, key, form) {
  const rows = rowsOf(await get(crawlPath(name, `/report${query({ section: key, limit: MOST })}`)), key);
  if (form === "JSON") save(new Blob([JSON.stringify(rows, null, 1)], { type: "application/json" }), `${name}-${key}.json`);
  else save(new Blob([csv(rows)], { type: "text/csv" }), `${name}-${key}.csv`);
}

/** As RFC 4180 has it. A list or an object becomes JSON. */
export function csv(rows) {
  const columns = Object.keys(rows[0] ?? {});
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows.map((row) => columns.map((column) => row[column]))].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

function whole(found) {
  return [
    figures(found.summary),
    h("div", { class: "pair" }, tables(found.summary)),
    hosts(found.hosts),
  ];
}

/** Why nobody knows the rows of a list. */
function unknown({ orphans, unlisted, mislisted }) {
  const listing = unlisted ?? mislisted;
  if (orphans?.unread) return `This needs the links of all pages, but ${count(orphans.unread)} were fetched without output.link_details: set it, and crawl anew.`;
  if (listing?.unread) return `This needs what all sitemaps name, but ${count(listing.unread)} were fetched without output.link_details: set it, and crawl anew.`;
  return listing?.sitemaps === 0 ? "No sitemap that names a page was read with output.link_details." : null;
}

function list(found, key) {
  const [title, columns, cells] = LISTS[key];
  const rows = rowsOf(found, key);
  const why = unknown(found);
  return why ? [h("p", { class: "hint" }, why)] : [
    rows.length === 0 ? h("p", { class: "empty" }, "None.") : scrolling(title, columns, rows.map(cells)),
    rows.length >= ROWS && h("p", { class: "hint" }, `These are the first ${count(ROWS)}; `, h("code", null, `onceover report ${found.directory} ${key} --csv`), " prints all."),
    rows.length > 0 && (found.dead_links ?? found.redirects)?.is_whole === false
      && h("p", { class: "hint" }, "Each is shown with one page, where the crawl found it first, because it ran without output.link_details."),
  ];
}

function figures({ urls, settled, share_done: share, pages, failed, excluded, bytes_received: received, bytes_decoded: decoded, hosts: known, times, remaining, read_in_part: cut, pruned, external }) {
  return h("dl", { class: "tiles" },
    tile("Pages", count(pages), `of ${count(urls)} known URLs`),
    tile("Done", percent(share), `${count(settled)} URLs`),
    tile("Left", remaining.seconds === null ? `${count(remaining.urls)} URLs` : duration(remaining.seconds),
      remaining.why ?? (remaining.host === null ? "if no more are found" : `decided by the pace of ${remaining.host}`)),
    tile("Failed", count(failed)), tile("Excluded", count(excluded)), tile("Hosts", count(known)),
    cut > 0 && tile("Read in part", count(cut), "documents with too much to parse"),
    pruned > 0 && tile("Pruned", count(pruned), "old records, which are not counted"),
    external && tile("Other sites", `${count(external.dead)} dead`, `of ${count(external.checked)} URLs checked`),
    tile("Received", size(received), decoded === null ? null : `${size(decoded)} decoded`),
    tile("Mean time", took(times.mean_s), "of a fetch"),
    tile("First page", moment(times.first_at)), tile("Last page", moment(times.last_at)));
}

const tables = ({ statuses, truncated, failures, exclusions, refused }) => [
  section("URLs by status", [["Status"], ["URLs", "number"]], Object.entries(statuses)),
  truncated && section("Truncated pages by reason", [["Reason"], ["Pages", "number"]], sorted(truncated)),
  section("Failures by reason", [["Reason"], ["URLs", "number"]], sorted(failures)),
  section("Excluded by rule", [["Rule"], ["URLs", "number"]], sorted(exclusions)),
  refused && section("Links refused by rule", [["Rule"], ["Links", "number"]], sorted(refused)),
];

const robotsSaid = { allowed: "allows everything", partly: "disallows a part", disallowed: "disallows everything", unreachable: "can't be had", none: "none" };

function robots({ robots: said, robots_at: at, crawl_delay_s: delay }) {
  if (said === null) return "–";
  return [robotsSaid[said] ?? said, at && `asked ${moment(at)}`, delay !== null && `delay ${delay} s`].filter(Boolean).join("; ");
}

function hosts({ count: known, is_exact: isExact, most_pages: pages, most_bytes: bytes, most_failures: failures }) {
  const columns = [["Host"], ["URLs", "number"], ["Pages", "number"], ["Failures", "number"], ["Received", "number"], ["Mean time", "number"], ["Last fetch"], ["robots.txt"]];
  const table = (title, rows) => [h("h2", null, title), rows.length === 0
    ? h("p", { class: "empty" }, "None.")
    : scrolling(title, columns, rows.map((row) => [row.host, count(row.urls), count(row.pages), count(row.failures), size(row.bytes_received),
      took(row.mean_s), moment(row.last_at), robots(row)]))];
  return [
    table("Hosts with the most pages", pages),
    table("Hosts with the most bytes", bytes),
    table("Hosts with the most failures", failures),
    !isExact && h("p", { class: "hint" }, `Of ${count(known)} hosts, small ones may be counted too low.`),
  ];
}
