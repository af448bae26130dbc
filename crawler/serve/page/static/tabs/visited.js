// What the visited set costs, how full it is, and what it has probably lost.

import { crawlPath, get } from "../api.js";
import { h } from "../dom.js";
import { NONE, count, percent, size } from "../format.js";
import { scrolling } from "../tables.js";
import { tile } from "../views/progress.js";

export function visited(name) {
  return {
    every: 5000,
    load: async (signal) => {
      const [whole, status] = await Promise.all([get(crawlPath(name, "/visited"), signal), get(crawlPath(name, "/status"), signal)]);
      return { whole, parts: status.parts ?? [] };
    },
    render: ({ whole, parts }) => [
      h("dl", { class: "tiles" },
        tile("URLs", count(whole.count), whole.capacity === null ? "grows without bound" : `made for ${count(whole.capacity)}`),
        tile("Memory", size(whole.memory_bytes), whole.count > 0 ? `${(whole.memory_bytes / whole.count).toFixed(1)} B per URL` : null),
        tile("On disk", size(whole.disk_bytes)),
        tile("Fill", percent(whole.fill)),
        tile("False-positive rate", share(whole.false_positive_rate), uncertain(whole.rate_sigma, share)),
        tile("Pages probably lost", few(whole.expected_lost), uncertain(whole.lost_sigma, few))),
      h("p", { class: "hint" }, meaning(whole)),
      parts.length > 0 && [h("h2", null, "Parts"), byPart(parts)],
      h("h2", null, `Figures of ${whole.backend}`),
      figures(whole.details),
    ],
  };
}

function meaning({ backend, false_positive_rate: rate, count: known, capacity, details }) {
  const isOver = capacity !== null && known > capacity;
  const over = isOver ? " It holds more URLs than it was made for, so its rate rises: give it a larger visited.capacity." : "";
  const caught = details.unverified_false_positive_rate;
  if (caught > 0) {
    return `The filter takes one of about ${count(1 / caught)} new URLs for a known one. The ledger catches these (visited.verify), so no page is lost; it has caught ${count(details.false_positives_caught)}.${over}`;
  }
  if (rate === 0) return `The set ${backend} takes no new URL for a known one.${over}`;
  return `The set ${backend} takes one of about ${count(1 / rate)} new URLs for a known one. With visited.verify = true the ledger would catch these, and no page would be lost.${over}`;
}

function byPart(parts) {
  const columns = [["Part", "number"], ["URLs", "number"], ["Memory", "number"], ["On disk", "number"], ["Fill", "number"], ["False-positive rate", "number"], ["Probably lost", "number"]];
  return scrolling("Visited sets of the parts", columns, parts.map(({ part, status }) => {
    const set = status?.run?.visited;
    if (!set) return [String(part), ...columns.slice(1).map(() => NONE)];
    return [String(part), count(set.count), size(set.memory_bytes), size(set.disk_bytes), percent(set.fill), share(set.false_positive_rate), few(set.expected_lost)];
  }));
}

function figures(details) {
  const rows = Object.entries(details);
  if (rows.length === 0) return h("p", { class: "empty" }, "This set has no figures of its own.");
  return h("dl", { class: "facts" }, rows.map(([key, value]) => [h("dt", null, key.replaceAll("_", " ")), h("dd", null, String(value))]));
}

const uncertain = (sigma, write) => (sigma > 0 ? `± ${write(sigma)}` : null);

/** A share, with two digits however small it is. */
function share(value) {
  if (value === 0) return "0";
  return value >= 0.001 ? percent(value, 2) : value.toExponential(1);
}

/** A number of pages that may be below one. */
function few(value) {
  if (value === 0) return "0";
  if (value < 0.01) return "< 0.01";
  return value < 10 ? value.toFixed(2) : count(value);
}
