// Writes numbers, sizes and times for people.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const tenth = new Intl.NumberFormat("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });

export const NONE = "–";

export const count = (value) => (value === null || value === undefined ? NONE : whole.format(value));

/** Events per second, with a decimal if they are few. */
export function rate(perSecond) {
  if (perSecond === null || perSecond === undefined) return NONE;
  return `${perSecond === 0 || perSecond >= 9.95 ? whole.format(perSecond) : tenth.format(perSecond)}/s`;
}

export function size(bytes) {
  if (bytes === null || bytes === undefined) return NONE;
  let value = bytes;
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (value < 999.95) return unit === "B" ? `${whole.format(value)} B` : `${tenth.format(value)} ${unit}`;
    value /= 1000;
  }
  return `${tenth.format(value)} TB`;
}

export function percent(share, digits = 1) {
  return share === null || share === undefined ? NONE : `${(share * 100).toFixed(digits)} %`;
}

/** How long a fetch took. */
export const took = (seconds) => (seconds === null || seconds === undefined ? NONE : `${seconds.toFixed(2)} s`);

/** A duration with at most two units. */
export function duration(seconds) {
  const all = Math.max(0, Math.round(seconds));
  if (all < 60) return `${all} s`;
  if (all < 3600) return `${Math.floor(all / 60)} min ${all % 60} s`;
  if (all < 172_800) return `${Math.floor(all / 3600)} h ${Math.floor((all % 3600) / 60)} min`;
  return `${Math.floor(all / 86_400)} days`;
}

/** A moment in the time zone of the reader; the day is left out if it is today. */
export function moment(text) {
  if (!text) return NONE;
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return text;
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":");
  const isToday = at.toDateString() === new Date().toDateString();
  return isToday ? time : `${at.toLocaleDateString("sv")} ${time}`;
}

/** How long until a moment; empty if it has passed. */
export function until(text) {
  const seconds = (new Date(text) - Date.now()) / 1000;
  return seconds > 0 ? duration(seconds) : "";
}
