import { seconds } from "../../components/charts/format.ts";

/** 0.42 ms, 38 ms, 1.24 s: phases differ by four orders of magnitude. */
export function duration(value: number | null): string {
  if (value === null || value === 0 || value >= 1) return value === 0 ? "0" : seconds(value);
  const milliseconds = value * 1000;
  return `${milliseconds < 10 ? milliseconds.toFixed(milliseconds < 1 ? 2 : 1) : Math.round(milliseconds)} ms`;
}
