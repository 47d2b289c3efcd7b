/** A chart as a standalone SVG document: title, legend, both axes and the lines as they are drawn. */
import { escaped } from "../../../../engine/bytes/markup.ts";

export interface SvgLine {
  readonly label: string;
  readonly colour: string;
  readonly dash: readonly number[];
  readonly width: number;
  /** Whether it is measured on the right scale. */
  readonly right: boolean;
  /** Whether the legend lists it; false for a faint line behind another one. */
  readonly named: boolean;
  /** Null breaks the line; undefined has no point and breaks nothing. */
  readonly values: readonly (number | null | undefined)[];
}

/** Area between two curves. */
export interface SvgBand {
  readonly colour: string;
  readonly right: boolean;
  readonly low: SvgLine["values"];
  readonly high: SvgLine["values"];
}

export interface SvgScale {
  readonly min: number;
  readonly max: number;
  readonly logarithmic?: boolean;
  readonly ticks: readonly { readonly at: number; readonly text: string }[];
}

export interface SvgChart {
  readonly title: string;
  readonly xName: string;
  readonly xs: readonly number[];
  readonly x: SvgScale;
  readonly y: SvgScale;
  readonly right: SvgScale | null;
  readonly lines: readonly SvgLine[];
  readonly bands: readonly SvgBand[];
}

const SIZE = { width: 640, height: 360, left: 58, right: 20, top: 58, bottom: 44 } as const;
const INK = { text: "#16181d", quiet: "#535b68", grid: "#e8ebef" } as const;

/** The document; dark on white, for papers and slides. */
export function chartSvg(chart: SvgChart): string {
  const edge = SIZE.width - (chart.right === null ? SIZE.right : SIZE.left);
  const across = place(chart.x, SIZE.left, edge);
  const up = place(chart.y, SIZE.height - SIZE.bottom, SIZE.top);
  const upRight = chart.right === null ? up : place(chart.right, SIZE.height - SIZE.bottom, SIZE.top);
  const point = (at: number, value: number, right: boolean): string =>
    `${across(chart.xs[at] as number)} ${(right ? upRight : up)(value)}`;
  const grid = chart.y.ticks.flatMap(({ at, text }) => [
    `<line x1="${SIZE.left}" x2="${edge}" y1="${up(at)}" y2="${up(at)}" stroke="${INK.grid}"/>`,
    label(SIZE.left - 8, Number(up(at)) + 4, text, "end"),
  ]);
  const under = chart.x.ticks.map(({ at, text }) =>
    label(Number(across(at)), SIZE.height - SIZE.bottom + 18, text, "middle"),
  );
  const beside = (chart.right?.ticks ?? []).map(({ at, text }) =>
    label(edge + 8, Number(upRight(at)) + 4, text, "start"),
  );
  const bands = chart.bands.map(({ colour, low, high, right }) => {
    const places = chart.xs
      .map((_, at) => at)
      .filter((at) => typeof low[at] === "number" && typeof high[at] === "number");
    const there = places.map((at) => point(at, high[at] as number, right));
    const back = places.toReversed().map((at) => point(at, low[at] as number, right));
    return there.length === 0
      ? ""
      : `<path d="M${[...there, ...back].join("L")}Z" fill="${colour}" fill-opacity="0.16"/>`;
  });
  const lines = chart.lines.map(({ colour, dash, width, values, right }) => {
    let pen = "M";
    const path = values.map((value, at) => {
      if (value === undefined) return "";
      const part = value === null ? "" : pen + point(at, value, right);
      pen = value === null ? "M" : "L";
      return part;
    });
    return `<path d="${path.join("")}" stroke="${colour}" stroke-width="${width}" stroke-dasharray="${dash.join(" ")}"/>`;
  });
  const named = chart.lines.filter((line) => line.named);
  let from = SIZE.left;
  const legend = named.map(({ label: name, colour, dash }) => {
    const at = from;
    from += 34 + 6.6 * name.length;
    return `<line x1="${at}" x2="${at + 20}" y1="40" y2="40" stroke="${colour}" stroke-width="2" stroke-dasharray="${dash.join(" ")}"/>${label(at + 26, 44, name, "start")}`;
  });
  const { width, height } = SIZE;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="sans-serif" font-size="12">`,
    `<title>${escaped(chart.title)}</title>`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    `<clipPath id="plot"><rect x="${SIZE.left}" y="${SIZE.top - 4}" width="${edge - SIZE.left}" height="${height - SIZE.bottom - SIZE.top + 8}"/></clipPath>`,
    `<text x="${SIZE.left}" y="24" fill="${INK.text}" font-size="15" font-weight="600">${escaped(chart.title)}</text>`,
    ...legend,
    ...grid,
    ...under,
    ...beside,
    `<g clip-path="url(#plot)" fill="none">${[...bands, ...lines].join("")}</g>`,
    label((SIZE.left + edge) / 2, height - 8, chart.xName, "middle"),
    "</svg>",
    "",
  ].join("\n");
}

/** Pixels of a value on a scale, as text. */
function place({ min, max, logarithmic = false }: SvgScale, from: number, to: number): (value: number) => string {
  const along = (value: number): number => (logarithmic ? Math.log10(Math.max(value, 1e-12)) : value);
  const [low, high] = [along(min), along(max)];
  return (value) => (from + ((along(value) - low) / (high === low ? 1 : high - low)) * (to - from)).toFixed(1);
}

function label(x: number, y: number, text: string, anchor: "start" | "middle" | "end"): string {
  return `<text x="${x}" y="${y}" fill="${INK.quiet}" text-anchor="${anchor}">${escaped(text)}</text>`;
}
