// Tables.

import { h } from "./dom.js";

/** A table that scrolls in itself where it is wider than the page. Columns are titles with the classes of their cells. Rows that move have keys. */
export function scrolling(label, columns, rows, keys = []) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    h("table", null,
      h("thead", null, h("tr", null, columns.map(([title, kind]) => h("th", { scope: "col", class: kind }, title)))),
      h("tbody", null, rows.map((cells, row) => h("tr", { "data-key": keys[row] }, cells.map((cell, index) => h("td", { class: columns[index][1] }, cell)))))));
}
