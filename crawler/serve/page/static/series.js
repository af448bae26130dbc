// Makes curves of the history of a crawl. Pure.

import { count, duration, moment, rate, size } from "./format.js";

const SLOPE_S = 60;
const SLOPE_SAMPLES = 6;
const LEAST_SAMPLES = 4;
const WIDE_GAP = 4;
const FINISHED = ["done", "failed", "excluded"];
const CLASSES = [["2xx", "responses_2xx"], ["3xx", "responses_3xx"], ["4xx", "responses_4xx"], ["5xx", "responses_5xx"]];

/** The plots of a history, as the API gives it. */
export function plotsOf({ columns }) {
  const { time } = columns;
  const plot = (key, title, write, curves, isWhole = false) => ({ key, title, write, isWhole, ...broken(time, curves) });
  const perSecond = (name) => growth(time, columns[name]);
  return [
    plot("pages", "Pages", rate, [["Pages", columns.pages_per_s]]),
    plot("bytes", "Bytes received", (value) => (value === null ? "–" : `${size(value)}/s`), [["Bytes", columns.bytes_per_s]], true),
    plot("progress", "Discovered and finished URLs", count, [["Discovered", columns.discovered], ["Finished", finished(columns)]], true),
    plot("answers", "Answers by status, and failures", rate,
      [...CLASSES.map(([title, name]) => [title, perSecond(name)]), ["Failures", columns.failures_per_s]]),
  ];
}

function finished(columns) {
  return columns.time.map((_, place) => {
    const found = FINISHED.map((name) => columns[name][place]);
    return found.includes(null) ? null : found.reduce((sum, each) => sum + each, 0);
  });
}

/** How fast a count grows; null where it is not known or has begun anew. */
function growth(time, counts) {
  return counts.map((after, place) => {
    const before = place > 0 ? counts[place - 1] : null;
    if (before === null || after === null || after < before) return null;
    return (after - before) / (time[place] - time[place - 1]);
  });
}

/** Curves with a hole wherever nobody looked for long, so that no line hides it. */
function broken(time, curves) {
  const steps = time.slice(1).map((each, place) => each - time[place]);
  const usual = [...steps].sort((a, b) => a - b)[Math.floor(steps.length / 2)] ?? 0;
  const places = time.flatMap((_, place) => (place > 0 && steps[place - 1] > WIDE_GAP * usual ? [null, place] : [place]));
  return {
    time: places.map((place, at) => (place === null ? (time[places[at - 1]] + time[places[at + 1]]) / 2 : time[place])),
    curves: curves.map(([name, values]) => ({ name, values: places.map((place) => (place === null ? null : values[place])) })),
  };
}

/** How many URLs are open, and by how many these grow per second lately; null as long as that is not known. */
function slope(time, discovered, done) {
  const last = time.at(-1);
  const samples = [];
  for (let place = time.length - 1; place >= 0 && (last - time[place] <= SLOPE_S || samples.length < SLOPE_SAMPLES); place -= 1) {
    if (discovered[place] === null || done[place] === null) break;
    samples.push([time[place] - last, discovered[place] - done[place]]);
  }
  if (samples.length === 0) return { open: null, perSecond: null, spanS: 0 };
  const [[, open]] = samples;
  const spanS = -samples.at(-1)[0];
  if (samples.length < LEAST_SAMPLES) return { open, perSecond: null, spanS };
  const mean = (values) => values.reduce((sum, each) => sum + each, 0) / values.length;
  const [x, y] = [mean(samples.map(([at]) => at)), mean(samples.map(([, value]) => value))];
  const spread = samples.reduce((sum, [at]) => sum + (at - x) ** 2, 0);
  const along = samples.reduce((sum, [at, value]) => sum + (at - x) * (value - y), 0);
  return { open, perSecond: spread > 0 ? along / spread : null, spanS };
}

/** When all that is discovered will be finished, in words. */
export function whenFinished({ columns }, isRunning, now = Date.now()) {
  const { open, perSecond, spanS } = slope(columns.time, columns.discovered, finished(columns));
  if (open === null) return "";
  if (open === 0) return "All discovered URLs are finished.";
  const still = open === 1 ? "One URL is open." : `${count(open)} URLs are open.`;
  if (!isRunning) return still;
  if (perSecond === null) return `${still} It is too early to say when the last one will be finished.`;
  if (perSecond >= 0) return `${still} They do not become fewer: as many URLs are discovered as are finished, or more.`;
  const inS = open / -perSecond;
  return `${still} If the crawl goes on as in the last ${duration(spanS)}, all are finished in ${duration(inS)}, at ${moment(new Date(now + inS * 1000).toISOString())}.`;
}
