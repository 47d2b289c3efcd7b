/** Shown for a value that was not measured, in place of 0. */
export const MISSING = "–";

/** A number with fixed decimals and a true minus sign; "–" when missing, "NaN" or "∞" when not finite. */
export function fixed(value: number | null | undefined, decimals: number): string {
  if (value === null || value === undefined) return MISSING;
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const text = Math.abs(value).toFixed(decimals);
  return value < 0 && Number(text) !== 0 ? `−${text}` : text;
}

/** A number with an explicit sign, as for advantages. */
export function signed(value: number | null | undefined, decimals: number): string {
  const text = fixed(value, decimals);
  return value !== null && value !== undefined && Number.isFinite(value) && Number(value.toFixed(decimals)) > 0
    ? `+${text}`
    : text;
}

/** A value of unknown magnitude in short form: fixed decimals near 1, powers of ten otherwise. */
export function compact(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return fixed(value, 0);
  const size = Math.abs(value);
  if (value === 0) return "0";
  if (size < 1e-3 || size >= 1e6) return value.toExponential(1).replace("e+", "e").replaceAll("-", "−");
  return fixed(value, size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

/** Bytes in the units file managers use. */
export function bytes(count: number | null | undefined): string {
  if (count === null || count === undefined || !Number.isFinite(count)) return MISSING;
  const units = ["B", "kB", "MB", "GB", "TB"];
  let [value, unit] = [count, 0];
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${value.toFixed(unit === 0 || value >= 100 ? 0 : 1)} ${units[unit]}`;
}

/** A share 0..1 as a whole percentage. */
export function percent(share: number | null | undefined): string {
  return share === null || share === undefined || !Number.isFinite(share) ? MISSING : `${Math.round(share * 100)} %`;
}

/** Seconds as "0.42 s", "12.3 s" or "2 min 05 s". */
export function seconds(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return MISSING;
  if (value < 60) return `${value.toFixed(value < 10 ? 2 : 1)} s`;
  const whole = Math.round(value);
  return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
}
