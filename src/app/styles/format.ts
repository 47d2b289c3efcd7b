/** Formats of numbers on screens; an unmeasured value is a dash, never 0. */
export const NONE = "–";

/** 1.4 GB, 812 kB; decimal units. */
export function formatBytes(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined || !Number.isFinite(bytes)) return NONE;
  const units = ["B", "kB", "MB", "GB", "TB"];
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** 12,345. */
export function formatCount(value: number | null | undefined): string {
  return value === null || value === undefined || !Number.isFinite(value) ? NONE : value.toLocaleString("en-US");
}

/** 0.53 with fixed decimals. */
export function formatNumber(value: number | null | undefined, decimals = 2): string {
  if (value === null || value === undefined) return NONE;
  return Number.isFinite(value) ? value.toFixed(decimals).replace("-", "−") : String(value);
}

/** 12 %, 0.3 %. */
export function formatShare(share: number): string {
  const percent = share * 100;
  return `${percent > 0 && percent < 10 ? percent.toFixed(1) : Math.round(percent)} %`;
}

/** 45 s, 3 min, 2 h. */
export function formatAge(seconds: number): string {
  if (seconds < 60) return `${Math.max(0, Math.round(seconds))} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}
