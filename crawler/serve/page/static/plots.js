// Draws curves. Each plot has its figures in words and as a table, too.

import { h } from "./dom.js";
import { moment } from "./format.js";
import { scrolling } from "./tables.js";
import uPlot from "./vendor/uplot/uPlot.esm.js";

const HEIGHT = 190;
const MOST_ROWS = 12;
const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3], [4, 2]];
/** Steps of an axis whose figures are whole numbers: between those, two marks would have one text. */
const WHOLE_STEPS = Array.from({ length: 14 }, (_, power) => [1, 2, 5].map((each) => each * 10 ** power)).flat();
const drawn = new Map();

const written = (seconds) => moment(new Date(seconds * 1000).toISOString());

/** A plot. `draw` fills its picture once it is on the page. */
export function figure(plot) {
  return h("figure", { class: "plot" },
    h("figcaption", null, plot.title),
    h("div", { class: "picture", "data-keep": plot.key, role: "img", "aria-label": inWords(plot) }),
    h("details", null, h("summary", null, `${plot.title} as a table`), asTable(plot)));
}

function inWords({ title, write, curves, time }) {
  const told = curves.map(({ name, values }) => {
    const known = values.filter((each) => each !== null);
    if (known.length === 0) return `${name}: not known`;
    return `${name}: ${write(known.at(-1))}, at most ${write(known.reduce((a, b) => Math.max(a, b)))}`;
  });
  return `${title} from ${written(time[0])} to ${written(time.at(-1))}. ${told.join("; ")}.`;
}

function asTable({ title, write, curves, time }) {
  const places = time.map((_, place) => place).filter((place) => curves.some(({ values }) => values[place] !== null));
  const step = Math.max(1, Math.ceil(places.length / MOST_ROWS));
  const rows = places.reverse().filter((_, at) => at % step === 0);
  return scrolling(`${title} as a table`, [["Time"], ...curves.map(({ name }) => [name, "number"])],
    rows.map((place) => [written(time[place]), ...curves.map(({ values }) => write(values[place]))]));
}

/** Draw plots into their pictures, or bring them up to date. */
export function draw(content, plots) {
  for (const [picture, { chart, observer }] of drawn) {
    if (!picture.isConnected) {
      chart.destroy();
      observer.disconnect();
      drawn.delete(picture);
    }
  }
  for (const plot of plots) {
    const picture = content.querySelector(`.picture[data-keep="${plot.key}"]`);
    if (picture === null) continue;
    const known = drawn.get(picture) ?? begin(picture, plot);
    known.plot = plot;
    known.chart.setData([plot.time, ...plot.curves.map(({ values }) => values)]);
    tellFigures(known);
  }
}

function begin(picture, plot) {
  const figures = plot.curves.map(() => h("b"));
  const legend = h("ul", { class: "legend" }, plot.curves.map(({ name }, at) =>
    h("li", null, h("span", { class: `curve c${at + 1}` }), `${name} `, figures[at])));
  const place = h("div");
  picture.append(legend, place);
  const known = { plot, figures, chart: null };
  known.chart = new uPlot(options(plot, picture.clientWidth, () => tellFigures(known)), null, place);
  known.observer = new ResizeObserver(() => known.chart.setSize({ width: picture.clientWidth, height: HEIGHT }));
  known.observer.observe(picture);
  drawn.set(picture, known);
  return known;
}

/** The figures where the pointer is, or the last ones. */
function tellFigures({ plot, figures, chart }) {
  const at = chart?.cursor.idx ?? null;
  plot.curves.forEach(({ values }, number) => {
    const value = at === null ? values.findLast((each) => each !== null) : values[at];
    figures[number].textContent = plot.write(value ?? null);
  });
}

function options({ curves, write, isWhole }, width, pointed) {
  const axis = { stroke: () => colour("--soft"), grid: { stroke: () => colour("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, y: false },
    scales: { y: { range: (_, __, most) => [0, most > 0 ? most * 1.06 : 1] } },
    axes: [
      { ...axis, size: 30, values: (_, splits, __, ___, step) => splits.map((each) => tick(each, step)) },
      { ...axis, ...(isWhole ? { incrs: WHOLE_STEPS } : {}), size: 76, values: (_, splits) => splits.map(write) },
    ],
    series: [{}, ...curves.map(({ name }, at) => ({
      label: name, stroke: () => colour(`--curve-${at + 1}`), width: 2, dash: DASHES[at], points: { show: false },
    }))],
    hooks: { setCursor: [pointed] },
  };
}

function tick(seconds, step) {
  const text = written(seconds);
  const at = new Date(seconds * 1000);
  if (step >= 86_400) return at.toLocaleDateString("sv").slice(5);
  const time = text.slice(-8);
  return step < 60 ? time : time.slice(0, 5);
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const { chart } of drawn.values()) chart.redraw();
});
