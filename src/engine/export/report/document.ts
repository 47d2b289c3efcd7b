/** Parts of a self-contained HTML document without external references. */
import { base64 } from "../../bytes/base64.ts";
import { escaped } from "../../bytes/markup.ts";

const STYLE = `
:root{color-scheme:light dark;--ink:#16181d;--quiet:#5d6470;--line:#d9dde4;--ground:#fff;--soft:#f4f6f9;--a:#0b5cad;--b:#b8460b;--c:#15803d;--d:#7e22ce}
@media (prefers-color-scheme:dark){:root{--ink:#e8eaef;--quiet:#9aa3b2;--line:#343a46;--ground:#14161a;--soft:#1d2027;--a:#6cb2ff;--b:#ffa066;--c:#5fd38a;--d:#cda2ff}}
body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:0 auto;padding:2rem 1rem 4rem;color:var(--ink);background:var(--ground)}
h1{font-size:2rem;line-height:1.15;margin:0}h2{font-size:1.25rem;margin:2.5rem 0 .75rem}p{margin:.5rem 0}
.quiet,figcaption,th{color:var(--quiet)}figcaption,table,svg text{font-size:13px;font-variant-numeric:tabular-nums}
.note{white-space:pre-wrap;overflow-wrap:anywhere}.headline{font-size:1.5rem;line-height:1.3;margin:1.25rem 0}.better{color:var(--c)}.worse{color:var(--b)}
.grid{display:grid;gap:1rem;grid-template-columns:repeat(auto-fill,minmax(min(100%,20rem),1fr))}
figure{margin:0;padding:.75rem;background:var(--soft);border-radius:8px;min-width:0;overflow-wrap:anywhere}
figure img,figure svg{display:block;width:100%;height:auto}img{image-rendering:pixelated;border-radius:4px}
.scroll{overflow-x:auto}table{border-collapse:collapse}td,th{padding:.25rem .75rem .25rem 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--line);font-weight:400}
td.n{text-align:right}b{font-weight:600}summary{cursor:pointer}`;

/** @param body HTML */
export function htmlDocument(title: string, body: readonly string[]): string {
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
    `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">`,
    `<link rel="icon" href="data:,"><title>${escaped(title)}</title><style>${STYLE}</style></head><body>`,
    ...body,
    "</body></html>\n",
  ].join("\n");
}

/** @param head column titles @param rows cells as HTML; numbers are columns after the first */
export function htmlTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const title = head.map((cell) => `<th scope="col">${escaped(cell)}</th>`).join("");
  const body = rows.map(
    (row) => `<tr>${row.map((cell, at) => `<td${at === 0 ? "" : ' class="n"'}>${cell}</td>`).join("")}</tr>`,
  );
  return `<div class="scroll" tabindex="0"><table><thead><tr>${title}</tr></thead><tbody>${body.join("\n")}</tbody></table></div>`;
}

/**
 * An embedded picture.
 * @param lines lines of text below it
 */
export function pngFigure(png: Uint8Array, alt: string, lines: readonly string[]): string {
  const text = lines.map(escaped).join("<br>");
  return `<figure><img alt="${escaped(alt)}" src="data:image/png;base64,${base64(png)}"><figcaption>${text}</figcaption></figure>`;
}
