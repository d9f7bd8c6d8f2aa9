/** Numbers as people read them. */

export function bytesText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let value = bytes;
  let unit = -1;
  do {
    value /= 1000;
    unit += 1;
  } while (value >= 999.5 && unit < units.length - 1);
  return `${value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)} ${units[unit]}`;
}

export function secondsText(seconds: number): string {
  if (seconds === 0) return "0 s";
  const pick = (value: number, unit: string): string =>
    `${value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)} ${unit}`;
  if (seconds < 0.9995e-6) return pick(seconds * 1e9, "ns");
  if (seconds < 0.9995e-3) return pick(seconds * 1e6, "µs");
  if (seconds < 0.9995) return pick(seconds * 1e3, "ms");
  return pick(seconds, "s");
}

/** A tensor's number in at most eight characters or so. */
export function numberText(value: number | null): string {
  if (value === null) return "–";
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (Number.isInteger(value) && Math.abs(value) < 1e7) return String(value);
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) return value.toExponential(2);
  return String(Number(value.toPrecision(4)));
}

export function countText(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

export function shapeText(shape: number[]): string {
  return shape.length === 0 ? "scalar" : shape.join("×");
}

export function shorten(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}
