/**
 * A part of the page as a PNG picture: its elements are copied into an SVG document with the styles of the page, which the
 * browser draws. Canvases become images, and fields show what is entered.
 */
import { LabError } from "../../../../engine/errors.ts";

const SVG = "http://www.w3.org/2000/svg";
const XHTML = "http://www.w3.org/1999/xhtml";
/** CSS pixels around the panel. */
const MARGIN = 12;
/** Minimum device pixels per CSS pixel, so that enlarged pictures stay sharp. */
const LEAST_RATIO = 2;

/** Copies a panel to the clipboard. @throws LabError("unsupported") when the browser takes no pictures into its clipboard */
export async function copyPanel(panel: HTMLElement): Promise<void> {
  try {
    // The item takes a promise, because the click's permission may expire before the picture is drawn.
    await navigator.clipboard.write([new ClipboardItem({ "image/png": panelPicture(panel) })]);
  } catch (cause) {
    throw new LabError("unsupported", "The browser refused to copy the picture; click the page and try again", {
      cause,
    });
  }
}

async function panelPicture(panel: HTMLElement): Promise<Blob> {
  const [width, height] = [panel.offsetWidth + 2 * MARGIN, panel.offsetHeight + 2 * MARGIN];
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(documentOf(panel, height))}`;
  await image.decode();
  const ratio = Math.max(LEAST_RATIO, window.devicePixelRatio);
  const page = document.createElement("canvas");
  [page.width, page.height] = [width * ratio, height * ratio];
  const context = page.getContext("2d");
  context?.scale(ratio, ratio);
  context?.drawImage(image, 0, 0);
  const blob = await new Promise<Blob | null>((resolve) => page.toBlob(resolve, "image/png"));
  if (blob === null) throw new LabError("unsupported", "The picture is too large for the browser");
  return blob;
}

/** The document is as wide as the window, so that media queries apply to the panel as on the page. */
function documentOf(panel: HTMLElement, height: number): string {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("data-theme", document.documentElement.dataset.theme ?? "light");
  svg.setAttribute("width", String(window.innerWidth));
  svg.setAttribute("height", String(height));
  const style = svg.appendChild(document.createElementNS(SVG, "style"));
  style.textContent = [...document.styleSheets]
    .flatMap((sheet) => [...sheet.cssRules].map(({ cssText }) => cssText))
    .join("\n");
  style.textContent += "* { scrollbar-width: none }";
  const frame = svg.appendChild(document.createElementNS(SVG, "foreignObject"));
  frame.setAttribute("width", "100%");
  frame.setAttribute("height", "100%");
  const root = frame.appendChild(document.createElementNS(XHTML, "html"));
  // Rules copied as text lose the font, which is a shorthand with variables.
  const { fontFamily, fontSize, lineHeight } = getComputedStyle(document.documentElement);
  root.setAttribute("style", `display: block; height: 100%; padding: ${MARGIN}px; overflow: hidden`);
  Object.assign((root as HTMLElement).style, { fontFamily, fontSize, lineHeight, fontVariantNumeric: "tabular-nums" });
  const copy = root.appendChild(copyOf(panel));
  copy.setAttribute("style", `${copy.getAttribute("style") ?? ""}; width: ${panel.offsetWidth}px; margin: 0`);
  return new XMLSerializer().serializeToString(svg);
}

function copyOf(panel: HTMLElement): HTMLElement {
  const copy = panel.cloneNode(true) as HTMLElement;
  // In document order, like the copies.
  const drawn = panel.querySelectorAll("canvas");
  copy.querySelectorAll("canvas").forEach((canvas, at) => {
    const image = document.createElement("img");
    for (const { name, value } of canvas.attributes) image.setAttribute(name, value);
    image.src = (drawn[at] as HTMLCanvasElement).toDataURL();
    canvas.replaceWith(image);
  });
  const fields = panel.querySelectorAll<HTMLInputElement>("input, select, textarea");
  copy.querySelectorAll("input, select, textarea").forEach((field, at) => {
    const { value, checked } = fields[at] as HTMLInputElement;
    if (field instanceof HTMLInputElement) {
      field.setAttribute("value", value);
      field.toggleAttribute("checked", checked);
    } else if (field instanceof HTMLTextAreaElement) field.textContent = value;
    else
      for (const option of field.children) option.toggleAttribute("selected", option.getAttribute("value") === value);
  });
  for (const button of copy.querySelectorAll("[data-copies]")) button.remove();
  return copy;
}
